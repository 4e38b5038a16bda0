"""Rows of a collection in PostgreSQL: listed documents, chunks and term counts."""

from __future__ import annotations

import hashlib
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from localcrag.records.documents import StoredChunk
from localcrag.records.errors import UnknownCollection
from localcrag.records.protocols import Vectors
from localcrag.storage.collections.chunks import COLUMNS, chunk_values, vector_bytes
from localcrag.storage.collections.full_text import detect_language
from localcrag.storage.postgres.connection import CollectionSession, PostgresDatabase, Row, storable
from localcrag.storage.postgres.schema import UNSTEMMED
from localcrag.text.lexicon import BIGRAM_LANGUAGES, ENGLISH, LEXICONS, stems

_OWN = "collection_id = d.collection_id AND document_id = d.id"
DOCUMENTS_QUERY = f"""
SELECT d.id, d.name, d.sha256, d.media_type, d.pages, d.characters, d.added_at, d.dated,
       (SELECT count(*) FROM localcrag.chunks WHERE {_OWN}) AS chunks, d.language, s.waiting, s.recognised, s.illegible,
       s.confidence,
       (SELECT coalesce(json_agg(tag ORDER BY tag COLLATE "C"), '[]')::text FROM (
            SELECT tag FROM localcrag.document_tags WHERE {_OWN}
            UNION SELECT f.tag FROM localcrag.folder_tags f WHERE f.collection_id = d.collection_id
            AND starts_with(d.name, f.folder || '/')
       ) t) AS tags
FROM localcrag.documents d CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE read IS NULL AND error IS NULL) AS waiting,
           count(*) FILTER (WHERE read IS NOT NULL) AS recognised,
           count(*) FILTER (WHERE error IS NOT NULL) AS illegible, avg(confidence) AS confidence
    FROM localcrag.scans WHERE {_OWN}
) s WHERE d.collection_id = :collection
"""


def collection_row(database: PostgresDatabase, collection: int, name: str) -> Row:
    """Return a collection's row; `name` is its name on this computer. Raises UnknownCollection and StoreError."""
    rows = database.rows("SELECT * FROM localcrag.collections WHERE id = :id", id=collection)
    if not rows:
        raise UnknownCollection(f"There is no collection “{name}” at {database.address.at} any more.")
    return rows[0]


_CHUNK_COLUMNS = f"collection_id, id, document_id, {COLUMNS}, front, language, pairs, words, vector, likeness, in_graph"
MOST_EQUAL_VECTORS = 16
"""Maximum number of chunks in the graph with the same vector (a notice on every page, an empty form). An entry of the
graph has at most twice LINKS links. If more entries were at one place, they would link only to each other, and a search
that reached them would end there."""
VECTORS_PER_STATEMENT = 500
"""Vectors per statement."""
_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})
"""Escape sequences of COPY's text format (PostgreSQL's manual, COPY)."""
_WORD = re.compile(r"\w+")


def search_language(language: str) -> str:
    """Return the language that a document is indexed by: one of those that the SQL function localcrag.terms knows."""
    return UNSTEMMED if language in BIGRAM_LANGUAGES else language if language in LEXICONS else ENGLISH


def put_chunks(session: CollectionSession, document: int, chunks: Sequence[StoredChunk]) -> None:
    """Add chunks to a document that has none, count their terms, and detect the document's language."""
    language = detect_language(one.chunk.text for one in chunks)
    ids = session.rows("SELECT nextval('localcrag.ids') AS id FROM generate_series(1, :number)", number=len(chunks))
    in_graph = _count_in_graph(session, [likeness(one.vector) for one in chunks])
    lines = []
    for row, one in zip(ids, chunks, strict=True):
        in_graph[likeness(one.vector)] += 1
        alike = likeness(one.vector), in_graph[likeness(one.vector)] <= MOST_EQUAL_VECTORS
        values = (session.collection, row["id"], document, *_values(one, language), *alike)
        lines.append("\t".join(map(_field, values)))
    # Copy into the parent table; the server puts the rows into the right partition.
    copy = f"COPY localcrag.chunks ({_CHUNK_COLUMNS}) FROM STDIN"
    session.copy(copy, io.BytesIO("".join(f"{line}\n" for line in lines).encode()))
    update = "UPDATE localcrag.documents SET language = :language WHERE collection_id = :collection AND id = :id"
    session.run(update, language=language, id=document)
    session.run(
        "INSERT INTO localcrag.term_counts SELECT :collection, t.lexeme, count(*) FROM localcrag.chunks c, "
        "unnest(c.search) t WHERE c.collection_id = :collection AND c.document_id = :document GROUP BY t.lexeme "
        "ON CONFLICT (collection_id, term) DO UPDATE SET chunks = term_counts.chunks + excluded.chunks",
        document=document,
    )
    _count(session, document, "+")


def release_chunks(session: CollectionSession, document: int) -> None:
    """Subtract a document's chunks, which are about to be deleted, from the collection's counts.

    If the graph lacks some chunks with the same vector, these replace the deleted chunks in it.
    """
    session.run(
        "UPDATE localcrag.chunks SET in_graph = true FROM (SELECT id, row_number() OVER (PARTITION BY likeness "
        "ORDER BY in_graph DESC, id) AS place FROM localcrag.chunks WHERE collection_id = :collection "
        "AND document_id != :document AND likeness IN (SELECT o.likeness FROM localcrag.chunks o JOIN localcrag.chunks "
        "w ON w.collection_id = o.collection_id AND w.likeness = o.likeness AND NOT w.in_graph "
        "WHERE o.collection_id = :collection AND o.document_id = :document)) n WHERE chunks.collection_id = "
        ":collection AND chunks.id = n.id AND NOT chunks.in_graph AND n.place <= :most",
        document=document, most=MOST_EQUAL_VECTORS,
    )  # fmt: skip
    session.run(
        "UPDATE localcrag.term_counts SET chunks = term_counts.chunks - gone.number FROM (SELECT t.lexeme, count(*) "
        "AS number FROM localcrag.chunks c, unnest(c.search) t WHERE c.collection_id = :collection "
        "AND c.document_id = :document GROUP BY t.lexeme) gone "
        "WHERE term_counts.collection_id = :collection AND term_counts.term = gone.lexeme",
        document=document,
    )
    delete = "DELETE FROM localcrag.term_counts WHERE collection_id = :collection AND chunks <= 0"
    session.run(delete)
    _count(session, document, "-")


def replace_vectors(session: CollectionSession, vectors: Mapping[int, Vectors]) -> None:
    """Replace the vectors of chunks, by chunk id."""
    ids, copies = list(vectors), Counter[int]()
    for at in range(0, len(ids), VECTORS_PER_STATEMENT):
        some = ids[at : at + VECTORS_PER_STATEMENT]
        numbers = [likeness(vector_bytes(vectors[one])) for one in some]
        in_graph = []
        for number in numbers:
            copies[number] += 1
            in_graph.append(copies[number] <= MOST_EQUAL_VECTORS)
        session.run(
            "UPDATE localcrag.chunks SET vector = CAST(n.v AS vector), likeness = n.l, in_graph = n.g "
            "FROM unnest(CAST(:ids AS bigint[]), CAST(:vectors AS text[]), CAST(:numbers AS bigint[]), "
            "CAST(:in_graph AS boolean[])) AS n (id, v, l, g) WHERE chunks.collection_id = :collection "
            "AND chunks.id = n.id",
            ids=some, vectors=[vector_text(vectors[one]) for one in some], numbers=numbers,
            in_graph=in_graph,
        )  # fmt: skip


def _count(session: CollectionSession, document: int, sign: str) -> None:
    session.run(
        f"UPDATE localcrag.collections SET changes = changes + 1, chunks = collections.chunks {sign} own.chunks, "
        f"words = collections.words {sign} own.words FROM (SELECT count(*) AS chunks, coalesce(sum(words), 0) AS words "
        "FROM localcrag.chunks WHERE collection_id = :collection AND document_id = :document) own "
        "WHERE id = :collection",
        document=document,
    )


def likeness(vector: bytes) -> int:
    """Return a 64-bit hash of a vector, which is the same for equal vectors."""
    return int.from_bytes(hashlib.blake2b(vector, digest_size=8).digest(), "big", signed=True)


def _count_in_graph(session: CollectionSession, numbers: Sequence[int]) -> Counter[int]:
    """Return for each of these likenesses the number of its chunks in the graph."""
    rows = session.rows(
        "SELECT likeness, count(*) AS number FROM localcrag.chunks WHERE collection_id = :collection AND in_graph "
        "AND likeness = ANY(CAST(:numbers AS bigint[])) GROUP BY likeness",
        numbers=sorted(set(numbers)),
    )
    return Counter({row["likeness"]: row["number"] for row in rows})


def vector_text(vector: bytes | Vectors) -> str:
    """Return a vector in pgvector's text format, with all digits of its numbers."""
    numbers = np.frombuffer(vector, "<f4") if isinstance(vector, bytes) else vector
    return "[" + ",".join(map(repr, numbers.tolist())) + "]"


def vector_from(sent: bytes) -> Vectors:
    """Return a vector from the format of pgvector's vector_send: two 16-bit numbers, then big-endian float32."""
    return np.frombuffer(sent, ">f4", offset=4).astype("<f4")


def _values(one: StoredChunk, language: str) -> tuple[object, ...]:
    chunk = one.chunk
    searched = f"{one.front}\n{chunk.text}"
    pairs = stems(searched, language) if language in BIGRAM_LANGUAGES else None
    return (
        *(*chunk_values(chunk), one.front, search_language(language)),
        *(None if pairs is None else " ".join(pairs), len(_WORD.findall(searched) if pairs is None else pairs)),
        vector_text(one.vector),
    )


def _field(value: object) -> str:
    return r"\N" if value is None else storable(str(value)).translate(_ESCAPES)
