"""A document's file, kept as it was given: only where it is the one that was read."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator

from localcrag.records.errors import UnreadableDocument
from localcrag.records.ingest import FileAsRead

_PIECE = 1 << 20


def pieces_of(file: FileAsRead) -> Iterator[bytes]:
    """Yield a file in pieces: it may be larger than what is wanted in memory.

    Raises UnreadableDocument, behind the last one as well: where it cannot be read, or is another than was read.
    """
    digest = hashlib.sha256()
    try:
        with file.path.open("rb") as opened:
            while piece := opened.read(_PIECE):
                digest.update(piece)
                yield piece
    except OSError as error:
        raise changed(file) from error
    if digest.hexdigest() != file.sha256:
        raise changed(file)


def keep_file(connection: sqlite3.Connection, document_id: int, file: FileAsRead) -> None:
    """Write the file of a document into the database. Raises UnreadableDocument."""
    try:
        connection.execute("INSERT INTO originals VALUES (?, zeroblob(?))", (document_id, file.path.stat().st_size))
        with connection.blobopen("originals", "data", document_id) as blob:
            for piece in pieces_of(file):
                blob.write(piece)
    except (OSError, ValueError) as error:  # ValueError: more than there is room for
        raise changed(file) from error


def changed(file: FileAsRead) -> UnreadableDocument:
    """Return what is said of a file that is another now, or gone."""
    return UnreadableDocument(f"{file.path.name} changed while it was added. Add it again.")
