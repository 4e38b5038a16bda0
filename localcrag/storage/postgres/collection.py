"""A collection in PostgreSQL: all operations that need no embedding model, and names and tags."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from localcrag.records import documents as stored_document
from localcrag.records.documents import (
    Document,
    ResidueLocation,
    ResidueSignature,
    ScannedPage,
    StoredChunk,
    StoredDocument,
    StoredScan,
)
from localcrag.records.protocols import Vectors
from localcrag.storage.collections.admin import name_taken, normalised_name
from localcrag.storage.collections.chunks import (
    COLUMNS,
    chunk_from,
    concurrent_change_error,
    texts_in_context,
    titles_of,
    vector_bytes,
)
from localcrag.storage.collections.queries import checked_tag, no_document, no_folder
from localcrag.storage.postgres import rows as scan_rows
from localcrag.storage.postgres import schema
from localcrag.storage.postgres.address import PostgresAddress
from localcrag.storage.postgres.connection import PostgresDatabase, Row, Session, storable
from localcrag.storage.postgres.document_store import (
    DOCUMENT_FILTER,
    NEW_DOCUMENT,
    NEW_ORIGINAL,
    NEW_TAG,
    TAGS_QUERY,
    PostgresScans,
    PostgresStore,
)
from localcrag.storage.postgres.rows import (
    DOCUMENTS_QUERY,
    NAMES_AND_TITLES,
    collection_row,
    document_from,
    put_chunks,
    release_chunks,
    replace_vectors,
    vector_from,
)
from localcrag.storage.postgres.search import IN_COLLECTION
from localcrag.text.titles import passage_context, title_from_name

_RENAME = f"UPDATE localcrag.documents SET name = :new WHERE {IN_COLLECTION} AND name = :name"
_SAME_TAG = "lower(tag) = lower(:tag)"
_COUNT_CHANGE = "UPDATE localcrag.collections SET changes = changes + 1 WHERE id = :collection"


def index_new_name(session: Session, collection: int, document: int, name: str) -> None:
    """Re-index the chunks of a document without its own title under its new name."""
    chunks_sql = "FROM localcrag.chunks WHERE collection_id = :collection AND document_id = :document"
    columns = f"{COLUMNS}, vector_send(vector) AS vector"
    rows = session.rows(f"SELECT {columns} {chunks_sql} ORDER BY id", collection=collection, document=document)
    chunks = []
    for row in rows:
        front = passage_context(title_from_name(name), row["text"], section=row["section"], lead=row["lead"])
        chunks.append(StoredChunk(chunk_from(row), front, vector_bytes(vector_from(row["vector"]))))
    release_chunks(session, collection, document)
    session.run(f"DELETE {chunks_sql}", collection=collection, document=document)
    put_chunks(session, collection, document, chunks)


class PostgresNames:
    """The names of a collection's documents: bulk renaming, and look-up by name or content."""

    def __init__(self, store: Callable[[], PostgresStore]) -> None:
        self._store = store

    def rename_all(self, names: Mapping[str, str]) -> None:
        """Rename several documents at once, even if they swap names; a document that has a new name is replaced."""
        store = self._store()
        # Rename by way of temporary names that no document can have, in case documents swap names. They begin with
        # \x01, because a PostgreSQL text cannot contain NUL.
        temporary = {f"\x01{number}": (old, new) for number, (old, new) in enumerate(names.items())}
        with store.writing() as session:
            for temporary_name, (old, _) in temporary.items():
                session.run(_RENAME, new=temporary_name, collection=store.id, name=old)
            for temporary_name, (_, new) in temporary.items():
                for document in store.named(session, temporary_name):
                    store.remove(session, new)
                    session.run(_RENAME, new=new, collection=store.id, name=temporary_name)
                    if document["title"] is None:
                        index_new_name(session, store.id, document["id"], new)
            session.run(_COUNT_CHANGE, collection=store.id)

    def there(self, names: Iterable[str]) -> set[str]:
        """Return the names in `names` that belong to documents."""
        store = self._store()
        sql = (
            "SELECT name FROM localcrag.documents WHERE collection_id = :collection "
            "AND name = ANY(CAST(:names AS text[]))"
        )
        storable = [one for one in names if "\0" not in one]  # A PostgreSQL text cannot contain NUL.
        return {row["name"] for row in store.database.rows(sql, collection=store.id, names=storable)}

    def within(self, name: str) -> list[str]:
        """Return the names of that document, if it exists, and of its parts (such as attachments), in order."""
        store = self._store()
        sql = (
            "SELECT name FROM localcrag.documents WHERE collection_id = :collection "
            "AND (name = :name OR starts_with(name, :folder))"
        )
        rows = store.database.rows(sql, collection=store.id, name=name, folder=f"{name}/")
        return sorted(row["name"] for row in rows)

    def find_by_checksum(self, sha256: str) -> str | None:
        """Return the name of the first document, by name, with that checksum; None if there is none."""
        return self._store().twin(sha256, exclude="")


class PostgresCollection:
    """One collection of a server's database. `name` is its name on this computer."""

    def __init__(self, database: PostgresDatabase, collection: int, name: str) -> None:
        self.database, self.id, self.name = database, collection, name
        self.names = PostgresNames(self._store)

    @property
    def server(self) -> PostgresAddress:
        """The address of the server's database."""
        return self.database.address

    def writer(self) -> str:
        """Return who else is writing to the collection right now; "" if no one is. Raises StoreError."""
        return self.database.writer(self.id)

    def embedder(self) -> tuple[str, int]:
        """Return the name of the collection's embedding model and its dimension."""
        row = collection_row(self.database, self.id, self.name)
        return row["embedder"], row["dimension"]

    def open(self, embedder: str, dimension: int) -> PostgresStore:
        """Return the store of its documents and chunks. Raises EmbedderMismatch and UnknownCollection."""
        return PostgresStore(self.database, self.id, self.name, embedder=embedder, dimension=dimension)

    def together(self) -> AbstractContextManager[object]:
        """Begin a transaction for storing several documents at once."""
        return self.database.transaction(self.id)

    def scans(self) -> PostgresScans:
        """Return the scanned pages of its documents. Raises UnknownCollection."""
        return PostgresScans(self._store())

    def documents(self) -> list[Document]:
        """Return all documents, sorted by name."""
        rows = self.database.rows(f'{DOCUMENTS_QUERY} ORDER BY d.name COLLATE "C"', collection=self.id)
        return [document_from(row) for row in rows]

    def texts(self) -> dict[str, str]:
        """Return the text of all documents, by name."""
        rows = self._rows(f"SELECT name, text FROM localcrag.documents WHERE {IN_COLLECTION}")
        return {row["name"]: row["text"] for row in rows}

    def text(self, name: str) -> str:
        """Return a document's text. Raises UnknownDocument."""
        return self._store().text(name)

    def original(self, name: str) -> bytes | None:
        """Return a document's file, or None if it was not kept."""
        rows = self._rows(
            "SELECT o.data FROM localcrag.originals o JOIN localcrag.documents d ON (d.collection_id, d.id) = "
            "(o.collection_id, o.document_id) WHERE d.collection_id = :collection AND d.name = :name",
            name=name,
        )
        return rows[0]["data"] if rows else None

    def scanned_page(self, name: str, page: int) -> ScannedPage | None:
        """Return the recognised content of a page, or None if there is none."""
        document = self._store().find(name)
        return self.scans().read(document).get(page) if document else None

    def has_pages_to_recognise(self) -> bool:
        """Return whether pages wait for text recognition, or recognised pages are missing from the text."""
        return bool(
            self._rows(f"SELECT 1 FROM localcrag.scans WHERE {IN_COLLECTION} AND error IS NULL AND in_text = 0 LIMIT 1")
        )

    def rename_document(self, old: str, new: str) -> None:
        """Rename a document. Raises NameRefused and UnknownDocument."""
        new, store = normalised_name(new, "document"), self._store()
        with store.writing() as session:
            document = store.required(session, old)
            if new == old:
                return
            if store.named(session, new):
                raise name_taken(self.name, new)
            session.run(_RENAME, new=new, collection=self.id, name=old)
            session.run(_COUNT_CHANGE, collection=self.id)
            if document["title"] is None:
                index_new_name(session, self.id, document["id"], new)

    def tag(self, documents: Sequence[str], add: Sequence[str], remove: Sequence[str]) -> None:
        """Add the tags `add` to documents or folders and remove the tags `remove`, all or nothing.

        Raises NameRefused and UnknownDocument.
        """
        words, store = [checked_tag(one) for one in add], self._store()
        with store.writing() as session:
            for name in documents if words or remove else ():
                table, key, of = _tagged(store, session, name, exists=bool(words))
                insert = f"INSERT INTO localcrag.{table} VALUES (:collection, :of, :tag) ON CONFLICT DO NOTHING"
                delete = f"DELETE FROM localcrag.{table} WHERE {IN_COLLECTION} AND {key} = :of AND {_SAME_TAG}"
                for sql, tags in ((insert, words), (delete, remove)):
                    for tag in tags:
                        session.run(sql, collection=self.id, of=of, tag=tag)

    def folder_tags(self) -> dict[str, list[str]]:
        """Return the tags of the collection's folders; folders and tags are sorted."""
        tags: dict[str, list[str]] = {}
        order = 'ORDER BY folder COLLATE "C", tag COLLATE "C"'
        sql = f"SELECT folder, tag FROM localcrag.folder_tags WHERE {IN_COLLECTION} {order}"
        for row in self._rows(sql):
            tags.setdefault(row["folder"], []).append(row["tag"])
        return tags

    def chunk_texts(self) -> list[tuple[int, str]]:
        """Return the id and the text to embed of each chunk, shortest text first."""
        titles = titles_of(self._rows(NAMES_AND_TITLES))
        rows = self._rows(f"SELECT id, text, section, lead, document_id FROM localcrag.chunks WHERE {IN_COLLECTION}")
        return sorted(texts_in_context(rows, titles).items(), key=lambda text: len(text[1]))

    def replace_vectors(self, *, embedder: str, dimension: int, vectors: Mapping[int, Vectors]) -> None:
        """Replace all vectors with those of another embedding model, in one transaction. Raises StoreError."""
        with self.database.transaction(self.id) as session:
            there = session.rows(f"SELECT id FROM localcrag.chunks WHERE {IN_COLLECTION}", collection=self.id)
            if {row["id"] for row in there} != set(vectors):
                raise concurrent_change_error(self.name)
            schema.drop_index(session, self.id)
            replace_vectors(session, self.id, vectors)
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

    def stored(self, name: str) -> StoredDocument:
        """Return a document with everything stored about it. Raises UnknownDocument."""
        rows = self._rows(f"SELECT * FROM localcrag.documents WHERE {IN_COLLECTION} AND name = :name", name=name)
        if not rows:
            raise no_document(self.name, name)
        row = rows[0]
        chunks = self._of(row, f"SELECT {COLUMNS}, front, vector_send(vector) AS vector FROM localcrag.chunks", "id")
        scans = self._of(row, "SELECT page, read, confidence, seconds, error, in_text FROM localcrag.scans", "page")
        return StoredDocument(
            **{field: row[field] for field in stored_document.DOCUMENT_COLUMNS},
            chunks=tuple(
                StoredChunk(chunk_from(one), one["front"], vector_bytes(vector_from(one["vector"]))) for one in chunks
            ),
            tags=tuple(one["tag"] for one in self._rows(TAGS_QUERY, name=name)),
            scans=tuple(StoredScan(**{**one, "in_text": bool(one["in_text"])}) for one in scans),
            original=self.original(name),
        )

    def save_document(self, document: StoredDocument) -> None:
        """Store a document unchanged, replacing one of the same name, in one transaction. Raises StoreError."""
        store = self._store()
        with self.database.transaction(self.id) as session:
            store.remove(session, document.name)
            values = {field: getattr(document, field) for field in stored_document.DOCUMENT_COLUMNS}
            document_id = session.rows(NEW_DOCUMENT, collection=self.id, **values)[0]["id"]
            put_chunks(session, self.id, document_id, document.chunks)
            for scan in document.scans:
                session.run(
                    scan_rows.NEW_SCAN, collection=self.id, document=document_id, page=scan.page, read=scan.read,
                    confidence=scan.confidence, seconds=scan.seconds, error=scan.error, in_text=int(scan.in_text),
                )  # fmt: skip
            for tag in document.tags:
                session.run(NEW_TAG, collection=self.id, document=document_id, tag=tag)
            if document.original is not None:
                session.run(NEW_ORIGINAL, collection=self.id, document=document_id, data=document.original)

    def remove(self, documents: Iterable[str]) -> None:
        """Remove these documents, if they exist. Raises StoreError."""
        store = self._store()
        for name in documents:
            with self.database.transaction(self.id) as session:
                store.remove(session, name)

    def put_folder_tags(self, tags: Mapping[str, Sequence[str]]) -> None:
        """Replace the tags of all folders with these. Raises StoreError."""
        with self.database.transaction(self.id) as session:
            session.run(f"DELETE FROM localcrag.folder_tags WHERE {IN_COLLECTION}", collection=self.id)
            for folder, words in tags.items():
                for word in words:
                    sql = "INSERT INTO localcrag.folder_tags VALUES (:collection, :folder, :tag)"
                    session.run(sql, collection=self.id, folder=folder, tag=word)

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

    def _store(self) -> PostgresStore:
        return self.open(*self.embedder())

    def _rows(self, sql: str, **values: object) -> list[Row]:
        return self.database.rows(sql, collection=self.id, **values)

    def _of(self, document: Row, sql: str, order: str) -> list[Row]:
        return self._rows(f"{sql} WHERE {DOCUMENT_FILTER} ORDER BY {order}", document=document["id"])


def _tagged(store: PostgresStore, session: Session, name: str, *, exists: bool) -> tuple[str, str, object]:
    """Return the table, column and value that identify a document, or a folder, whose name ends with "/".

    Raises UnknownDocument if there is no such document or, with `exists`, no document in such a folder.
    """
    if not name.endswith("/"):
        return "document_tags", "document_id", store.required(session, name)["id"]
    folder = name.rstrip("/")
    there = f"SELECT 1 FROM localcrag.documents WHERE {IN_COLLECTION} AND starts_with(name, :folder) LIMIT 1"
    if exists and not session.rows(there, collection=store.id, folder=f"{folder}/"):
        raise no_folder(name)
    return "folder_tags", "folder", folder
