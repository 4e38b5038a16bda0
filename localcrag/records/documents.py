"""Documents, their pages, chunks and kinds, as they are stored, deleted and backed up.

Offsets are in characters, end exclusive. Pages count from 1; `None` where the kind of file has no pages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
"""By media type."""
SHEETS = (
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.ms-excel",
    "application/vnd.oasis.opendocument.spreadsheet",
    "text/csv",
    "text/tab-separated-values",
)
"""The media types of spreadsheets."""


def kind_of(media_type: str) -> str:
    """Return what people call this kind of document; the media type where nothing else is known."""
    return KINDS.get(media_type, media_type)


ARCHIVE = "application/zip"
"""The media type of files that hold others and say nothing themselves."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """A part of a page's text that was read by text recognition, with its confidence in 0..1."""

    start: int
    end: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a document's text; `number` is None for kinds of file without pages.

    `unread`: it shows something that is no text to a reader: a scan, a drawing, lettering without meaning. It may have
    a few words beside that, as of a stamp.
    `headings` are those that the file itself tells (markup, type size); what the text shows is not among them.
    `recognised` are the parts that were read by text recognition, `rows` the lines that are rows of a sheet, in order.
    """

    number: int | None
    text: str
    unread: bool = False
    headings: tuple[Heading, ...] = ()
    recognised: tuple[Recognised, ...] = ()
    rows: tuple[SheetRow, ...] = ()


@dataclass(frozen=True, slots=True)
class ScannedLine:
    """A run of text on a page's picture, in pixels of the picture turned upright and level."""

    text: str
    confidence: float
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class ScannedPage:
    """What text recognition reads on a page's picture of `width` by `height` pixels, as it is upright.

    The picture was turned clockwise by `turn` degrees (0, 90, 180 or 270) to be upright; its lines rise by `slope`
    radians to the right. `certainty` is the mean confidence of all that looks like lines, those that could not be read
    among them; None where nothing does.
    """

    width: int
    height: int
    turn: int
    slope: float
    lines: tuple[ScannedLine, ...]
    certainty: float | None

    @property
    def confidence(self) -> float | None:
        """The mean over all characters that were read; None where there are none."""
        return mean_confidence([(len(line.text), line.confidence) for line in self.lines])

    def plain(self) -> dict[str, Any]:
        """Return its fields as JSON has them."""
        lines = [[line.text, *(round(number, 3) for number in astuple(line)[1:])] for line in self.lines]
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"lines": lines}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """Return the page of which these are the fields."""
        return cls(**{**plain, "lines": tuple(ScannedLine(*line) for line in plain["lines"])})


def turned(x: float, y: float, slope: float, size: tuple[int, int]) -> tuple[float, float]:
    """Return where a point of a picture comes to lie when it is turned by `slope` radians to the left."""
    across, down = x - size[0] / 2, y - size[1] / 2
    return (
        size[0] / 2 + across * math.cos(slope) + down * math.sin(slope),
        size[1] / 2 + down * math.cos(slope) - across * math.sin(slope),
    )


def mean_confidence(parts: Sequence[tuple[float, float]]) -> float | None:
    """Return the mean of confidences, each with the length of what was read; None where there are none."""
    length = sum(part for part, _ in parts)
    return sum(part * confidence for part, confidence in parts) / length if length else None


@dataclass(frozen=True, slots=True)
class Member:
    """A file within another one: in an archive, or attached to a letter.

    `name` may have folders, with “/”. `changed` is when it was changed last, in seconds since 1970; None where the
    other file does not say. `error` says why it could not be taken out: then there is no `data`.
    """

    name: str
    data: bytes
    changed: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Box:
    """A part of a page, in shares (0..1) of its width and height, from the upper left corner."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A page as a PNG file of `width` by `height` pixels, and where the texts asked for stand on it."""

    png: bytes
    width: int
    height: int
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """An indexed piece of a document; offsets count in the document's text (pages joined by form feeds).

    `section` is the path of headings that it stands under ("Fees › Late payment"), `lead` what leads into a list or
    table that begins before it; both are in front of the text where it is embedded, searched and scored. `confidence`
    is that of text recognition, where it read the text. `rows` are its lines that are rows of a sheet, by their places
    in the text.
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

    `waiting` of its pages have no text and are still to be read by text recognition; `recognised` were, with the mean
    `confidence`; `illegible` show text in a script that it does not read, or cannot be drawn. `tags` are its own and
    those of its folders, in order. `language` is as localcrag.text.words tells it, if it does. `also` is what
    other files with its content are called, in folders that the collection follows.
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
        """All that it is called."""
        return (self.name, *self.also)

    @property
    def lacks_words(self) -> bool:
        """Whether it is in a language whose words the rules do not know."""
        return bool(self.language) and self.language not in (ENGLISH, *LEXICONS)

    @property
    def kind(self) -> str:
        """What people call this kind of document."""
        return kind_of(self.media_type)

    @property
    def day(self) -> str:
        """The day that it bears, or its file was changed on; else the one on which it was added (ISO)."""
        return self.dated or self.added_at[:10]


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


@dataclass(frozen=True, slots=True)
class Mark:
    """Bytes that only one document has, in each form in which they may be stored; `said` is what they are, in words."""

    said: str
    forms: tuple[bytes, ...]

    def within(self, value: object) -> bool:
        """Return whether a value of a table has them."""
        data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        return isinstance(data, bytes) and any(form in data for form in self.forms)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a mark was found: in a file of the data folder `at` a byte, or in a table of a database."""

    file: str
    said: str
    at: int | None = None
    table: str | None = None


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search for so many marks found, and in how many files and bytes; `unread` could not be looked into."""

    places: tuple[Place, ...]
    marks: int
    files: int
    bytes: int
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Removed:
    """How much of what quotes a document was removed; `folders` are those of evaluations and their caches.

    Of `redacted` runs only what they had found in it, since their answers use nothing of that.
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
class Forgotten:
    """What became of documents: which were there, what quoted them, and what is left of them by now.

    `copies` have the same content in other collections, by name and collection; `backups` are copies of the data that
    still hold it.
    """

    documents: tuple[str, ...]
    removed: Removed
    searched: Searched
    copies: tuple[tuple[str, str], ...] = ()
    backups: tuple[str, ...] = ()

    @property
    def left(self) -> tuple[Place, ...]:
        """The places that still have something of it, but for the backups."""
        return tuple(one for one in self.searched.places if one.file not in self.backups)


@dataclass(frozen=True, slots=True)
class BackedUp:
    """What a backup holds, counted in the file itself; `elsewhere` are collections whose documents are not in it."""

    path: Path
    bytes: int
    documents: int
    chats: int
    runs: int
    elsewhere: tuple[str, ...]
