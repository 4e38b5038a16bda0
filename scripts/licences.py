"""Write docs/licences.md, the licences of everything installed with localcrag.

The set is that of scripts/lock/run.txt; what each package says of itself is read from its installed metadata.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from pathlib import Path
from typing import NamedTuple

from packaging.markers import Marker

ROOT = Path(__file__).resolve().parent.parent
LOCK, PAGE = ROOT / "scripts" / "lock" / "run.txt", ROOT / "docs" / "licences.md"
# torch is installed apart from the lock (scripts/lock.py).
APART = ("torch",)
LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==\S+(?: ; ([^\\\n]+?))?(?: \\)?$", re.MULTILINE)
"""A line of a lock: the package, and the marker of where it is installed."""
COPYLEFT = re.compile(r"\b(A?GPL|GNU (Affero )?General Public)", re.IGNORECASE)
LESSER = re.compile(r"\bLGPL|GNU Lesser", re.IGNORECASE)
LONGEST = 100
"""Characters; what is longer is a licence's whole text, of which the first line says which it is."""
KNOWN = {"hnswlib": "Apache-2.0"}
"""The licences of packages whose metadata names none, from their licence files."""


class Licence(NamedTuple):
    """A package, its version and what it is licensed under."""

    package: str
    version: str
    licence: str

    @property
    def is_copyleft(self) -> bool:
        """Whether it asks the whole program to be licensed like itself."""
        return bool(COPYLEFT.search(LESSER.sub("", self.licence)))


def locked(lock: Path = LOCK) -> list[str]:
    """Return the names of the packages that are locked for this Python and system."""
    named = LOCKED.findall(lock.read_text("utf-8"))
    return sorted({*(name for name, marker in named if not marker or Marker(marker).evaluate()), *APART})


def licences() -> Iterator[Licence]:
    """Yield the licence of every locked package that this system installs."""
    for name in locked():
        try:
            about = metadata(name)
        except PackageNotFoundError:
            continue  # For another system.
        yield Licence(name, about["Version"], KNOWN.get(name) or _said(about))


def _said(about: PackageMetadata) -> str:
    if "License-Expression" in about:
        return str(about["License-Expression"])
    classifiers = [
        one.rpartition(" :: ")[2] for one in about.get_all("Classifier") or () if one.startswith("License ::")
    ]
    named = [one for one in classifiers if one != "OSI Approved"]
    text = str((about.get_all("License") or [""])[0]).strip()
    return " and ".join(named) or text.partition("\n")[0][:LONGEST] or "not said"


def page(found: list[Licence]) -> str:
    """Return docs/licences.md."""
    rows = "\n".join(f"| {one.package} | {one.version} | {one.licence} |" for one in found)
    return (
        "# Licences of what is installed\n\n"
        "Made by `python scripts/licences.py` from the installed packages of `scripts/lock/run.txt`; "
        "`tests/process/test_supply.py` fails when one is AGPL or GPL, or says nothing. Packages for other systems are "
        f"left out.\n\n| package | version | licence |\n| --- | --- | --- |\n{rows}\n"
    )


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(list(licences())), "utf-8")
    print(f"{PAGE.relative_to(ROOT)} is written.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
