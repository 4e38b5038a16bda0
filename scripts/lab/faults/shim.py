"""The library that makes calls fail (shim.c): compile it, load it before libc, arm it in a fork."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from enum import IntEnum
from pathlib import Path

SOURCES = sorted((Path(__file__).parent / "shim_source").glob("*.c"))
LOADED = "LOCALCRAG_FAULTS_SHIM"
"""Environment variable with the path of the library that was loaded before libc."""


class Fault(IntEnum):
    """Way for a call to fail, by its number in shim.c."""

    NONE = 0
    NO_SPACE = 1
    """Fail once with ENOSPC."""
    BROKEN = 2
    """Fail once with EIO."""
    HALF = 3
    """Write half of the data once, then fail with ENOSPC."""
    KILLED = 4
    """Kill the process instead of the call."""
    FULL = 5
    """Fail with ENOSPC in every call that writes or creates a file from there on."""
    NO_MEMORY = 6
    """Refuse SQLite memory once; its call path says in which allocation (see `Shim.ways`)."""


def compiled(place: Path) -> Path:
    """Compile the library into a folder. Raises RuntimeError if there is no compiler, or the system is not Linux."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if sys.platform != "linux" or compiler is None:
        raise RuntimeError(
            f"{SOURCES[0].parent} cannot be compiled here: it needs Linux and a C compiler (cc, gcc or clang)."
        )
    made = place / "shim.so"
    options = ["-shared", "-fPIC", "-O1", "-Wno-nonnull-compare", "-o", str(made)]
    subprocess.run([compiler, *options, *map(str, SOURCES), "-ldl", "-pthread"], check=True)
    return made


def again_with(library: Path, arguments: list[str]) -> int:
    """Run this Python with these arguments again, with the library before libc; return its exit status."""
    env = {**os.environ, "LD_PRELOAD": str(library), LOADED: str(library)}
    return subprocess.run([sys.executable, *arguments], env=env, check=False).returncode


class Shim:
    """The library in this process. Raises KeyError if the process was not started with it."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ[LOADED])
        self._library.faults_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int]
        self._library.faults_record.argtypes = [ctypes.c_char_p]
        self._library.faults_ways.argtypes = [ctypes.POINTER(ctypes.POINTER(ctypes.c_long))]
        for counting in ("counted", "allocations", "ways", "recorded"):
            getattr(self._library, f"faults_{counting}").restype = ctypes.c_long
        self._library.faults_hit.restype = ctypes.c_char_p

    def arm(self, folder: Path, number: int, fault: Fault) -> None:
        """Count the calls that change files below a folder from now on; the one of this number, from 0, fails.

        With NO_MEMORY, the first allocation with this call path fails.
        """
        self._library.faults_arm(os.fsencode(folder), number, int(fault))

    def pause(self, whether: bool) -> None:
        """Pause or resume counting and failing."""
        self._library.faults_pause(int(whether))

    @property
    def counted(self) -> int:
        """Return the number of counted calls."""
        return int(self._library.faults_counted())

    @property
    def allocations(self) -> int:
        """Return the number of SQLite's allocations, in a session in which nothing failed."""
        return int(self._library.faults_allocations())

    @property
    def ways(self) -> list[int]:
        """Return the call paths of these allocations, in order of appearance.

        Each is a number for SQLite's functions on the stack. The numbers are valid in this process and its forks, where
        the library has the same address.
        """
        into = ctypes.POINTER(ctypes.c_long)()
        return into[: self._library.faults_ways(ctypes.byref(into))]

    def record(self, file: Path) -> None:
        """From now on, record in a file all operations on files below the folder. Raises OSError."""
        if self._library.faults_record(os.fsencode(file)):
            raise OSError(f"{file} cannot be written.")

    @property
    def recorded(self) -> int:
        """Return the number of recorded operations, after flushing them to the file."""
        self._library.faults_recorded_to_end()
        return int(self._library.faults_recorded())

    @property
    def hit(self) -> str:
        """Return the call that failed first, and its file; "" if none failed."""
        return os.fsdecode(self._library.faults_hit())
