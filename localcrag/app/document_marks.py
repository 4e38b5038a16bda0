"""What documents are looked for by when they are gone: phrases, pieces of files, vectors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from localcrag.app.homes import Home
from localcrag.backends.postgres.home import PostgresHome
from localcrag.backends.store.database import Database
from localcrag.backends.store.vectors.engines import coded
from localcrag.records.documents import ScannedPage
from localcrag.records.errors import UnknownDocument
from localcrag.records.forgetting import Mark
from localcrag.records.stored_document import StoredChunk, StoredDocument
from localcrag.text.distinctive import forms, phrases
from localcrag.text.words import shorten

Documents = set[tuple[str, str]]
"""By collection and name."""
PIECES, PIECE = 8, 48
"""Of a file that is kept, so many pieces of so many bytes are looked for."""
LEAST_DIFFERENT = 24
"""Different bytes in a piece: one of zeros, or of a font's table, is in many files."""
VECTORS = 3
"""Of chunks that are looked for by their vectors."""
VECTOR_BYTES = 64
"""Of a vector in the database: a whole one lies more often across two pages."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What there is of the documents that were asked for, with their attachments: names, texts, phrases, files, chunks.

    `asked` are those asked for that are there; `copies` have the same content in other collections or under other
    names.
    """

    asked: tuple[str, ...]
    names: tuple[str, ...]
    texts: tuple[str, ...]
    phrases: tuple[str, ...]
    pieces: tuple[bytes, ...]
    vectors: tuple[bytes, ...]
    copies: tuple[tuple[str, str], ...]


def look_at(database: Database, home: Home, names: Sequence[str], quoted: Sequence[str] = ()) -> Looked:
    """Return what there is of documents of a collection, before they are deleted. Raises StoreError.

    `quoted` is what is known of others that are gone.
    """
    there = {one.name for one in home.documents()}
    asked = tuple(name for name in dict.fromkeys(names) if name in there)
    within = sorted(name for name in there if any(name.startswith(f"{one}/") for one in asked))
    # An attachment goes with its letter.
    asked = tuple(name for name in asked if name not in within)
    chosen = tuple(dict.fromkeys((*asked, *within)))
    documents = list(_stored(home, chosen))
    texts = (*(text for one in documents for text in (one.text, *_scanned(one))), *quoted)
    own = {(home.name, name) for name in chosen}
    said = tuple(phrases("\n".join(texts), _others(database, home, own)))
    return Looked(
        asked=asked,
        names=chosen,
        texts=texts,
        phrases=said,
        pieces=tuple(piece for one in documents for piece in _pieces(database, one, own)),
        vectors=tuple(chunk.vector for one in documents for chunk in _telling(one, said)),
        copies=tuple(copy for one in documents for copy in _copies(database, one, own)),
    )


def marks_of(looked: Looked) -> list[Mark]:
    """Return what the documents are looked for by."""
    marks = [Mark(f"“{shorten(phrase, 60)}”", forms(phrase)) for phrase in looked.phrases]
    marks += [Mark("a piece of its file", (piece,)) for piece in looked.pieces]
    for vector in looked.vectors:
        middle = len(vector) // 2 // 4 * 4
        code = coded(np.frombuffer(vector, "<f4")[None])[0].tobytes()
        marks.append(Mark("a vector of its text", (vector[middle : middle + VECTOR_BYTES], code)))
    return marks


def _stored(home: Home, names: Sequence[str]) -> Iterator[StoredDocument]:
    for name in names:
        try:
            yield home.stored(name)
        except UnknownDocument:
            continue  # Deleted meanwhile.


def _scanned(document: StoredDocument) -> Iterator[str]:
    """Yield what text recognition read on each page, which may not be in the text yet."""
    for scan in document.scans:
        if scan.read:
            yield "\n".join(line.text for line in ScannedPage.of(json.loads(scan.read)).lines)


def _others(database: Database, home: Home, own: Documents) -> Iterator[str]:
    """Yield the texts of all documents but these, one after the other."""
    for number in _others_here(database, own):
        yield from (row["text"] for row in database.rows("SELECT text FROM documents WHERE id = ?", number))
    if isinstance(home, PostgresHome):
        yield from (text for name, text in home.texts().items() if (home.name, name) not in own)


def _pieces(database: Database, document: StoredDocument, own: Documents) -> Iterator[bytes]:
    """Yield pieces of a document's file that no other kept file has."""
    if not document.original:
        return
    file, others = document.original, _others_here(database, own)
    for at in np.linspace(0, max(0, len(file) - PIECE), PIECES).astype(int).tolist():
        piece = file[at : at + PIECE]
        if len(set(piece)) < LEAST_DIFFERENT:
            continue
        having = database.rows("SELECT document_id FROM originals WHERE instr(data, ?)", piece)
        if others.isdisjoint(row["document_id"] for row in having):
            yield piece


def _others_here(database: Database, own: Documents) -> set[int]:
    """Return the ids of all documents on this computer but these."""
    sql = "SELECT d.id, d.name, k.name AS collection FROM documents d JOIN collections k ON k.id = d.collection_id"
    return {row["id"] for row in database.rows(sql) if (row["collection"], row["name"]) not in own}


def _telling(document: StoredDocument, said: Sequence[str]) -> list[StoredChunk]:
    """Return a few of a document's chunks whose text no other document has."""
    return [chunk for chunk in document.chunks if any(one in chunk.chunk.text for one in said)][:VECTORS]


def _copies(database: Database, document: StoredDocument, own: Documents) -> list[tuple[str, str]]:
    """Return the documents of the same content elsewhere on this computer, by name and collection."""
    rows = database.rows(
        "SELECT d.name, k.name AS collection FROM documents d JOIN collections k ON k.id = d.collection_id "
        "WHERE d.sha256 = ? ORDER BY k.name, d.name",
        document.sha256,
    )
    return [(row["name"], row["collection"]) for row in rows if (row["collection"], row["name"]) not in own]
