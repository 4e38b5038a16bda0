"""Memory that this process has let go of, given back to the system."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress


def give_back() -> None:
    """Collect what only circles of objects hold, and return what is free then."""
    gc.collect()
    trim()


def trim() -> None:
    """Have the C library return the pages that are free in it, where it can; some milliseconds, nobody need wait.

    Only glibc (malloc_trim) keeps that many: freed pieces between others that are in use. Arrays of ever other sizes
    make more of them with each question.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # Another C library, without this call.
            ctypes.CDLL(None).malloc_trim(0)
