from __future__ import annotations

import pytest

from localcrag.documents.readers.pdf.paragraphs import Line, composed, join_rows

# From lines to paragraphs: text, left, right and baseline of each line, all of size 10 unless said otherwise


def line(text: str, left: float, right: float, baseline: float, size: float = 10, **more: bool | str) -> Line:
    first_word = (right - left) * len(text.split(maxsplit=1)[0]) / len(text)
    return Line(
        text=text,
        left=left,
        right=right,
        baseline=baseline,
        size=size,
        first_word=first_word,
        hyphen=bool(more.get("hyphen")),
        tabular=bool(more.get("tabular")),
        monospaced=bool(more.get("monospaced")),
        font=str(more.get("font", "")),
    )


FULL, SHORT = 500, 200
PARAGRAPHS = {
    "full lines are one sentence": (
        [line("One two three", 50, FULL, 700), line("four five.", 50, SHORT, 688)],
        "One two three four five.",
    ),
    "a short line ends its paragraph": (
        [line("One.", 50, SHORT, 700), line("Two and more words", 50, FULL, 688)],
        "One.\n\nTwo and more words",
    ),
    "a short line without a full stop stays a line": (
        [line("12 Quay Street", 50, SHORT, 700), line("Falmouth, Cornwall, United Kingdom", 50, FULL, 688)],
        "12 Quay Street\nFalmouth, Cornwall, United Kingdom",
    ),
    "a wide gap parts paragraphs": (
        [line("One two", 50, FULL, 700), line("three four", 50, FULL, 688), line("Five six", 50, FULL, 660)],
        "One two three four\n\nFive six",
    ),
    "a larger size is a heading": (
        [line("A title that fills its line", 50, FULL, 700, size=14), line("Text", 50, FULL, 684)],
        "A title that fills its line\n\nText",
    ),
    "another font after a full stop is a heading": (
        [line("It ends here.", 50, FULL, 700, font="Serif"), line("Aims of the study", 50, FULL, 688, font="Bold")],
        "It ends here.\n\nAims of the study",
    ),
    "an indented line after a full stop begins a paragraph": (
        [line("It ends here.", 50, FULL, 700), line("Next one", 65, FULL, 688), line("goes on", 50, FULL, 676)],
        "It ends here.\n\nNext one goes on",
    ),
    "the hanging lines of an entry belong to it": (
        [line("Penhaligon, R., Tides and", 50, FULL, 700), line("currents, 2019.", 65, FULL, 688)],
        "Penhaligon, R., Tides and currents, 2019.",
    ),
    "bullets are items, wrapped ones too": (
        [line("• one is", 50, FULL, 700), line("long", 60, SHORT, 688), line("• two", 50, SHORT, 676)],
        "• one is long\n• two",
    ),
    "numbers are items after an item": (
        [line("1. one is as long as the line", 50, FULL, 700), line("2. two", 50, SHORT, 688)],
        "1. one is as long as the line\n2. two",
    ),
    "a number that begins a line of a sentence is no item": (
        [line("as is said in section", 50, FULL, 700), line("3.2 of the contract.", 50, SHORT, 688)],
        "as is said in section 3.2 of the contract.",
    ),
    "rows of a table stay rows": (
        [
            line("City  Limit", 50, FULL, 700, tabular=True),
            line("Hamburg  140", 50, FULL, 680, tabular=True),
        ],
        "City  Limit\nHamburg  140",
    ),
    "programs keep their lines": (
        [line("if ready:", 50, 110, 700, monospaced=True), line("start()", 70, 110, 688, monospaced=True)],
        "if ready:\nstart()",
    ),
    "a note's mark is set apart from its word": (
        [line("see the note", 50, 120, 700), line("2", 120, 124, 704, size=6), line("below", 128, 160, 700)],
        "see the note ² below",
    ),
    "cells on one baseline are a row": (
        [line("Hamburg", 50, 100, 700), line("140 euros", 200, 250, 700)],
        "Hamburg  140 euros",
    ),
    "a sentence goes on in the next column": (
        [line("It was found that", 50, 250, 100), line("nothing else helped.", 300, FULL, 700)],
        "It was found that nothing else helped.",
    ),
    "a hyphen within a word goes": (
        [line("the reimburse", 50, FULL, 700, hyphen=True), line("ment follows", 50, SHORT, 688)],
        "the reimbursement follows",
    ),
    "a hyphen before a capital stays": (
        [line("the Navier", 50, FULL, 700, hyphen=True), line("Stokes equations", 50, SHORT, 688)],
        "the Navier-Stokes equations",
    ),
    "a hyphen of a longer compound stays": (
        [line("the touch", 50, FULL, 700, hyphen=True), line("and-go landing", 50, SHORT, 688)],
        "the touch-and-go landing",
    ),
    "a hyphen written elsewhere on the page stays": (
        [
            line("a low-cost flight and a second low", 50, FULL, 700, hyphen=True),
            line("cost flight", 50, SHORT, 688),
        ],
        "a low-cost flight and a second low-cost flight",
    ),
    "a hyphen at the end of the page stays": ([line("the reimburse", 50, FULL, 700, hyphen=True)], "the reimburse-"),
    "Chinese lines join without a space": (
        [line("住宿费每晚最高报销", 50, FULL, 700), line("六百元。", 50, SHORT, 688)],
        "住宿费每晚最高报销六百元。",
    ),
    "no lines are no text": ([], ""),
}


@pytest.mark.parametrize(("lines", "text"), PARAGRAPHS.values(), ids=PARAGRAPHS.keys())
def test_lines_become_paragraphs(lines: list[Line], text: str) -> None:
    assert "\n".join(printed.text for printed in composed(join_rows(lines))) == text
