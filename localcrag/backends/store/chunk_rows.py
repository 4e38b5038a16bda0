"""Chunks as rows of the database: written with their vectors and what they are searched by, and read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from localcrag.backends.store import stem_index
from localcrag.backends.store.stored_vectors import packed
from localcrag.records.documents import Chunk
from localcrag.records.protocols import Vectors
from localcrag.records.stored_document import StoredChunk
from localcrag.text.sheet_rows import SheetRow
from localcrag.text.titles import in_front, named

COLUMNS = 'page, start, "end", text, section, lead, confidence, rows'
"""Of a chunk, in the order of its fields."""


def with_front(title: str | None, chunks: Sequence[Chunk], vectors: Vectors) -> list[StoredChunk]:
    """Return chunks with what stands in front of them in a document of this title, and their vectors, a row each."""
    return [
        StoredChunk(chunk, in_front(title, chunk.text, section=chunk.section, lead=chunk.lead), packed(vector))
        for chunk, vector in zip(chunks, vectors, strict=True)
    ]


def put_chunks(connection: sqlite3.Connection, document: int, chunks: Sequence[StoredChunk]) -> None:
    """Add chunks to a document, and have all of its chunks found by their words."""
    for stored in chunks:
        chunk = stored.chunk
        rows = [(row.start, row.sheet, row.number) for row in chunk.rows]
        chunk_id = connection.execute(
            f"INSERT INTO chunks (document_id, {COLUMNS}, front) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
            (
                *(document, chunk.page, chunk.start, chunk.end, chunk.text, chunk.section, chunk.lead),
                *(chunk.confidence, json.dumps(rows, ensure_ascii=False) if rows else None, stored.front),
            ),
        ).lastrowid
        connection.execute("INSERT INTO vectors VALUES (?, ?)", (chunk_id, stored.vector))
    stem_index.put(connection, document)


def chunk_from(row: sqlite3.Row | Mapping[str, Any]) -> Chunk:
    """Return the chunk of a row that has COLUMNS."""
    rows = tuple(SheetRow(*one) for one in json.loads(row["rows"] or "[]"))
    known = (row["section"], row["lead"], row["confidence"])
    return Chunk(row["page"], row["start"], row["end"], row["text"], *known, rows)


def own_title(title: str | None, name: str) -> str | None:
    """Return a title to be kept, None where it is the name's: it changes with that."""
    return None if title == named(name) else title
