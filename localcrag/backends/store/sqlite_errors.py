"""What SQLite raises where it fails, and what is said of that.

Python's module raises MemoryError, which is no sqlite3.Error, where SQLite got no memory (SQLITE_NOMEM).
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from localcrag.records.errors import StoreError

SQLITE_FAILED = (sqlite3.Error, MemoryError)
"""All that a call of SQLite may raise, where nothing is wrong with the call."""


def said_by(error: BaseException) -> str:
    """Return what an error of SQLite, or of the system, says in a few words."""
    if isinstance(error, MemoryError):
        return "the computer has no memory left"
    return getattr(error, "strerror", None) or str(error)


def refusal(path: Path, error: BaseException) -> StoreError:
    """Return the error that says of a database in use what was refused, and what to do."""
    if is_full(error):
        return StoreError(
            f"The disk with the database {path} is full: what was to be written is not in it, all that was there "
            "before is. Free some space there, then try again; or move the folder to another disk and name it with "
            "--data-dir."
        )
    if isinstance(error, MemoryError):
        return StoreError(
            f"The computer had no memory left for the database {path}: what was to be written is not in it, all that "
            "was there before is. Close other programs, then try again."
        )
    if "locked" in str(error):
        remedy = "Another localcrag is writing to it for very long: wait, or stop that one."
    elif "readonly" in str(error):
        remedy = "Its folder or disk can only be read: make it writable, or name another folder with --data-dir."
    else:
        remedy = "Check that the disk is not full and the file not damaged."
    return StoreError(f"The database {path} refused: {str(error).rstrip('.')}. {remedy}")


def is_full(error: BaseException) -> bool:
    """Whether the disk is full."""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
