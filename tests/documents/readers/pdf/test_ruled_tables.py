"""Tables with rules around their cells, in PDFs: what stands in a cell stays together, over lines and beside others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import reportlab.lib.styles
import reportlab.platypus

from localcrag.documents.readers.open_document import open_document
from localcrag.text.blocks import BlockKind, split_blocks
from tests.support.documents import A4

lab: Any = reportlab  # has no type hints
layout: Any = reportlab.platypus
BODY = lab.lib.styles.getSampleStyleSheet()["BodyText"]
GRID = ("GRID", (0, 0), (-1, -1), 0.5, "grey")
ABOVE = "The desk pays for the hotel of everybody who asks for it in due time."
PEOPLE = [
    ["Name", "Duty"],
    ["Ottilie Brandt", "Keeps the handbook, and answers whatever anybody asks about any of its rules"],
    ["Marek Sobol", "Books cars"],
]
FARES = [["Line", "Single", "Day"], ["Harbour – Old town", "2.40", "5.10"], ["Night bus", "4.00", "8.00"]]


def read(path: Path, rows: Sequence[Sequence[str]], *style: Any, widths: Sequence[float] | None = None) -> list[str]:
    """Return the lines of a page with a table drawn so, below a paragraph; cells wrap where there are widths."""
    cells = [[layout.Paragraph(cell, BODY) if widths else cell for cell in row] for row in rows]
    table = layout.Table(cells, style=layout.TableStyle(style), colWidths=widths)
    layout.SimpleDocTemplate(str(path / "a.pdf"), pagesize=A4).build([layout.Paragraph(ABOVE, BODY), table])
    (page,) = open_document(path / "a.pdf", "a.pdf").pages
    return [line for line in page.text.split("\n") if line]


def test_a_cell_of_several_lines_stays_one(tmp_path: Path) -> None:
    lines = read(tmp_path, PEOPLE, GRID, widths=[90, 130])
    assert lines == [
        ABOVE,
        "| Name | Duty |",
        f"| Ottilie Brandt | {PEOPLE[1][1]} |",
        "| Marek Sobol | Books cars |",
    ]
    kinds = [block.kind for block in split_blocks("\n".join(lines))]
    assert kinds.count(BlockKind.ROW) + kinds.count(BlockKind.HEADER) == 3


def test_a_label_that_nearly_reaches_the_next_column_is_a_cell(tmp_path: Path) -> None:
    assert read(tmp_path, FARES, GRID)[1:] == [
        "| Line | Single | Day |",
        "| Harbour – Old town | 2.40 | 5.10 |",
        "| Night bus | 4.00 | 8.00 |",
    ]


def test_open_sides_and_boxes_for_rules_make_a_table_too(tmp_path: Path) -> None:
    inner = [("INNERGRID", (0, 0), (-1, -1), 0.5, "grey")]
    assert read(tmp_path, FARES, *inner)[2] == "| Harbour – Old town | 2.40 | 5.10 |"
    boxes = [("BACKGROUND", (n, m), (n, m), "lightgrey") for n in range(3) for m in range(3)]
    assert read(tmp_path, FARES, *boxes)[2] == "| Harbour – Old town | 2.40 | 5.10 |"


def test_what_reaches_over_rows_is_said_in_each_and_over_columns_in_the_first(tmp_path: Path) -> None:
    rows = [["Fares", "", "2027"], ["Bus", "Single", "2.40"], ["", "Day", "5.10"]]
    spans = [("SPAN", (0, 0), (1, 0)), ("SPAN", (0, 1), (0, 2))]
    assert read(tmp_path, rows, GRID, *spans, widths=[80, 80, 80])[1:] == [
        "| Fares | | 2027 |",
        "| Bus | Single | 2.40 |",
        "| Bus | Day | 5.10 |",
    ]


@pytest.mark.parametrize(
    ("rows", "style"),
    [
        pytest.param([["In short"], ["The desk pays."]], [GRID], id="a box around texts"),
        pytest.param(
            [["A longer text " * 30, "Another one, beside it " * 30], ["And below it " * 40, "more of that " * 40]],
            [GRID], id="a page laid out in boxes",
        ),
        pytest.param(
            [["Line", "Single", "Day"], *([f"Stop {n}", f"{n}.10", f"{n}.90"] for n in range(1, 9))],
            [("BACKGROUND", (0, n), (-1, n), "lightgrey") for n in range(1, 9, 2)], id="shades behind every second row",
        ),
    ],
)  # fmt: skip
def test_boxes_and_shades_are_no_table_by_themselves(tmp_path: Path, rows: list[list[str]], style: list[Any]) -> None:
    lines = read(tmp_path, rows, *style, widths=[200.0] * len(rows[0]))
    assert not [line for line in lines if line.startswith("|")]


def test_a_table_of_many_cells_loses_none(tmp_path: Path) -> None:
    many = [[f"{row * column % 7}" for column in range(12)] for row in range(30)]
    assert read(tmp_path, many, GRID)[1:] == [f"| {' | '.join(row)} |" for row in many]
