"""Reader processes: untrusted files are parsed outside the app's process.

Each process reads many files, one at a time. It has a memory limit, writes no files, and may not connect to anything
(privacy/guard.py). If it ends or hangs, the file gets an error, and the next file gets a new process.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from localcrag.privacy.child_process import ChildProcess, ProcessPool, WorkerFailed
from localcrag.privacy.worker_process import Frame
from localcrag.records.documents import Box, Member, Page, PagePicture, Recognised, ScannedPage
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
_ERRORS = {
    kind.__name__: kind
    for kind in (UnsupportedDocument, UnreadableDocument, EncryptedDocument, PasswordNeeded, EmptyDocument)
}
_MODULE = "localcrag.documents.readers"
_GENTLY = "gently"
"""The value of GENTLY in worker.py, which is not imported here because it imports the parsers."""


@dataclass(frozen=True, slots=True)
class RemoteDocument:
    """A document whose pages are still to be read, like the readers' own class."""

    media_type: str
    page_count: int | None
    pages: Generator[Page, None, None]
    dated: str | None
    title: str | None
    members: Generator[Member, None, None]


class ReaderProcesses(ProcessPool):
    """Processes that read files, started when they are needed."""

    def __init__(self, patience: float = PATIENCE, *, gently: bool = False) -> None:
        """Prepare the pool; if `gently`, the processes give way to other work, such as the embedding model."""
        super().__init__(_MODULE, patience, *[_GENTLY] * gently)

    def open_document(
        self, path: Path, name: str, scans: Mapping[int, ScannedPage] = MappingProxyType({})
    ) -> RemoteDocument:
        """Open a file; `name` is the document's name.

        `scans` are the pages read by text recognition, by page number. Raises DocumentError, also while pages and
        members are read.
        """
        process = self.take()
        read = {str(number): page.plain() for number, page in scans.items()}
        first, _ = self._asked(process, {"path": str(path.absolute()), "name": name, "scans": read})
        # The reader sends pages first; their generator passes the first message about members on to the other.
        next_one: list[Frame] = []
        pages = self._pages(process, name, next_one)
        members = self._members(process, name, next_one)
        return RemoteDocument(first["media_type"], first["pages"], pages, first["dated"], first["title"], members)

    def unlocked(self, path: Path, name: str, password: str) -> bytes:
        """Return a file's content without its password. Raises PasswordNeeded if it is wrong, and DocumentError."""
        process = self.take()
        _, data = self._asked(process, {"path": str(path.absolute()), "name": name, "password": password})
        self.give_back(process)
        return data

    def picture(
        self,
        source: bytes,
        name: str,
        page: int,
        texts: Sequence[str] = (),
        *,
        dpi: int = 110,
        scan: ScannedPage | None = None,
    ) -> PagePicture:
        """Return a page of a PDF or a picture file as a picture, with the places of `texts`. Raises DocumentError.

        `scan` is the output of text recognition for the page.
        """
        process = self.take()
        asked = {"name": name, "page": page, "texts": list(texts), "dpi": dpi, "scan": scan.plain() if scan else None}
        drawn, png = self._asked(process, asked, source)
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

    def _pages(self, process: ChildProcess, name: str, after: list[Frame]) -> Generator[Page, None, None]:
        """Yield the pages; `after` gets the first message about files within the document, if there are any."""
        try:
            content, attached = self._next(process, name)
            while "end" not in content and "member" not in content:
                text = attached.decode("utf-8", "surrogatepass")
                headings = tuple(Heading(*heading) for heading in content["headings"])
                recognised = tuple(Recognised(*part) for part in content["recognised"])
                rows = tuple(SheetRow(*row) for row in content["rows"])
                yield Page(content["number"], text, content["unread"], headings, recognised, rows)
                content, attached = self._next(process, name)
        except GeneratorExit:
            self.drop(process)  # The pages that it has read ahead are no longer needed.
            raise
        if "member" in content:
            after.append((content, attached))
        else:
            self.give_back(process)

    def _members(self, process: ChildProcess, name: str, after: list[Frame]) -> Generator[Member, None, None]:
        if not after:
            return
        content, attached = after.pop()
        try:
            while "end" not in content:
                yield Member(content["member"], attached, content["changed"], content["failed"])
                content, attached = self._next(process, name)
        except GeneratorExit:
            self.drop(process)
            raise
        self.give_back(process)
