"""Files to add to a collection, how far that is, and what became of each."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from localcrag.records.enums import IngestStatus
from localcrag.text.paths import shown


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to add: where it lies, and the name that it gets in the collection.

    Bytes of a file's name that are no UTF-8 become "�" in the document's name, and so does what does not show. Of an
    `original`, and not of a copy that a browser sent, the file's own time says when it was changed last. The `password`
    opens it, and is kept nowhere. One that is `refused` is not opened at all, for that reason.
    """

    path: Path
    name: str
    original: bool = False
    password: str | None = field(default=None, repr=False)
    refused: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", shown(self.name))


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells without reading a file that it is as it was: its size in bytes, its times in ns, its number.

    Times are those of whoever changed it: compared, never put in order. `mtime_ns` can be put back, `ctime_ns` cannot;
    but that one is another also where only the file's name or rights are.
    """

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, seen: os.stat_result) -> Stamp:
        """Return what was seen of a file."""
        return cls(seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)


@dataclass(frozen=True, slots=True)
class FileAsRead:
    """A document's file, to be kept beside its text; `sha256` is of its content when it was read."""

    path: Path
    sha256: str


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """How far the work is.

    `phase` is reading or recognising (`done` pages of `total`), cutting (characters), embedding (chunks), or loading:
    the models, while files are found, and none is worked on yet. There are `more` files than these where they are still
    being found. `seconds_left` is for all the files together, and `seconds_a_page` of text recognition; None as long as
    there is nothing to judge by.
    """

    document: str
    number: int
    files: int
    phase: str
    done: int
    total: int | None
    seconds_left: float | None
    seconds_a_page: float | None = None
    more: bool = False


@dataclass(frozen=True, slots=True)
class IngestResult:
    """What became of a file.

    `error` says why it failed, `warnings` what of it did not go in, `note` what else there is to know. One that is
    `locked` can be added with its password.
    """

    document: str
    status: IngestStatus
    pages: int | None = None
    chunks: int = 0
    seconds: float = 0.0
    error: str | None = None
    note: str | None = None
    warnings: tuple[str, ...] = ()
    locked: bool = False


IngestEvent = IngestProgress | IngestResult
