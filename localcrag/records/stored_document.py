"""A document with all that a collection keeps of it, to be put into a collection that lives elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from localcrag.records.documents import Chunk

COLUMNS = ("name", "sha256", "media_type", "pages", "text", "added_at", "dated", "title")
"""What is kept of a document itself, as fields here and columns in both homes are called."""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk, what stands in front of it when it is searched, and its vector as little-endian float32."""

    chunk: Chunk
    front: str
    vector: bytes


@dataclass(frozen=True, slots=True)
class StoredScan:
    """What is known of a page that is a picture; `read` is JSON, as text recognition says it."""

    page: int
    read: str | None
    confidence: float | None
    seconds: float | None
    error: str | None
    in_text: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """A document, its chunks in their order, its own tags and scanned pages, and its file where that was kept.

    Two are equal when nothing of them differs but the ids under which they are kept.
    """

    name: str
    sha256: str
    media_type: str
    pages: int | None
    text: str
    added_at: str
    dated: str | None
    title: str | None
    chunks: tuple[StoredChunk, ...]
    tags: tuple[str, ...]
    scans: tuple[StoredScan, ...]
    original: bytes | None
