"""What a process of the app's own may use, of memory and of files."""

from __future__ import annotations

import signal
import sys

MOST_MEMORY = 4 * 2**30
"""Bytes of address space. A file of 500 MB, the largest upload, is read in a fraction of it."""
MOST_WRITTEN = 2**20
"""Bytes of any file: these processes write none; the log of refused connections is short."""


def limit() -> None:
    """Limit this process, and leave Ctrl-C to the app."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - there is none on Windows

        for what, most in ((resource.RLIMIT_AS, MOST_MEMORY), (resource.RLIMIT_FSIZE, MOST_WRITTEN)):
            _, hard = resource.getrlimit(what)
            value = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(what, (value, value))
