"""Names of files within another file: whatever they are, they stay within it and show as they are."""

from __future__ import annotations

import re
import unicodedata
from itertools import chain, count
from pathlib import PurePosixPath

LONGEST = 200
"""Characters of a name, its folders counted in."""
UNNAMED = "unnamed"
_SEPARATORS = re.compile(r"[/\\]+")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters that do not show, or turn the others round."""


class Names:
    """The names of the members of one file: each is another's."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, said: str) -> str:
        """Return the name of a member that its file calls `said`: a path that stays within, once."""
        name = PurePosixPath(within(said))
        numbered = (str(name.with_stem(f"{name.stem} ({number})")) for number in count(2))
        own = next(one for one in chain([str(name)], numbered) if one not in self._taken)
        self._taken.add(own)
        return own


def within(said: str) -> str:
    """Return a path that stays within its file, of what that calls it."""
    parts = (_shown(part) for part in _SEPARATORS.split(said))
    return "/".join(part for part in parts if part not in {"", ".", ".."})[-LONGEST:].lstrip("/") or UNNAMED


def _shown(part: str) -> str:
    return "".join(one for one in part if unicodedata.category(one) not in _UNSEEN).strip()
