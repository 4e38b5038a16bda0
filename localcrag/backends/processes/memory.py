"""Memory that this process has let go of, given back to the system."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress


def settle() -> None:
    """Have later collections of circles leave out all objects that are there now: libraries, and models that stay.

    To find circles that nobody holds, Python looks at all objects: at 650,000 for 0.2 to 0.3 s, in which nothing else
    goes on, and so once in five minutes. Until then each question leaves a sixth of a MiB; and what is free between
    pieces that stay is never given back. Of what came since, a collection takes 2 ms. (Linux, one core, by hand.)
    """
    gc.collect()
    gc.freeze()


def tidy() -> None:
    """Return to the system what is free, and before, where the process has settled, what only circles hold."""
    if _settled():
        gc.collect()
    trim()


def give_back() -> None:
    """Collect what only circles of objects hold, models that were let go among them, and return what is free then."""
    settled = _settled()
    gc.unfreeze()
    gc.collect()
    if settled:
        gc.freeze()
    trim()


def _settled() -> bool:
    return gc.get_freeze_count() > 0


def trim() -> None:
    """Have the C library return the pages that are free in it, where it can; some milliseconds, nobody need wait.

    Only glibc (malloc_trim) keeps that many: freed pieces between others that are in use. Arrays of ever other sizes
    make more of them with each question.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # Another C library, without this call.
            ctypes.CDLL(None).malloc_trim(0)
