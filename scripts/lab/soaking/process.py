"""Measure a running app through Linux's /proc: memory, threads, open files, folder contents."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support.app_process import children, resident

STORED = (
    "SELECT sum(length(record) + length(question)) FROM runs",
    "SELECT sum(length(question) + length(answer)) FROM chat_turns",
    "SELECT sum(length(query) + length(answer)) FROM web_cache",
)
"""Queries for the bytes that are stored about each question by design, until a user deletes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Resources in use by the app and the processes that it has started. Sizes in bytes."""

    memory: int
    memory_of_children: int
    open_files: int
    threads: int
    processes: int
    files: int
    temporary_files: int
    database: int
    database_beside_questions: int


def held(process: int, data: Path, temporary: Path) -> Held:
    """Return the resources that a process uses now, and the size of its data folder."""
    started = _descendants(process)
    database = data / "localcrag.sqlite3"
    size = sum(path.stat().st_size for path in (database, Path(f"{database}-wal")) if path.exists())
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as read:
        pages, free, page = (read.execute(f"PRAGMA {what}").fetchone()[0] for what in PRAGMAS)
        stored = sum(read.execute(what).fetchone()[0] or 0 for what in STORED)
    return Held(
        memory=resident(process),
        memory_of_children=sum(map(_resident, started)),
        open_files=open_files(process),
        threads=threads(process),
        processes=len(started),
        files=_files(data),
        temporary_files=_files(temporary),
        database=size,
        database_beside_questions=(pages - free) * page - stored,
    )


PRAGMAS = ("page_count", "freelist_count", "page_size")


def open_files(process: int) -> int:
    """Return the number of open files and connections of a process."""
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def threads(process: int) -> int:
    """Return the number of threads of a process."""
    return len(list(Path(f"/proc/{process}/task").iterdir()))


def worked(process: int) -> float:
    """Return the CPU seconds that a process has used, which do not depend on how busy the machine is."""
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    user, system = 11, 12  # positions of utime and stime in proc(5), counted after the name
    return (int(fields[user]) + int(fields[system])) / os.sysconf("SC_CLK_TCK")


def _descendants(process: int) -> set[int]:
    found: set[int] = set()
    with suppress(FileNotFoundError, ProcessLookupError):  # A process may end while it is being read.
        for child in children(process):
            found |= {child, *_descendants(child)}
    return found


def _resident(process: int) -> int:
    with suppress(OSError, IndexError):
        return resident(process)
    return 0


def _files(folder: Path) -> int:
    # SQLite's temporary files next to a database appear and disappear.
    return sum(not path.name.endswith(("-wal", "-shm")) for path in folder.rglob("*") if path.is_file())
