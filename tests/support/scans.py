"""Scans: text printed onto pictures, as pages of a PDF, photos and faxes have it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from PIL import Image, ImageDraw, ImageFont

from tests.support.documents import A4, lab

FONT = Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSerif.ttf"
SIZE, LEADING, MARGIN = 34, 58, 120
"""Pixels, at about 150 dots an inch."""
PAPER = (1240, 1754)

LEASE = (
    "Rental agreement",
    "The flat in Quay Street 12 is let from 1 March.",
    "The deposit is 2,070 euros, three months' rent.",
    "Pets need the written consent of the landlord.",
)
TABLE = ((("Article", 0), ("Price", 420), ("Weight", 720)), (("Rope light", 0), ("79 euros", 420), ("1.2 kg", 720)))
RUSSIAN = ("Арендатор платит до третьего дня.", "Залог составляет три месячные платы.")


def picture(lines: Sequence[str], *, size: tuple[int, int] = PAPER, turn: float = 0) -> Image.Image:
    """Return lines of text as they look on paper, turned counter-clockwise by so many degrees."""
    paper = Image.new("RGB", size, "white")
    draw, font = ImageDraw.Draw(paper), ImageFont.truetype(FONT, SIZE)
    for number, line in enumerate(lines):
        draw.text((MARGIN, MARGIN + LEADING * number), line, font=font, fill="black")
    return paper.rotate(turn, expand=True, fillcolor="white")


def table(rows: Sequence[Sequence[tuple[str, int]]] = TABLE) -> Image.Image:
    """Return the rows of a table, each cell with its distance from the left."""
    paper = Image.new("RGB", PAPER, "white")
    draw, font = ImageDraw.Draw(paper), ImageFont.truetype(FONT, SIZE)
    for number, row in enumerate(rows):
        for cell, left in row:
            draw.text((MARGIN + left, MARGIN + LEADING * number), cell, font=font, fill="black")
    return paper


def png(image: Image.Image) -> bytes:
    """Return a picture as a PNG file."""
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def make_scan(path: Path, *pages: Image.Image | str) -> Path:
    """Write a PDF whose pages are pictures; one that is a text is a page as a program prints it."""
    canvas = lab.pdfgen.canvas.Canvas(str(path), pagesize=A4)
    for page in pages:
        if isinstance(page, str):
            canvas.drawString(72, A4[1] - 100, page)
        else:
            canvas.drawInlineImage(page, 0, 0, *A4)
        canvas.showPage()
    canvas.save()
    return path
