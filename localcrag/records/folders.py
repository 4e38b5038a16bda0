"""Folders that a collection follows, their files as they were seen last, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from localcrag.records.ingest import IngestProgress, Stamp
from localcrag.text.paths import shown


class WhenGone(StrEnum):
    """What becomes of a document whose file is no more."""

    ASK = "ask"
    REMOVE = "remove"
    KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundFolder:
    """A folder that a collection follows.

    `prefix` stands in front of the names of its documents. `include` and `exclude` are patterns (`app/folders/
    patterns.py`). It was last in step at `in_step_at`; it is not there since `away_since`, for the reason `away_why`.
    Times are ISO 8601 in UTC.
    """

    id: int
    collection: str
    path: Path
    prefix: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    gone: WhenGone = WhenGone.ASK
    paused: bool = False
    added_at: str = ""
    in_step_at: str | None = None
    away_since: str | None = None
    away_why: str | None = None

    def name_of(self, path: str) -> str:
        """Return what the document of a file is called, of which this is the path within the folder."""
        return shown(self.prefix + path)


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file as it is there now; `device` is that of the folder it lies in, `refused` why it is not to be opened."""

    stamp: Stamp
    device: int
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file of a bound folder as it was seen last; `path` is within the folder, with “/”.

    `sha256` is of its content, None where it could not be read; `document` is the document that has a content of it,
    and `stored` that content's checksum: another one where a changed file failed, for the reason `error`.
    """

    path: str
    stamp: Stamp
    device: int
    sha256: str | None = None
    document: str | None = None
    stored: str | None = None
    error: str | None = None
    gone_at: str | None = None


class FolderStatus(StrEnum):
    """What became of a file of a bound folder, or of the folder."""

    ADDED = "added"
    UPDATED = "updated"
    RENAMED = "renamed"
    SAME = "same"
    GONE = "gone"
    BACK = "back"
    REMOVED = "removed"
    KEPT = "kept"
    FAILED = "failed"
    WAITING = "waiting"
    AWAY = "away"


@dataclass(frozen=True, slots=True)
class FolderChange:
    """Something that became different. `document` is what a file is called, or the folder's path where that is away.

    `was` is what a renamed document was called, or which document has the same content. `error` says why it failed,
    or why the folder is not there; `warnings` what of the file did not go in.
    """

    document: str
    status: FolderStatus
    was: str | None = None
    chunks: int = 0
    error: str | None = None
    warnings: tuple[str, ...] = ()


FolderEvent = IngestProgress | FolderChange


@dataclass(frozen=True, slots=True)
class FolderCounts:
    """How many files of a folder are in the collection, failed, and are gone and asked about."""

    files: int
    failed: int
    gone: int
