"""Files that a request may name: those that were uploaded.

The page gives no files out (pictures and exports come as text), so there is no address that serves any.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def all_uploaded(said: Any, uploads: Path) -> bool:
    """Return whether every file that is named in what a request says lies in the folder of uploads."""
    if isinstance(said, dict):
        if isinstance(path := said.get("path"), str) and not _uploaded(path, uploads):
            return False
        return all(all_uploaded(value, uploads) for value in said.values())
    return not isinstance(said, list) or all(all_uploaded(value, uploads) for value in said)


def _uploaded(path: str, uploads: Path) -> bool:
    try:
        # Where links and dots lead in the end counts.
        real = Path(path).resolve(strict=True)
    except (OSError, ValueError):
        return False
    return Path(path).is_absolute() and real.is_file() and real.is_relative_to(uploads.resolve())
