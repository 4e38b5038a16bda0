"""Chunks as rows of the database: written with their vectors and what they are searched by."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Sequence

from localcrag.backends.store.stored_vectors import packed
from localcrag.records.documents import Chunk
from localcrag.records.protocols import Vectors
from localcrag.text.titles import in_front, named


def put_chunks(
    connection: sqlite3.Connection, document: int, title: str | None, chunks: Sequence[Chunk], vectors: Vectors
) -> None:
    """Add chunks to a document, a vector each."""
    for chunk, vector in zip(chunks, vectors, strict=True):
        front = in_front(title, chunk.text, section=chunk.section, lead=chunk.lead)
        chunk_id = connection.execute(
            'INSERT INTO chunks (document_id, page, start, "end", text, section, lead, confidence, front) '
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (document, *dataclasses.astuple(chunk), front),
        ).lastrowid
        connection.execute("INSERT INTO vectors VALUES (?, ?)", (chunk_id, packed(vector)))


def own_title(title: str | None, name: str) -> str | None:
    """Return a title to be kept, None where it is the name's: it changes with that."""
    return None if title == named(name) else title
