"""What docs/reference/data-inventory.md names, and what lies in a data folder without being named there."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "data-inventory.md").read_text("utf-8")
NAMED = re.compile(r"`([^`]+)`")


def named(heading: str) -> list[str]:
    """Return the names in the first column of the table under a heading."""
    section = DOCUMENT.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return [name.rstrip("/") for row in rows for name in NAMED.findall(row)]


def rows_of(heading: str) -> list[list[str]]:
    """Return the cells of the rows, of the table under a heading, that begin with a name."""
    section = DOCUMENT.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:3] == "| `"]


def unnamed(data: Path) -> list[str]:
    """Return what lies in a data folder and is not named."""
    known = named("Files in the data folder")
    return [path.name for path in data.iterdir() if not any(fnmatch(path.name, name) for name in known)]
