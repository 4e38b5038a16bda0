"""What the process of text recognition does: it reads pictures of pages, a few lines at a time.

After those it waits to be told to go on. Started by `recogniser.py`, which sends pictures over standard input, in the
form of frames.py, and gets what they say over standard output. Ends when nobody asks any more.
"""

from __future__ import annotations

import os
import sys
from typing import IO, Any

from localcrag.backends.ocr.engine import Engine
from localcrag.backends.processes.frames import receive, send
from localcrag.backends.processes.limits import MOST_MEMORY, limit
from localcrag.privacy import unexpected

GENTLY = 10
"""Steps down in priority: whatever else the person does on this computer goes first."""


def main() -> None:
    """Answer until nobody asks any more."""
    limit()
    if sys.platform != "win32":
        os.nice(GENTLY)
    # Whatever a library prints is not taken for an answer.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    engine: Engine | None = None
    try:
        while asked := receive(sys.stdin.buffer):
            engine = engine or Engine(asked[0]["threads"])
            _answer(engine, *asked, out)
    except BrokenPipeError:
        os._exit(0)


def _answer(engine: Engine, _: dict[str, Any], picture: bytes, out: IO[bytes]) -> None:
    reading = engine.read(picture)
    try:
        while True:
            try:
                done, total = next(reading)
            except StopIteration as end:
                send(out, {"page": end.value.plain()})
                return
            send(out, {"done": done, "total": total})
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
