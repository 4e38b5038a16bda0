"""Reader processes: untrusted files are parsed outside the app's process.

Each reads one file at a time, and many one after the other. It has a limit of memory, writes no files, and may connect
to nothing (egress_guard.py). Where it ends or stands still, the file has an error, and the next gets a new process.
"""

from __future__ import annotations

import queue
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from localcrag.backends.readers.frames import Frame, receive, send
from localcrag.privacy.egress_guard import passage
from localcrag.privacy.egress_log import Purpose
from localcrag.records.documents import Box, Member, Page, PagePicture
from localcrag.records.errors import (
    DocumentError,
    EmptyDocument,
    EncryptedDocument,
    UnreadableDocument,
    UnsupportedDocument,
)
from localcrag.text.blocks import Heading

PATIENCE = 300.0
"""Seconds for a page, or for the whole of a file that has none."""
MOST_IDLE = 2
AHEAD = 8
"""Pages that are read before they are asked for."""
_ERRORS = {kind.__name__: kind for kind in (UnsupportedDocument, UnreadableDocument, EncryptedDocument, EmptyDocument)}
_COMMAND = [sys.executable, "-m", "localcrag.backends.readers"]
_FOLDER = Path(__file__).resolve().parents[3]


@dataclass(frozen=True, slots=True)
class OpenDocument:
    """A document whose pages are still to be read; as the readers' own."""

    media_type: str
    page_count: int | None
    pages: Generator[Page, None, None]
    dated: str | None
    title: str | None
    members: Generator[Member, None, None]


class ReaderProcesses:
    """Processes that read, started when they are needed."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._end = weakref.finalize(self, _end_all, self._idle)

    def open_document(self, path: Path, name: str) -> OpenDocument:
        """Open a file; `name` is the document's. Raises DocumentError, also when pages and members are read."""
        process = self._one()
        first, _ = self._asked(process, {"path": str(path.absolute()), "name": name})
        next_one: list[Frame] = []
        pages = self._pages(process, name, next_one)
        members = self._members(process, name, next_one)
        return OpenDocument(first["media_type"], first["pages"], pages, first["dated"], first["title"], members)

    def picture(self, source: bytes, name: str, page: int, texts: Sequence[str] = (), *, dpi: int = 110) -> PagePicture:
        """Return a page of a PDF as a picture, and where texts stand on it. Raises DocumentError."""
        process = self._one()
        asked = {"name": name, "page": page, "texts": list(texts), "dpi": dpi}
        drawn, png = self._asked(process, asked, source)
        self._done(process)
        return PagePicture(png, drawn["width"], drawn["height"], tuple(Box(*box) for box in drawn["boxes"]))

    def close(self) -> None:
        """End the processes that nobody uses."""
        with self._lock:
            _end_all(self._idle)

    def _one(self) -> _Process:
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.runs():
                    return process
                process.end()
        return _Process(self._patience)

    def _done(self, process: _Process) -> None:
        with self._lock:
            if len(self._idle) < MOST_IDLE:
                self._idle.append(process)
                return
        process.end()

    def _asked(self, process: _Process, asked: dict[str, Any], attached: bytes = b"") -> Frame:
        process.ask(asked, attached)
        return self._next(process, asked["name"])

    def _next(self, process: _Process, name: str) -> Frame:
        """Return the next message. Raises the error that it is, or what became of the process."""
        try:
            content, attached = process.answer()
        except _Over as over:
            process.end()
            raise UnreadableDocument(
                f"{name} cannot be read: {over}. It may be damaged, or made to break programs that read it. "
                "Open it in the program that it comes from, save it anew, and add that."
            ) from over
        if "error" in content:
            self._done(process)
            raise _ERRORS.get(content["error"], DocumentError)(content["said"])
        return content, attached

    def _pages(self, process: _Process, name: str, after: list[Frame]) -> Generator[Page, None, None]:
        """Yield the pages; `after` gets the first of the messages about files within, where there are any."""
        try:
            content, attached = self._next(process, name)
            while "end" not in content and "member" not in content:
                text = attached.decode("utf-8", "surrogatepass")
                headings = tuple(Heading(*heading) for heading in content["headings"])
                yield Page(content["number"], text, content["unread"], headings)
                content, attached = self._next(process, name)
        except GeneratorExit:
            process.end()  # What it has read ahead is nobody's any more.
            raise
        if "member" in content:
            after.append((content, attached))
        else:
            self._done(process)

    def _members(self, process: _Process, name: str, after: list[Frame]) -> Generator[Member, None, None]:
        if not after:
            return
        content, attached = after.pop()
        try:
            while "end" not in content:
                yield Member(content["member"], attached, content["changed"], content["failed"])
                content, attached = self._next(process, name)
        except GeneratorExit:
            process.end()
            raise
        self._done(process)


class _Over(Exception):
    """A process ended or stood still; says which."""


class _Process:
    def __init__(self, patience: float) -> None:
        self._patience = patience
        with passage(Purpose.NONE, programs=True):
            # In that folder its module is found, whatever folder the app was started in.
            self._process = subprocess.Popen(_COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=_FOLDER)
        self._answers: queue.Queue[Frame | None] = queue.Queue(AHEAD)
        self._ended = threading.Event()
        listening = (self._process.stdout, self._answers, self._ended)
        threading.Thread(target=_listen, args=listening, name="reader", daemon=True).start()
        # Also when nobody asks for the pages of a file that was opened.
        self.end = weakref.finalize(self, _end, self._process, self._ended)

    def runs(self) -> bool:
        return self._process.poll() is None

    def ask(self, asked: Mapping[str, Any], attached: bytes) -> None:
        # That it has ended is what is answered.
        with suppress(OSError):
            send(_pipe(self._process.stdin), asked, attached)

    def answer(self) -> Frame:
        try:
            answer = self._answers.get(timeout=self._patience)
        except queue.Empty:
            raise _Over(f"nothing came of it for {self._patience:.0f} seconds") from None
        if answer is None:
            self._process.kill()  # What it says is no answer.
            raise _Over(f"its reader broke off ({_how_ended(self._process.wait())})")
        return answer


def _listen(stream: IO[bytes], answers: queue.Queue[Frame | None], ended: threading.Event) -> None:
    while not ended.is_set():
        answer = receive(stream)
        while not ended.is_set():
            with suppress(queue.Full):
                answers.put(answer, timeout=0.2)
                break
        if answer is None:
            return


def _end(process: subprocess.Popen[bytes], ended: threading.Event) -> None:
    ended.set()
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        # What was still to be written has nobody to read it.
        with suppress(OSError):
            _pipe(stream).close()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise RuntimeError("a reader process was started without its pipes")
    return stream


def _how_ended(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _end_all(processes: list[_Process]) -> None:
    while processes:
        processes.pop().end()
