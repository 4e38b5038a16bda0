"""Documents of a collection's file: written as JSON, and checked as what a stranger may have written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from localcrag.backends.store.shelving import LONGEST_NAME
from localcrag.backends.store.tag_store import checked_tag
from localcrag.records.documents import Chunk, ScannedPage
from localcrag.records.enums import Preset, WebMode
from localcrag.records.errors import NameRefused
from localcrag.records.stored_document import StoredChunk, StoredDocument, StoredScan

LONGEST_DOCUMENT_NAME, LONGEST_LINE = 1_000, 2_000
"""Characters of a name with its folders, and of a title or path of headings."""
MOST_PAGES, MOST_DIMENSIONS = 1_000_000, 8_192
UNIT = 0.1
"""How far from 1 the length of a vector may be: embedders give unit vectors, rounded."""
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
"""Control characters, and those that turn the direction of what is shown behind them."""
_NUMBER = 4
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,100}/[\w.+-]{1,100}", re.ASCII)
_EMBEDDER = re.compile(r"[\w.:/@+-]{1,200}", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T[\d:.]{5,15}(?:[+-]\d{2}:\d{2}|Z)?", re.ASCII)


class Damaged(Exception):
    """Something in a file is not what it has to be; says what, for the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Written:
    """A document's row in the file."""

    document: str
    vectors: bytes
    original: bytes | None


@dataclass(frozen=True, slots=True)
class _Chunk:
    chunk: Chunk
    front: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    name: str
    sha256: str
    media_type: str
    pages: int | None
    text: str
    added_at: str
    dated: str | None
    title: str | None
    chunks: tuple[_Chunk, ...]
    tags: tuple[str, ...]
    scans: tuple[StoredScan, ...]


_DOCUMENT, _SCANNED = TypeAdapter(_Document), TypeAdapter(ScannedPage)
_FIELDS = tuple(name for name in _Document.__dataclass_fields__ if name != "chunks")


def written(document: StoredDocument) -> Written:
    """Return a document as it stands in the file."""
    chunks = tuple(_Chunk(one.chunk, one.front) for one in document.chunks)
    one = _Document(chunks=chunks, **{name: getattr(document, name) for name in _FIELDS})
    vectors = b"".join(chunk.vector for chunk in document.chunks)
    return Written(_DOCUMENT.dump_json(one).decode(), vectors, document.original)


def checked(one: Written, dimension: int) -> StoredDocument:
    """Return the document of a row, names and titles without characters that are not seen. Raises Damaged."""
    try:
        read = _DOCUMENT.validate_json(one.document, strict=True)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise Damaged(f"what it says of a document is not right ({where}: {error.errors()[0]['msg']})") from error
    name = _name(read.name)
    _need(_SHA256.fullmatch(read.sha256), name, "checksum")
    _need(_MEDIA_TYPE.fullmatch(read.media_type), name, "kind")
    _need(read.pages is None or 0 <= read.pages <= MOST_PAGES, name, "number of pages")
    _need(_TIME.fullmatch(read.added_at), name, "time")
    _need(read.dated is None or _DAY.fullmatch(read.dated), name, "day")
    title = _line(read.title)
    vectors = _vectors(one.vectors, len(read.chunks), dimension, name)
    return StoredDocument(
        name=name, sha256=read.sha256, media_type=read.media_type, pages=read.pages, text=read.text,
        added_at=read.added_at, dated=read.dated, title=title,
        chunks=tuple(
            StoredChunk(_chunk(chunk.chunk, read, name), _UNSEEN.sub(" ", chunk.front), vector)
            for chunk, vector in zip(read.chunks, vectors, strict=True)
        ),
        tags=tuple(dict.fromkeys(_tag(tag) for tag in read.tags)),
        scans=tuple(_scan(scan, name) for scan in read.scans),
        original=one.original,
    )  # fmt: skip


def checked_about(said: Mapping[str, str]) -> dict[str, Any]:
    """Return what the file says of its collection. Raises Damaged."""
    try:
        about = {key: json.loads(value) for key, value in said.items()}
        name, tags = _line(about["name"]), about["folder_tags"]
        made = {
            "name": name,
            "embedder": about["embedder"],
            "dimension": about["dimension"],
            "documents": about["documents"],
            "preset": about["preset"] if about["preset"] in {None, *Preset} else None,
            # What is not known asks nothing of the web.
            "web": about["web"] if about["web"] in {None, *WebMode} else WebMode.NEVER,
            "folder_tags": {_name(folder): [_tag(tag) for tag in words] for folder, words in tags.items()},
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"what it says of the collection is not right ({type(error).__name__})") from error
    if not (name and len(name) <= LONGEST_NAME):
        raise Damaged("its collection has no name, or one that is too long")
    if not (isinstance(made["embedder"], str) and _EMBEDDER.fullmatch(made["embedder"])):
        raise Damaged("it names no embedder")
    numbers = (made["dimension"], made["documents"])
    if any(type(one) is not int for one in numbers) or not 1 <= numbers[0] <= MOST_DIMENSIONS or numbers[1] < 0:
        raise Damaged("numbers in it are not right")
    return made


def _name(name: str) -> str:
    """Return a document's or folder's name. It is no path, but looks like one where it has folders. Raises Damaged."""
    clean = _UNSEEN.sub("\ufffd", name)
    parts = clean.split("/")
    if not clean.strip() or len(clean) > LONGEST_DOCUMENT_NAME or any(part in {"", ".", ".."} for part in parts):
        raise Damaged(f"a document cannot be called “{clean[:100]}”")
    return clean


def _line(text: str | None) -> str | None:
    return None if text is None else _UNSEEN.sub("\ufffd", text)[:LONGEST_LINE]


def _tag(tag: str) -> str:
    try:
        return checked_tag(_UNSEEN.sub("\ufffd", tag))
    except NameRefused as error:
        raise Damaged(f"a tag is not right: {error}") from error


def _chunk(chunk: Chunk, document: _Document, name: str) -> Chunk:
    _need(0 <= chunk.start <= chunk.end <= len(document.text), name, "place of a chunk")
    _need(chunk.page is None or 1 <= chunk.page <= MOST_PAGES, name, "page of a chunk")
    _need(chunk.confidence is None or 0 <= chunk.confidence <= 1, name, "confidence of a chunk")
    return Chunk(
        chunk.page, chunk.start, chunk.end, chunk.text, _line(chunk.section), chunk.lead, chunk.confidence, chunk.rows
    )


def _scan(scan: StoredScan, name: str) -> StoredScan:
    _need(1 <= scan.page <= MOST_PAGES, name, "scanned page")
    if scan.read is not None:
        try:
            _SCANNED.validate_python(ScannedPage.of(json.loads(scan.read)))
        except (ValidationError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise Damaged(f"what was recognised on page {scan.page} of “{name}” is not right") from error
    return StoredScan(scan.page, scan.read, scan.confidence, scan.seconds, _line(scan.error), scan.in_text)


def _vectors(vectors: bytes, chunks: int, dimension: int, name: str) -> list[bytes]:
    _need(len(vectors) == chunks * dimension * _NUMBER, name, "number of vectors")
    rows = np.frombuffer(vectors, "<f4").reshape(chunks, dimension)
    lengths = np.linalg.norm(rows, axis=1)
    _need(bool(np.isfinite(lengths).all() and (np.abs(lengths - 1) < UNIT).all()), name, "length of a vector")
    return [row.tobytes() for row in rows]


def _need(right: object, name: str, what: str) -> None:
    if not right:
        raise Damaged(f"the {what} of “{name[:100]}” is not right")
