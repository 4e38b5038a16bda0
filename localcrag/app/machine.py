"""Memory of this machine, and sizes of folders."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


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
