"""Measure text recognition: errors on pages of known text, confidence, and seconds a page.

    .venv/bin/python scripts/lab/measuring/measure_ocr.py
        printed text of decreasing quality; letters of other scripts
    .venv/bin/python scripts/lab/measuring/measure_ocr.py FILE [FILE …]
        the scanned pages of these files: seconds, confidence

The script prints a table. Recognised text is compared letter by letter. The app refuses pages with low confidence or
low certainty, which also counts regions that looked like a line of text but were not (localcrag/documents/scans.py).
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from localcrag.app.collections.collections import SCAN_DPI  # noqa: E402
from localcrag.documents.ocr.worker import OcrEngine  # noqa: E402
from localcrag.documents.readers.open_document import open_document  # noqa: E402
from localcrag.documents.readers.pdf.reader import picture  # noqa: E402
from localcrag.documents.readers.pdf.scanned import rows_in_order  # noqa: E402
from localcrag.records.documents import ScannedPage  # noqa: E402

FONT = Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
LEASE = (
    "Rental agreement for the flat at Quay Street 12",
    "The tenant pays the rent by the third working day of the month.",
    "A deposit of three months' rent, 2,070 euros, is due on signing.",
    "Keys: 2 for the house, 1 for the cellar, 1 for the letter box.",
    "Noise is to be kept down from 22:00 to 6:00 and on Sundays.",
)
LANGUAGES = {
    "German": ("Der Mieter zahlt die Miete bis zum dritten Werktag.", "Straße, Höhe, Gebühr: 1.234,50 €"),
    "Polish": ("Najemca płaci czynsz do trzeciego dnia roboczego.", "Zwierzęta wymagają pisemnej zgody."),
    "Turkish": ("Kiracı kirayı üçüncü iş gününe kadar öder.", "Depozito üç aylık kira bedelidir."),
    "Russian": ("Арендатор платит до третьего дня.", "Залог составляет три месячные платы."),
    "Greek": ("Ο ενοικιαστής πληρώνει το ενοίκιο έως την τρίτη.", "Η εγγύηση είναι τρία μηνιαία ενοίκια."),
    "Hebrew": ("השוכר משלם את שכר הדירה עד היום השלישי", "הפיקדון הוא שלושה חודשי שכירות"),
    "Armenian": ("Վարձակալը վճարում է վարձը մինչև երրորդ օրը", "Գրավը երեք ամսվա վարձն է"),
    "Georgian": ("მოიჯარე იხდის ქირას მესამე დღემდე", "დეპოზიტი სამი თვის ქირაა"),
}


class Scan(NamedTuple):
    """Quality of a scan: dots per inch, blur in pixels, noise in steps of 255, contrast, rotation in degrees."""

    dpi: int = 200
    blur: float = 0
    noise: float = 0
    contrast: float = 1
    askew: float = 0

    def of(self, lines: Sequence[str]) -> bytes:
        """Return a page with these lines as a PNG file."""
        paper = Image.new("L", (1654, 200 + 60 * len(lines)), 255)
        draw, font = ImageDraw.Draw(paper), ImageFont.truetype(FONT, 31)
        for number, line in enumerate(lines):
            draw.text((150, 100 + 60 * number), line, font=font, fill=round(255 * (1 - self.contrast)))
        paper = paper.rotate(self.askew, fillcolor=255, resample=Image.Resampling.BICUBIC)
        share = self.dpi / 200
        paper = paper.resize((round(paper.width * share), round(paper.height * share)), Image.Resampling.LANCZOS)
        paper = paper.filter(ImageFilter.GaussianBlur(self.blur * share))
        grain = np.random.default_rng(1).normal(0, self.noise, (paper.height, paper.width))
        file = io.BytesIO()
        Image.fromarray((np.asarray(paper) + grain).clip(0, 255).astype(np.uint8)).convert("RGB").save(file, "PNG")
        return file.getvalue()


SCANS = {
    "as printed": Scan(),
    "100 dots an inch": Scan(dpi=100),
    "60 dots an inch": Scan(dpi=60),
    "3 degrees askew": Scan(askew=3),
    "blurred by 3 pixels": Scan(blur=3),
    "blurred by 5 pixels": Scan(blur=5),
    "pale (contrast 0.15), grainy": Scan(noise=20, contrast=0.15),
    "very grainy": Scan(noise=60),
    "as good as covered by grain": Scan(noise=120),
    "photographed badly": Scan(dpi=100, blur=2, noise=40),
}


def read(engine: OcrEngine, data: bytes) -> tuple[ScannedPage, float]:
    """Return the recognised page and the seconds that it took."""
    start = time.perf_counter()
    return engine.read(data), time.perf_counter() - start


def said(confidence: float | None) -> str:
    """Return a confidence as text."""
    return "–" if confidence is None else f"{confidence:.2f}"


def compare(engine: OcrEngine) -> None:
    """Print a row for each quality of scan and for each language."""
    print("| page | letters read | confidence | certainty |\n| --- | --: | --: | --: |")
    cases: list[tuple[str, Sequence[str], Scan]] = [(name, LEASE, scan) for name, scan in SCANS.items()]
    cases += [(name, lines, Scan()) for name, lines in LANGUAGES.items()]
    for name, lines, scan in cases:
        page, _ = read(engine, scan.of(lines))
        text, wanted = "\n".join(row[0].text for row in rows_in_order(page.lines)), "\n".join(lines)
        blocks = SequenceMatcher(None, wanted, text, autojunk=False).get_matching_blocks()
        share = sum(block.size for block in blocks) / len(wanted)
        print(f"| {name} | {share:.2f} | {said(page.confidence)} | {said(page.certainty)} |")


def files(engine: OcrEngine, paths: Sequence[Path]) -> None:
    """Print a row for each scanned page in these files."""
    print("| page | lines | confidence | seconds |\n| --- | --: | --: | --: |")
    for path in paths:
        for page in open_document(path, path.name).pages:
            if page.unread:
                drawn = picture(path.read_bytes(), path.name, page.number or 1, dpi=SCAN_DPI)
                found, seconds = read(engine, drawn.png)
                where = f"{path.name}, page {page.number}"
                print(f"| {where} | {len(found.lines)} | {said(found.confidence)} | {seconds:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="files with scanned pages")
    given: list[Path] = parser.parse_args().files
    if given:
        files(OcrEngine(0), given)
    else:
        compare(OcrEngine(0))


if __name__ == "__main__":
    main()
