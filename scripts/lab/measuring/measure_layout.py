"""Measure the reading order and the tables that the PDF reader finds, on PDFs that this script makes.

    .venv/bin/python scripts/lab/measuring/measure_layout.py [--show]

The script makes the pages from the sentences of the tests' handbook, so the true layout is known. Order: 1 minus the
normalised indel distance, 2·LCS / (read + true), as in opendataloader-bench, but over words instead of characters.
Tables: TEDS (Zhong et al. 2020), 1 minus the edit distance of the trees of table, rows and cells, divided by the larger
tree's size. Whole rows are matched in order, so the figure can only be too low. --show prints the text read. Seconds
are the time of a reader process for a page, without its start.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import reportlab.lib.styles
import reportlab.lib.units
import reportlab.platypus

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from localcrag.documents.readers.process import ReaderProcesses  # noqa: E402
from localcrag.text.blocks import BlockKind, split_blocks, split_cells  # noqa: E402
from tests.support.documents import A4, handbook_pages  # noqa: E402

lab: Any = reportlab  # has no type hints
layout: Any = reportlab.platypus
STYLES = lab.lib.styles.getSampleStyleSheet()
BODY = lab.lib.styles.ParagraphStyle("body", STYLES["BodyText"], fontSize=10, leading=13, spaceAfter=7)
SMALL = lab.lib.styles.ParagraphStyle("small", BODY, fontSize=8, leading=10)
RULED = layout.TableStyle([("GRID", (0, 0), (-1, -1), 0.5, "grey"), ("BACKGROUND", (0, 0), (-1, 0), "lightgrey")])
PLAIN = layout.TableStyle([("LINEBELOW", (0, 0), (-1, 0), 0.7, "black")])
BARE = layout.TableStyle([])
BOXED = layout.TableStyle([("VALIGN", (0, 0), (-1, -1), "TOP"), ("BOX", (1, 0), (1, 0), 0.7, "grey")])
MARGIN, GAP = 56.0, 18.0
"""Page margin and gap between columns in points."""
Rows = Sequence[Sequence[str]]
FARES = [
    ["Line", "Single", "Day", "Week"],
    ["Harbour – Old town", "2.40", "5.10", "19.00"],
    ["Harbour – Airport", "6.80", "12.50", "44.00"],
    ["Old town – Mill Lane", "1.90", "4.20", "15.50"],
    ["Mill Lane – Quarry", "3.10", "6.40", "23.00"],
    ["Night bus", "4.00", "–", "–"],
]
PEOPLE = [
    ["Name", "Duty", "Room"],
    ["Ottilie Brandt", "Keeps the handbook and answers questions about it", "214"],
    ["Marek Sobol", "Books cars, trains and rooms for journeys of more than two days", "119"],
    ["Ines Calder", "Checks claims", "120"],
]


@dataclass(frozen=True)
class Made:
    """A document: what to draw, the number of columns, and its true content in reading order, with tables as rows."""

    name: str
    drawn: Sequence[Any]
    truth: Sequence[str | Rows]
    columns: int = 1
    turned: int = 0
    running: bool = False


def sentences() -> list[str]:
    """Return the paragraphs of the tests' handbook, without headings and tables."""
    blocks = (block for page in handbook_pages() for block in page.split("\n\n"))
    return [block for block in blocks if block and not block.startswith(("#", "|", "-"))]


PROSE = sentences()


def prose(start: int, number: int) -> list[str]:
    """Return `number` paragraphs of the handbook, from `start` on."""
    return PROSE[start : start + number]


def paragraphs(texts: Sequence[str], style: Any = BODY) -> list[Any]:
    """Return drawable paragraphs."""
    return [layout.Paragraph(text, style) for text in texts]


def heading(text: str, level: int = 2) -> Any:
    """Return a drawable heading."""
    return layout.Paragraph(text, STYLES[f"Heading{level}"])


def table(rows: Rows, style: Any, *, repeats: int = 0, widths: Sequence[float] | None = None) -> Any:
    """Return a drawable table; long cells wrap if there are `widths`."""
    cells = [[layout.Paragraph(cell, BODY) if widths else cell for cell in row] for row in rows]
    return layout.Table(cells, style=style, repeatRows=repeats, colWidths=widths, hAlign="LEFT", spaceAfter=10)


def documents() -> list[Made]:
    """Return the documents, one for each kind of layout."""
    long = [FARES[0], *([f"Stop {n}", f"{n}.10", f"{n + 3}.20", f"{n * 4}.00"] for n in range(1, 61))]
    items = prose(20, 5)
    numbered = layout.ListFlowable(paragraphs(items), bulletType="1")
    side = layout.Table(
        [[[*paragraphs(prose(6, 3))], [heading("In short", 3), *paragraphs(prose(9, 2), SMALL)]]],
        colWidths=[310, 160], style=BOXED,
    )  # fmt: skip
    first, second = prose(0, 4), prose(4, 4)
    across = [heading("A title over both columns", 1)]
    return [
        Made("one column", [heading("Journeys"), *paragraphs(first), heading("Claims"), *paragraphs(second)],
             ["Journeys", *first, "Claims", *second]),
        Made("running head and foot", [heading("Journeys"), *paragraphs(prose(0, 24))],
             ["Journeys", *prose(0, 24)], running=True),
        Made("two columns", [*across, *paragraphs(prose(0, 14))],
             ["A title over both columns", *prose(0, 14)], columns=2),
        Made("three columns", paragraphs(prose(14, 14), SMALL), prose(14, 14), columns=3),
        Made("box beside the text", [side], [*prose(6, 3), "In short", *prose(9, 2)]),
        Made("numbered list", [heading("Steps"), numbered], ["Steps", *items]),
        Made("turned by 90°", paragraphs(first), first, turned=90),
        Made("table with rules", [heading("Fares"), *paragraphs(prose(1, 2)), table(FARES, RULED)],
             ["Fares", *prose(1, 2), FARES]),
        Made("table with a ruled header", [heading("Fares"), table(FARES, PLAIN), *paragraphs(prose(3, 1))],
             ["Fares", FARES, *prose(3, 1)]),
        Made("table without rules", [heading("Fares"), table(FARES, BARE), *paragraphs(prose(3, 1))],
             ["Fares", FARES, *prose(3, 1)]),
        Made("table with long cells", [heading("People"), table(PEOPLE, RULED, widths=[110, 220, 60])],
             ["People", PEOPLE]),
        Made("table over two pages", [heading("Stops"), table(long, RULED, repeats=1)], ["Stops", long]),
        Made("table in a column", [*paragraphs(prose(0, 3)), table(FARES, RULED), *paragraphs(prose(3, 8))],
             [*prose(0, 3), FARES, *prose(3, 8)], columns=2),
    ]  # fmt: skip


def write(made: Made, path: Path) -> Path:
    """Write a document as a PDF."""
    width, height = A4
    top = 70.0 if made.columns > 1 and made.name == "two columns" else 0.0
    each = (width - 2 * MARGIN - (made.columns - 1) * GAP) / made.columns
    frames = [
        layout.Frame(MARGIN + n * (each + GAP), MARGIN, each, height - 2 * MARGIN - top, leftPadding=0, rightPadding=0)
        for n in range(made.columns)
    ]
    drawn = list(made.drawn)
    if top:
        title = layout.Frame(MARGIN, height - MARGIN - top, width - 2 * MARGIN, top, leftPadding=0, rightPadding=0)
        frames.insert(0, title)
        drawn.insert(1, layout.FrameBreak())

    def decorate(canvas: Any, document: Any) -> None:
        if made.turned:
            canvas.setPageRotation(made.turned)
        if made.running:
            canvas.drawString(MARGIN, height - 36, "Travel and Expense Handbook")
            canvas.drawRightString(width - MARGIN, 30, f"Page {document.page}")

    template = layout.BaseDocTemplate(str(path), pagesize=A4, leftMargin=MARGIN, rightMargin=MARGIN)
    template.addPageTemplates([layout.PageTemplate(frames=frames, onPage=decorate)])
    template.build(drawn)
    return path


def words(parts: Sequence[str | Rows]) -> list[str]:
    """Return the words of the parts in order; tables row by row."""
    texts = (part if isinstance(part, str) else " ".join(cell for row in part for cell in row) for part in parts)
    return [word for text in texts for word in re.findall(r"\w+", text)]


def order(read: Sequence[str], true: Sequence[str]) -> float:
    """Return 2·LCS / (len(read) + len(true)), which is 1 if nothing must be inserted or removed."""
    row = [0] * (len(true) + 1)
    for word in read:
        above = 0
        for n, other in enumerate(true, start=1):
            above, row[n] = row[n], above + 1 if word == other else max(row[n], row[n - 1])
    return 2 * row[-1] / ((len(read) + len(true)) or 1)


def teds(read: Rows, true: Rows) -> float:
    """Return the TEDS similarity of two tables, as described in the module's docstring."""
    size = max(sum(1 + len(row) for row in rows) + 1 for rows in (read, true))

    def distance(first: Sequence[Any], second: Sequence[Any], costs: Callable[[Any, Any], float], alone: Any) -> float:
        row = [0.0]
        for other in second:
            row.append(row[-1] + alone(other))
        for one in first:
            before, row[0] = row[0], row[0] + alone(one)
            for n, other in enumerate(second, start=1):
                best = min(row[n] + alone(one), row[n - 1] + alone(other), before + costs(one, other))
                before, row[n] = row[n], best
        return row[-1]

    def cells(first: str, second: str) -> float:
        longest = max(len(first), len(second)) or 1
        return distance(first, second, lambda a, b: float(a != b), lambda _: 1.0) / longest

    def rows(first: Sequence[str], second: Sequence[str]) -> float:
        return distance(first, second, cells, lambda _: 1.0)

    return 1 - distance(read, true, rows, lambda row: 1.0 + len(row)) / size


def tables_of(text: str) -> Iterator[Rows]:
    """Yield the tables in a text as localcrag recognises them: rows of cells, including the header."""
    kinds = (BlockKind.HEADER, BlockKind.ROW)
    for is_table, blocks in groupby(split_blocks(text), key=lambda block: block.kind in kinds):
        if is_table:
            lines = [text[block.start : block.end].split("\n", 1)[0] for block in blocks]
            yield [[cell.strip() for cell in split_cells(line, header=lines[0])] for line in lines]


def main() -> None:
    """Make the documents, read them and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print what was read")
    show = parser.parse_args().show
    print("| layout | order (1 − NID) | table (TEDS) | seconds a page |\n| --- | --: | --: | --: |")
    with tempfile.TemporaryDirectory() as folder, closing(ReaderProcesses()) as readers:
        list(readers.open_document(write(documents()[0], Path(folder) / "first.pdf"), "first.pdf").pages)
        for number, made in enumerate(documents()):
            path = write(made, Path(folder) / f"{number}.pdf")
            started = time.perf_counter()
            pages = list(readers.open_document(path, path.name).pages)
            seconds = (time.perf_counter() - started) / len(pages)
            text = "\n\f".join(page.text for page in pages)
            if show:
                print(f"\n--- {made.name}\n{text}\n")
            true = [part for part in made.truth if not isinstance(part, str)]
            found = [list(row) for page in pages for table in tables_of(page.text) for row in table]
            if made.name == "table over two pages":  # The header is repeated on each page.
                found = [row for n, row in enumerate(found) if n == 0 or row != found[0]]
            alike = f"{teds(found, true[0]):.3f}" if true else "–"
            print(f"| {made.name} | {order(words([text]), words(made.truth)):.3f} | {alike} | {seconds:.2f} |")


if __name__ == "__main__":
    main()
