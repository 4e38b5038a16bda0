"""Memory of this machine, and sizes of folders."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

MOST_WORKERS = 8
MOST_RECOGNISERS, A_RECOGNISER = 4, 2**30
"""Processes of text recognition at once, and bytes that are left for each; one takes about three quarters of that."""


@dataclass(frozen=True, slots=True)
class Memory:
    """In bytes."""

    total: int
    free: int


def memory() -> Memory | None:
    """Return the machine's memory; None where the system does not tell. What files are cached in counts as free."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        total, free = page * os.sysconf("SC_PHYS_PAGES"), page * os.sysconf("SC_AVPHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        pass  # Not Linux: the pages that nobody uses.
    return Memory(total, free)


def cores() -> int:
    """Return how many cores of the processor this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def workers(chosen: int) -> int:
    """Return how many files are read at once: as `chosen`, where that is not 0, else by the cores.

    Half of them, for the embedder has threads on all: two readers on two cores were no faster than one. At most eight:
    reading PDFs took a sixth of the time of embedding them on two cores (docs/measurements.md), so that eight readers
    keep up with an embedder that is forty times as fast.
    """
    return chosen or max(1, min(MOST_WORKERS, cores() // 2))


def page_workers(chosen: int) -> int:
    """Return how many pages of scans are read at once: as `chosen`, where that is not 0, else by cores and memory.

    A process with two threads is about as fast as two with one, and takes half the memory.
    """
    there = memory()
    room = there.free // A_RECOGNISER if there else 1
    return chosen or max(1, min(MOST_RECOGNISERS, cores() // 2, room))


def folder_size(folder: Path) -> int:
    """Return the bytes of all files in a folder; links are not followed, and what goes meanwhile counts nothing."""
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                size += (Path(parent) / name).lstat().st_size
            except OSError:
                continue
    return size
