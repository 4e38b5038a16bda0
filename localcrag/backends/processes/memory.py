"""Memory that this process has let go of, given back to the system."""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress


def give_back() -> None:
    """Collect what only circles of objects hold, and have the C library return what is free in it, where it can.

    Only glibc (malloc_trim) keeps that much: freed pieces between others that are in use.
    """
    gc.collect()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # Another C library, without this call.
            ctypes.CDLL(None).malloc_trim(0)
