"""A collection in PostgreSQL: all operations that need no embedding model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from localcrag.records.documents import ResidueLocation, ResidueSignature, StoredDocument
from localcrag.records.protocols import Vectors
from localcrag.storage.collections.chunks import concurrent_change_error
from localcrag.storage.collections.stored_collection import Scans
from localcrag.storage.postgres import schema
from localcrag.storage.postgres.connection import CollectionSession, storable
from localcrag.storage.postgres.rows import replace_vectors
from localcrag.storage.postgres.search import IN_COLLECTION, PostgresDocuments, PostgresStore


class PostgresCollection(PostgresDocuments):
    """One collection of a server's database. `name` is its name on this computer."""

    def writer(self) -> str:
        """Return who else is writing to the collection right now; "" if no one is. Raises StoreError."""
        return self.database.writer(self.id)

    def embedder(self) -> tuple[str, int]:
        """Return the name of the collection's embedding model and its dimension."""
        row = self.row()
        return row["embedder"], row["dimension"]

    def open(self, embedder: str, dimension: int) -> PostgresStore:
        """Return the store of its documents and chunks. Raises EmbedderMismatch and UnknownCollection."""
        return PostgresStore(self.database, self.id, self.name, embedder=embedder, dimension=dimension)

    def transaction(self) -> AbstractContextManager[object]:
        """Begin a transaction for storing several documents at once."""
        return self.database.transaction(self.id)

    def scans(self) -> Scans:
        """Return the scanned pages of its documents. Raises UnknownCollection."""
        return Scans(self.open(*self.embedder()))

    def has_pages_to_recognise(self) -> bool:
        """Return whether pages wait for text recognition, or recognised pages are missing from the text."""
        return bool(self.rows(f"SELECT 1 FROM scans WHERE {IN_COLLECTION} AND error IS NULL AND in_text = 0 LIMIT 1"))

    def replace_vectors(self, *, embedder: str, dimension: int, vectors: Mapping[int, Vectors]) -> None:
        """Replace all vectors with those of another embedding model, in one transaction. Raises StoreError."""
        with self.database.transaction(self.id) as session:
            there = session.rows(f"SELECT id FROM chunks WHERE {IN_COLLECTION}", collection=self.id)
            if {row["id"] for row in there} != set(vectors):
                raise concurrent_change_error(self.name)
            schema.drop_index(session, self.id)
            replace_vectors(CollectionSession(session, self.id), vectors)
            session.run(
                "UPDATE localcrag.collections SET embedder = :embedder, dimension = :dimension, changes = changes + 1 "
                "WHERE id = :collection",
                embedder=embedder, dimension=dimension, collection=self.id,
            )  # fmt: skip
            schema.add_index(session, self.id, dimension)

    def vacuum(self) -> None:
        """Remove deleted content from the server's files of tables and indexes. Raises StoreError.

        The tables are rewritten, and locked while that happens. A plain VACUUM would leave the text in the files.
        """
        schema.vacuum(self.database, self.id)

    def delete(self) -> None:
        """Delete the collection on the server, for everyone who uses it."""
        with self.database.transaction(self.id) as session:
            schema.drop_partition(session, self.id)
            session.run("DELETE FROM localcrag.collections WHERE id = :id", id=self.id)

    def tables_containing(self, marks: Sequence[ResidueSignature]) -> list[ResidueLocation]:
        """Return the server's tables, of any collection, that contain the text of a mark. Raises StoreError."""
        texts = {mark.forms[0].decode(): mark.description for mark in marks if mark.description.startswith("“")}
        sql = "SELECT 1 FROM localcrag.{} WHERE strpos(text, :text) > 0 LIMIT 1"
        return [
            ResidueLocation(str(self.server), description, table=table)
            for table in ("documents", "chunks")
            for text, description in texts.items()
            if self.database.rows(sql.format(table), text=text)
        ]

    @staticmethod
    def as_stored(document: StoredDocument) -> StoredDocument:
        """Return a document as it would be stored: characters that PostgreSQL cannot store become “�”."""
        return replace(
            document,
            text=storable(document.text),
            chunks=tuple(
                replace(one, chunk=replace(one.chunk, text=storable(one.chunk.text)), front=storable(one.front))
                for one in document.chunks
            ),
        )
