"""Office files: OpenDocument, PowerPoint, Word before 2007, RTF and e-books, made by tests/support/office_files.py."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import anydoc
import pytest

from localcrag.documents.readers import packages
from localcrag.documents.readers.office.office import marker
from localcrag.documents.readers.open_document import open_document
from localcrag.records.documents import OpenDocument, Page
from localcrag.records.errors import DocumentError, EncryptedDocument, UnreadableDocument
from localcrag.text.blocks import BlockKind, split_blocks
from localcrag.text.places import page_count_in_words, page_name, place_name
from localcrag.text.titles import heading_text
from tests.support import ROOT, documents
from tests.support.office_files import make_compound, make_doc, make_epub, make_odp, make_odt, make_pptx

SLIDES = [
    ("Prices", ["A ticket costs 12 euros.", "Children pay 5."], "Mention the discount."),
    ("Hours", ["Open from 9 to 5."], "Thank them."),
]
PLAIN = "House rules\nBe quiet from 22:00 – always.\nThe attic costs 310 euros a month."
RTF = rb"{\rtf1\ansi{\info{\title The rules of the house}{\revtim\yr2024\mo3\dy9}}\b House rules\b0\par Be quiet.\par}"


def opened(path: Path, name: str) -> tuple[OpenDocument, list[Page]]:
    document = open_document(path, name)
    return document, list(document.pages)


def headings(page: Page) -> list[tuple[str, int]]:
    """Return the headings as they are known in the text itself, and by that in every part of it."""
    found = [block for block in split_blocks(page.text) if block.kind is BlockKind.HEADING]
    return [(heading_text(page.text[block.start : block.end]), block.level) for block in found]


def refusal(path: Path, name: str) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        opened(path, name)
    assert str(caught.value).startswith(name)
    return caught.value


ODT_BODY = (
    '<text:h text:outline-level="1">House rules</text:h><text:p>Be quiet from 22:00.</text:p>'
    "<text:list><text:list-item><text:p>Close the door.</text:p></text:list-item>"
    "<text:list-item><text:p>Lock it.</text:p></text:list-item></text:list>"
    "<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Room</text:p></table:table-cell>"
    "<table:table-cell><text:p>Rent</text:p></table:table-cell></table:table-row></table:table-header-rows>"
    "<table:table-row><table:table-cell><text:p>Attic</text:p></table:table-cell><table:table-cell>"
    "<text:p>310 euros &amp; heating</text:p></table:table-cell></table:table-row></table:table>"
    '<text:p>See<text:note text:id="ftn1" text:note-class="footnote"><text:note-citation>1</text:note-citation>'
    "<text:note-body><text:p>As of May.</text:p></text:note-body></text:note> below.</text:p>"
)


def test_an_open_document_text_keeps_headings_lists_tables_and_notes(tmp_path: Path) -> None:
    path = make_odt(tmp_path / "a", ODT_BODY, title="The rules of the house", day="2025-04-09T10:00:00")
    document, (page,) = opened(path, "rules.odt")
    assert page.text == (
        "# House rules\n\nBe quiet from 22:00.\n\n* Close the door.\n* Lock it.\n\n"
        "Room | Rent\nAttic | 310 euros & heating\n\nSee[1] below.\n\n1. As of May."
    )
    assert headings(page) == [("House rules", 1)]
    assert (document.title, document.dated, document.page_count) == ("The rules of the house", "2025-04-09", None)


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_slides_are_pages_with_their_numbers_in_the_order_shown(tmp_path: Path, order: tuple[int, int]) -> None:
    document, pages = opened(make_pptx(tmp_path / "a", SLIDES, order=order), "talk.pptx")
    assert document.page_count == len(SLIDES)
    assert [page.number for page in pages] == [1, 2]
    texts = [
        "## Prices\n\nA ticket costs 12 euros.\n\nChildren pay 5.\n\nNotes: Mention the discount.",
        "## Hours\n\nOpen from 9 to 5.\n\nNotes: Thank them.",
    ]
    assert [page.text for page in pages] == [texts[number - 1] for number in order]
    assert headings(pages[0])[0][0] == SLIDES[order[0] - 1][0]


def test_slides_of_an_open_document_presentation_are_pages_too(tmp_path: Path) -> None:
    path = make_odp(tmp_path / "a", [(title, text[0], notes) for title, text, notes in SLIDES])
    document, pages = opened(path, "talk.odp")
    assert document.page_count == len(SLIDES)
    assert [(page.number, page.text) for page in pages] == [
        (1, "## Prices\n\nA ticket costs 12 euros.\n\nNotes: Mention the discount."),
        (2, "## Hours\n\nOpen from 9 to 5.\n\nNotes: Thank them."),
    ]


def test_an_e_book_is_read_in_the_order_of_its_chapters(tmp_path: Path) -> None:
    chapters = ["<h1>One</h1><p>The lamp is lit at dusk.</p>", "<h1>Two</h1><p>It is put out at dawn.</p>"]
    path = make_epub(tmp_path / "a", chapters, title="The keeper’s year", day="2019-02-03")
    document, (page,) = opened(path, "year.epub")
    assert page.text.endswith("# One\n\nThe lamp is lit at dusk.\n\n# Two\n\nIt is put out at dawn.")
    assert headings(page)[-2:] == [("One", 1), ("Two", 1)]
    assert (document.title, document.dated) == ("The keeper’s year", "2019-02-03")


def test_a_word_document_of_before_2007_is_read(tmp_path: Path) -> None:
    document, (page,) = opened(make_doc(tmp_path / "a", PLAIN), "rules.doc")
    assert document.media_type == "application/msword"
    assert page.text == PLAIN.replace("\n", "\n\n")


def test_rtf_is_read_with_its_title_and_day(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(RTF)
    document, (page,) = opened(tmp_path / "a", "rules.rtf")
    assert page.text == "House rules\n\nBe quiet."
    assert [page.text[one.start : one.end] for one in page.headings] == ["House rules"]
    assert (document.title, document.dated) == ("The rules of the house", "2024-03-09")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        pytest.param(lambda path: documents.make_docx(path, [PLAIN]), "House rules", id="Word"),
        pytest.param(lambda path: make_doc(path, PLAIN), "House rules", id="Word before 2007"),
        pytest.param(lambda path: make_odt(path, ODT_BODY), "House rules", id="OpenDocument"),
        pytest.param(lambda path: documents.make_pdf(path, ["House rules"]), "House rules", id="PDF"),
        pytest.param(lambda path: make_pptx(path, SLIDES), "Prices", id="PowerPoint"),
    ],
)
@pytest.mark.parametrize("name", ["a.doc", "a.docx", "a.pdf", "a.txt", "a.rtf", "a.dat", "a"])
def test_what_a_file_is_counts_and_not_its_name(
    tmp_path: Path, make: Callable[[Path], Path], text: str, name: str
) -> None:
    _, pages = opened(make(tmp_path / "upload"), name)
    assert text in pages[0].text.partition("\n")[0]


@pytest.mark.parametrize(
    ("kind", "number", "written"),
    [
        ("lower_alpha", 3, "c."), ("upper_alpha", 27, "AA."), ("lower_roman", 4, "iv."), ("upper_roman", 19, "XIX."),
        ("lower_roman", 1994, "mcmxciv."), ("lower_alpha", 0, "0."),
    ],
)  # fmt: skip
def test_items_have_their_letters_and_roman_numbers(kind: str, number: int, written: str) -> None:
    assert marker(kind, number) == written


def test_a_picture_of_a_slide_without_words_is_said_to_be_unread(tmp_path: Path) -> None:
    path = make_pptx(tmp_path / "a", [*SLIDES, ("", [], "")], picture_on=3)
    _, pages = opened(path, "talk.pptx")
    assert [(page.unread, bool(page.text)) for page in pages] == [(False, True), (False, True), (True, False)]


def slides_with_list(listing: bytes | None) -> Callable[[Path], Path]:
    return lambda path: documents.replace_part(make_pptx(path, SLIDES), "ppt/presentation.xml", listing)


@pytest.mark.parametrize(
    ("name", "make", "kind", "words"),
    [
        pytest.param("a.odt", lambda path: documents.cut_off(make_odt(path, ODT_BODY), 0.5), UnreadableDocument,
                     "cut off", id="a text that was cut off"),
        pytest.param("a.pptx", slides_with_list(None), UnreadableDocument, "damaged", id="slides without their list"),
        pytest.param("a.pptx", lambda path: documents.replace_part(
            make_pptx(path, SLIDES), "ppt/slides/_rels/slide2.xml.rels", b"<Rel"), UnreadableDocument, "damaged",
            id="a slide's relations that are no XML"),
        pytest.param("a.pptx", slides_with_list(b"<p:pres"), UnreadableDocument, "damaged", id="a list that is no XML"),
        pytest.param("a.odt", lambda path: documents.replace_part(make_odt(path, ODT_BODY), "content.xml", None),
                     UnreadableDocument, "damaged", id="a text without its text"),
        pytest.param("a.odt", lambda path: documents.replace_part(make_odt(path, ODT_BODY), "x.bin", bytes(11_000_000)),
                     UnreadableDocument, "unpacks to 11 MB", id="a bomb"),
        pytest.param("a.ppt", lambda path: make_compound(path, {"EncryptedPackage": b"x"}), EncryptedDocument,
                     "password", id="slides with a password"),
        pytest.param("a.doc", lambda path: documents.make_text(path, "text"), UnreadableDocument, "plain text",
                     id="text named doc"),
        pytest.param("a.epub", lambda path: documents.make_zip(path, {"a.txt": b"x"}), UnreadableDocument,
                     "a ZIP archive", id="an archive named epub"),
        pytest.param("a.doc", lambda path: documents.cut_off(make_doc(path, PLAIN), 0.4), UnreadableDocument, "damaged",
                     id="an old Word document that was cut off"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_why(
    tmp_path: Path, name: str, make: Callable[[Path], Path], kind: type[DocumentError], words: str
) -> None:
    error = refusal(make(tmp_path / "upload"), name)
    assert type(error) is kind
    assert words in str(error)


def test_nested_beyond_measure_ends_as_an_error_of_the_file(tmp_path: Path) -> None:
    deep = 20_000
    body = "<text:list><text:list-item>" * deep + "<text:p>x</text:p>" + "</text:list-item></text:list>" * deep
    assert isinstance(refusal(make_odt(tmp_path / "a", body), "deep.odt"), UnreadableDocument)


def test_too_many_parts_are_left_alone(tmp_path: Path) -> None:
    parts = {f"x{number}": b"" for number in range(packages.MOST_PARTS)}
    path = documents.make_zip(tmp_path / "a", {"mimetype": b"application/vnd.oasis.opendocument.text", **parts})
    assert "20,001 parts" in str(refusal(path, "many.odt"))


def test_what_sends_files_away_is_never_called() -> None:
    assert "ocr" not in inspect.signature(anydoc.to_document).parameters
    code = "".join(file.read_text("utf-8") for file in (ROOT / "localcrag").rglob("*.py"))
    assert "anydoc.to_markdown" not in code
    assert "hosted" not in code


def test_a_slide_is_called_a_slide() -> None:
    assert place_name("talk.PPTX", 3) == "talk.PPTX, slide 3"
    assert place_name("handbook.pdf", 3) == "handbook.pdf, page 3"
    assert place_name("notes.md", None) == "notes.md"
    assert page_name(None, 2) == "page 2"
    names = ("talk.odp", "handbook.pdf", "all.mbox")
    assert [page_count_in_words(name, 2) for name in names] == ["2 slides", "2 pages", "2 messages"]
