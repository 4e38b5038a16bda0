"""Write docs/licences.md, the licences of all packages that are installed with localcrag.

The packages are those of scripts/lock/run.txt; their licences come from the metadata of the installed packages.
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
# torch is not in the lock (scripts/lock.py says why).
APART = ("torch",)
LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==\S+(?: ; ([^\\\n]+?))?(?: \\)?$", re.MULTILINE)
"""Line of a lock file: the package, and the environment marker, if any."""
COPYLEFT = re.compile(r"\b(A?GPL|GNU (Affero )?General Public)", re.IGNORECASE)
LESSER = re.compile(r"\bLGPL|GNU Lesser", re.IGNORECASE)
LONGEST = 100
"""Most characters of a licence's name; some packages give the whole text, whose first line is the name."""
KNOWN = {"hnswlib": "Apache-2.0"}
"""Licences of packages whose metadata names none, taken from their licence files."""


class Licence(NamedTuple):
    """A package, its version and its licence."""

    package: str
    version: str
    licence: str

    @property
    def is_copyleft(self) -> bool:
        """Return whether the licence would extend to the whole program: GPL or AGPL, but not LGPL."""
        return bool(COPYLEFT.search(LESSER.sub("", self.licence)))


def locked(lock: Path = LOCK) -> list[str]:
    """Return the names of the locked packages whose markers fit this Python and system, and of those in APART."""
    named = LOCKED.findall(lock.read_text("utf-8"))
    return sorted({*(name for name, marker in named if not marker or Marker(marker).evaluate()), *APART})


def licences() -> Iterator[Licence]:
    """Yield the licence of every locked package that this system installs."""
    for name in locked():
        try:
            about = metadata(name)
        except PackageNotFoundError:
            continue  # The package is for another system.
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
    """Return the text of docs/licences.md."""
    rows = "\n".join(f"| {one.package} | {one.version} | {one.licence} |" for one in found)
    return (
        "# Licences of what is installed\n\n"
        "Made by `python scripts/licences.py` from the installed packages of `scripts/lock/run.txt`; "
        "`tests/scripts/test_supply_chain.py` fails when one is AGPL or GPL, or says nothing. "
        f"Packages for other systems are left out.\n\n| package | version | licence |\n| --- | --- | --- |\n{rows}\n"
    )


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(list(licences())), "utf-8")
    print(f"{PAGE.relative_to(ROOT)} is written.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
