"""Names and tags of documents in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from localcrag.backends.postgres.chunk_rows import forget_chunks, put_chunks, vector_from
from localcrag.backends.postgres.connection import Row, Session
from localcrag.backends.store.chunk_rows import COLUMNS, chunk_from
from localcrag.backends.store.collection_queries import no_document
from localcrag.backends.store.shelving import checked, name_taken
from localcrag.backends.store.stored_vectors import packed
from localcrag.backends.store.tag_store import checked_tag, no_folder
from localcrag.records.stored_document import StoredChunk
from localcrag.text.titles import in_front, named

_NAMED = "collection_id = :collection AND name = :name"


def rename_document(session: Session, collection: int, old: str, new: str, called: str) -> None:
    """Give a document of a collection, which is `called` so, another name. Raises NameRefused and UnknownDocument."""
    new = checked(new, "document")
    document = _document(session, collection, old, called)
    if new == old:
        return
    if find(session, collection, new):
        raise name_taken(called, new)
    session.run(f"UPDATE localcrag.documents SET name = :new WHERE {_NAMED}", new=new, collection=collection, name=old)
    session.run("UPDATE localcrag.collections SET changes = changes + 1 WHERE id = :id", id=collection)
    if document["title"] is None:
        search_by_name(session, collection, document["id"], new)


def tag(session: Session, collection: int, names: Sequence[str], tags: Sequence[str], called: str) -> None:
    """Give tags to documents, or to folders, whose names end with "/". Raises NameRefused and UnknownDocument."""
    words = [checked_tag(one) for one in tags]
    for name in names if words else ():
        if name.endswith("/"):
            folder = name.rstrip("/")
            there = "SELECT 1 FROM localcrag.documents WHERE collection_id = :collection AND starts_with(name, :folder)"
            if not session.rows(f"{there} LIMIT 1", collection=collection, folder=f"{folder}/"):
                raise no_folder(name)
            sql = "INSERT INTO localcrag.folder_tags VALUES (:collection, :of, :tag) ON CONFLICT DO NOTHING"
            of: object = folder
        else:
            sql = "INSERT INTO localcrag.document_tags VALUES (:collection, :of, :tag) ON CONFLICT DO NOTHING"
            of = _document(session, collection, name, called)["id"]
        for word in words:
            session.run(sql, collection=collection, of=of, tag=word)


def untag(session: Session, collection: int, names: Sequence[str], tags: Sequence[str], called: str) -> None:
    """Take tags from documents, or from folders; a tag of its folder stays with a document. Raises UnknownDocument."""
    for name in names if tags else ():
        if name.endswith("/"):
            sql = "DELETE FROM localcrag.folder_tags WHERE collection_id = :collection AND folder = :of"
            of: object = name.rstrip("/")
        else:
            sql = "DELETE FROM localcrag.document_tags WHERE collection_id = :collection AND document_id = :of"
            of = _document(session, collection, name, called)["id"]
        for word in tags:
            session.run(f"{sql} AND lower(tag) = lower(:tag)", collection=collection, of=of, tag=word)


def _document(session: Session, collection: int, name: str, called: str) -> Row:
    rows = find(session, collection, name)
    if not rows:
        raise no_document(called, name)
    return rows[0]


def find(session: Session, collection: int, name: str) -> list[Row]:
    """Return id and title of the document of that name, if there is one."""
    sql = f"SELECT id, title FROM localcrag.documents WHERE {_NAMED}"
    return session.rows(sql, collection=collection, name=name)


def search_by_name(session: Session, collection: int, document: int, name: str) -> None:
    """Have the chunks of a document that is called as its file is found by its new name."""
    of_document = "FROM localcrag.chunks WHERE collection_id = :collection AND document_id = :document"
    columns = f"{COLUMNS}, vector_send(vector) AS vector"
    rows = session.rows(f"SELECT {columns} {of_document} ORDER BY id", collection=collection, document=document)
    chunks = [StoredChunk(chunk_from(row), "", packed(vector_from(row["vector"]))) for row in rows]
    forget_chunks(session, collection, document)
    session.run(f"DELETE {of_document}", collection=collection, document=document)
    fronts = [in_front(named(name), one.chunk.text, section=one.chunk.section, lead=one.chunk.lead) for one in chunks]
    put_chunks(
        session, collection, document, [replace(one, front=front) for one, front in zip(chunks, fronts, strict=True)]
    )
