"""Simulate a disk after a power cut: synced data is complete, and of later data any part may be there.

The rules are those that SQLite's authors test with (https://www.sqlite.org/atomiccommit.html, "Hardware assumptions").
On any file system, a file's bytes are safe once the file was synced, and its name once its folder was. Until then, each
sector of 512 bytes may be written or not, in any order. So every state that ext4 or APFS can leave is covered.
"""

from __future__ import annotations

import random
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

SECTOR = 512
"""Bytes of which a disk writes all or nothing."""
_HEAD = struct.Struct("<cIIqq")
NOT_KEPT = "-shm"
"""The end of files that SQLite makes anew from others, and maps into memory: what is written there is not seen."""


@dataclass(frozen=True, slots=True)
class Done:
    """One thing that was done to a file; the kinds are those of recording_write (shim.h)."""

    kind: str
    path: str
    other: str
    at: int
    data: bytes


@dataclass(eq=False)
class File:
    """What is in a file, whatever its names."""

    lasting: bytes = b""
    since: list[tuple[int, bytes | None]] = field(default_factory=list)
    """What was written where since it was synced last; None: it was cut there, or made so long."""

    def sync(self) -> None:
        """Have all of it last."""
        self.lasting, self.since = _with(self.lasting, self.since), []


Names = dict[str, File | None]
"""Files by their paths; None: a folder."""


@dataclass(frozen=True, slots=True)
class Naming:
    """A name that was given, taken from another place, or removed."""

    path: str
    file: File | None
    goes: tuple[str, ...] = ()
    """Names that are gone by it."""
    comes: bool = True

    def apply(self, names: Names) -> None:
        """Do it."""
        for name in self.goes:
            names.pop(name, None)
        if self.comes:
            names[self.path] = self.file

    def within(self, folder: str) -> bool:
        """Whether a folder holds a name that it changes."""
        return any(str(PurePosixPath(name).parent) == folder for name in (self.path, *self.goes))


class Disk:
    """The files below a folder, by what was done to them, as far as it was."""

    def __init__(self, folder: Path) -> None:
        """Begin with what is in a folder now, all of it lasting."""
        self._folder = folder
        self._lasting: Names = {
            str(path): None if path.is_dir() else File(path.read_bytes()) for path in sorted(folder.rglob("*"))
        }
        self._now: Names = dict(self._lasting)
        self._since: list[Naming] = []

    def do(self, done: Done) -> None:
        """Do one thing more. Raises RuntimeError for what cannot be written down."""
        there = self._now.get(done.path)
        match done.kind:
            case "c" | "m":
                self._name(Naming(done.path, File() if done.kind == "c" else None))
            case "l":
                self._name(Naming(done.other, there))
            case "r":
                if there is None:
                    raise RuntimeError(f"A folder was renamed, which this does not follow: {done.path}")
                self._name(Naming(done.other, there, (done.path,)))
            case "u":
                self._name(Naming(done.path, None, (done.path,), comes=False))
            case "w" | "t" if there:
                there.since.append((done.at, done.data if done.kind == "w" else None))
            case "s" if there:
                there.sync()
            case "s":
                for one in [one for one in self._since if one.within(done.path)]:
                    one.apply(self._lasting)
                    self._since.remove(one)
            case "?":
                raise RuntimeError(f"{done.path} was written in a way that cannot be written down.")

    def _name(self, naming: Naming) -> None:
        naming.apply(self._now)
        self._since.append(naming)

    def write_whole(self, target: Path) -> None:
        """Write into an empty folder what is there while the power is on."""
        self._write(self._now, target, lambda file: _with(file.lasting, file.since))

    def cut(self, target: Path, chance: random.Random) -> None:
        """Write into an empty folder what is there after a power cut now; what else could be there is chosen by chance.

        A third of the cuts lose all that was not synced, a third what came after some moment, for each file another;
        the others lose single sectors and names.
        """
        how, share = chance.choice(("all", "later", "any")), chance.choice((0.1, 0.5, 0.9))
        contents: dict[int, bytes] = {}

        def content(file: File) -> bytes:
            # A file of two names has one content.
            if id(file) not in contents:
                contents[id(file)] = _with(file.lasting, [*_kept(file.since, how, share, chance)])
            return contents[id(file)]

        names = dict(self._lasting)
        many = {"all": 0, "later": chance.randint(0, len(self._since)), "any": len(self._since)}[how]
        for one in self._since[:many]:
            if how != "any" or chance.random() < share:
                one.apply(names)
        self._write(names, target, content)

    def _write(self, names: Names, target: Path, content: object) -> None:
        for name in sorted(names):
            path = target / PurePosixPath(name).relative_to(self._folder)
            file = names[name]
            # What lies in a folder whose own name is lost is lost with it.
            if not path.parent.is_dir() or name.endswith(NOT_KEPT):
                continue
            if file is None:
                path.mkdir(0o700)
            else:
                path.write_bytes(content(file))  # type: ignore[operator]
                path.chmod(0o600)


def _with(lasting: bytes, written: list[tuple[int, bytes | None]]) -> bytes:
    content = bytearray(lasting)
    for at, data in written:
        end = at + len(data or b"")
        if len(content) < end:
            content.extend(bytes(end - len(content)))
        if data is None:
            del content[at:]
        else:
            content[at:end] = data
    return bytes(content)


def _kept(
    written: list[tuple[int, bytes | None]], how: str, share: float, chance: random.Random
) -> Iterator[tuple[int, bytes | None]]:
    """Yield what of this is on the disk."""
    if how == "later":
        yield from written[: chance.randint(0, len(written))]
    if how != "any":
        return
    for at, data in written:
        if data is None:
            if chance.random() < share:
                yield at, None
            continue
        begin = 0
        while begin < len(data):
            end = min(len(data), begin + SECTOR - (at + begin) % SECTOR)
            if chance.random() < share:
                yield at + begin, data[begin:end]
            begin = end


def read_record(file: Path) -> list[Done]:
    """Return what was written down of a session, in its order (recording.c)."""
    record, at, found = file.read_bytes(), 0, []
    while at < len(record):
        kind, length, other, place, size = _HEAD.unpack_from(record, at)
        at += _HEAD.size
        names = record[at : at + length].decode(), record[at + length : at + length + other].decode()
        at += length + other
        found.append(Done(kind.decode(), *names, place, record[at : at + size]))
        at += size
    return found


def emptied(folder: Path) -> Path:
    """Return a folder with nothing in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    return folder
