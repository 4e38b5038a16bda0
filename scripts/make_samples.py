"""Write the Word and PDF documents of the sample collection from the texts in scripts/samples/*.md.

    .venv/bin/python scripts/make_samples.py

The other documents in localcrag/app/samples/documents are not generated. A text begins with the document's `date` and
`form` (docx or pdf) between lines of dashes, followed by its title with “# ”. Empty lines separate paragraphs, headings
with “## ” and tables. The same text gives the same bytes with the same versions of the libraries.
"""

from __future__ import annotations

import re
import sys
from datetime import date
from pathlib import Path

from lab.evaluation_sets.files import CannotWrite, write_document
from lab.evaluation_sets.texts import Document

from localcrag.app import samples
from localcrag.records.evaluation_set import DOCUMENTS

ROOT = Path(__file__).resolve().parent.parent


TEXTS = ROOT / "scripts" / "samples"
_TEXT = re.compile(
    r"---\ndate: (?P<date>\S+)\nform: (?P<form>docx|pdf)\n---\n\n# (?P<title>[^\n]+)\n\n(?P<body>.+)", re.DOTALL
)


def read_text(path: Path) -> tuple[Document, str]:
    """Return the document in a text file and its form. Raises ValueError."""
    found = _TEXT.fullmatch(path.read_text("utf-8"))
    if not found:
        raise ValueError(f"{path} does not begin with date, form and title, as scripts/make_samples.py wants them.")
    paragraphs = tuple(filter(None, map(str.strip, found["body"].split("\n\n"))))
    return Document(path.stem, found["title"], paragraphs, date.fromisoformat(found["date"])), found["form"]


def main() -> int:
    folder = samples.FOLDER / DOCUMENTS
    try:
        for path in sorted(TEXTS.glob("*.md")):
            document, form = read_text(path)
            name = write_document(folder, document, form)
            if not name.endswith(form):
                raise ValueError(f"{path} has letters that the fonts of a {form} lack. Write it without these.")
            print(f"{folder / name}: {(folder / name).stat().st_size:,} bytes")
    except (CannotWrite, ValueError, OSError) as error:
        print(f"make_samples: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
