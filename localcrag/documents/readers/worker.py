"""The reader process, which parses untrusted files.

If a parser crashes, the app does not. `process.py` starts the process, requests texts and pictures over standard input
in the frames of `privacy/worker_process.py`, and receives them over standard output. The process ends when its standard
input is closed.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import IO, Any

from localcrag.documents.readers.open_document import open_document, unlocked
from localcrag.documents.readers.pdf.reader import picture
from localcrag.privacy import process
from localcrag.privacy.worker_process import MOST_MEMORY, send, serve
from localcrag.records.documents import ScannedPage
from localcrag.records.errors import DocumentError

GENTLY, STEPS_DOWN = "gently", 10
"""Argument for a process that must give way to others, and the steps by which its priority is lowered."""


def answer(asked: dict[str, Any], attached: bytes, out: IO[bytes]) -> None:
    """Answer a request with frames; if the file cannot be read to its end, the last frame is an error.

    Raises BrokenPipeError if the other side no longer reads the frames.
    """
    name = asked["name"]
    try:
        if "page" in asked:
            scan = ScannedPage.of(asked["scan"]) if asked["scan"] else None
            drawn = picture(attached, name, asked["page"], asked["texts"], dpi=asked["dpi"], scan=scan)
            boxes = [dataclasses.astuple(box) for box in drawn.boxes]
            send(out, {"width": drawn.width, "height": drawn.height, "boxes": boxes}, drawn.png)
            return
        if "password" in asked:
            send(out, {"unlocked": True}, unlocked(Path(asked["path"]), name, asked["password"]))
            return
        scans = {int(number): ScannedPage.of(page) for number, page in asked["scans"].items()}
        document = open_document(Path(asked["path"]), name, scans)
        known = {"pages": document.page_count, "dated": document.dated, "title": document.title}
        send(out, {"media_type": document.media_type, **known})
        for page in document.pages:
            headings = [dataclasses.astuple(heading) for heading in page.headings]
            recognised = [dataclasses.astuple(part) for part in page.recognised]
            about = {"number": page.number, "unread": page.unread, "headings": headings, "recognised": recognised}
            rows = [(row.start, row.sheet, row.number) for row in page.rows]  # `astuple` takes ten times as long.
            send(out, {**about, "rows": rows}, page.text.encode("utf-8", "surrogatepass"))
        for member in document.members:
            send(out, {"member": member.name, "changed": member.changed, "failed": member.error}, member.data)
        send(out, {"end": True})
    except DocumentError as error:
        send(out, {"error": type(error).__name__, "said": str(error), "known": getattr(error, "known", None)})
    except MemoryError:
        memory = f"more than {MOST_MEMORY // 2**30} GB of memory"
        message = f"{name} cannot be read: that takes {memory}. Split it, and add the parts."
        send(out, {"error": "UnreadableDocument", "said": message})
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the next file is read
        print(process.error_places(error), file=sys.stderr, flush=True)  # noqa: T201
        kind = type(error).__name__
        message = f"{name} cannot be read: {kind} in its reader, a fault of localcrag. The terminal says where."
        send(out, {"error": "UnreadableDocument", "said": message})


def main(how: str = "") -> None:
    """Answer requests until standard input is closed, at lower priority if `how` is GENTLY."""
    if how == GENTLY and sys.platform != "win32":
        os.nice(STEPS_DOWN)
    serve(answer)
