"""The reader process: parses untrusted files, so that what breaks a parser does not break the app.

Started by `reader_process.py`, which asks for texts and pictures over standard input, in the form of
frames.py, and gets them over standard output. Ends when nobody asks any more.
"""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
from pathlib import Path
from typing import IO, Any

from localcrag.backends.readers.frames import receive, send
from localcrag.backends.readers.open_document import open_document
from localcrag.backends.readers.pdf_pages import picture
from localcrag.privacy import unexpected
from localcrag.records.errors import DocumentError

MOST_MEMORY = 4 * 2**30
"""Bytes of address space. A file of 500 MB, the largest upload, is read in a fraction of it."""
MOST_WRITTEN = 2**20
"""Bytes of any file: readers write none; the log of refused connections is short."""


def _limit() -> None:
    # The app decides about Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - there is none on Windows

        for what, most in ((resource.RLIMIT_AS, MOST_MEMORY), (resource.RLIMIT_FSIZE, MOST_WRITTEN)):
            _, hard = resource.getrlimit(what)
            limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(what, (limit, limit))


def _answer(asked: dict[str, Any], attached: bytes, out: IO[bytes]) -> None:
    name = asked["name"]
    try:
        if "page" in asked:
            drawn = picture(attached, name, asked["page"], asked["texts"], dpi=asked["dpi"])
            boxes = [dataclasses.astuple(box) for box in drawn.boxes]
            send(out, {"width": drawn.width, "height": drawn.height, "boxes": boxes}, drawn.png)
            return
        document = open_document(Path(asked["path"]), name)
        known = {"pages": document.page_count, "dated": document.dated, "title": document.title}
        send(out, {"media_type": document.media_type, **known})
        for page in document.pages:
            headings = [dataclasses.astuple(heading) for heading in page.headings]
            about = {"number": page.number, "unread": page.unread, "headings": headings}
            send(out, about, page.text.encode("utf-8", "surrogatepass"))
        for member in document.members:
            of_member = {"member": member.name, "changed": member.changed, "failed": member.error}
            send(out, of_member, member.data)
        send(out, {"end": True})
    except DocumentError as error:
        send(out, {"error": type(error).__name__, "said": str(error)})
    except MemoryError:
        memory = f"more than {MOST_MEMORY // 2**30} GB of memory"
        said = f"{name} cannot be read: that takes {memory}. Split it, and add the parts."
        send(out, {"error": "UnreadableDocument", "said": said})
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the next file is read
        print(unexpected.places(error), file=sys.stderr, flush=True)  # noqa: T201
        kind = type(error).__name__
        said = f"{name} cannot be read: {kind} in its reader, a fault of localcrag. The terminal says where."
        send(out, {"error": "UnreadableDocument", "said": said})


def main() -> None:
    """Answer until nobody asks any more."""
    _limit()
    # Whatever a library prints is not taken for an answer.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        while asked := receive(sys.stdin.buffer):
            _answer(*asked, out)
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
