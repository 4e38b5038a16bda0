"""Word reader: DOCX by way of HTML, so that headings, lists, tables, notes and text boxes survive.

Charts and diagrams stand where they do, comments below the text, and so does what text boxes in headers and footers
say. The rest of these, equations, and deleted text of tracked changes are no part of it.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Generator
from pathlib import Path
from typing import Any, BinaryIO

import mammoth as untyped_mammoth

from localcrag.backends.readers import _kinds, _packages
from localcrag.backends.readers._markup_headings import TITLE_CLASS
from localcrag.backends.readers._markup_tables import WORD_TABLE_CLASS
from localcrag.backends.readers._word_drawings import Drawn, boxes_of_margins_below
from localcrag.backends.readers._word_markup import BODY, WITH_TEXT, known, numbered
from localcrag.backends.readers.html import render
from localcrag.records.documents import Page

mammoth: Any = untyped_mammoth  # has no type hints
WORD = "a Word document (DOCX)"
# Beside mammoth's own, which knows "Heading 1" to "Heading 6".
STYLE_MAP = f"p[style-name='Title'] => p.{TITLE_CLASS}:fresh\ntable => table.{WORD_TABLE_CLASS}:fresh"


def open_pages(path: Path, name: str, head: bytes) -> Generator[Page, None, None]:
    """Check the file and return its one page, without a number, still to be read.

    Raises EncryptedDocument and UnreadableDocument, here and while the page is read.
    """
    _packages.check(path, name, WORD, head)
    if _kinds.describe(path, head) != "a Word document":
        raise _kinds.mismatch(path, name, WORD, head)
    return _pages(path, name)


def _pages(path: Path, name: str) -> Generator[Page, None, None]:
    try:
        with path.open("rb") as file:
            copy, drawn = _known_to_mammoth(file)
        markup = mammoth.convert_to_html(copy, convert_image=_no_image, style_map=STYLE_MAP).value
    except MemoryError:
        raise
    except Exception as error:  # mammoth passes on whatever a damaged part makes it run into
        raise _packages.damaged(name, WORD, error) from error
    yield render(numbered(drawn.in_place(_without_back_links(markup))), name)


def _known_to_mammoth(file: BinaryIO) -> tuple[BinaryIO, Drawn]:
    """Return the document with markup that mammoth leaves out as some that it reads, and what it can not."""
    drawn = Drawn()
    with zipfile.ZipFile(file) as archive:
        found = [part for part in archive.infolist() if WITH_TEXT.fullmatch(part.filename)]
        parts = {part.filename: _packages.unpacked(archive, part) for part in found}
        boxes_of_margins_below(parts, drawn)
        copy = io.BytesIO()
        with zipfile.ZipFile(copy, "w") as mended:
            for part in archive.infolist():
                of_body = BODY.fullmatch(part.filename)
                data = known(part.filename, parts, drawn) if of_body else _packages.unpacked(archive, part)
                mended.writestr(part, data)
    return copy, drawn


def _no_image(_image: object) -> list[object]:
    return []


def _without_back_links(markup: str) -> str:
    """Drop the arrows that lead from a note back to its place."""
    return re.sub(r'<a href="#(?:foot|end)note-ref-[^"]*">[^<]*</a>', "", markup)
