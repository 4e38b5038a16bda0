"""A collection's documents in PostgreSQL: put, found and removed. Knows no model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from localcrag.backends.postgres import scan_rows
from localcrag.backends.postgres.chunk_rows import forget_chunks, put_chunks
from localcrag.backends.postgres.chunk_store import HERE, PostgresChunks
from localcrag.backends.postgres.connection import Session
from localcrag.backends.postgres.queries import DOCUMENT, document_from
from localcrag.backends.store.chunk_rows import own_title, with_front
from localcrag.backends.store.collection_queries import no_document
from localcrag.backends.store.kept_file import pieces_of
from localcrag.records.documents import Chunk, Document
from localcrag.records.ingest import FileAsRead
from localcrag.records.protocols import Vectors
from localcrag.text.titles import BEGINNING, title_of

NEW_DOCUMENT = (
    "INSERT INTO localcrag.documents (collection_id, id, name, sha256, media_type, pages, text, added_at, dated, "
    "title, language) VALUES (:collection, nextval('localcrag.ids'), :name, :sha256, :media_type, "
    "CAST(:pages AS integer), :text, :added_at, :dated, :title, '') RETURNING id"
)
NEW_ORIGINAL = "INSERT INTO localcrag.originals VALUES (:collection, :document, :data)"
NEW_TAG = "INSERT INTO localcrag.document_tags VALUES (:collection, :document, :tag)"
TAGS = (
    "SELECT t.tag FROM localcrag.document_tags t JOIN localcrag.documents d ON (d.collection_id, d.id) = "
    "(t.collection_id, t.document_id) WHERE d.collection_id = :collection AND d.name = :name ORDER BY t.tag"
)


class PostgresStore(PostgresChunks):
    """One collection's part of a database."""

    def find(self, name: str) -> Document | None:
        """Return the document of that name, if there is one."""
        rows = self.database.rows(f"{DOCUMENT} AND d.name = :name", collection=self.id, name=name)
        return document_from(rows[0]) if rows else None

    def twin(self, sha256: str, but: str) -> str | None:
        """Return the first name, in order, of another document than `but` with that checksum, if there is one."""
        rows = self._rows(
            f"SELECT name FROM localcrag.documents WHERE {HERE} AND sha256 = :sha256 AND name != :but "
            'ORDER BY name COLLATE "C" LIMIT 1',
            sha256=sha256, but=but,
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
        original: FileAsRead | None = None,
        unread: Sequence[int] = (),
    ) -> None:
        """Store a document in place of the one of that name, in one transaction; see `DocumentStore.put`.

        Raises StoreError, also where another computer writes to the collection for long, and UnreadableDocument when
        the file has gone or is another; then nothing has changed.
        """
        title = title or title_of(text[:BEGINNING], name)
        data = b"".join(pieces_of(original)) if original else None
        with self.writing() as session:
            read = scan_rows.of_same_file(session, self.id, name, sha256)
            tags = session.rows(TAGS, collection=self.id, name=name)
            self.remove(session, name)
            document: int = session.rows(
                NEW_DOCUMENT, collection=self.id, name=name, sha256=sha256, media_type=media_type, pages=pages,
                text=text, added_at=_now(), dated=dated, title=own_title(title, name),
            )[0]["id"]  # fmt: skip
            put_chunks(session, self.id, document, with_front(title, chunks, vectors))
            scan_rows.put(session, self.id, document, unread, read)
            for row in tags:
                session.run(NEW_TAG, collection=self.id, document=document, tag=row["tag"])
            if data is not None:
                session.run(NEW_ORIGINAL, collection=self.id, document=document, data=data)

    def text(self, name: str) -> str:
        """Return a document's text. Raises UnknownDocument."""
        rows = self._rows(f"SELECT text FROM localcrag.documents WHERE {HERE} AND name = :name", name=name)
        if not rows:
            raise no_document(self.name, name)
        return str(rows[0]["text"])

    def title(self, name: str) -> str | None:
        """Return a document's title where it is not made of its name."""
        rows = self._rows(f"SELECT title FROM localcrag.documents WHERE {HERE} AND name = :name", name=name)
        return rows[0]["title"] if rows else None

    def delete(self, name: str) -> int:
        """Remove a document with all made from it, and return of how many attachments. Raises UnknownDocument."""
        with self.writing() as session:
            if not self.remove(session, name):
                raise no_document(self.name, name)
            within = session.rows(
                f"SELECT name FROM localcrag.documents WHERE {HERE} AND starts_with(name, :within)",
                collection=self.id, within=f"{name}/",
            )  # fmt: skip
            for row in within:
                self.remove(session, row["name"])
            return len(within)

    def remove(self, session: Session, name: str) -> bool:
        """Remove a document within a transaction, and return whether there was one."""
        sql = f"SELECT id FROM localcrag.documents WHERE {HERE} AND name = :name"
        rows = session.rows(sql, collection=self.id, name=name)
        for row in rows:
            forget_chunks(session, self.id, row["id"])
            delete = f"DELETE FROM localcrag.documents WHERE {HERE} AND id = :id"
            session.run(delete, collection=self.id, id=row["id"])
        return bool(rows)

    def replace_chunks(
        self, session: Session, document: int, *, title: str, chunks: Sequence[Chunk], vectors: Vectors
    ) -> None:
        """Put these chunks in the place of a document's, within a transaction."""
        forget_chunks(session, self.id, document)
        delete = f"DELETE FROM localcrag.chunks WHERE {HERE} AND document_id = :document"
        session.run(delete, collection=self.id, document=document)
        put_chunks(session, self.id, document, with_front(title, chunks, vectors))

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Begin a transaction for this collection; see `PostgresDatabase.transaction`.

        Raises UnknownCollection, and EmbedderMismatch when somebody has embedded it anew.
        """
        with self.database.transaction(self.id) as session:
            self.row()
            yield session


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
