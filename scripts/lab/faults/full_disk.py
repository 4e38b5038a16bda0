"""Run a small session on disks that are too small, each a little larger, until the session fits."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.faults import session
from lab.faults.calls import compare, follow, made_old, to_its_end
from lab.faults.children import Line
from lab.faults.work import Tell
from lab.faults.world import World

# The values are from linux/sched.h and linux/mount.h.
_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_READ_ONLY, _REMOUNT, _RECURSIVE, _PRIVATE, _DETACH = 1, 32, 16384, 1 << 18, 2
SMALLEST, STEP, LARGEST = 16, 16, 16 * 1024
"""KiB of the first disk, growth of each following disk, and KiB of the last one if the session never fits."""
ROOM = 64 * 1024
"""KiB of the disk on which there is room again."""


@dataclass
class Outcome:
    """The results of the disks."""

    rows: list[tuple[int, list[str], list[str]]] = field(default_factory=list)
    """KiB of each disk, the steps that were refused, and the messages."""
    read_only: list[str] = field(default_factory=list)
    """Message of each disk when it was mounted read-only."""
    losses: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def table(self) -> str:
        """Return a Markdown table with one row for all disks that refuse the same steps."""
        spans: dict[tuple[str, ...], list[int]] = {}
        for size, steps, _ in self.rows:
            spans.setdefault(tuple(dict.fromkeys(steps)), []).append(size)
        rows = [f"| {len(sizes)} | {min(sizes)} to {max(sizes)} | {', '.join(steps) or 'nothing'} |"
                for steps, sizes in spans.items()]  # fmt: skip
        head = "| disks | KiB | refused for want of room |\n| ---: | --- | --- |"
        return "\n".join([head, *rows, f"| {len(self.rows)} | all | losses: {len(self.losses)} |"])

    def said(self) -> list[str]:
        """Return each distinct message, without the parts that differ by disk."""
        every = [re.sub(r"localcrag-\d{8}-\d{6}-\w+", "localcrag-….", one) for _, _, said in self.rows for one in said]
        every += [
            f"(read-only, {len(self.read_only)} of {len(self.rows)}; the others can be read) {one}"
            for one in self.read_only
        ]
        return [*dict.fromkeys(every)]


class FullDisk:
    """Repeats one session on RAM disks of increasing size."""

    def __init__(self, place: Path) -> None:
        """Enter a private mount namespace. Raises RuntimeError if the system forbids it."""
        self._place, self._disk, self._data = place, place / "disk", place / "disk" / "data"
        self._disk.mkdir()
        self._uploads = session.write_files(place / "files")
        self.outcome = Outcome()
        own_mounts()
        self._import_all()

    def _import_all(self) -> None:
        """Run a session in this process, so that no fork has to import modules."""
        data = self._place / "first"
        data.mkdir()
        assembly = session.Session(data, self._uploads, lambda *_what, **_given: None).run()
        if assembly:
            assembly.close()

    def fill(self, every: int = 1) -> Outcome:
        """Try each size, or every n-th, until the session fits; return the results."""
        begun = time.monotonic()
        for size in range(SMALLEST, LARGEST, STEP * every):
            if not self._once(size):
                break
        self.outcome.seconds = time.monotonic() - begun
        return self.outcome

    def _once(self, size: int) -> bool:
        """Run a session on a disk of that size, reopen it, and reopen it with room; return whether any step failed."""
        mount(self._disk, size)
        try:
            self._data.mkdir()
            world = World()
            lines = to_its_end(self._session, self._place / "session.log")
            problems = follow(lines, world)
            if not any(line.what == "ended" for line in lines):
                problems.append("the session did not end by itself")
            full = to_its_end(self._open, self._place / "session.log")
            problems += [f"opened while it is full: {one}" for one in follow(full, World())]
            # On a read-only disk nothing can be changed; the app must report that at once.
            mount(self._disk, size, _REMOUNT | _READ_ONLY)
            readable = to_its_end(self._open, self._place / "session.log")
            problems += [f"read-only: {one}" for one in follow(readable, World())]
            self.outcome.read_only += [line.given["error"].replace(str(self._data), "DATA") for line in readable
                                       if line.what == "refused"]  # fmt: skip
            mount(self._disk, ROOM, _REMOUNT)
            made_old(self._data)
            looked = to_its_end(lambda tell: session.look(self._data, tell), self._place / "session.log")
            problems += [f"with room again: {one}" for one in compare(looked, world)]
        finally:
            ctypes.CDLL(None).umount2(os.fsencode(self._disk), _DETACH)
        self._keep(size, [*lines, *full], problems)
        return any(line.what in ("refused", "unsaid") for line in lines)

    def _keep(self, size: int, lines: Sequence[Line], problems: Sequence[str]) -> None:
        refused = [line.given for line in lines if line.what == "refused"]
        said = [one["error"].replace(str(self._data), "DATA") for one in refused]
        self.outcome.rows.append((size, [one["step"] for one in refused], said))
        for problem in problems:
            self.outcome.losses.append(f"{size} KiB: {problem}")
            print(self.outcome.losses[-1], file=sys.stderr, flush=True)

    def _session(self, tell: Tell) -> None:
        assembly = session.Session(self._data, self._uploads, tell).run()
        if assembly:
            assembly.close()
        tell("ended")

    def _open(self, tell: Tell) -> None:
        assembly = session.Session(self._data, self._uploads, tell).open()
        if assembly:
            assembly.close()
        tell("ended")


def own_mounts() -> None:
    """Enter a private mount namespace, which ends with this process. Raises RuntimeError if the system forbids it."""
    libc, user = ctypes.CDLL(None, use_errno=True), os.getuid()
    if libc.unshare(_NEW_MOUNTS):
        # Without root, mounts are possible in a user namespace, if the system allows users to make one.
        if libc.unshare(_NEW_MOUNTS | _NEW_USER):
            raise RuntimeError(
                f"A small disk cannot be mounted here: {os.strerror(ctypes.get_errno())}. It needs Linux, and root or "
                "user namespaces."
            )
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    libc.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None)


def mount(place: Path, size: int, flags: int = 0) -> None:
    """Mount a RAM disk of `size` KiB at `place`. Raises RuntimeError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", os.fsencode(place), b"tmpfs", flags, f"size={size}k".encode()):
        raise RuntimeError(
            f"A disk of {size} KiB cannot be mounted at {place}: {os.strerror(ctypes.get_errno())}. It needs Linux, "
            "and root or user namespaces."
        )
