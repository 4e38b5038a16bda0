"""Paths of files that a person gave, and names that no other one has."""

from __future__ import annotations

import unicodedata
from pathlib import PurePath, PurePosixPath

from localcrag.text.words import valid

REPLACED = "\ufffd"
"""Stands in a name for what does not show."""
_UNSEEN = frozenset({"Cc", "Zl", "Zp"})
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Unicode's controls of direction: with them, “evil\u202etxt.exe” reads as if it ended in .txt."""


def is_hidden(path: PurePath) -> bool:
    """Return whether a path, or a folder on the way to it, is hidden: its name begins with a dot."""
    return any(part.startswith(".") for part in path.parts)


def shown(name: str) -> str:
    """Return a name with “�” for what does not show, breaks lines, or turns the letters behind it round."""
    if name.isascii() and name.isprintable():
        return name  # As most are: a folder may hold a hundred thousand.
    return "".join(REPLACED if _does_not_show(one) else one for one in valid(name))


def _does_not_show(character: str) -> bool:
    return unicodedata.category(character) in _UNSEEN or character in _TURNING


class Names:
    """Names of files, each given once: where one is taken already, it gets a number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, path: PurePosixPath) -> str:
        """Return the path, or the first of it with a number behind its stem that is free."""
        name = own = str(path)
        # All numbers up to the last one that it got are taken: a file may hold thousands of one name.
        number = self._numbers.get(name, 1)
        while own in self._numbers:
            number += 1
            own = str(path.with_stem(f"{path.stem} ({number})"))
        self._numbers[name] = number
        self._numbers.setdefault(own, 1)
        return own
