"""What a file that is added is known by: its checksum, and the state in which it was read."""

from __future__ import annotations

import hashlib
import stat
from dataclasses import dataclass

from localcrag.records.errors import UnreadableDocument
from localcrag.records.ingest import Upload


@dataclass(frozen=True, slots=True)
class FileState:
    """What tells a file from the one that had its name before, and from what it was before it was written to."""

    size: int
    changed: int
    """In nanoseconds, by the clock of whoever changed it: compared, never put in order."""
    number: int


def state_of(upload: Upload) -> FileState | None:
    """Return what a file is now, without reading it; None where there is none."""
    try:
        stat = upload.path.stat()
    except OSError:
        return None
    return FileState(stat.st_size, stat.st_mtime_ns, stat.st_ino)


def checksum(upload: Upload) -> str:
    """Return a file's SHA-256. Raises UnreadableDocument, also for one that is refused or no ordinary file."""
    if upload.refused:
        raise UnreadableDocument(upload.refused)
    try:
        if not stat.S_ISREG(upload.path.stat().st_mode):  # A pipe would be waited for, a device read without end.
            raise UnreadableDocument(f"{upload.name} cannot be read: it is not an ordinary file. Choose a file.")
        with upload.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UnreadableDocument(
            f"{upload.name} cannot be read: {error.strerror or error}. Check that the file is there and readable."
        ) from error
