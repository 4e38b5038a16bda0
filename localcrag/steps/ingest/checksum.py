"""What tells a file that is added from others: its checksum, and whether it was written to since."""

from __future__ import annotations

import hashlib
import stat
from dataclasses import replace

from localcrag.records.errors import UnreadableDocument
from localcrag.records.ingest import Stamp, Upload


def stamp_of(upload: Upload) -> Stamp | None:
    """Return what a file looks like now, without reading it; None where there is none."""
    try:
        return Stamp.of(upload.path.stat())
    except OSError:
        return None


def is_unchanged(upload: Upload, before: Stamp | None, sha256: str) -> bool:
    """Return whether a file was not written to since `before`, when it had that checksum."""
    now = stamp_of(upload)
    if before is None or now is None or replace(before, ctime_ns=now.ctime_ns) != now:
        return False
    if before == now:
        return True
    try:
        # Its name or rights are others; or it was written to, and its time put back.
        return checksum(upload) == sha256
    except UnreadableDocument:
        return False


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
