"""Text recognition as the app asks for it: of processes that give way to questions."""

from __future__ import annotations

from collections.abc import Callable

from localcrag.backends.processes.child import ChildProcess, Over
from localcrag.backends.processes.pool import ProcessPool
from localcrag.records.documents import ScannedPage
from localcrag.records.errors import UnreadableDocument

MODULE = "localcrag.backends.ocr"
PATIENCE = 300.0
"""Seconds for the lines of a picture to be found, or for a few of them to be read."""


class Recogniser(ProcessPool):
    """Processes that read pictures, a page at a time each, started when they are needed."""

    def __init__(self, patience: float = PATIENCE) -> None:
        super().__init__(MODULE, patience)

    def read(self, picture: bytes, what: str, *, threads: int = 0, go_on: Callable[[], None]) -> ScannedPage:
        """Return what a page's picture (PNG) says; `what` is the page's name in errors.

        `go_on` is called every few lines: it may wait, and what it raises ends the reading. `threads` of the
        processor are used, 0: one a core. Raises UnreadableDocument. May be used by several threads at once.
        """
        process = self.take()
        try:
            page = self._read(process, picture, what, threads, go_on)
        except BaseException:
            # Whatever it says next would be taken for an answer to the next page.
            self.drop(process)
            raise
        self.give_back(process)
        return page

    def _read(
        self, process: ChildProcess, picture: bytes, what: str, threads: int, go_on: Callable[[], None]
    ) -> ScannedPage:
        go_on()
        process.ask({"threads": threads}, picture)
        while True:
            try:
                content, _ = process.answer()
            except Over as over:
                raise UnreadableDocument(f"The text of {what} cannot be recognised: {over}.") from over
            if "error" in content:
                raise UnreadableDocument(f"The text of {what} cannot be recognised: {content['error']}.")
            if "page" in content:
                return ScannedPage.of(content["page"])
            go_on()
            process.ask({"go": "on"}, b"")
