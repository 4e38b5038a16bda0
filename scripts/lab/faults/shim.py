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
"""The variable that says which file was put before libc, for who is started with it."""


class Fault(IntEnum):
    """How a call fails, by the number that shim.c knows."""

    NONE = 0
    NO_SPACE = 1
    """ENOSPC, once."""
    BROKEN = 2
    """EIO, once."""
    HALF = 3
    """Half of it is written, then ENOSPC, once."""
    KILLED = 4
    """The process is killed instead."""
    FULL = 5
    """ENOSPC for all that writes or makes a file from there on."""
    NO_MEMORY = 6
    """SQLite gets no memory, once; which allocation is said by its way (see `Shim.ways`)."""


def compiled(place: Path) -> Path:
    """Compile the library into a folder. Raises RuntimeError where there is no compiler, or no Linux."""
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
    """Run this Python with these arguments once more, with the library before libc; return how it ended."""
    env = {**os.environ, "LD_PRELOAD": str(library), LOADED: str(library)}
    return subprocess.run([sys.executable, *arguments], env=env, check=False).returncode


class Shim:
    """The library in this process. Raises KeyError where it was not started with it."""

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

        With NO_MEMORY the first allocation fails that comes this way.
        """
        self._library.faults_arm(os.fsencode(folder), number, int(fault))

    def pause(self, whether: bool) -> None:
        """Count nothing and have nothing fail for a while."""
        self._library.faults_pause(int(whether))

    @property
    def counted(self) -> int:
        """How many calls there were."""
        return int(self._library.faults_counted())

    @property
    def allocations(self) -> int:
        """How many allocations SQLite made, in a session in which nothing failed."""
        return int(self._library.faults_allocations())

    @property
    def ways(self) -> list[int]:
        """The ways these came: of each, a number for the functions of SQLite that were under way, in first order.

        They hold for this process and its forks, which have the library where it is here.
        """
        into = ctypes.POINTER(ctypes.c_long)()
        return into[: self._library.faults_ways(ctypes.byref(into))]

    def record(self, file: Path) -> None:
        """Write down in a file, from now on, what is done to files below the folder. Raises OSError."""
        if self._library.faults_record(os.fsencode(file)):
            raise OSError(f"{file} cannot be written.")

    @property
    def recorded(self) -> int:
        """How many things were written down, all of them in the file now."""
        self._library.faults_recorded_to_end()
        return int(self._library.faults_recorded())

    @property
    def hit(self) -> str:
        """The call that failed first and its file, "" for none."""
        return os.fsdecode(self._library.faults_hit())
