"""Paths of files that a person gave."""

from __future__ import annotations

from pathlib import PurePath


def is_hidden(path: PurePath) -> bool:
    """Return whether a path, or a folder on the way to it, is hidden: its name begins with a dot."""
    return any(part.startswith(".") for part in path.parts)
