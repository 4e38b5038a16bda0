"""What the process of text recognition does: it reads pictures of pages, a few lines at a time.

After those it waits to be told to go on. Started by `recogniser.py`, which sends pictures over standard input, in the
form of frames.py, and gets what they say over standard output. Ends when nobody asks any more.
"""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from typing import IO, Any

from localcrag.backends.ocr.engine import Engine
from localcrag.backends.processes.frames import receive, send
from localcrag.backends.processes.limits import MOST_MEMORY
from localcrag.backends.processes.serving import serve
from localcrag.privacy import unexpected

GENTLY = 10
"""Steps down in priority: whatever else the person does on this computer goes first."""


def main() -> None:
    """Answer until nobody asks any more."""
    if sys.platform != "win32":
        os.nice(GENTLY)
    serve(_answer)


@lru_cache(maxsize=1)
def _engine(threads: int) -> Engine:
    return Engine(threads)


def _answer(asked: dict[str, Any], picture: bytes, out: IO[bytes]) -> None:
    try:
        reading = _engine(asked["threads"]).read(picture)
        while True:
            try:
                next(reading)
            except StopIteration as end:
                send(out, {"page": end.value.plain()})
                return
            send(out, {"goes": "on?"})
            if not receive(sys.stdin.buffer):
                raise BrokenPipeError
    except MemoryError:
        send(out, {"error": f"that takes more than {MOST_MEMORY // 2**30} GB of memory"})
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the next page is read
        print(unexpected.places(error), file=sys.stderr, flush=True)  # noqa: T201
        kind = type(error).__name__
        send(out, {"error": f"{kind} in text recognition, a fault of localcrag. The terminal says where"})
