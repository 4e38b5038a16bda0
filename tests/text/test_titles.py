"""Documents' titles, and passages that are read in their light."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from localcrag.crag.grading import evaluate, strip_logits
from localcrag.documents.prepare import document_title
from localcrag.records.documents import Page
from localcrag.records.enums import Origin
from localcrag.records.passages import Passage
from localcrag.records.protocols import Vectors
from localcrag.text.blocks import Heading
from localcrag.text.sentences import Span
from localcrag.text.titles import LONGEST, find_title, heading_text, is_heading, may_be_title, with_context
from tests.support.fakes import CALIBRATION, FakeScorer


@pytest.mark.parametrize(
    ("beginning", "name", "title"),
    [
        pytest.param("Lease for the flat\n\nBetween A and B.", "x.docx", "Lease for the flat", id="first line"),
        pytest.param("\n\n## **Opening hours**\n\nDaily.", "x.md", "Opening hours", id="Markdown"),
        pytest.param("---\nn: 2\ntitle: 'May minutes'\n---\n# Minutes\n", "x.md", "May minutes", id="front matter"),
        pytest.param("---\ntitle: >-\n  May minutes\n---\n# Minutes\n", "x.md", "May minutes", id="folded title"),
        pytest.param("---\ndate: 2024-01-02\n---\n# Minutes\n", "x.md", "Minutes", id="front matter without a title"),
        pytest.param("---\n\n# The agreement\n\n---\n\nIt is long.", "x.md", "The agreement", id="between two rules"),
        pytest.param("---\nThe agreement\n---\n\nPurpose\n\nTo agree.", "x", "The agreement", id="above a rule"),
        pytest.param("---\ntitle: Travel\nlast modified: 2020-01-01\n---\n", "x.md", "Travel", id="a key of two words"),
        pytest.param('---\n"og:image": x\nauthor : Anna\n---\n# Hi\n', "x.md", "Hi", id="other keys"),
        pytest.param("---\nA rule.\n", "notes/2024-03_board.txt", "2024 03 board", id="a rule"),
        pytest.param("We met at nine. It was cold.", "walk_in-may.txt", "walk in may", id="a sentence"),
        pytest.param("今天天气很好。", "天气.txt", "天气", id="a sentence without spaces"),
        pytest.param("Dear Mr Roe,\n\nThe roof leaks.", "roof.pdf", "roof", id="a salutation"),
        pytest.param("word " * 40, "long.txt", "long", id="a line without end"),
        pytest.param("* * *\n\nThe end", "x.txt", "The end", id="a line without words"),
        pytest.param("", ".txt", "txt", id="nothing"),
        pytest.param("12 March 2024\n\nLease for the flat\n", "x.txt", "Lease for the flat", id="a date"),
        pytest.param("CONFIDENTIAL\n17\nContents\nLease", "x.txt", "Lease", id="what says nothing"),
        pytest.param(
            "From: Ann <a@example.org>\nTo: Bob\nSubject: The roof leaks\nDate: 2 May\n\nDear Bob,", "m.txt",
            "The roof leaks", id="a mail",
        ),
        pytest.param("Von: Ann\nBetreff: Das Dach\n\nHallo", "m.txt", "Das Dach", id="a German mail"),
        pytest.param("From: Ann\nTo: Bob\n\nThe roof", "m.txt", "The roof", id="a mail without a subject"),
        pytest.param("To: all who live here\n\nIt is cold.", "m.txt", "To: all who live here", id="no mail"),
        pytest.param(
            "<p align='center'><img src='a.png'></p>\n<h1 align=\"center\">\n  Acme &amp; <b>Co</b>\n</h1>\n\n# Use\n",
            "README.md", "Acme & Co", id="a heading in HTML",
        ),
        pytest.param("<h1><img src='a.png' alt='Acme'></h1>\n\nIt is.", "README.md", "Acme", id="a logo"),
        pytest.param("# Acme\n\nWrite `<h1>Title</h1>` there.", "x.md", "Acme", id="HTML that is written of"),
        pytest.param(
            "---\nnote: |\n" + "  word word word\n" * 300 + "---\n# Minutes\n", "x.md", "Minutes",
            id="long front matter",
        ),
        pytest.param("City | Night\nHull | 140\n\nHotels", "x.txt", "Hotels", id="a table"),
        pytest.param(
            "PEP: 8\nTitle: Style Guide\nAuthor: Ann,\n        Bob\n\nText", "x.txt", "Style Guide", id="a field",
        ),
        pytest.param("Title: The roof leaks\n\nIt does.", "x.txt", "Title: The roof leaks", id="a single field"),
        pytest.param("<!--\nAUTHORS:\n-->\n# Style guide\n", "x.md", "Style guide", id="a comment"),
        pytest.param('<div align="center">\n<br>\n</div>\n\n## Introduction\n', "x.md", "Introduction", id="tags"),
        pytest.param("FILED\n\nOrder on the request\n", "x.txt", "Order on the request", id="a stamp"),
    ],
)  # fmt: skip
def test_a_document_is_called_what_it_calls_itself_else_as_its_file(beginning: str, name: str, title: str) -> None:
    assert find_title(beginning, name) == title


def test_a_title_is_one_short_line() -> None:
    assert find_title("x" * 500, "a.txt") == "x" * LONGEST
    assert find_title("a\tb\x0bc", "a.txt") == "a b"


@pytest.mark.parametrize(
    "line",
    [
        *(
            "2024-05-02",
            "2. Mai 2024",
            "le 2 mai 2024",
            "Date: 2 May 2024",
            "Thursday, 2nd of May 2024",
            "17",
            "3/4",
            "",
        ),
        *("Page 3 of 12", "Table of Contents", "Inhaltsverzeichnis", "- CONFIDENTIAL -", "untitled", "Untitled-1"),
        *("(anonymous)", "PowerPoint-Präsentation", "[Document title]", "about:blank", "Layout 1"),
        *("Microsoft Word - Lease", "lease_final.docx", "www.example.org", "desk@example.org", "Q1 8-K - Exhibit 99.1"),
    ],
)
def test_what_is_never_a_title(line: str) -> None:
    assert not may_be_title(line)


@pytest.mark.parametrize("line", ["May minutes", "Budget 2024", "Form W-9", "租约", "Contents of the hold", "Le bail"])
def test_what_may_be_a_title(line: str) -> None:
    assert may_be_title(line)


def page(number: int, text: str, *headings: tuple[str, int]) -> Page:
    places = [(text.index(said), level) for said, level in headings]
    found = tuple(Heading(at, at + len(said), level) for (at, level), (said, _) in zip(places, headings, strict=True))
    return Page(number, text, headings=found)


def test_a_document_is_called_what_it_states_else_as_its_largest_heading() -> None:
    pages = [page(1, "Acme\n\n2 May 2024\n\nThe lease\n\nIt ends.", ("Acme", 3), ("2 May 2024", 1), ("The lease", 2))]
    assert document_title("Lease of the flat", pages, "a.pdf") == "Lease of the flat"
    assert document_title("The lease | Acme", pages, "a.pdf") == "The lease"
    assert document_title("lease-7", pages, "lease-7.pdf") == "The lease", "a file's name is no title"
    assert document_title(None, pages, "a.pdf") == "The lease"
    assert document_title(None, [page(1, "It was cold.")], "walk.pdf") == "walk"


def test_the_first_of_several_headings_below_other_text_is_a_sections() -> None:
    marked = (("Definitions", 1), ("Payment", 1))
    text = "Definitions\n\nAs follows.\n\nPayment\n\nIn May."
    assert (
        document_title(None, [page(1, f"Service Agreement\n\nOf May.\n\n{text}", *marked)], "a.docx")
        == "Service Agreement"
    )
    assert document_title(None, [page(1, text, *marked)], "a.docx") == "Definitions", "nothing is above it"
    listed = page(1, f"Table of contents\n\n{text}", *marked)
    assert document_title(None, [listed], "lease-2024.docx") == "lease 2024", "no line above it is a title"


def test_an_address_is_no_title() -> None:
    text = "ACME COMMISSION Washington, D.C. 20549\n\nForm A\n\nPart one\n\nIt ends."
    assert find_title(text, "a.txt") == "Form A"


def test_a_running_header_is_no_title() -> None:
    pages = [Page(number, f"Acme, page {number}\n\nThe lease\n\nIt ends.") for number in (1, 2, 3)]
    assert document_title(None, pages, "a.pdf") == "The lease"


def test_what_says_its_title_itself_is_left_as_it_is() -> None:
    assert with_context("The KX-40", "The tank holds 3.5 litres.") == "The KX-40\n\nThe tank holds 3.5 litres."
    assert with_context("The KX-40", "The KX-40\n\nThank you.") == "The KX-40\n\nThank you."
    assert with_context(None, "Text.") == with_context("", "Text.") == "Text."


@pytest.mark.parametrize(("line", "heading"), [("Pay", True), ("Pay:", True), ("Pay is due.", False), ("", False)])
def test_headings(line: str, heading: bool) -> None:
    assert is_heading(line) is heading


@pytest.mark.parametrize(
    ("line", "says"), [("## Fees ##", "Fees"), ("Fees\n====", "Fees"), ("Fees\nand notice:", "Fees and notice")]
)
def test_what_a_heading_says(line: str, says: str) -> None:
    assert heading_text(line) == says


def test_a_title_in_front_matter_is_read_in_one_go() -> None:
    gap = " " * 50_000
    assert find_title(f'---\ntitle: "Fees{gap}" of"x"y\n---\nText.', "a.md").startswith("Fees")
    assert find_title("---\ntitle: ''\n---\n# Fees\n", "a.md") == "Fees"


@pytest.mark.parametrize("inner", [" ", "_", "=", "\t"])
def test_a_heading_with_a_long_gap_is_read_in_one_go(inner: str) -> None:
    assert heading_text("# a" + inner * 300_000 + "b").startswith("a")


class Listener(FakeScorer):
    """Keeps what strips it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.strips: list[tuple[str, Span]] = []

    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> list[Vectors]:
        self.strips += [(text, span) for text, spans in zip(texts, strips, strict=True) for span in spans]
        return super().strip_logits(question, texts, strips)


def test_passage_and_strips_are_scored_under_the_title() -> None:
    scorer = Listener()
    passage = Passage(
        id="a", origin=Origin.LOCAL, text="It is full. It holds 3 litres.", title="KX-40", cosine=0.5, overlap=0.0
    )
    assert evaluate("KX-40 litres", [passage], scorer=scorer, thresholds=CALIBRATION.thresholds)[0].logit == 4.0
    spans = [Span(0, 11, "It is full."), Span(12, 30, "It holds 3 litres.")]
    assert len(strip_logits("KX-40 litres", [passage], [spans], scorer=scorer)[0]) == 2
    assert [span.text for _, span in scorer.strips] == [text[span.start : span.end] for text, span in scorer.strips]
    assert {text for text, _ in scorer.strips} == {"KX-40\n\nIt is full. It holds 3 litres."}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        pytest.param('## <a id="general">General questions</a>', "General questions", id="tags"),
        pytest.param("## Notice period {#notice}", "Notice period", id="an id"),
        pytest.param("Notice period¶", "Notice period", id="a link to itself"),
        pytest.param("## [Unreleased](https://example.org/x) - 2024", "Unreleased - 2024", id="a link"),
    ],
)
def test_a_heading_is_its_text_alone(line: str, text: str) -> None:
    assert heading_text(line) == text


@pytest.mark.parametrize(
    "name", ["towns-by-size.csv", "towns_by_size.xlsx", "towns by size.mbox", "towns-by-size.yaml"]
)
def test_data_and_mailboxes_are_called_by_their_file(name: str) -> None:
    page = Page(1, "# ALLE\n\nHull | 140", headings=(Heading(0, 6, 1),))
    assert document_title(None, [page], name) == "towns by size"


def test_the_file_of_another_program_is_no_title() -> None:
    assert not may_be_title("DOM Pricing Model SVT Opt 1.1 (approved).xlsm")
