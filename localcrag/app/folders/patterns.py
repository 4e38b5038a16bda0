"""Patterns that say which files of a folder are followed, as the shell's: *, ? and [abc].

A pattern with a “/” is compared with the path within the folder, one without with every name on the way: “*.pdf” is
every PDF file, “drafts” all that lies in a folder of that name, “2024/*” all that lies in the folder 2024. A “*” stands
for a “/” as well, and capitals count as small letters.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence


class Patterns:
    """What is followed: all that one of `include` fits, or everything without any, but for what `exclude` fits."""

    def __init__(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        self._include, self._exclude = [*map(_Pattern, include)], [*map(_Pattern, exclude)]

    def wants(self, path: str) -> bool:
        """Return whether a file is followed, by its path within the folder."""
        return (not self._include or any(one.fits(path) for one in self._include)) and not self.leaves_out(path)

    def leaves_out(self, path: str) -> bool:
        """Return whether a file or folder, with all that lies in it, is not followed."""
        return any(one.fits(path) for one in self._exclude)


class _Pattern:
    def __init__(self, text: str) -> None:
        text = text.removeprefix("./").rstrip("/")
        self._whole = "/" in text
        self._fits = re.compile(fnmatch.translate(text.lstrip("/")), re.IGNORECASE).match

    def fits(self, path: str) -> bool:
        parts = path.split("/")
        if not self._whole:
            return any(self._fits(part) for part in parts)
        return any(self._fits("/".join(parts[:number])) for number in range(1, len(parts) + 1))
