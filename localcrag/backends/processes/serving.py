"""What every process of the app's own does: it answers, frame by frame, until nobody asks any more."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import IO, Any

from localcrag.backends.processes.frames import receive
from localcrag.backends.processes.limits import limit

Answer = Callable[[dict[str, Any], bytes, IO[bytes]], None]
"""Answers what is asked, with the bytes behind it, by what it writes."""


def serve(answer: Answer) -> None:
    """Answer until nobody asks any more, within the limits of such a process."""
    limit()
    # Whatever a library prints is not taken for an answer.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        while asked := receive(sys.stdin.buffer):
            answer(*asked, out)
    except BrokenPipeError:
        os._exit(0)
