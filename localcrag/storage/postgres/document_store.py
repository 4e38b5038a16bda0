"""Documents, chunks and scanned pages of one collection in PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from localcrag.records.documents import Chunk, Document, ScannedPage
from localcrag.records.ingest import OriginalFile
from localcrag.records.protocols import Vectors
from localcrag.storage.collections.chunks import stored_chunks, texts_in_context, title_to_store, titles_of
from localcrag.storage.collections.engine_choice import EngineChoice
from localcrag.storage.collections.queries import no_document
from localcrag.storage.database import now
from localcrag.storage.files import read_pieces
from localcrag.storage.postgres import rows as scan_rows
from localcrag.storage.postgres.connection import Row, Session
from localcrag.storage.postgres.rows import (
    DOCUMENTS_QUERY,
    NAMES_AND_TITLES,
    document_from,
    put_chunks,
    release_chunks,
    vector_from,
)
from localcrag.storage.postgres.search import IN_COLLECTION, PgVectorIndex, PostgresChunks
from localcrag.text.titles import BEGINNING, find_title

NEW_DOCUMENT = (
    "INSERT INTO localcrag.documents (collection_id, id, name, sha256, media_type, pages, text, added_at, dated, "
    "title, language) VALUES (:collection, nextval('localcrag.ids'), :name, :sha256, :media_type, "
    "CAST(:pages AS integer), :text, :added_at, :dated, :title, '') RETURNING id"
)
NEW_ORIGINAL = "INSERT INTO localcrag.originals VALUES (:collection, :document, :data)"
NEW_TAG = "INSERT INTO localcrag.document_tags VALUES (:collection, :document, :tag)"
DOCUMENT_FILTER = f"{IN_COLLECTION} AND document_id = :document"
TAGS_QUERY = (
    "SELECT t.tag FROM localcrag.document_tags t JOIN localcrag.documents d ON (d.collection_id, d.id) = "
    "(t.collection_id, t.document_id) WHERE d.collection_id = :collection AND d.name = :name ORDER BY t.tag"
)


class PostgresStore(PostgresChunks):
    """The documents and chunks of one collection."""

    def open_index(self, _folder: Path, _engines: EngineChoice) -> PgVectorIndex:
        """Open the vector index. The server keeps it, so it has no files here."""
        return PgVectorIndex(self)

    def find(self, name: str) -> Document | None:
        """Return the document of that name, or None."""
        rows = self.rows(f"{DOCUMENTS_QUERY} AND d.name = :name", name=name)
        return document_from(rows[0]) if rows else None

    def twin(self, sha256: str, exclude: str) -> str | None:
        """Return the first document (by name) with that checksum, leaving out `exclude`; None if there is none."""
        rows = self.rows(
            f"SELECT name FROM localcrag.documents WHERE {IN_COLLECTION} AND sha256 = :sha256 AND name != :but "
            'ORDER BY name COLLATE "C" LIMIT 1',
            sha256=sha256, but=exclude,
        )  # fmt: skip
        return rows[0]["name"] if rows else None

    def put(
        self,
        name: str,
        *,
        sha256: str,
        media_type: str,
        pages: int | None,
        text: str,
        chunks: Sequence[Chunk],
        vectors: Vectors,
        title: str | None = None,
        dated: str | None = None,
        original: OriginalFile | None = None,
        unread: Sequence[int] = (),
    ) -> None:
        """Store a document in one transaction, replacing an earlier one of the same name; see `DocumentStore.put`.

        Raises StoreError, also if another computer keeps writing to the collection, and UnreadableDocument if the file
        is gone or has changed; then nothing is stored.
        """
        title = title or find_title(text[:BEGINNING], name)
        data = b"".join(read_pieces(original)) if original else None
        with self.writing() as session:
            read = scan_rows.recognised_pages(session, self.id, name, sha256)
            tags = session.rows(TAGS_QUERY, collection=self.id, name=name)
            self.remove(session, name)
            document: int = session.rows(
                NEW_DOCUMENT, collection=self.id, name=name, sha256=sha256, media_type=media_type, pages=pages,
                text=text, added_at=now(), dated=dated, title=title_to_store(title, name),
            )[0]["id"]  # fmt: skip
            put_chunks(session, self.id, document, stored_chunks(title, chunks, vectors))
            scan_rows.queue_pages(session, self.id, document, unread, read)
            for row in tags:
                session.run(NEW_TAG, collection=self.id, document=document, tag=row["tag"])
            if data is not None:
                session.run(NEW_ORIGINAL, collection=self.id, document=document, data=data)

    def text(self, name: str) -> str:
        """Return a document's text. Raises UnknownDocument."""
        rows = self.rows(f"SELECT text FROM localcrag.documents WHERE {IN_COLLECTION} AND name = :name", name=name)
        if not rows:
            raise no_document(self.name, name)
        return str(rows[0]["text"])

    def title(self, name: str) -> str | None:
        """Return a document's title, or None if it is made from the name."""
        rows = self.rows(f"SELECT title FROM localcrag.documents WHERE {IN_COLLECTION} AND name = :name", name=name)
        return rows[0]["title"] if rows else None

    def delete(self, name: str) -> int:
        """Remove a document and its attachments; return the number of attachments. Raises UnknownDocument."""
        with self.writing() as session:
            if not self.remove(session, name):
                raise no_document(self.name, name)
            within = session.rows(
                f"SELECT name FROM localcrag.documents WHERE {IN_COLLECTION} AND starts_with(name, :within)",
                collection=self.id, within=f"{name}/",
            )  # fmt: skip
            for row in within:
                self.remove(session, row["name"])
            return len(within)

    def named(self, session: Session, name: str) -> list[Row]:
        """Return the id and title of the document of that name, in a list that is empty if there is none."""
        sql = f"SELECT id, title FROM localcrag.documents WHERE {IN_COLLECTION} AND name = :name"
        return session.rows(sql, collection=self.id, name=name)

    def required(self, session: Session, name: str) -> Row:
        """Return the id and title of the document of that name. Raises UnknownDocument."""
        rows = self.named(session, name)
        if not rows:
            raise no_document(self.name, name)
        return rows[0]

    def remove(self, session: Session, name: str) -> bool:
        """Remove a document within a transaction, and return whether it existed."""
        rows = self.named(session, name)
        for row in rows:
            release_chunks(session, self.id, row["id"])
            delete = f"DELETE FROM localcrag.documents WHERE {IN_COLLECTION} AND id = :id"
            session.run(delete, collection=self.id, id=row["id"])
        return bool(rows)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Begin a transaction for this collection; see `PostgresDatabase.transaction`.

        Raises UnknownCollection, and EmbedderMismatch if the collection was re-indexed with another model.
        """
        with self.database.transaction(self.id) as session:
            self.row()
            yield session


class PostgresScans:
    """The scanned pages of one collection's documents."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def documents(self) -> list[Document]:
        """Return documents with pages to recognise, or recognised pages missing from their text, oldest first."""
        rows = self._store.rows(
            f"{DOCUMENTS_QUERY} AND EXISTS (SELECT 1 FROM localcrag.scans WHERE collection_id = d.collection_id "
            "AND document_id = d.id AND error IS NULL AND in_text = 0) ORDER BY d.id"
        )
        return [document_from(row) for row in rows]

    def original(self, document: Document) -> bytes | None:
        """Return a document's file, or None if the document is gone."""
        rows = self._rows(f"SELECT data FROM localcrag.originals WHERE {DOCUMENT_FILTER}", document)
        return rows[0]["data"] if rows else None

    def text(self, document: Document) -> str:
        """Return a document's text, or "" if the document is gone."""
        sql = "SELECT text FROM localcrag.documents WHERE collection_id = :collection AND id = :document"
        rows = self._rows(sql, document)
        return str(rows[0]["text"]) if rows else ""

    def waiting(self, document: Document) -> list[int]:
        """Return the numbers of the pages that still wait for text recognition, in order."""
        rows = self._scans(document, "read IS NULL AND error IS NULL")
        return [row["page"] for row in rows]

    def read(self, document: Document) -> dict[int, ScannedPage]:
        """Return the recognised pages of a document, by page number."""
        rows = self._scans(document, "read IS NOT NULL")
        return {row["page"]: ScannedPage.of(json.loads(row["read"])) for row in rows}

    def keep(self, document: Document, page: int, read: ScannedPage, seconds: float) -> None:
        """Store the recognised content of a page, unless the document is gone. Raises StoreError."""
        content = json.dumps(read.plain(), ensure_ascii=False)
        sets = "read = :read, confidence = CAST(:confidence AS double precision), seconds = :seconds"
        self._set(document, page, sets, read=content, confidence=read.confidence, seconds=seconds)

    def record_failure(self, document: Document, page: int, error: str) -> None:
        """Store why a page could not be recognised, unless the document is gone. Raises StoreError."""
        self._set(document, page, "error = :error", error=error)

    def retry_failed(self) -> None:
        """Queue the pages that failed for text recognition again. Raises StoreError."""
        with self._store.writing() as session:
            sql = "UPDATE localcrag.scans SET error = NULL WHERE collection_id = :collection"
            session.run(sql, collection=self._store.id)

    def vectors(self, document: Document) -> dict[str, Vectors]:
        """Return the vectors of a document's chunks, keyed by the embedded text."""
        columns = "id, text, section, lead, document_id, vector_send(vector) AS vector"
        rows = self._rows(f"SELECT {columns} FROM localcrag.chunks WHERE {DOCUMENT_FILTER}", document)
        titles = titles_of(self._rows(f"{NAMES_AND_TITLES} AND id = :document", document))
        texts = texts_in_context(rows, titles)
        return {texts[row["id"]]: vector_from(row["vector"]) for row in rows}

    def replace_text(
        self,
        document: Document,
        *,
        text: str,
        chunks: Sequence[Chunk],
        vectors: Vectors,
        title: str,
        pages: Sequence[int],
    ) -> None:
        """Replace a document's text and chunks in one transaction; the new text includes the scanned `pages`.

        Does nothing if the document is gone. `vectors` has a row per chunk. Raises StoreError.
        """
        with self._store.writing() as session:
            changed = session.run(
                "UPDATE localcrag.documents SET text = :text, title = :title "
                "WHERE collection_id = :collection AND id = :document",
                text=text, title=title_to_store(title, document.name), collection=self._store.id,
                document=document.id,
            )  # fmt: skip
            if not changed:
                return
            release_chunks(session, self._store.id, document.id)
            delete = f"DELETE FROM localcrag.chunks WHERE {DOCUMENT_FILTER}"
            session.run(delete, collection=self._store.id, document=document.id)
            put_chunks(session, self._store.id, document.id, stored_chunks(title, chunks, vectors))
            session.run(
                f"UPDATE localcrag.scans SET in_text = 1 WHERE {DOCUMENT_FILTER} "
                "AND page = ANY(CAST(:pages AS integer[]))",
                collection=self._store.id, document=document.id, pages=list(pages),
            )  # fmt: skip

    def _scans(self, document: Document, condition: str) -> list[Row]:
        sql = f"SELECT page, read FROM localcrag.scans WHERE {DOCUMENT_FILTER} AND {condition} ORDER BY page"
        return self._rows(sql, document)

    def _rows(self, sql: str, document: Document) -> list[Row]:
        return self._store.rows(sql, document=document.id)

    def _set(self, document: Document, page: int, sets: str, **values: object) -> None:
        sql = f"UPDATE localcrag.scans SET {sets} WHERE {DOCUMENT_FILTER} AND page = :page"
        with self._store.writing() as session:
            session.run(sql, collection=self._store.id, document=document.id, page=page, **values)
