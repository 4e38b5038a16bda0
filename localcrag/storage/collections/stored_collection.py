"""SQL that collections in SQLite and PostgreSQL share: documents, names, tags, scanned pages.

The two databases have the same tables, but PostgreSQL's all have the column `collection_id`, and SQLite's only if their
rows belong to no document.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from operator import attrgetter, itemgetter
from typing import Any, ClassVar, Protocol, TypeVar

from localcrag.records.documents import DOCUMENT_COLUMNS, Chunk, Document, ScannedPage, StoredChunk, StoredDocument
from localcrag.records.documents import StoredScan as Scan
from localcrag.records.ingest import OriginalFile
from localcrag.records.protocols import Vectors
from localcrag.storage.collections.admin import document_gone, name_taken, normalised_name
from localcrag.storage.collections.chunks import (
    COLUMNS,
    chunk_from,
    stored_chunks,
    texts_in_context,
    title_to_store,
    titles_of,
    vector_bytes,
)
from localcrag.storage.collections.queries import checked_tag, no_document, no_folder
from localcrag.storage.database import now
from localcrag.text.titles import BEGINNING, find_title, title_from_name

NAMED = "collection_id = :collection AND name = :name"
"""SQL condition for the document of a name."""
_ID = f"(SELECT id FROM documents WHERE {NAMED})"
_RENAME = f"UPDATE documents SET name = :new WHERE {NAMED} RETURNING id, title"
_SCAN_COLUMNS = "page, read, confidence, seconds, error, in_text"
"""Columns of a scanned page, named like the fields of StoredScan."""


class Session(Protocol):
    """A transaction of one collection: statements with values for their :names. :collection is the collection's id."""

    def rows(self, sql: str, **values: Any) -> list[Any]:
        """Run a statement, and return its rows."""

    def run(self, sql: str, **values: Any) -> int:
        """Run a statement, and return the number of rows that it changed."""


AnySession = TypeVar("AnySession", bound=Session)


class StoredCollection(Protocol[AnySession]):
    """A collection, wherever it is stored. All methods raise StoreError."""

    name: str
    """The collection's name on this computer."""
    documents_query: ClassVar[str]
    """Query for documents. It ends in a condition, so that others can be appended."""
    column_prefix: ClassVar[str]
    value_prefix: ClassVar[str]
    condition_prefix: ClassVar[str]
    """What precedes the columns, values and conditions in SQL about rows that belong to a document."""
    is_inside: ClassVar[str]
    """SQL condition for documents in a folder, an archive or an e-mail that is called :name."""
    temporary_name: ClassVar[str]
    """Beginning of names that no document can have."""
    chunk_vectors: ClassVar[str]
    """The column `vector` of chunks, and what to select it from."""
    new_document: ClassVar[str]
    """SQL that adds a document and returns its id."""

    def rows(self, sql: str, **values: Any) -> list[Any]:
        """Return the rows of a query, in which :collection is this collection's id."""

    def writing(self) -> AbstractContextManager[AnySession]:
        """Begin a transaction. Raises UnknownCollection."""

    def put_chunks(self, session: AnySession, document: int, chunks: Sequence[StoredChunk]) -> None:
        """Add chunks to a document that has none, and index them."""

    def delete_chunks(self, session: AnySession, document: int) -> None:
        """Remove all chunks of a document."""

    def delete_row(self, session: AnySession, name: str) -> bool:
        """Remove a document; return whether it existed."""

    def index_new_name(self, session: AnySession, document: int, name: str, *, titled: bool) -> None:
        """Re-index the chunks of a renamed document, unless it is `titled`: it has a title of its own."""

    def read_vector(self, stored: bytes) -> Vectors:
        """Return a vector, given the column `vector`."""

    def existing(self, names: Iterable[str]) -> set[str]:
        """Return the names in `names` that belong to documents."""

    def listed(self, condition: str = "", **values: Any) -> list[Document]:
        """Return the documents that meet a further SQL condition."""
        rows = self.rows(f"{self.documents_query} {condition}", **values)
        return [Document(**{**dict(row), "tags": tuple(json.loads(row["tags"]))}) for row in rows]

    def documents(self) -> list[Document]:
        """Return all documents, sorted by name."""
        return sorted(self.listed(), key=attrgetter("name"))

    def find(self, name: str) -> Document | None:
        """Return the document of that name, or None."""
        return next(iter(self.listed("AND d.name = :name", name=name)), None)

    def texts(self) -> dict[str, str]:
        """Return the text of all documents, by name."""
        rows = self.rows("SELECT name, text FROM documents WHERE collection_id = :collection")
        return {row["name"]: row["text"] for row in rows}

    def text(self, name: str) -> str:
        """Return a document's text. Raises UnknownDocument."""
        for row in self.rows(f"SELECT text FROM documents WHERE {NAMED}", name=name):
            return str(row["text"])
        raise no_document(self.name, name)

    def title(self, name: str) -> str | None:
        """Return a document's title, or None if it is made from the name."""
        rows = self.rows(f"SELECT title FROM documents WHERE {NAMED}", name=name)
        return rows[0]["title"] if rows else None

    def original(self, name: str) -> bytes | None:
        """Return a document's file, or None if it was not kept."""
        rows = self.rows(f"SELECT data FROM originals WHERE {self.condition_prefix}document_id = {_ID}", name=name)
        return rows[0]["data"] if rows else None

    def scanned_page(self, name: str, page: int) -> ScannedPage | None:
        """Return the recognised content of a page, or None if there is none."""
        condition = f"{self.condition_prefix}document_id = {_ID} AND page = :page AND read IS NOT NULL"
        rows = self.rows(f"SELECT read FROM scans WHERE {condition}", name=name, page=page)
        return ScannedPage.of(json.loads(rows[0]["read"])) if rows else None

    def names_within(self, name: str) -> list[str]:
        """Return the names of that document, if it exists, and of its parts (such as attachments), in order."""
        sql = f"SELECT name FROM documents WHERE collection_id = :collection AND (name = :name OR {self.is_inside})"
        return sorted(row["name"] for row in self.rows(sql, name=name))

    def twin(self, sha256: str, exclude: str = "") -> str | None:
        """Return the first document (by name) with that checksum, leaving out `exclude`; None if there is none."""
        sql = "SELECT name FROM documents WHERE collection_id = :collection AND sha256 = :sha256"
        return min({row["name"] for row in self.rows(sql, sha256=sha256)} - {exclude}, default=None)

    def rename_document(self, old: str, new: str) -> None:
        """Rename a document. Raises NameRefused and UnknownDocument."""
        new = normalised_name(new, "document")
        with self.writing() as session:
            if new == old:
                return
            if session.rows(f"SELECT 1 FROM documents WHERE {NAMED}", name=new):
                raise name_taken(self.name, new)
            if not self._rename(session, old, new):
                raise document_gone(self.name, old)

    def rename_all(self, names: Mapping[str, str]) -> None:
        """Rename several documents at once, even if they swap names; a document that has a new name is replaced."""
        with self.writing() as session:
            # Rename by way of temporary names, in case documents swap names.
            temporary = {f"{self.temporary_name}{number}": names for number, names in enumerate(names.items())}
            moved = {
                temporary_name: new
                for temporary_name, (old, new) in temporary.items()
                if session.rows(_RENAME, name=old, new=temporary_name)
            }
            for temporary_name, new in moved.items():
                self.delete_row(session, new)
                self._rename(session, temporary_name, new)

    def _rename(self, session: AnySession, old: str, new: str) -> bool:
        renamed = session.rows(_RENAME, name=old, new=new)
        for row in renamed:
            self.index_new_name(session, row["id"], new, titled=row["title"] is not None)
        return bool(renamed)

    def tag(self, documents: Sequence[str], add: Sequence[str], remove: Sequence[str]) -> None:
        """Add tags to documents or folders, and remove others; if one of the names is unknown, change nothing.

        A name that ends with "/" is a folder: its tags apply to all documents that are in it now or later. A document
        keeps the tags of its folders. Raises NameRefused and UnknownDocument.
        """
        words = [checked_tag(one) for one in add]
        with self.writing() as session:
            for name in documents if words or remove else ():
                if name.endswith("/"):
                    table, value, condition = "folder_tags", ":collection, ", "collection_id = :collection AND folder"
                    key: object = self._folder(session, name, exists=bool(words))
                else:
                    table, value, condition = "document_tags", self.value_prefix, f"{self.condition_prefix}document_id"
                    key = self._document_id(session, name)
                insert = f"INSERT INTO {table} VALUES ({value}:key, :tag) ON CONFLICT DO NOTHING"
                delete = f"DELETE FROM {table} WHERE {condition} = :key AND lower(tag) = lower(:tag)"
                for sql, tags in ((insert, words), (delete, remove)):
                    for tag in tags:
                        session.run(sql, key=key, tag=tag)

    def _document_id(self, session: AnySession, name: str) -> int:
        for row in session.rows(f"SELECT id FROM documents WHERE {NAMED}", name=name):
            return int(row["id"])
        raise no_document(self.name, name)

    def _folder(self, session: AnySession, name: str, *, exists: bool) -> str:
        """Return a folder's name without the slash at the end; with `exists`, raise UnknownDocument if it is empty."""
        folder = name.rstrip("/")
        sql = f"SELECT 1 FROM documents WHERE collection_id = :collection AND {self.is_inside} LIMIT 1"
        if exists and not session.rows(sql, name=folder):
            raise no_folder(name)
        return folder

    def folder_tags(self) -> dict[str, list[str]]:
        """Return the tags of the collection's folders; folders and tags are sorted."""
        tags: dict[str, list[str]] = {}
        rows = self.rows("SELECT folder, tag FROM folder_tags WHERE collection_id = :collection")
        for folder, tag in sorted(map(itemgetter("folder", "tag"), rows)):
            tags.setdefault(folder, []).append(tag)
        return tags

    def put_folder_tags(self, tags: Mapping[str, Sequence[str]]) -> None:
        """Replace the tags of all folders with these."""
        with self.writing() as session:
            session.run("DELETE FROM folder_tags WHERE collection_id = :collection")
            for folder, tag in ((folder, tag) for folder, words in tags.items() for tag in words):
                session.run("INSERT INTO folder_tags VALUES (:collection, :folder, :tag)", folder=folder, tag=tag)

    def chunk_texts(self) -> list[tuple[int, str]]:
        """Return the id and the text to embed of each chunk, shortest text first."""
        ids = "SELECT id FROM documents WHERE collection_id = :collection"
        columns = "id, text, section, lead, document_id"
        rows = self.rows(f"SELECT {columns} FROM chunks WHERE {self.condition_prefix}document_id IN ({ids})")
        # A document that is deleted between the two queries has no title; its chunks get no vectors.
        titles = titles_of(self.rows("SELECT id, name, title FROM documents WHERE collection_id = :collection"))
        return sorted(texts_in_context(rows, titles).items(), key=lambda text: len(text[1]))

    def stored(self, name: str) -> StoredDocument:
        """Return a document with everything stored about it. Raises UnknownDocument."""
        rows = self.rows(f"SELECT * FROM documents WHERE {NAMED}", name=name)
        if not rows:
            raise no_document(self.name, name)

        def parts(selected: str, order: str) -> list[Any]:
            sql = f"SELECT {selected} WHERE {self.condition_prefix}document_id = :document ORDER BY {order}"
            return self.rows(sql, document=rows[0]["id"])

        return StoredDocument(
            **{field: rows[0][field] for field in DOCUMENT_COLUMNS},
            chunks=tuple(
                StoredChunk(chunk_from(one), one["front"], vector_bytes(self.read_vector(one["vector"])))
                for one in parts(f"{COLUMNS}, front, {self.chunk_vectors}", "id")
            ),
            tags=tuple(sorted(one["tag"] for one in parts("tag FROM document_tags", "tag"))),
            scans=tuple(
                Scan(**{**dict(one), "in_text": bool(one["in_text"])})
                for one in parts(f"{_SCAN_COLUMNS} FROM scans", "page")
            ),
            original=self.original(name),
        )

    def save_document(self, document: StoredDocument) -> None:
        """Store a document unchanged, replacing one of the same name, in one transaction."""
        with self.writing() as session:
            self.delete_row(session, document.name)
            number = self.insert(session, document)
            if document.original is not None:
                sql = f"INSERT INTO originals VALUES ({self.value_prefix}:document, :data)"
                session.run(sql, document=number, data=document.original)

    def insert(self, session: AnySession, document: StoredDocument) -> int:
        """Add a document, except for its original file, and return its id."""
        fields = {field: getattr(document, field) for field in DOCUMENT_COLUMNS}
        number = int(session.rows(self.new_document, **fields, characters=len(document.text))[0]["id"])
        self.put_chunks(session, number, document.chunks)
        new_scan = (
            f"INSERT INTO scans ({self.column_prefix}document_id, {_SCAN_COLUMNS}) VALUES ({self.value_prefix}"
            ":document, :page, :read, CAST(:confidence AS double precision), CAST(:seconds AS double precision), "
            ":error, :in_text)"
        )
        for scan in document.scans:
            session.run(new_scan, **{**asdict(scan), "document": number, "in_text": int(scan.in_text)})
        for tag in document.tags:
            session.run(
                f"INSERT INTO document_tags VALUES ({self.value_prefix}:document, :tag)", document=number, tag=tag
            )
        return number

    def remove(self, documents: Iterable[str]) -> None:
        """Remove these documents, if they exist."""
        for name in documents:
            with self.writing() as session:
                self.delete_row(session, name)


class OpenStore(StoredCollection[AnySession], Protocol[AnySession]):
    """A collection that is open with its embedding model, to add documents and look up chunks."""

    def keep_file(self, session: AnySession, document: int, file: OriginalFile) -> None:
        """Store the file of a document. Raises UnreadableDocument if the file is gone or has changed."""

    def chunk_rows(self, columns: str, ids: Sequence[int], **values: Any) -> Iterable[Any]:
        """Return columns of the chunks (c) with these ids, and of their documents (d), if they still exist."""

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
        """Store a document in one transaction, with its file if given; replace an earlier one of the same name.

        `vectors` has a row per chunk. Searches find a chunk by its text and by the headings in front of it. Without a
        title, the document gets one from its text and name. The pages in `unread` wait for text recognition, unless
        they were recognised for the same file before. Existing tags are kept. Raises StoreError, and UnreadableDocument
        if the file is gone or has changed; then nothing is stored.
        """
        title = title or find_title(text[:BEGINNING], name)
        with self.writing() as session:
            # Both queries need the earlier document, so they come before its deletion.
            read = session.rows(
                f"SELECT page, read, confidence, seconds FROM scans WHERE {self.condition_prefix}document_id = "
                f"(SELECT id FROM documents WHERE {NAMED} AND sha256 = :sha256) AND read IS NOT NULL",
                name=name, sha256=sha256,
            )  # fmt: skip
            known = {row["page"]: Scan(**dict(row), error=None, in_text=False) for row in read}
            tags = session.rows(
                f"SELECT tag FROM document_tags WHERE {self.condition_prefix}document_id = {_ID}", name=name
            )
            self.delete_row(session, name)
            document = StoredDocument(
                name=name, sha256=sha256, media_type=media_type, pages=pages, text=text, added_at=now(), dated=dated,
                title=title_to_store(title, name), chunks=tuple(stored_chunks(title, chunks, vectors)),
                tags=tuple(row["tag"] for row in tags), original=None,
                scans=tuple(known.get(page, Scan(page, None, None, None, None, in_text=False)) for page in unread),
            )  # fmt: skip
            number = self.insert(session, document)
            if original:
                self.keep_file(session, number, original)

    def delete(self, name: str) -> int:
        """Remove a document and its attachments; return the number of attachments. Raises UnknownDocument."""
        with self.writing() as session:
            if not self.delete_row(session, name):
                raise no_document(self.name, name)
            sql = f"SELECT name FROM documents WHERE collection_id = :collection AND {self.is_inside}"
            return sum(self.delete_row(session, row["name"]) for row in session.rows(sql, name=name))

    def number_of_documents(self) -> int:
        """Return the number of documents."""
        sql = "SELECT count(*) AS number FROM documents WHERE collection_id = :collection"
        return int(self.rows(sql)[0]["number"])

    def chunks(self, ids: Sequence[int]) -> dict[int, tuple[str, Chunk]]:
        """Return the document name and the chunk of each id that still exists."""
        columns = ", ".join(f"c.{one.strip()}" for one in COLUMNS.split(","))
        return {row["id"]: (row["name"], chunk_from(row)) for row in self.chunk_rows(f"c.id, {columns}, d.name", ids)}

    def neighbour(self, chunk_id: int, *, behind: bool) -> tuple[int, Chunk] | None:
        """Return the previous or (`behind`) next chunk of the same document, with its id, or None."""
        side, nearest = (">", "min") if behind else ("<", "max")
        (row,) = self.rows(
            f"SELECT {nearest}(id) AS id FROM chunks WHERE {self.condition_prefix}id {side} :id AND document_id = "
            f"(SELECT document_id FROM chunks WHERE {self.condition_prefix}id = :id)",
            id=chunk_id,
        )
        found = self.chunks([row["id"]]) if row["id"] is not None else {}
        return (row["id"], found[row["id"]][1]) if found else None

    def excerpt(self, chunk_id: int, start: int, end: int) -> str:
        """Return the characters from `start` to `end` of a chunk's document, or "" if it is gone."""
        text = "substr(d.text, CAST(:start AS integer), CAST(:length AS integer)) AS excerpt"
        rows = self.chunk_rows(text, [chunk_id], start=start + 1, length=end - start)
        return next((str(row["excerpt"]) for row in rows), "")

    def chunks_within(self, chunk_id: int, start: int, end: int) -> list[int]:
        """Return the ids of the chunks that overlap these characters of a chunk's document, in order."""
        rows = self.rows(
            f"SELECT id FROM chunks WHERE {self.condition_prefix}document_id = (SELECT document_id FROM chunks WHERE "
            f'{self.condition_prefix}id = :id) AND start < :end AND "end" > :start ORDER BY id',
            id=chunk_id, start=start, end=end,
        )  # fmt: skip
        return [row["id"] for row in rows]

    def dates(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the date of each chunk's document; documents without a date are left out."""
        return {row["id"]: row["dated"] for row in self.chunk_rows("c.id, d.dated", ids) if row["dated"] is not None}

    def titles(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the title of each chunk's document."""
        rows = self.chunk_rows("c.id, d.name, d.title", ids)
        return {row["id"]: row["title"] or title_from_name(row["name"]) for row in rows}

    def documents_of(self, ids: Sequence[int]) -> dict[int, int]:
        """Return the document id of each chunk that still exists."""
        return {row["id"]: row["document_id"] for row in self.chunk_rows("c.id, c.document_id", ids)}


class Scans:
    """The scanned pages of one collection's documents."""

    def __init__(self, collection: StoredCollection[Any]) -> None:
        self._collection = collection
        self._condition = f"{collection.condition_prefix}document_id = :document"

    def documents(self) -> list[Document]:
        """Return documents with pages to recognise, or recognised pages missing from their text, oldest first."""
        belongs = f"{self._collection.condition_prefix}document_id = d.id"
        to_do = f"EXISTS (SELECT 1 FROM scans WHERE {belongs} AND error IS NULL AND in_text = 0)"
        return self._collection.listed(f"AND {to_do} ORDER BY d.id")

    def original(self, document: Document) -> bytes | None:
        """Return a document's file, or None if the document is gone."""
        rows = self._rows(f"data FROM originals WHERE {self._condition}", document)
        return rows[0]["data"] if rows else None

    def text(self, document: Document) -> str:
        """Return a document's text, or "" if the document is gone."""
        rows = self._rows(f"text FROM documents WHERE {self._collection.condition_prefix}id = :document", document)
        return str(rows[0]["text"]) if rows else ""

    def waiting(self, document: Document) -> list[int]:
        """Return the numbers of the pages that still wait for text recognition, in order."""
        condition = f"{self._condition} AND read IS NULL AND error IS NULL"
        return [row["page"] for row in self._rows(f"page FROM scans WHERE {condition} ORDER BY page", document)]

    def read(self, document: Document) -> dict[int, ScannedPage]:
        """Return the recognised pages of a document, by page number."""
        rows = self._rows(f"page, read FROM scans WHERE {self._condition} AND read IS NOT NULL ORDER BY page", document)
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
        documents = "SELECT id FROM documents WHERE collection_id = :collection"
        with self._collection.writing() as session:
            session.run(
                f"UPDATE scans SET error = NULL WHERE {self._collection.condition_prefix}document_id IN ({documents})"
            )

    def vectors(self, document: Document) -> dict[str, Vectors]:
        """Return the vectors of a document's chunks, keyed by the embedded text."""
        columns = f"id, text, section, lead, document_id, {self._collection.chunk_vectors}"
        rows = self._rows(f"{columns} WHERE {self._condition}", document)
        title = f"id, name, title FROM documents WHERE {self._collection.condition_prefix}id = :document"
        texts = texts_in_context(rows, titles_of(self._rows(title, document)))
        return {texts[row["id"]]: self._collection.read_vector(row["vector"]) for row in rows}

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
        condition = f"{self._collection.condition_prefix}id = :document"
        update = f"UPDATE documents SET text = :text, title = :title WHERE {condition}"
        own_title = title_to_store(title, document.name)
        with self._collection.writing() as session:
            if not session.run(update, text=text, title=own_title, document=document.id):
                return
            self._collection.delete_chunks(session, document.id)
            self._collection.put_chunks(session, document.id, stored_chunks(title, chunks, vectors))
            for page in pages:
                sql = f"UPDATE scans SET in_text = 1 WHERE {self._condition} AND page = :page"
                session.run(sql, document=document.id, page=page)

    def _rows(self, selected: str, document: Document) -> list[Any]:
        return self._collection.rows(f"SELECT {selected}", document=document.id)

    def _set(self, document: Document, page: int, sets: str, **values: object) -> None:
        with self._collection.writing() as session:
            sql = f"UPDATE scans SET {sets} WHERE {self._condition} AND page = :page"
            session.run(sql, document=document.id, page=page, **values)
