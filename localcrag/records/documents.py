"""Documents, their pages and chunks, as frozen records.

Offsets are in characters, end exclusive. Pages count from 1; `None` where the kind of file has no pages.
"""

from __future__ import annotations

from dataclasses import dataclass

from localcrag.text.blocks import Heading

LAYOUT = 3
"""The rules by which documents are read and cut into chunks now; what is added again is read anew where its number is
another."""
LEAST_LAYOUT = 2
"""Documents of an earlier number are cut anew in the background, from their stored text. Later rules are of reading: by
them, those of this number would gain nothing there, and lose what their reader knew of headings."""
ARCHIVE = "application/zip"
"""The media type of files that hold others and say nothing themselves."""
FROM_TEXT = -LAYOUT
"""Of a document that was cut anew from its stored text, without what a reader of its file knows of headings."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a document's text; `number` is None for kinds of file without pages.

    `unread`: it shows something that is no text to a reader: a scan, a drawing, lettering without meaning.
    `headings` are those that the file itself tells (markup, type size); what the text shows is not among them.
    """

    number: int | None
    text: str
    unread: bool = False
    headings: tuple[Heading, ...] = ()


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
    table that begins before it; both are in front of the text where it is embedded, searched and scored.
    """

    page: int | None
    start: int
    end: int
    text: str
    section: str | None = None
    lead: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """One file of a collection, as stored. `layout` are the rules by which it was cut into chunks."""

    id: int
    name: str
    sha256: str
    media_type: str
    pages: int | None
    characters: int
    chunks: int
    added_at: str
    dated: str | None = None
    layout: int = LAYOUT
