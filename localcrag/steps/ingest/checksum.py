"""The checksum of a file that is added: by it, a file that is in already is known."""

from __future__ import annotations

import hashlib
import stat

from localcrag.records.errors import UnreadableDocument
from localcrag.records.ingest import Upload


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
