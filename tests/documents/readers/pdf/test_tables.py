"""Tables of printed pages: which column a cell is of, by its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcrag.documents.readers.open_document import open_document
from localcrag.text.blocks import BlockKind, split_blocks
from tests.support import documents

PROSE = "The desk pays for the hotel of everybody who asks for it in due time, and checks every claim"


def read(path: Path, *lines: str) -> list[str]:
    """Return the lines of a page of these lines; a tabulator goes to the next column."""
    made = documents.make_typed_pdf(path / "a.pdf", [[PROSE, "", *lines, "", PROSE]])
    (page,) = open_document(made, "a.pdf").pages
    assert not [block for block in split_blocks(page.text, page.headings) if block.kind is BlockKind.HEADING]
    return [line for line in page.text.split("\n") if line and line != PROSE]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ["Room\tFee\tVAT", "Single\t80\t15", "Attic\t\t3", "Shed\t5", "Double\t110\t21"],
            ["| Room | Fee | VAT |", "| Single | 80 | 15 |", "| Attic | | 3 |", "| Shed | 5 | |",
             "| Double | 110 | 21 |"],
            id="empty cells keep their columns",
        ),
        pytest.param(
            ["\t2023\t2022", "Sales\t1,815\t1,058", "Costs\t625\t586"],
            ["| | 2023 | 2022 |", "| Sales | 1,815 | 1,058 |", "| Costs | 625 | 586 |"],
            id="years above columns of figures",
        ),
        pytest.param(
            ["\tMarch\tJune", "\t2023\t2022", "Sales\t1,815\t1,058", "Costs\t625\t586"],
            ["| | March 2023 | June 2022 |", "| Sales | 1,815 | 1,058 |", "| Costs | 625 | 586 |"],
            id="a header of two lines",
        ),
        pytest.param(
            ["In euros\t2023\t2022", "Sales\t1,815\t1,058", "Costs abroad:", "Hotels\t25\t86", "Ferries, buses and all",
             "other fares\t7\t9"],
            ["| In euros | 2023 | 2022 |", "| Sales | 1,815 | 1,058 |", "| Costs abroad: | | |", "| Hotels | 25 | 86 |",
             "| Ferries, buses and all other fares | 7 | 9 |"],
            id="a group's name, and a label over two lines",
        ),
        pytest.param(
            ["\t2023\t2022", "Ferries, buses and all", "other fares\t7\t9", "Hotels\t25\t86"],
            ["| | 2023 | 2022 |", "| Ferries, buses and all other fares | 7 | 9 |", "| Hotels | 25 | 86 |"],
            id="a first label over two lines",
        ),
        pytest.param(
            ["E3\tWarm it, and", "\tplug it in", "FL\tEmpty it until it", "\tclicks"],
            ["| E3 | Warm it, and plug it in |", "| FL | Empty it until it clicks |"],
            id="cells of two lines",
        ),
        pytest.param(
            ["Room\tFee", "Single | double\t80", "Attic\t30", "Shed"],
            ["Room  Fee", "Single | double  80", "Attic  30", "Shed"],
            id="a line below is no row",
        ),
        pytest.param(
            ["Room\tFee", "Single | double\t80", "Closed:", "Attic\t30"],
            ["| Room | Fee |", r"| Single \| double | 80 |", "| Closed: | |", "| Attic | 30 |"],
            id="a bar within a cell",
        ),
        pytest.param(
            ["Room\tFee", "Single\t80", "Attic\t30"], ["Room  Fee", "Single  80", "Attic  30"], id="no cell is missing"
        ),
        pytest.param(
            ["Sales\t$\t1,815", "Costs\t$\t625"], ["Sales  $ 1,815", "Costs  $ 625"], id="signs of currencies",
        ),
    ],
)  # fmt: skip
def test_a_cell_stands_in_its_column(tmp_path: Path, lines: list[str], expected: list[str]) -> None:
    assert read(tmp_path, *lines) == expected


def test_what_stands_over_several_columns_is_said_in_each(tmp_path: Path) -> None:
    lines = [
        (296.0, 726.0, "Years ended June 30,"),
        *((x, 714.0, year) for x, year in ((300.0, "2023"), (360.0, "2022"), (420.0, "2021"))),
        (72.0, 700.0, "Sales"), (300.0, 700.0, "1,24"), (360.0, 700.0, "1,35"), (420.0, 700.0, "1,68"),
        (72.0, 686.0, "Costs"), (300.0, 686.0, "0,24"), (360.0, 686.0, "0,35"), (420.0, 686.0, "0,68"),
    ]  # fmt: skip
    path = documents.make_lines_pdf(tmp_path / "a.pdf", lines)
    (page,) = open_document(path, "a.pdf").pages
    ended = "Years ended June 30,"
    assert page.text.split("\n")[0] == f"| | {ended} 2023 | {ended} 2022 | {ended} 2021 |"
