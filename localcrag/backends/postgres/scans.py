"""Pages that are pictures, of documents in PostgreSQL: which wait, and what was read of others."""

from __future__ import annotations

import json
from collections.abc import Sequence

from localcrag.backends.postgres.chunk_rows import vector_from
from localcrag.backends.postgres.connection import Row
from localcrag.backends.postgres.document_store import PostgresStore
from localcrag.backends.postgres.queries import DOCUMENT, document_from
from localcrag.backends.store.chunk_rows import own_title
from localcrag.records.documents import Chunk, Document, ScannedPage
from localcrag.records.protocols import Vectors
from localcrag.text.titles import in_context

_OF_DOCUMENT = "collection_id = :collection AND document_id = :document"


class PostgresScans:
    """The scanned pages of one collection's documents."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def documents(self) -> list[Document]:
        """Return the documents with pages that wait, or that were read and are not in the text yet, oldest first."""
        rows = self._store.database.rows(
            f"{DOCUMENT} AND EXISTS (SELECT 1 FROM localcrag.scans WHERE collection_id = d.collection_id "
            "AND document_id = d.id AND error IS NULL AND in_text = 0) ORDER BY d.id",
            collection=self._store.id,
        )
        return [document_from(row) for row in rows]

    def original(self, document: Document) -> bytes | None:
        """Return a document's file; None when the document is gone."""
        rows = self._rows(f"SELECT data FROM localcrag.originals WHERE {_OF_DOCUMENT}", document)
        return rows[0]["data"] if rows else None

    def text(self, document: Document) -> str:
        """Return a document's text; nothing when it is gone."""
        sql = "SELECT text FROM localcrag.documents WHERE collection_id = :collection AND id = :document"
        rows = self._rows(sql, document)
        return str(rows[0]["text"]) if rows else ""

    def waiting(self, document: Document) -> list[int]:
        """Return the pages that are still to be read, in order."""
        rows = self._scans(document, "read IS NULL AND error IS NULL")
        return [row["page"] for row in rows]

    def read(self, document: Document) -> dict[int, ScannedPage]:
        """Return what was read of a document's pages, by their numbers."""
        rows = self._scans(document, "read IS NOT NULL")
        return {row["page"]: ScannedPage.of(json.loads(row["read"])) for row in rows}

    def keep(self, document: Document, page: int, read: ScannedPage, seconds: float) -> None:
        """Keep what was read of a page, unless the document is gone. Raises StoreError."""
        said = json.dumps(read.plain(), ensure_ascii=False)
        sets = "read = :read, confidence = CAST(:confidence AS double precision), seconds = :seconds"
        self._set(document, page, sets, read=said, confidence=read.confidence, seconds=seconds)

    def give_up(self, document: Document, page: int, error: str) -> None:
        """Keep why a page cannot be read, unless the document is gone. Raises StoreError."""
        self._set(document, page, "error = :error", error=error)

    def try_again(self) -> None:
        """Have pages that could not be read wait again. Raises StoreError."""
        with self._store.writing() as session:
            sql = "UPDATE localcrag.scans SET error = NULL WHERE collection_id = :collection"
            session.run(sql, collection=self._store.id)

    def vectors(self, document: Document) -> dict[str, Vectors]:
        """Return the vectors of a document's chunks, by the text that each was made of."""
        sql = (
            f"SELECT id, text, section, lead, vector_send(vector) AS vector FROM localcrag.chunks WHERE {_OF_DOCUMENT}"
        )
        rows = self._rows(sql, document)
        titles = self._store.titles([row["id"] for row in rows])
        return {
            in_context(titles.get(row["id"]), row["text"], section=row["section"], lead=row["lead"]): vector_from(
                row["vector"]
            )
            for row in rows
        }

    def put_text(
        self,
        document: Document,
        *,
        text: str,
        chunks: Sequence[Chunk],
        vectors: Vectors,
        title: str,
        pages: Sequence[int],
    ) -> None:
        """Put this text and these chunks in the place of a document's, in one transaction; they have these `pages`.

        A document that is gone stays gone. `vectors` has a row per chunk. Raises StoreError.
        """
        with self._store.writing() as session:
            changed = session.run(
                "UPDATE localcrag.documents SET text = :text, title = :title "
                "WHERE collection_id = :collection AND id = :document",
                text=text, title=own_title(title, document.name), collection=self._store.id,
                document=document.id,
            )  # fmt: skip
            if not changed:
                return
            self._store.replace_chunks(session, document.id, title=title, chunks=chunks, vectors=vectors)
            session.run(
                f"UPDATE localcrag.scans SET in_text = 1 WHERE {_OF_DOCUMENT} "
                "AND page = ANY(CAST(:pages AS integer[]))",
                collection=self._store.id, document=document.id, pages=list(pages),
            )  # fmt: skip

    def _scans(self, document: Document, condition: str) -> list[Row]:
        sql = f"SELECT page, read FROM localcrag.scans WHERE {_OF_DOCUMENT} AND {condition} ORDER BY page"
        return self._rows(sql, document)

    def _rows(self, sql: str, document: Document) -> list[Row]:
        return self._store.database.rows(sql, collection=self._store.id, document=document.id)

    def _set(self, document: Document, page: int, sets: str, **values: object) -> None:
        sql = f"UPDATE localcrag.scans SET {sets} WHERE {_OF_DOCUMENT} AND page = :page"
        with self._store.writing() as session:
            session.run(sql, collection=self._store.id, document=document.id, page=page, **values)
