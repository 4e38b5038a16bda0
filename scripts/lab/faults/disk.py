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
"""Bytes that a disk writes completely or not at all."""
_HEAD = struct.Struct("<cIIqq")
NOT_KEPT = "-shm"
"""Suffix of files that SQLite maps into memory and rebuilds from others; writes to them cannot be seen."""


@dataclass(frozen=True, slots=True)
class Done:
    """One operation on a file; the kinds are those of recording_write (shim.h)."""

    kind: str
    path: str
    other: str
    at: int
    data: bytes


@dataclass(eq=False)
class File:
    """The content of a file, independent of its names."""

    lasting: bytes = b""
    since: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Writes since the last sync, by offset; None means that the file was truncated or extended to that length."""

    def sync(self) -> None:
        """Make all of its content durable."""
        self.lasting, self.since = _with(self.lasting, self.since), []


Names = dict[str, File | None]
"""Files by path; None means a folder."""


@dataclass(frozen=True, slots=True)
class Naming:
    """A change of names: a file was created, renamed or removed."""

    path: str
    file: File | None
    goes: tuple[str, ...] = ()
    """Names that it removes."""
    comes: bool = True

    def apply(self, names: Names) -> None:
        """Apply the change to `names`."""
        for name in self.goes:
            names.pop(name, None)
        if self.comes:
            names[self.path] = self.file

    def within(self, folder: str) -> bool:
        """Return whether it changes a name in a folder."""
        return any(str(PurePosixPath(name).parent) == folder for name in (self.path, *self.goes))


class Disk:
    """The files below a folder, as far as the recorded operations have been applied."""

    def __init__(self, folder: Path) -> None:
        """Start from a folder's present content, all of it durable."""
        self._folder = folder
        self._lasting: Names = {
            str(path): None if path.is_dir() else File(path.read_bytes()) for path in sorted(folder.rglob("*"))
        }
        self._now: Names = dict(self._lasting)
        self._since: list[Naming] = []

    def do(self, done: Done) -> None:
        """Apply one operation. Raises RuntimeError for an operation that cannot be recorded."""
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
        """Write the present content, without a power cut, to an empty folder."""
        self._write(self._now, target, lambda file: _with(file.lasting, file.since))

    def cut(self, target: Path, chance: random.Random) -> None:
        """Write the content after a power cut at this moment to an empty folder; undefined parts are chosen randomly.

        A third of the cuts lose everything that was not synced. A third lose everything after some moment, a different
        one for each file. The others lose single sectors and names.
        """
        how, share = chance.choice(("all", "later", "any")), chance.choice((0.1, 0.5, 0.9))
        contents: dict[int, bytes] = {}

        def content(file: File) -> bytes:
            # A file with two names has one content.
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
            # If a folder's own name is lost, its content is lost, too.
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
    """Yield the writes that reach the disk."""
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
    """Return the recorded operations of a session in order (recording.c)."""
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
    """Return the folder, emptied."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    return folder
