"""Names of files within another file: whatever they are, they stay within it and show as they are."""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath

LONGEST = 200
"""Characters of a name, its folders counted in."""
UNNAMED = "unnamed"
_SEPARATORS = re.compile(r"[/\\]+")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters that do not show, or turn the others round."""


def within(said: str) -> PurePosixPath:
    """Return a path that stays within its file, of what that calls it."""
    parts = (_shown(part) for part in _SEPARATORS.split(said))
    return PurePosixPath(
        "/".join(part for part in parts if part not in {"", ".", ".."})[-LONGEST:].lstrip("/") or UNNAMED
    )


def _shown(part: str) -> str:
    return "".join(one for one in part if unicodedata.category(one) not in _UNSEEN).strip()
