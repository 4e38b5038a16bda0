"""Read one input as a reader process does, and return what is wrong with the result."""

from __future__ import annotations

import contextlib
import io
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.fuzzing import contract
from localcrag.documents.readers.worker import answer
from localcrag.privacy.worker_process import Frame, receive
from localcrag.records.documents import PDF_TYPE, ScannedLine, ScannedPage

SLOW, SLOW_A_MEGABYTE = 10.0, 20.0
"""Seconds of CPU time allowed for a page, or for a file without pages, and more per megabyte. They are far below a
reader's limit of 300: inputs are small, and readers take about a second for a megabyte."""
MOST_FRAMES, MOST_ATTACHED = 200, 50_000_000
"""Frames and attached bytes after which reading stops: a file may have 50,000 pages, all read in the same way."""
FAULT, MEMORY = "a fault of localcrag", "GB of memory"
"""Texts in the reader process's messages about unexpected errors and about memory."""
_SCAN = ScannedPage(
    600,
    800,
    90,
    0.01,
    (
        ScannedLine("Berth seven", 0.9, 10, 10, 200, 30),
        ScannedLine("is free.", 0.8, 220, 12, 300, 32),
        ScannedLine("2026", 0.5, 10, 60, 50, 80),
    ),
    0.8,
)
SCANS = {"1": _SCAN.plain()}


@dataclass(frozen=True)
class Finding:
    """A problem: its sort, its place or rule (the same for every input that shows it), and its full text."""

    sort: str
    place: str
    said: str


class _Frames(io.BytesIO):
    """A stream that collects frames, and measures the longest CPU time between two of them."""

    def __init__(self, heard: Callable[[], None]) -> None:
        super().__init__()
        self._heard = heard
        self._since = time.process_time()
        self.count, self.longest = 0, 0.0

    def flush(self) -> None:
        self.heard()
        self.count += 1
        if self.count >= MOST_FRAMES or self.tell() > MOST_ATTACHED:
            raise BrokenPipeError

    def heard(self) -> None:
        now = time.process_time()
        self.longest, self._since = max(self.longest, now - self._since), now
        self._heard()


class Reading:
    """Reads a file in every way that the app does; calls `heard` at each sign of life."""

    def __init__(self, path: Path, name: str, password: str, heard: Callable[[], None] = lambda: None) -> None:
        self._path, self._name, self._password, self._heard = path, name, password, heard
        self.findings: list[Finding] = []

    def read(self) -> list[Finding]:
        """Read the file, and return the problems."""
        of_file = {"path": str(self._path), "name": self._name}
        frames = self._checked({**of_file, "scans": {}})
        if not frames:
            return self.findings
        last = frames[-1][0]
        if last.get("error") == "PasswordNeeded":
            self._asked({**of_file, "password": last["known"] or self._password})
        shown = frames[0][0].get("media_type", "")
        if shown == PDF_TYPE or shown.startswith("image/"):
            pages = [(content, text.decode("utf-8", "replace")) for content, text in frames if "number" in content]
            self._drawn(pages[0][1].split("\n")[:3] if pages else [])
            if pages and pages[0][0]["unread"]:
                self._checked({**of_file, "scans": SCANS})
        return self.findings

    def _checked(self, asked: dict[str, Any]) -> list[Frame]:
        frames = self._asked(asked)
        with self._noting("its text"):
            for rule in contract.broken(frames) if frames else ():
                self.findings.append(Finding("contract", rule, f"{self._name}: {rule}"))
        return frames

    def _drawn(self, texts: list[str]) -> None:
        for scan in (None, SCANS["1"]):
            asked = {"name": self._name, "page": 1, "texts": texts, "dpi": 30, "scan": scan}
            frames = self._asked(asked, self._path.read_bytes())
            for rule in contract.broken_picture(frames[0]) if frames else ():
                self.findings.append(Finding("contract", rule, f"{self._name}: {rule}"))

    def _asked(self, asked: dict[str, Any], attached: bytes = b"") -> list[Frame]:
        """Return the frames of an answer; [] if it has no end or is a fault."""
        out, said = _Frames(self._heard), io.StringIO()
        whole = False
        with self._noting("answering"), contextlib.redirect_stderr(said):
            try:
                answer(asked, attached, out)
                whole = True
            except BrokenPipeError:
                pass  # The answer is longer than what is read here.
        out.heard()
        if out.longest > SLOW + SLOW_A_MEGABYTE * self._path.stat().st_size / 1e6:
            self.findings.append(Finding("slow", self._name, f"{self._name}: {out.longest:.1f} s for a page"))
        out.seek(0)
        frames = list(iter(lambda: receive(out), None))
        error = frames[-1][0].get("said", "") if frames else ""
        if FAULT in error:
            self.findings.append(Finding("fault", _last_place(said.getvalue()), f"{error}\n{said.getvalue()}"))
        elif MEMORY in error:
            self.findings.append(Finding("memory", self._name, error))
        return frames if whole and FAULT not in error else []

    @contextlib.contextmanager
    def _noting(self, during: str) -> Iterator[None]:
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001 - a panic of Rust is no Exception
            trace = traceback.format_exc()
            self.findings.append(Finding("fault", f"{during}: {_last_place(trace)}", trace))


def _last_place(trace: str) -> str:
    """Return the place and kind of an error, which two inputs with the same fault have in common."""
    lines = [line.strip() for line in trace.splitlines() if line.strip() and not line.startswith("(")]
    places = [line.partition(", line ")[2] for line in lines if line.startswith("File ")]
    files = [line.partition('"')[2].partition('"')[0].rpartition("/")[2] for line in lines if line.startswith("File ")]
    return f"{files[-1]}:{places[-1]} {lines[-1].partition(':')[0]}" if places else trace[-80:]
