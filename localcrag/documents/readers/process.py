"""Reader processes: untrusted files are parsed outside the app's process.

Each process reads many files, one at a time. It has a memory limit, writes no files, and may not connect to anything
(privacy/guard.py). If it ends or hangs, the file gets an error, and the next file gets a new process.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from localcrag.privacy.child_process import ChildProcess, ProcessPool, WorkerFailed
from localcrag.privacy.worker_process import Frame
from localcrag.records.documents import Box, Member, OpenDocument, Page, PagePicture, Recognised, ScannedPage
from localcrag.records.errors import (
    DocumentError,
    EmptyDocument,
    EncryptedDocument,
    PasswordNeeded,
    UnreadableDocument,
    UnsupportedDocument,
)
from localcrag.text.blocks import Heading
from localcrag.text.places import SheetRow

PATIENCE = 300.0
"""Seconds to wait for a page, or for a whole file that has no pages."""
_KINDS = (UnsupportedDocument, UnreadableDocument, EncryptedDocument, PasswordNeeded, EmptyDocument)
_ERRORS = {kind.__name__: kind for kind in _KINDS}
_MODULE = "localcrag.documents.readers"
_GENTLY = "gently"
"""The value of GENTLY in worker.py, which is not imported here because it imports the parsers."""


class ReaderProcesses(ProcessPool):
    """Processes that read files, started when they are needed."""

    def __init__(self, patience: float = PATIENCE, *, gently: bool = False) -> None:
        """Prepare the pool; if `gently`, the processes give way to other work, such as the embedding model."""
        super().__init__(_MODULE, patience, *[_GENTLY] * gently)

    def open_document(
        self, path: Path, name: str, scans: Mapping[int, ScannedPage] = MappingProxyType({})
    ) -> OpenDocument:
        """Open a file; `name` is that of the document.

        `scans` are the pages read by text recognition, by page number. Raises DocumentError, also while pages and
        members are read.
        """
        process = self.take()
        read = {str(number): page.plain() for number, page in scans.items()}
        first, _ = self._asked(process, {"path": str(path.absolute()), "name": name, "scans": read})
        frames = self._frames(process, name)
        # The reader sends pages first; their generator passes the first message about members on to the other.
        first_member: list[Frame] = []
        pages, members = _pages(frames, first_member), _members(frames, first_member)
        return OpenDocument(first["media_type"], first["pages"], pages, first["dated"], first["title"], members)

    def unlocked(self, path: Path, name: str, password: str) -> bytes:
        """Return a file's content without its password. Raises PasswordNeeded if it is wrong, and DocumentError."""
        process = self.take()
        _, data = self._asked(process, {"path": str(path.absolute()), "name": name, "password": password})
        self.give_back(process)
        return data

    def picture(
        self, data: bytes, name: str, page: int, texts: Sequence[str] = (), *, dpi: int, scan: ScannedPage | None = None
    ) -> PagePicture:
        """Return a page of a PDF or a picture file as a picture, with the places of `texts`. Raises DocumentError.

        `data` is the content of the file, and `scan` the output of text recognition for the page.
        """
        process = self.take()
        asked = {"name": name, "page": page, "texts": list(texts), "dpi": dpi, "scan": scan.plain() if scan else None}
        drawn, png = self._asked(process, asked, data)
        self.give_back(process)
        return PagePicture(png, drawn["width"], drawn["height"], tuple(Box(*box) for box in drawn["boxes"]))

    def _asked(self, process: ChildProcess, asked: dict[str, Any], attached: bytes = b"") -> Frame:
        process.ask(asked, attached)
        return self._next(process, asked["name"])

    def _next(self, process: ChildProcess, name: str) -> Frame:
        """Return the next message. Raises the error that it contains, or an error that tells how the process ended."""
        try:
            content, attached = process.answer()
        except WorkerFailed as over:
            self.drop(process)
            raise UnreadableDocument(
                f"{name} cannot be read: {over}. It may be very large, damaged, or made to break programs that read "
                "it. Split it, or save it again in the program that made it, and add that."
            ) from over
        if "error" in content:
            self.give_back(process)
            error = _ERRORS.get(content["error"], DocumentError)(content["said"])
            if isinstance(error, PasswordNeeded):
                error.known = content["known"]
            raise error
        return content, attached

    def _frames(self, process: ChildProcess, name: str) -> Generator[Frame, None, None]:
        """Yield the messages about pages and members."""
        try:
            content, attached = self._next(process, name)
            while "end" not in content:
                yield content, attached
                content, attached = self._next(process, name)
        except GeneratorExit:
            self.drop(process)  # The messages that it has sent ahead are not needed any more.
            raise
        self.give_back(process)


def _pages(frames: Generator[Frame, None, None], first_member: list[Frame]) -> Generator[Page, None, None]:
    """Yield the pages; `first_member` gets the first message about files within the document, if there are any."""
    try:
        for content, attached in frames:
            if "member" in content:
                first_member.append((content, attached))
                return
            text = attached.decode("utf-8", "surrogatepass")
            headings = tuple(Heading(*heading) for heading in content["headings"])
            recognised = tuple(Recognised(*part) for part in content["recognised"])
            rows = tuple(SheetRow(*row) for row in content["rows"])
            yield Page(content["number"], text, content["unread"], headings, recognised, rows)
    except GeneratorExit:
        frames.close()
        raise


def _members(frames: Generator[Frame, None, None], first_member: list[Frame]) -> Generator[Member, None, None]:
    with closing(frames):
        for content, attached in chain(first_member, frames if first_member else ()):
            yield Member(content["member"], attached, content["changed"], content["failed"])
