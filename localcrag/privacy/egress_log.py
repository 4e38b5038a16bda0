"""The egress log: connections and programs that were allowed or refused, one JSON line each in a file.

The guard writes to it from an audit hook in any process. The hook must not wait for a database, so it only appends a
short line to a file; the connection log later moves the lines into the database (storage/egress.py). Until
`log_to_folder` sets the folder of the file, attempts are kept in memory.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

FOLDER_NAME = "egress"
FILE_NAME = "attempts.jsonl"
FOLDER_VARIABLE = "LOCALCRAG_EGRESS_FOLDER"
"""Environment variable that tells child processes which folder to write to."""
REFUSALS_VARIABLE = "LOCALCRAG_REFUSALS_FILE"
"""Environment variable with a file to which each process also writes its refusals, for tests; any data folder uses
it."""
MOST_IN_MEMORY = 1_000
"""Maximum number of attempts kept in memory; the oldest are dropped."""
SETTLED_SECONDS = 60.0
"""Seconds after which no process still writes to a file that was renamed; a write takes far less than a second."""


class Kind(StrEnum):
    """The kind of an attempt."""

    CONNECTION = "connection"
    LOOK_UP = "name look-up"
    SEARCH = "web search"
    PROGRAM = "program"


class Purpose(StrEnum):
    """The purpose of an attempt, listed in docs/reference/data-inventory.md; with NONE, connections are refused.

    SET_UP: download of a model that set-up installs, during set-up or later.

    LANGUAGE_MODEL, RELEVANCE_MODEL: questions and passages sent to a model server on another computer. COLLECTION:
    documents and search terms sent to a PostgreSQL server on another computer, where the collection is stored.
    """

    WEB_SEARCH = "web search"
    MODEL_DOWNLOAD = "model download"
    SET_UP = "set-up"
    LANGUAGE_MODEL = "language model"
    RELEVANCE_MODEL = "relevance model"
    COLLECTION = "collection"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressAttempt:
    """One attempt that was allowed or refused. `query_bytes` is the length of a search's query in UTF-8."""

    kind: Kind
    destination: str
    purpose: Purpose
    allowed: bool
    asked_by: str = ""
    query_bytes: int | None = None
    at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    id: str = field(default_factory=lambda: os.urandom(8).hex())

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> Self:
        """Return the attempt with these fields. Raises ValueError, TypeError and KeyError."""
        kind, purpose = Kind(fields["kind"]), Purpose(fields["purpose"])
        return cls(**{**fields, "kind": kind, "purpose": purpose, "allowed": bool(fields["allowed"])})


class _LogState:
    """The folder that this process writes its attempts to, and the attempts that are still unwritten."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        reported = os.environ.get(FOLDER_VARIABLE)
        self.folder = Path(reported) if reported else None
        self.waiting: list[EgressAttempt] = []


_log_state = _LogState()


def _opened(path: str | None) -> int | None:
    """Return a descriptor that appends to a file; opened early, because a confined process cannot open files."""
    with suppress(OSError):
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600) if path else None
    return None


_refusals = _opened(os.environ.get(REFUSALS_VARIABLE))


def _line(attempt: EgressAttempt) -> str:
    return json.dumps(asdict(attempt)) + "\n"


def note(attempt: EgressAttempt) -> None:
    """Log an attempt. Raises nothing: attempts that cannot be written stay in memory."""
    if _refusals is not None and not attempt.allowed:
        with suppress(OSError):
            os.write(_refusals, _line(attempt).encode())
    # Wait for the lock with a limit: this thread may hold it already, if the hook interrupted it while logging.
    held = _log_state.lock.acquire(timeout=1)
    try:
        _log_state.waiting.append(attempt)
        del _log_state.waiting[:-MOST_IN_MEMORY]
        _write()
    finally:
        if held:
            _log_state.lock.release()


def log_to_folder(data_dir: Path | None) -> None:
    """Write attempts to a data folder from now on, in this process and in those that it starts.

    With None, keep them in memory again.
    """
    with _log_state.lock:
        _log_state.folder = data_dir.absolute() / FOLDER_NAME if data_dir else None
        os.environ.pop(FOLDER_VARIABLE, None)
        if _log_state.folder:
            os.environ[FOLDER_VARIABLE] = str(_log_state.folder)
            _write()


def _write() -> None:
    if _log_state.folder is None or not _log_state.waiting:
        return
    lines = "".join(map(_line, _log_state.waiting))
    with suppress(OSError):
        _log_state.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(_log_state.folder / FILE_NAME, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, lines.encode())
        finally:
            os.close(descriptor)
        _log_state.waiting.clear()


@contextmanager
def drained_attempts(data_dir: Path) -> Iterator[list[EgressAttempt]]:
    """Yield the attempts logged in a data folder, and remove them if the block ends without an error.

    Nothing is lost if the block fails, but the same attempts may be yielded again; their ids identify them.
    """
    folder = data_dir.absolute() / FOLDER_NAME
    with _log_state.lock:
        waiting = list(_log_state.waiting)
    # Rename the file first, so that removing it does not remove lines that other processes write from now on.
    with suppress(OSError):
        (folder / FILE_NAME).rename(folder / f"{time.time_ns()}.jsonl")
    moved = [path for path in folder.glob("*.jsonl") if path.name != FILE_NAME]
    yield [*waiting, *(attempt for path in moved for attempt in _read(path))]
    with _log_state.lock:
        _log_state.waiting[:] = [one for one in _log_state.waiting if one not in waiting]
    for path in moved:
        with suppress(OSError, ValueError):
            if time.time_ns() - int(path.stem) > SETTLED_SECONDS * 1e9:
                path.unlink()


def forget(data_dir: Path) -> None:
    """Remove the attempts in a data folder that have not been moved to the database yet."""
    with _log_state.lock:
        _log_state.waiting.clear()
    shutil.rmtree(data_dir.absolute() / FOLDER_NAME, ignore_errors=True)


def _read(path: Path) -> Iterator[EgressAttempt]:
    try:
        text = path.read_text("utf-8")
    except OSError:
        return
    for line in text.splitlines():
        # Skip a line that was cut off by a full disk.
        with suppress(ValueError, TypeError, KeyError):
            yield EgressAttempt.from_fields(json.loads(line))


def call_origin() -> str:
    """Return the origin of an attempt: localcrag's modules and other packages on the call stack, outermost first."""
    names: list[str] = []
    frame = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        top = name.split(".", 1)[0]
        if top == "localcrag":
            if name not in {"localcrag.privacy.guard", "localcrag.privacy.egress_log"}:
                names.append(name)
        elif top and top not in sys.stdlib_module_names and not top.startswith("_"):
            names.append(top)
        frame = frame.f_back  # type: ignore[assignment]
    return " > ".join(dict.fromkeys(reversed(names))) or "Python"
