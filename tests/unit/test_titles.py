"""Documents' titles, and passages that are read in their light."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from localcrag.records.enums import Origin
from localcrag.records.passages import Passage
from localcrag.records.protocols import Vectors
from localcrag.steps.evaluate.evaluate import evaluate, strip_logits
from localcrag.text.span import Span
from localcrag.text.titles import LONGEST, in_context, is_heading, title_of
from tests.support.fakes import CALIBRATION, FakeScorer


@pytest.mark.parametrize(
    ("beginning", "name", "title"),
    [
        pytest.param("Lease for the flat\n\nBetween A and B.", "x.docx", "Lease for the flat", id="first line"),
        pytest.param("\n\n## **Opening hours**\n\nDaily.", "x.md", "Opening hours", id="Markdown"),
        pytest.param("---\nn: 2\ntitle: 'May minutes'\n---\n# Minutes\n", "x.md", "May minutes", id="front matter"),
        pytest.param("---\ndate: 2024-01-02\n---\n# Minutes\n", "x.md", "Minutes", id="front matter without a title"),
        pytest.param("---\nA rule.\n", "notes/2024-03_board.txt", "2024 03 board", id="a rule"),
        pytest.param("We met at nine. It was cold.", "walk_in-may.txt", "walk in may", id="a sentence"),
        pytest.param("今天天气很好。", "天气.txt", "天气", id="a sentence without spaces"),
        pytest.param("Dear Mr Roe,\n\nThe roof leaks.", "roof.pdf", "roof", id="a salutation"),
        pytest.param("word " * 40, "long.txt", "long", id="a line without end"),
        pytest.param("* * *\n\nThe end", "x.txt", "The end", id="a line without words"),
        pytest.param("", ".txt", "txt", id="nothing"),
    ],
)  # fmt: skip
def test_a_document_is_called_what_it_calls_itself_else_as_its_file(beginning: str, name: str, title: str) -> None:
    assert title_of(beginning, name) == title


def test_a_title_is_one_short_line() -> None:
    assert title_of("x" * 500, "a.txt") == "x" * LONGEST
    assert title_of("a\tb\x0bc", "a.txt") == "a b"


def test_what_says_its_title_itself_is_left_as_it_is() -> None:
    assert in_context("The KX-40", "The tank holds 3.5 litres.") == "The KX-40\n\nThe tank holds 3.5 litres."
    assert in_context("The KX-40", "The KX-40\n\nThank you.") == "The KX-40\n\nThank you."
    assert in_context(None, "Text.") == in_context("", "Text.") == "Text."


@pytest.mark.parametrize(("line", "heading"), [("Pay", True), ("Pay:", True), ("Pay is due.", False), ("", False)])
def test_headings(line: str, heading: bool) -> None:
    assert is_heading(line) is heading


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
