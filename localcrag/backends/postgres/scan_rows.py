"""Rows of scanned pages in PostgreSQL, as a document is put or put anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from localcrag.backends.postgres.connection import Row, Session

NEW_SCAN = (
    "INSERT INTO localcrag.scans (collection_id, document_id, page, read, confidence, seconds, error, in_text) VALUES "
    "(:collection, :document, :page, :read, CAST(:confidence AS double precision), "
    "CAST(:seconds AS double precision), :error, :in_text)"
)


def of_same_file(session: Session, collection: int, name: str, sha256: str) -> dict[int, Row]:
    """Return what text recognition has read of a document as long as its file was the same, by page."""
    rows = session.rows(
        "SELECT s.* FROM localcrag.scans s JOIN localcrag.documents d ON (d.collection_id, d.id) = "
        "(s.collection_id, s.document_id) WHERE d.collection_id = :collection AND d.name = :name "
        "AND d.sha256 = :sha256 AND s.read IS NOT NULL",
        collection=collection, name=name, sha256=sha256,
    )  # fmt: skip
    return {row["page"]: row for row in rows}


def put(session: Session, collection: int, document: int, pages: Sequence[int], read: Mapping[int, Row]) -> None:
    """Have these pages of a document wait for text recognition, but for those that it has read already."""
    nothing: Row = {"read": None, "confidence": None, "seconds": None}
    for page in pages:
        known = read.get(page, nothing)
        session.run(
            NEW_SCAN, collection=collection, document=document, page=page, read=known["read"],
            confidence=known["confidence"], seconds=known["seconds"], error=None, in_text=0,
        )  # fmt: skip
