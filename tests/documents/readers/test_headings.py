"""What readers know of headings: from markup, type, numbers and a file's outline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from localcrag.documents.prepare import document_title
from localcrag.documents.readers.open_document import open_document
from localcrag.text.blocks import split_blocks
from tests.support import documents

PROSE = [
    "The travel desk pays for the hotel of everybody who asks for it in due time, and checks",
    "the claim within five working days of its coming in, by the rules that are set out here.",
    "",
]
BOLD = "Helvetica-Bold"
Lines = Sequence[tuple[str, str, float] | str]


def headings(path: Path) -> list[tuple[int, str]]:
    found = []
    for page in open_document(path, path.name).pages:
        for heading in (one for one in page.headings if one.level):
            assert heading.start == 0 or page.text[heading.start - 1] in " \n"
            assert heading.end == len(page.text) or page.text[heading.end] == "\n"
            found.append((heading.level, page.text[heading.start : heading.end]))
    return found


# Web pages and Word documents


@pytest.mark.parametrize(
    ("body", "found"),
    [
        pytest.param("<h1>Fees</h1><p>a</p><h3>By <i>post</i></h3>", [(1, "Fees"), (3, "By post")], id="levels"),
        pytest.param("<p>a<h2>One<br>two</h2><p>b", [(2, "One\ntwo")], id="two lines"),
        pytest.param("<p>cafe\u0301 a&shy;b</p><h2>Reise&shy;kosten</h2><p>b", [(2, "Reisekosten")], id="shortened"),
        pytest.param("<ul><li><h4>Inns</h4><p>b</ul>", [(4, "* Inns")], id="in a list"),
        pytest.param("<h2> </h2><h2><img></h2><h2>* * *</h2><p>a", [], id="no letters"),
        pytest.param("<h2 hidden>No</h2><p>a", [], id="hidden"),
        pytest.param(f"<h2>{'word ' * 60}</h2><p>a", [], id="a paragraph in large type"),
        pytest.param("<p><b>Late payment</b></p><p>It costs 5 euros.", [(7, "Late payment")], id="bold"),
        pytest.param("<p><b>It costs 5 euros.</b></p><p>a", [], id="a bold sentence"),
        pytest.param("<p><b>Note</b> that it costs.</p><p>a", [], id="a bold word"),
        pytest.param("<p><b>A. Roe</b><p><b>1 Quay</b><p><b>Hull</b><p>a", [], id="a bold address"),
        pytest.param("<p>a<p><b>The end</b>", [], id="nothing behind"),
        pytest.param("<p><b>2 May 2024</b><p>a", [], id="a date"),
    ],
)  # fmt: skip
def test_a_web_pages_headings_are_known_with_their_places(
    tmp_path: Path, body: str, found: list[tuple[int, str]]
) -> None:
    assert headings(documents.make_html(tmp_path / "a.html", body)) == found


def test_a_step_of_several_paragraphs_is_no_heading(tmp_path: Path) -> None:
    steps = "".join(f"<li><p>{said} the lid</p><p>{PROSE[0]}</p></li>" for said in ("Open", "Shut", "Lock"))
    path = documents.make_html(tmp_path / "a.html", f"<p>In this order:</p><ol>{steps}</ol><p>{PROSE[0]}")
    (page,) = open_document(path, "a.html").pages
    kinds = [(block.kind.value, block.steps) for block in split_blocks(page.text, page.headings)]
    assert kinds == [("paragraph", False), *[("item", True)] * 3, ("paragraph", False)]


def test_a_word_documents_title_and_headings_are_known(tmp_path: Path) -> None:
    path = documents.make_docx(tmp_path / "a.docx", ["= The lease", "# Fees", "Text.", "## Late payment", "More."])
    assert headings(path) == [(1, "The lease"), (1, "Fees"), (2, "Late payment")]


# PDF


def typed(path: Path, *pages: Lines, **more: object) -> list[tuple[int, str]]:
    return headings(documents.make_typed_pdf(path / "a.pdf", pages, **more))  # type: ignore[arg-type]


def test_larger_lines_of_a_pdf_are_headings_by_rank_of_size(tmp_path: Path) -> None:
    page: Lines = [
        ("The lease", "Helvetica", 20), *PROSE, ("Fees", "Helvetica", 14), *PROSE, ("Late payment", BOLD, 10), *PROSE,
        ("Notice", "Helvetica", 14), *PROSE,
    ]  # fmt: skip
    assert typed(tmp_path, page) == [(1, "The lease"), (2, "Fees"), (3, "Late payment"), (2, "Notice")]


def test_a_heading_of_two_lines_is_one(tmp_path: Path) -> None:
    page: Lines = [("Rules", BOLD, 16), ("for those who travel by ferry", BOLD, 16), "", *PROSE, *PROSE]
    assert typed(tmp_path, page) == [(1, "Rules\nfor those who travel by ferry")]


def test_deeper_numbers_are_deeper_headings(tmp_path: Path) -> None:
    page: Lines = [("3 Fees", BOLD, 10), *PROSE, ("3.2 Payment", BOLD, 10), *PROSE, ("4 Notice", BOLD, 10), *PROSE]
    assert typed(tmp_path, page) == [(1, "3 Fees"), (2, "3.2 Payment"), (1, "4 Notice")]


def test_a_number_and_space_around_it_make_a_heading(tmp_path: Path) -> None:
    assert typed(tmp_path, [*PROSE, "3.2 Payment", "", *PROSE, *PROSE]) == [(1, "3.2 Payment")]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(("Payment is due on the first of the month.", BOLD, 10), id="a sentence"),
        pytest.param(("2 May 2024", BOLD, 14), id="a date"),
        pytest.param(("Page 3 of 12", BOLD, 14), id="a page number"),
        pytest.param(("3,140", BOLD, 14), id="a figure"),
        pytest.param(("and the fees", BOLD, 14), id="the end of a sentence"),
        pytest.param(("Fees and notice of", BOLD, 14), id="the beginning of a sentence"),
        pytest.param(("Fees ........ 12", BOLD, 14), id="a line of a table of contents"),
        pytest.param(("City\tNight", BOLD, 10), id="a row"),
        pytest.param(("Three months ended", BOLD, 12), id="over columns"),
        pytest.param(("Fees", BOLD, 6), id="small print"),
        pytest.param("• Fees", id="a list item"),
    ],
)
def test_not_everything_large_or_bold_is_a_heading(tmp_path: Path, line: tuple[str, str, float] | str) -> None:
    assert typed(tmp_path, [*PROSE, line, "", *PROSE, *PROSE]) == []


def test_bold_labels_in_a_table_are_no_headings(tmp_path: Path) -> None:
    rows: Lines = ["Hull\t140", "Cork\t130", ("Abroad", BOLD, 10), "Brest\t120", "Gdynia\t95", ""]
    assert typed(tmp_path, [*PROSE, ("Hotels", BOLD, 10), *PROSE, *rows, *PROSE]) == [(1, "Hotels")]


def test_a_bold_line_over_a_table_with_bold_rows_is_a_heading(tmp_path: Path) -> None:
    rows = [(line, BOLD, 10.0) for line in ("In euros\t2023\t2022", "Abroad:", "All of them:")]
    table: Lines = [*rows, "Hull\t140\t130", "Cork\t130\t120", ""]
    assert typed(tmp_path, [*PROSE, ("Hotels", BOLD, 10), "", *table, *PROSE]) == [(1, "Hotels")]


def test_an_address_in_bold_is_no_heading(tmp_path: Path) -> None:
    address: Lines = [(line, BOLD, 10) for line in ("Ottilie Brandt", "Travel desk", "Quay Street", "Falmouth")]
    assert typed(tmp_path, [*PROSE, *address, "", *PROSE, *PROSE]) == []


def test_where_all_is_bold_bold_says_nothing(tmp_path: Path) -> None:
    prose = [(line, BOLD, 10.0) for line in PROSE]
    assert typed(tmp_path, [*prose, ("Fees", BOLD, 10), ("", BOLD, 10), *prose, *prose]) == []


def test_labels_with_their_values_are_no_headings(tmp_path: Path) -> None:
    page: Lines = [("Held by\tWren", BOLD, 12), "", ("Since", BOLD, 12), "", *PROSE, *PROSE]
    assert typed(tmp_path, page) == [(1, "Since")]


def test_a_bold_sentence_that_leads_into_a_list_is_no_heading(tmp_path: Path) -> None:
    lead = ("Whoever travels by ferry is paid for all of these:", BOLD, 10)
    assert typed(tmp_path, [*PROSE, lead, "• a berth", "• a meal", "", *PROSE, *PROSE]) == []


def test_a_word_as_item_ranks_above_other_headings_of_its_type(tmp_path: Path) -> None:
    page: Lines = [("Item 7. Hotels", BOLD, 10), *PROSE, ("Fees", BOLD, 10), *PROSE, ("Item 8. Inns", BOLD, 10), *PROSE]
    assert typed(tmp_path, page) == [(1, "Item 7. Hotels"), (2, "Fees"), (1, "Item 8. Inns")]


def test_a_centred_heading_is_above_one_at_the_margin(tmp_path: Path) -> None:
    # 100 characters of it are 455 points wide, and the heading's column begins at 200.
    prose = [
        "The travel desk pays for the hotel of everybody who asks for it in due time, and checks all the claims",
        "",
    ]
    page: Lines = [("\tFull year", BOLD, 10), *prose, *prose, ("Sales", BOLD, 10), *prose]
    assert typed(tmp_path, page) == [(1, "Full year"), (2, "Sales")]


def test_a_running_header_is_no_heading(tmp_path: Path) -> None:
    pages: list[Lines] = [[(f"Chapter {word}", BOLD, 14), *PROSE, *PROSE] for word in ("one", "two", "three", "four")]
    found = typed(tmp_path, *pages, header="Handbook")
    assert [text for _, text in found] == ["Chapter one", "Chapter two", "Chapter three", "Chapter four"]


def test_what_every_page_says_at_its_edge_is_read_once_and_is_no_heading(tmp_path: Path) -> None:
    pages: list[Lines] = [
        [
            ("Acme Handbook of Travel", BOLD, 12), "", "", f"Section {word}", "",
            f"Of {word}, this is said: {PROSE[0]}", PROSE[1], "", "", f"Page {number} of 5",
        ]
        for number, word in enumerate(("one", "two", "three", "four", "five"), start=1)
    ]  # fmt: skip
    path = documents.make_typed_pdf(tmp_path / "a.pdf", pages, header="ACME LIMITED")
    read = list(open_document(path, "a.pdf").pages)
    whole = "\f".join(page.text for page in read)
    assert [whole.count(said) for said in ("ACME LIMITED", "Acme Handbook of Travel", "Page 1 of 5")] == [1, 1, 1]
    assert "of 5" not in whole.split("\f", 1)[1]
    told = [page.text[b.start : b.end] for page in read for b in split_blocks(page.text, page.headings) if b.level]
    assert told == [f"Section {word}" for word in ("one", "two", "three", "four", "five")]
    assert document_title(None, read, "walk.pdf") == "Section one"


def test_what_a_page_says_of_itself_at_its_top_stays(tmp_path: Path) -> None:
    pages: list[Lines] = [
        [("Chapter 4", BOLD, 14), "", "", "Room\tFee", "Single\t80", "", *PROSE],
        [("Chapter 5", BOLD, 14), "", "", "Room\tFee", "Double\t90", "", *PROSE],
        [("Chapter 5", BOLD, 14), "", "", "Room\tFee", "Attic\t30", "", *PROSE],
    ]
    path = documents.make_typed_pdf(tmp_path / "a.pdf", pages)
    tops = [page.text.split("\n\n")[0] for page in open_document(path, "a.pdf").pages]
    assert tops[0].startswith("Chapter 4")
    assert tops[1].startswith("Chapter 5")
    assert tops[2].startswith("Room  Fee"), "a table's header stays on every page"


def test_a_heading_said_anew_on_the_next_page_goes_on(tmp_path: Path) -> None:
    pages: list[Lines] = [[("Notes", BOLD, 14), *PROSE], [("Other", BOLD, 14), *PROSE], [("Notes", BOLD, 14), *PROSE]]
    assert [text for _, text in typed(tmp_path, *pages)] == ["Notes", "Other"]


def test_the_outline_of_a_pdf_says_what_its_headings_are(tmp_path: Path) -> None:
    pages: list[Lines] = [
        [("Fees of all kinds", BOLD, 11), *PROSE, ("By post", BOLD, 10), *PROSE],
        [("Notice", "Helvetica", 11), *PROSE],
    ]
    outline = [(0, "All", 0), (0, "Fees of all kinds", 1), (1, "1 Notice", 2), (1, "Not there", 0)]
    assert typed(tmp_path, *pages, outline=outline) == [(2, "Fees of all kinds"), (4, "By post"), (3, "Notice")]


def test_an_entry_that_is_no_text_is_passed_over_and_the_rest_of_the_outline_read(tmp_path: Path) -> None:
    pages: list[Lines] = [[("Fees of all kinds", "Helvetica", 11), *PROSE, *PROSE]]
    typed(tmp_path, *pages, outline=[(0, "Broken12", 0), (0, "Fees of all kinds", 1)])
    path, half_a_character = tmp_path / "a.pdf", b"<FEFFD800>"
    damaged = path.read_bytes().replace(b"(Broken12)", half_a_character)
    assert half_a_character in damaged
    path.write_bytes(damaged)
    assert headings(path) == [(2, "Fees of all kinds")]


def test_a_page_of_many_headings_is_read(tmp_path: Path) -> None:
    path = documents.make_html(tmp_path / "a.html", "<h6>a</h6>" * 30_000)
    assert len(headings(path)) == 20_000


def test_pages_beyond_those_that_were_looked_at_have_headings(tmp_path: Path) -> None:
    pages: list[Lines] = [[(f"Chapter {n}", BOLD, 14), *PROSE, *PROSE] for n in range(70)]
    assert {level for level, _ in typed(tmp_path, *pages)} == {1}
    assert len(headings(tmp_path / "a.pdf")) == 70


# Titles


def test_what_a_file_states_is_its_title(tmp_path: Path) -> None:
    page = documents.make_html(tmp_path / "a.html", "<p>a", head="<title>Opening\n hours</title>")
    typed(tmp_path, [*PROSE], title="The lease")
    word = documents.make_docx(tmp_path / "a.docx", ["Text."])
    documents.replace_part(word, "docProps/core.xml", CORE)
    assert open_document(page, "a.html").title == "Opening hours"
    assert open_document(tmp_path / "a.pdf", "a.pdf").title == "The lease"
    assert open_document(word, "a.docx").title == "Minutes of May"


@pytest.mark.parametrize("title", ["Microsoft Word - lease.docx", "untitled", "2 May 2024", "lease.indd", "Contents"])
def test_what_is_no_title_is_not_believed(tmp_path: Path, title: str) -> None:
    typed(tmp_path, [*PROSE], title=title)
    assert open_document(tmp_path / "a.pdf", "a.pdf").title is None


CORE = b"""<?xml version="1.0"?>
<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"
 xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Minutes of May</dc:title></cp:coreProperties>"""
