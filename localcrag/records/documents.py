"""Records of documents: pages, scans, chunks, stored rows, and outcomes of deletions and backups.

Offsets are in characters, end exclusive. Pages count from 1 and are None for kinds of file without pages.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, Self

from localcrag.text.blocks import Heading
from localcrag.text.lexicon import ENGLISH, LEXICONS
from localcrag.text.places import SheetRow

PDF_TYPE = "application/pdf"
OLD_SLIDES = "application/vnd.ms-powerpoint"
KINDS = {
    PDF_TYPE: "PDF",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word",
    "application/msword": "Word",
    "application/vnd.oasis.opendocument.text": "OpenDocument",
    "application/rtf": "RTF",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "PowerPoint",
    OLD_SLIDES: "PowerPoint",
    "application/vnd.oasis.opendocument.presentation": "OpenDocument",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "Excel",
    "application/vnd.ms-excel": "Excel",
    "application/vnd.oasis.opendocument.spreadsheet": "OpenDocument",
    "text/csv": "CSV",
    "text/tab-separated-values": "TSV",
    "application/epub+zip": "EPUB",
    "message/rfc822": "E-mail",
    "application/vnd.ms-outlook": "E-mail",
    "application/mbox": "Mailbox",
    "multipart/related": "HTML",
    "text/markdown": "Markdown",
    "text/html": "HTML",
    "application/xhtml+xml": "HTML",
    "text/plain": "Text",
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/tiff": "TIFF",
    "image/gif": "GIF",
    "image/bmp": "BMP",
    "image/webp": "WebP",
}
"""Names of the kinds of documents, by media type."""


def kind_name(media_type: str) -> str:
    """Return the usual name for this kind of document, or the media type if it has none."""
    return KINDS.get(media_type, media_type)


ARCHIVE = "application/zip"
"""Media type of archives: files that contain other files and no text of their own."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """A part of a page's text that comes from text recognition, with its confidence in 0..1."""

    start: int
    end: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a document's text; `number` is None for kinds of file without pages.

    `unread` is True if the page shows something that the reader cannot extract as text, such as a scan, a drawing or
    garbled characters. Such a page may still have a few words, from a stamp for example.
    `headings` are those that the file declares by markup or type size, not those that only the text suggests.
    `recognised` are the parts that come from text recognition. `rows` are the lines that are sheet rows, in order.
    """

    number: int | None
    text: str
    unread: bool = False
    headings: tuple[Heading, ...] = ()
    recognised: tuple[Recognised, ...] = ()
    rows: tuple[SheetRow, ...] = ()


@dataclass(frozen=True, slots=True)
class ScannedLine:
    """A line of text on a page image; coordinates are pixels of the image after it is turned upright and levelled."""

    text: str
    confidence: float
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class ScannedPage:
    """The text recognised on a page image, whose `width` and `height` in pixels are those of the upright image.

    The image was turned clockwise by `turn` degrees (0, 90, 180 or 270) to be upright; its lines rise by `slope`
    radians to the right. `certainty` is the mean confidence of everything that looks like a line of text, including
    lines that could not be read; None if nothing does.
    """

    width: int
    height: int
    turn: int
    slope: float
    lines: tuple[ScannedLine, ...]
    certainty: float | None

    @property
    def confidence(self) -> float | None:
        """The mean confidence over all recognised characters; None if there are none."""
        return mean_confidence([(len(line.text), line.confidence) for line in self.lines])

    def plain(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        lines = [[line.text, *(round(number, 3) for number in astuple(line)[1:])] for line in self.lines]
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"lines": lines}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """Rebuild the page from the output of `plain`."""
        return cls(**{**plain, "lines": tuple(ScannedLine(*line) for line in plain["lines"])})


def rotate_point(x: float, y: float, slope: float, size: tuple[int, int]) -> tuple[float, float]:
    """Return a point's position after the image is rotated counterclockwise by `slope` radians about its centre."""
    across, down = x - size[0] / 2, y - size[1] / 2
    return (
        size[0] / 2 + across * math.cos(slope) + down * math.sin(slope),
        size[1] / 2 + down * math.cos(slope) - across * math.sin(slope),
    )


def mean_confidence(parts: Sequence[tuple[float, float]]) -> float | None:
    """Return the mean of (length, confidence) pairs, weighted by length; None if the total length is 0."""
    length = sum(part for part, _ in parts)
    return sum(part * confidence for part, confidence in parts) / length if length else None


@dataclass(frozen=True, slots=True)
class Member:
    """A file inside another file: in an archive, or attached to an e-mail.

    `name` may contain folders, separated by “/”. `changed` is the time of the last change in seconds since 1970; None
    if the outer file does not record it. `error` is the reason why it could not be extracted; `data` is then empty.
    """

    name: str
    data: bytes
    changed: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class OpenDocument:
    """A document whose pages are still to be read.

    `page_count` is None for kinds of file without pages. `members` are files within it, to be read after its pages. An
    archive has no pages, and neither has an office file with pictures and no text.

    `dated` is the ISO date that the document itself states, `title` the title in its properties; None if there is none
    that is plausible. Exhausting or closing `pages` closes the file. Reading pages and members may raise DocumentError.
    """

    media_type: str
    page_count: int | None
    pages: Generator[Page, None, None]
    dated: str | None
    title: str | None
    members: Generator[Member, None, None]


@dataclass(frozen=True, slots=True)
class Box:
    """A part of a page, in fractions (0..1) of its width and height, from the upper left corner."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A page as a PNG image of `width` by `height` pixels, with the boxes of the requested texts on it."""

    png: bytes
    width: int
    height: int
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """An indexed piece of a document; offsets count in the document's text (pages joined by form feeds).

    `section` is the path of headings above it ("Fees › Late payment"). `lead` is the text that introduces a list or
    table if that begins before the chunk. Both are put before the text when it is embedded, searched and scored.
    `confidence` is that of text recognition, if the text comes from it. `rows` are the chunk's lines that are sheet
    rows; their offsets count in the chunk's text.
    """

    page: int | None
    start: int
    end: int
    text: str
    section: str | None = None
    lead: str | None = None
    confidence: float | None = None
    rows: tuple[SheetRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """One file of a collection, as stored.

    Three fields count pages: `waiting` ones have no text yet and are queued for text recognition; `recognised` ones
    have been through it, with the mean `confidence`; `illegible` ones cannot be rendered, or are in a script that text
    recognition does not know. `tags` are the document's own tags and those of its folders, in order. `language` is
    the code that localcrag.text.words detected, if any. `also` are the names of other files with the same content, in
    folders that the collection watches.
    """

    id: int
    name: str
    sha256: str
    media_type: str
    pages: int | None
    characters: int
    chunks: int
    added_at: str
    dated: str | None = None
    waiting: int = 0
    recognised: int = 0
    illegible: int = 0
    confidence: float | None = None
    tags: tuple[str, ...] = ()
    language: str | None = None
    also: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the document."""
        return (self.name, *self.also)

    @property
    def has_no_lexicon(self) -> bool:
        """True if the document's language was detected but has no lexicon."""
        return bool(self.language) and self.language not in (ENGLISH, *LEXICONS)

    @property
    def kind(self) -> str:
        """The usual name for this kind of document."""
        return kind_name(self.media_type)

    @property
    def day(self) -> str:
        """The ISO date in the document or of its file's last change; otherwise the day it was added."""
        return self.dated or self.added_at[:10]


DOCUMENT_COLUMNS = ("name", "sha256", "media_type", "pages", "text", "added_at", "dated", "title")
"""Names shared by the fields of StoredDocument and the columns of the documents table, in SQLite and PostgreSQL."""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk, the text put before it when it is searched, and its vector as little-endian float32."""

    chunk: Chunk
    front: str
    vector: bytes = b""


@dataclass(frozen=True, slots=True)
class StoredScan:
    """The state of a scanned page; `read` is the output of text recognition as JSON."""

    page: int
    read: str | None
    confidence: float | None
    seconds: float | None
    error: str | None
    in_text: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """A document with its chunks in order, its own tags, its scanned pages, and its original file if that was kept.

    It contains no database ids, so two stored documents are equal if their contents are.
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
    original: bytes | None = None


@dataclass(frozen=True, slots=True)
class ResidueSignature:
    """A piece of content to search the data folder for, in each form in which it may be stored.

    The pieces are chosen so that only one document has them. `description` describes the piece for the user.
    """

    description: str
    forms: tuple[bytes, ...]

    def within(self, value: object) -> bool:
        """Return whether a value of a database table contains one of the forms."""
        data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        return isinstance(data, bytes) and any(form in data for form in self.forms)


@dataclass(frozen=True, slots=True)
class ResidueLocation:
    """A place where a mark was found: a file of the data folder and the byte offset `at`, or a table of a database."""

    file: str
    description: str
    at: int | None = None
    table: str | None = None


@dataclass(frozen=True, slots=True)
class ResidueReport:
    """The outcome of a search: the places found, the number of marks, files and bytes, and the `unread` files."""

    places: tuple[ResidueLocation, ...]
    marks: int
    files: int
    bytes: int
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RemovedQuotations:
    """How many records that quote a document were removed; `folders` are those of evaluations and their caches.

    `redacted` runs were not removed: their answers do not use the document, so they only lost its passages.
    """

    runs: int = 0
    redacted: int = 0
    turns: int = 0
    chats: int = 0
    labels: int = 0
    pins: int = 0
    web_answers: int = 0
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ErasureReport:
    """The outcome of erasing documents: their names, the removed quotations, and a search for what is left.

    `copies` are documents with the same content under other names or in other collections, as (name, collection).
    `backups` are the backup files that still contain the documents.
    """

    documents: tuple[str, ...]
    removed: RemovedQuotations
    searched: ResidueReport
    copies: tuple[tuple[str, str], ...] = ()
    backups: tuple[str, ...] = ()

    @property
    def left(self) -> tuple[ResidueLocation, ...]:
        """The places outside backups that still contain something of the documents."""
        return tuple(one for one in self.searched.places if one.file not in self.backups)


@dataclass(frozen=True, slots=True)
class BackupSummary:
    """The contents of a backup, counted in its file; `elsewhere` are collections whose documents it leaves out."""

    path: Path
    bytes: int
    documents: int
    chats: int
    runs: int
    elsewhere: tuple[str, ...]
