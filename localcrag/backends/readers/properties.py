"""What a document says of itself beside its text: its date and its title.

Both are a help and never a reason to refuse a document: whatever cannot be read has none. A front matter's title is
part of the text, and read there (`text/titles.py`).
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import lxml.etree
import lxml.html
import pypdfium2

from localcrag.backends.readers import _kinds, html, mail, pdf, text
from localcrag.records.document_kinds import PDF_TYPE
from localcrag.records.errors import DocumentError
from localcrag.text.dates import iso_date
from localcrag.text.titles import FRONT_MATTER, stated_title

lxml_html: Any = lxml.html  # has no type hints
etree: Any = lxml.etree
CORE_PROPERTIES = "docProps/core.xml"
MAX_PROPERTIES_BYTES = 1_000_000  # they are a few hundred
DC = "{http://purl.org/dc/elements/1.1/}"
DCTERMS = "{http://purl.org/dc/terms/}"
ODF_META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
# Titles in letters beyond ASCII are written in escapes; the text begins with its title anyway.
RTF_TITLE = re.compile(rb"\{\\title ([^{}\\]+)\}")
RTF_DAY = re.compile(rb"\\(?:revtim|creatim)\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")
PYTHON_DOCX_TEMPLATE = "2013-12-23T23:15:00Z"
"""What every document says that python-docx made and nobody gave a date: it is the template's."""
# The last change before the first publication; of equal standing, the more specific name first.
META_NAMES = (
    *("article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "last-modified"),
    *("article:published_time", "datepublished", "dcterms.created", "dcterms.issued", "dcterms.date", "dc.date"),
    *("dc.date.issued", "date"),
)
FRONT_MATTER_DATE = re.compile(r"^date:[ \t]*[\"']?([^\n\"'#]+?)[\"']?[ \t]*(?:#.*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Properties:
    """`dated` is an ISO date, of the last change, else of its making; `title` what it says that it is called."""

    dated: str | None = None
    title: str | None = None


def properties_of(path: Path, media_type: str) -> Properties:
    """Return what the document at `path` says of itself, as far as that can be true."""
    readers: dict[str, Callable[[Path], Properties]] = {
        PDF_TYPE: _of_pdf,
        _kinds.HTML_TYPE: _of_html,
        "application/xhtml+xml": _of_html,
        "text/markdown": _of_markdown,
        **dict.fromkeys((_kinds.DOCX, _kinds.PPTX), _of_ooxml),
        **dict.fromkeys((_kinds.ODT, _kinds.ODP), _of_open_document),
        _kinds.EPUB: _of_book,
        _kinds.RTF: _of_rtf,
        **{kind: partial(_of_letter, media_type=kind) for kind in (mail.EML, _kinds.MSG)},
    }
    read = readers.get(media_type)
    try:
        return read(path) if read else Properties()
    except (DocumentError, OSError, pypdfium2.PdfiumError, etree.LxmlError, KeyError, *_kinds.ZIP_ERRORS):
        return Properties()


def _of_pdf(path: Path) -> Properties:
    with pdf.LOCK, closing(pdf.pdfium.PdfDocument(path.absolute())) as document:
        days = [document.get_metadata_value(key) for key in ("ModDate", "CreationDate")]
        return Properties(_first(days), _title(document.get_metadata_value("Title")))


def _of_ooxml(path: Path) -> Properties:
    with zipfile.ZipFile(path) as archive:
        properties = _parsed(archive, CORE_PROPERTIES)
    found = [properties.findtext(DCTERMS + name) for name in ("modified", "created")]
    day = _first(written for written in found if written != PYTHON_DOCX_TEMPLATE)
    return Properties(day, _title(properties.findtext(f"{DC}title")))


def _of_open_document(path: Path) -> Properties:
    with zipfile.ZipFile(path) as archive:
        properties = _parsed(archive, "meta.xml")
    days = [properties.findtext(f".//{name}") for name in (f"{DC}date", f"{ODF_META}creation-date")]
    return Properties(_first(days), _title(properties.findtext(f".//{DC}title")))


def _of_book(path: Path) -> Properties:
    with zipfile.ZipFile(path) as archive:
        root = _parsed(archive, "META-INF/container.xml").find(f".//{CONTAINER}rootfile")
        about = _parsed(archive, "" if root is None else root.get("full-path", ""))
    return Properties(_first([about.findtext(f".//{DC}date")]), _title(about.findtext(f".//{DC}title")))


def _of_rtf(path: Path) -> Properties:
    data = path.read_bytes()
    title, day = RTF_TITLE.search(data), RTF_DAY.search(data)
    written = "-".join(part.decode("ascii").zfill(2) for part in day.groups()) if day else None
    return Properties(iso_date(written), _title(title[1].decode("ascii", "replace")) if title else None)


def _parsed(archive: zipfile.ZipFile, part: str) -> Any:
    """Return a part's root element. Raises KeyError where there is none, or it is no list of properties by its size."""
    if archive.getinfo(part).file_size > MAX_PROPERTIES_BYTES:
        raise KeyError(part)
    return etree.fromstring(archive.read(part), etree.XMLParser(resolve_entities=False))


def _of_letter(path: Path, media_type: str) -> Properties:
    day, subject = mail.said_of(path, media_type)
    return Properties(day, _title(subject))


def _of_html(path: Path) -> Properties:
    data = path.read_bytes()
    markup = text.decode(data, path.name, declared=html.declared_encoding(data))
    # lxml refuses a string that names an encoding in an XML declaration; ours is decoded already.
    markup = re.sub(r"^\s*<\?xml[^>]*>", "", markup)
    if not markup.strip():
        return Properties()
    root = lxml_html.document_fromstring(markup)
    said: dict[str, str | None] = {}
    for meta in root.iter("meta"):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or meta.get("http-equiv") or ""
        said.setdefault(name.strip().lower(), meta.get("content"))
    day = _first(said.get(name) for name in META_NAMES) or _only_time(root)
    return Properties(day, _title(root.findtext("head/title")))


def _only_time(root: Any) -> str | None:
    """Return the date of a page's `time` elements when all of them name the same day: others may be of anything."""
    days = {iso_date(time.get("datetime") or time.text_content()) for time in root.iter("time")}
    return days.pop() if len(days) == 1 else None


def _of_markdown(path: Path) -> Properties:
    matter = FRONT_MATTER.match(text.normalise(text.decode(path.read_bytes(), path.name)))
    written = FRONT_MATTER_DATE.search(matter[1]) if matter else None
    return Properties(iso_date(written[1]) if written else None)


def _title(written: str | None) -> str | None:
    return stated_title(text.normalise(written)) if written else None


def _first(found: Any) -> str | None:
    return next((day for written in found if (day := iso_date(written))), None)
