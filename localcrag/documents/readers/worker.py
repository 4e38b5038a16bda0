"""What a reader process does: it parses untrusted files.

What breaks a parser does not break the app. Started by `reader_process.py`, which asks for texts and pictures over
standard input, in the form of frames.py, and gets them over standard output. Ends when nobody asks any more.
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
"""What a process is told that is to let others go first, and by how many steps its priority is lower then."""


def answer(asked: dict[str, Any], attached: bytes, out: IO[bytes]) -> None:
    """Answer by frames, the last of which is an error where the file is not read to its end.

    Raises BrokenPipeError when nobody reads them.
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
            of_member = {"member": member.name, "changed": member.changed, "failed": member.error}
            send(out, of_member, member.data)
        send(out, {"end": True})
    except DocumentError as error:
        send(out, {"error": type(error).__name__, "said": str(error), "known": getattr(error, "known", None)})
    except MemoryError:
        memory = f"more than {MOST_MEMORY // 2**30} GB of memory"
        said = f"{name} cannot be read: that takes {memory}. Split it, and add the parts."
        send(out, {"error": "UnreadableDocument", "said": said})
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the next file is read
        print(process.places(error), file=sys.stderr, flush=True)  # noqa: T201
        kind = type(error).__name__
        said = f"{name} cannot be read: {kind} in its reader, a fault of localcrag. The terminal says where."
        send(out, {"error": "UnreadableDocument", "said": said})


def main(how: str = "") -> None:
    """Answer until nobody asks any more; GENTLY, if that is said."""
    if how == GENTLY and sys.platform != "win32":
        os.nice(STEPS_DOWN)
    serve(answer)
