"""Open documents of all supported kinds, and read their dates and titles.

`open_document` determines the kind of a file and returns its pages and the files within it. `read_properties` reads its
date and title, which are optional: if they cannot be read, the document simply has none. A title in front matter is
part of the text, where `text/titles.py` reads it.
"""

from __future__ import annotations

import re
import stat
import zipfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, TypeVar

import lxml.html
import pypdfium2

from localcrag.documents.readers import html, kinds, mail, packages, pictures, text
from localcrag.documents.readers.office import encrypted, office, word
from localcrag.documents.readers.pdf import reader, scanned
from localcrag.documents.readers.text import CONVERTERS
from localcrag.records.documents import ARCHIVE, PDF_TYPE, Member, OpenDocument, Page, ScannedPage
from localcrag.records.errors import DocumentError, EmptyDocument, UnreadableDocument, UnsupportedDocument
from localcrag.text.quantities import iso_date
from localcrag.text.titles import FRONT_MATTER, stated_title

lxml_html: Any = lxml.html  # has no type hints
etree: Any = lxml.etree
MAX_PROPERTIES_BYTES = 1_000_000  # bytes; a few hundred are usual
DC = "{http://purl.org/dc/elements/1.1/}"
DCTERMS = "{http://purl.org/dc/terms/}"
CORE_PROPERTIES = ("docProps/core.xml", f"{DCTERMS}modified", f"{DCTERMS}created")
META_PROPERTIES = ("meta.xml", f"{DC}date", "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}creation-date")
"""Parts of files of Microsoft Office and OpenDocument with their properties, and the elements with dates in them."""
CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
# Titles with letters beyond ASCII contain escapes and are skipped; the text begins with its title anyway.
RTF_TITLE = re.compile(rb"\{\\title ([^{}\\]+)\}")
RTF_DAY = re.compile(rb"\\(?:revtim|creatim)\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")
PYTHON_DOCX_TEMPLATE = "2013-12-23T23:15:00Z"
"""Date in python-docx's template; documents made with it keep this date unless they get another one."""
# The last change comes before the first publication; for the same date, the more specific name comes first.
META_NAMES = (
    *("article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "last-modified"),
    *("article:published_time", "datepublished", "dcterms.created", "dcterms.issued", "dcterms.date", "dc.date"),
    *("dc.date.issued", "date"),
)
FRONT_MATTER_DATE = re.compile(r"^date:[ \t]*[\"']?([^\n\"'#]+?)[\"']?[ \t]*(?:#.*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Properties:
    """A document's own date and title.

    `dated` is the ISO date of its last change, or else of its creation; `title` is the title in its properties.
    """

    dated: str | None = None
    title: str | None = None


def read_properties(path: Path, media_type: str) -> Properties:
    """Return the date and title of the document at `path`, if they are plausible."""
    readers: dict[str, Callable[[Path], Properties]] = {
        PDF_TYPE: _pdf_properties,
        **dict.fromkeys((kinds.HTML_TYPE, "application/xhtml+xml"), _html_properties),
        "text/markdown": _markdown_properties,
        **dict.fromkeys((kinds.DOCX, kinds.PPTX), lambda path: _office_properties(path, *CORE_PROPERTIES)),
        **dict.fromkeys((kinds.ODT, kinds.ODP), lambda path: _office_properties(path, *META_PROPERTIES)),
        kinds.EPUB: _epub_properties,
        kinds.RTF: _rtf_properties,
        **{kind: partial(_email_properties, media_type=kind) for kind in (mail.EML, kinds.MSG)},
    }
    read = readers.get(media_type)
    try:
        return read(path) if read else Properties()
    except (DocumentError, OSError, pypdfium2.PdfiumError, etree.LxmlError, KeyError, *kinds.ZIP_ERRORS):
        return Properties()


def _pdf_properties(path: Path) -> Properties:
    with reader.LOCK, closing(reader.pdfium.PdfDocument(path.absolute())) as document:
        days = [document.get_metadata_value(key) for key in ("ModDate", "CreationDate")]
        return Properties(_first(days), _title(document.get_metadata_value("Title")))


def _office_properties(path: Path, part: str, *days: str) -> Properties:
    with zipfile.ZipFile(path) as archive:
        return _xml_properties(_parsed(archive, part), *days)


def _epub_properties(path: Path) -> Properties:
    with zipfile.ZipFile(path) as archive:
        root = _parsed(archive, "META-INF/container.xml").find(f".//{CONTAINER}rootfile")
        return _xml_properties(_parsed(archive, "" if root is None else root.get("full-path", "")), f"{DC}date")


def _xml_properties(properties: Any, *days: str) -> Properties:
    """Return the title and the first date, of the elements called `days`."""
    found = (properties.findtext(f".//{day}") for day in days)
    dated = _first(written for written in found if written != PYTHON_DOCX_TEMPLATE)
    return Properties(dated, _title(properties.findtext(f".//{DC}title")))


def _rtf_properties(path: Path) -> Properties:
    data = path.read_bytes()
    title, day = RTF_TITLE.search(data), RTF_DAY.search(data)
    written = "-".join(part.decode("ascii").zfill(2) for part in day.groups()) if day else None
    return Properties(iso_date(written), _title(title[1].decode("ascii", "replace")) if title else None)


def _parsed(archive: zipfile.ZipFile, part: str) -> Any:
    """Return a part's root element. Raises KeyError if it is missing, or too large to be a list of properties."""
    if archive.getinfo(part).file_size > MAX_PROPERTIES_BYTES:
        raise KeyError(part)
    return etree.fromstring(archive.read(part), etree.XMLParser(resolve_entities=False))


def _email_properties(path: Path, media_type: str) -> Properties:
    day, subject = mail.date_and_subject(path, media_type)
    return Properties(day, _title(subject))


def _html_properties(path: Path) -> Properties:
    data = path.read_bytes()
    markup = text.decode(data, path.name, declared=html.declared_encoding(data))
    # lxml refuses a string whose XML declaration names an encoding; this string is already decoded.
    markup = re.sub(r"^\s*<\?xml[^>]*>", "", markup)
    if not markup.strip():
        return Properties()
    root = lxml_html.document_fromstring(markup)
    metadata: dict[str, str | None] = {}
    for meta in root.iter("meta"):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or meta.get("http-equiv") or ""
        metadata.setdefault(name.strip().lower(), meta.get("content"))
    day = _first(metadata.get(name) for name in META_NAMES) or _single_date(root)
    return Properties(day, _title(root.findtext("head/title")))


def _single_date(root: Any) -> str | None:
    """Return the date of a page's `time` elements if all have the same day; otherwise they may date anything."""
    days = {iso_date(time.get("datetime") or time.text_content()) for time in root.iter("time")}
    return days.pop() if len(days) == 1 else None


def _markdown_properties(path: Path) -> Properties:
    matter = FRONT_MATTER.match(text.normalise(text.decode(path.read_bytes(), path.name)))
    written = FRONT_MATTER_DATE.search(matter[1]) if matter else None
    return Properties(iso_date(written[1]) if written else None)


def _title(written: str | None) -> str | None:
    return stated_title(text.normalise(written)) if written else None


def _first(found: Any) -> str | None:
    return next((day for written in found if (day := iso_date(written))), None)


_Read = TypeVar("_Read")
SUPPORTED: Mapping[str, str] = {
    ".pdf": PDF_TYPE,
    **dict.fromkeys((".docx", ".docm", ".dotx", ".dotm"), kinds.DOCX),
    **dict.fromkeys((".doc", ".dot"), kinds.DOC),
    **dict.fromkeys((".odt", ".ott"), kinds.ODT),
    ".rtf": kinds.RTF,
    **dict.fromkeys((".pptx", ".pptm", ".ppsx", ".ppsm", ".potx"), kinds.PPTX),
    **dict.fromkeys((".ppt", ".pps", ".pot"), kinds.PPT),
    **dict.fromkeys((".odp", ".otp"), kinds.ODP),
    **dict.fromkeys((".xlsx", ".xlsm", ".xltx", ".xltm", ".xlsb"), kinds.XLSX),
    **dict.fromkeys((".xls", ".xlt"), kinds.XLS),
    **dict.fromkeys((".ods", ".ots"), kinds.ODS),
    ".csv": kinds.CSV,
    **dict.fromkeys((".tsv", ".tab"), kinds.TSV),
    ".epub": kinds.EPUB,
    **dict.fromkeys((".md", ".markdown"), "text/markdown"),
    **dict.fromkeys((".html", ".htm"), kinds.HTML_TYPE),
    ".xhtml": "application/xhtml+xml",
    **dict.fromkeys((".txt", ".text", ".log", ".org", *CONVERTERS), "text/plain"),
    **dict.fromkeys((".eml", ".emlx"), mail.EML),
    **dict.fromkeys((".msg", ".oft"), kinds.MSG),
    **dict.fromkeys((".mbox", ".mbx"), mail.MBOX),
    **dict.fromkeys((".mht", ".mhtml"), mail.MHTML),
    ".jpg": "image/jpeg",
    ".tif": "image/tiff",
    **{f".{kind}": f"image/{kind}" for kind in ("png", "jpeg", "tiff", "gif", "bmp", "webp")},
    ".zip": ARCHIVE,
}
"""Media types by file extension, in lower case."""
WITHOUT_EXTENSION = frozenset(
    "readme license licence copying notice authors contributors changelog changes news install todo makefile "
    "dockerfile jenkinsfile vagrantfile procfile gemfile rakefile".split()
)
"""Names, in lower case, of text files without an extension. Other files without an extension may be keys or
programs."""
_ARCHIVES = ".7z .rar .tar .gz .tgz .bz2 .xz .zst .iso .cab .dmg .jar".split()
_RECORDINGS = ".mp3 .wav .ogg .flac .m4a .aac .wma .mp4 .mkv .avi .mov .webm .mpg .mpeg .wmv".split()
_SEALED = ".p7s .sig .asc .pgp .gpg".split()
_REMEDIES = {
    **dict.fromkeys(_ARCHIVES, "Unpack it, and add the files in it."),
    **dict.fromkeys(_RECORDINGS, "Add what is said in it as text or as subtitles."),
    **dict.fromkeys(_SEALED, "Save what was signed or encrypted in the program it comes from, and add that."),
}
"""Advice for files of these kinds, which differs from the general advice."""


def open_document(path: Path, name: str, scans: Mapping[int, ScannedPage] = MappingProxyType({})) -> OpenDocument:
    """Open the file at `path`; `name` is the document's name.

    The extension of `name` determines the kind if the content does not. `scans` are pages that text recognition has
    read, by their numbers from 1.

    Raises UnsupportedDocument, UnreadableDocument, EncryptedDocument and EmptyDocument, also while pages are read.
    """
    suffix = Path(name).suffix.lower()
    with _os_errors_explained(name):
        head = _head(path, name)
        if encrypted.is_locked_office(path, head):
            raise encrypted.office_refusal(path.read_bytes(), name)
        if encrypted.is_locked_open_document(path, head):
            raise encrypted.open_document_refusal(path, name)
        by_content = kinds.media_type(path, head)
        media_type = by_content or SUPPORTED.get(suffix)
        if media_type is None and PurePath(name).name.lower() in WITHOUT_EXTENSION:
            media_type = "text/plain"
        if media_type is None:
            raise _unsupported(name, suffix)
        if media_type == ARCHIVE:
            return _archive(packages.open_members(path, name, head))
        page_count, pages = _open_pages(media_type, path, name, head, scans, recognised=by_content is not None)
    known = read_properties(path, media_type)
    is_mail = media_type in (mail.EML, mail.MBOX, kinds.MSG)
    members = mail.members(path, name, media_type) if is_mail else _yield_all(())
    return _add_pictures(OpenDocument(media_type, page_count, pages, known.dated, known.title, members), path, name)


def _add_pictures(document: OpenDocument, path: Path, name: str) -> OpenDocument:
    """Return a document with the pictures that it shows; without any text, it is an archive of them.

    The pictures of an office file only count if they show more than its text says.
    """
    embedded = _embedded_pictures(document.media_type, path, name)
    shown = [] if embedded else pictures.picture_parts(path, document.media_type)
    if not embedded and not shown:
        return replace(document, pages=_raise_if_empty(document.pages, name))
    with _os_errors_explained(name):
        pages = list(document.pages)
        has_text = any(page.text.strip() for page in pages)
        if not embedded and pictures.pictures_matter(shown, pages):
            embedded = pictures.read_pictures(path, shown)
            pages = [replace(page, unread=False) for page in pages]
        elif embedded and not has_text:
            found = list(embedded)
            embedded = _yield_all(found) if found else None
    if not embedded:
        return replace(document, pages=_raise_if_empty(_yield_all(pages), name))
    return replace(document, pages=_yield_all(pages), members=embedded) if has_text else _archive(embedded)


def _embedded_pictures(media_type: str, path: Path, name: str) -> Generator[Member, None, None] | None:
    """Return the pictures within a text, such as a web page; None for other kinds of file."""
    if media_type == mail.MHTML:
        return mail.pictures_of_page(path, name)
    is_notebook = media_type == "text/plain" and name.lower().endswith(pictures.NOTEBOOK)
    if is_notebook or media_type in pictures.TYPES:
        return pictures.pictures_in_data(path, is_notebook=is_notebook)
    return None


def _archive(members: Generator[Member, None, None]) -> OpenDocument:
    return OpenDocument(ARCHIVE, None, _yield_all(()), None, None, members)


def unlocked(path: Path, name: str, password: str) -> bytes:
    """Return a file's content without its password.

    Raises PasswordNeeded if the password is wrong, UnreadableDocument, and EncryptedDocument if no password can open
    the file.
    """
    with _os_errors_explained(name):
        head = _head(path, name)
        if kinds.identify(head) == kinds.PDF:
            return reader.unlocked(path, name, password)
        if kinds.identify(head) == kinds.ZIP:
            return encrypted.unlocked_open_document(path, name, password, head)
        return encrypted.unlocked_office(path.read_bytes(), name, password)


def _open_pages(
    media_type: str, path: Path, name: str, head: bytes, scans: Mapping[int, ScannedPage], *, recognised: bool
) -> tuple[int | None, Generator[Page, None, None]]:
    if media_type == PDF_TYPE:
        return reader.open_pages(path, name, head, scans)
    if media_type in scanned.TYPES:
        return scanned.open_pages(path, name, scans)
    if media_type in office.FORMATS:
        return office.open_pages(path, name, head, media_type, recognised=recognised)
    if media_type in (mail.EML, mail.MBOX, mail.MHTML, kinds.MSG):
        return mail.open_pages(path, name, head, media_type)
    whole = {kinds.DOCX: word.open_pages, kinds.HTML_TYPE: html.open_pages, "application/xhtml+xml": html.open_pages}
    return None, whole.get(media_type, text.open_pages)(path, name, head)


def _yield_all(read: Sequence[_Read]) -> Generator[_Read, None, None]:
    yield from read


def _head(path: Path, name: str) -> bytes:
    """Return the file's first bytes. Raises UnreadableDocument if it is not an ordinary file, and EmptyDocument."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would block forever
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "not an ordinary file"
        raise UnreadableDocument(f"{name} cannot be opened: it is {what}. Choose a file.")
    with path.open("rb") as file:
        head = file.read(kinds.HEAD_BYTES)
    if len(head) == status.st_size and not head.strip():
        raise _empty(name)
    return head


def _raise_if_empty(pages: Generator[Page, None, None], name: str) -> Generator[Page, None, None]:
    """Pass on the pages; after the last one, raise EmptyDocument if no page had or showed any text."""
    empty = True
    with _os_errors_explained(name), closing(pages):
        for page in pages:
            empty = empty and not page.unread and not page.text.strip()
            yield page
    if empty:
        raise _empty(name)


def _unsupported(name: str, suffix: str) -> DocumentError:
    kind = f"files that end in {suffix}" if suffix else "files without a name ending"
    usual = "Save it as PDF, as text, or as a file of Word, Excel or PowerPoint, and add that"
    remedy = _REMEDIES.get(suffix, f"{usual}; or give it the name ending that fits its content.")
    return UnsupportedDocument(f"{name} was left out: there is no reader for {kind}. {remedy}")


@contextmanager
def _os_errors_explained(name: str) -> Iterator[None]:
    """Raise UnreadableDocument instead of an OSError."""
    try:
        yield
    except OSError as error:
        why = f"{name} cannot be opened: {error.strerror or error}."
        raise UnreadableDocument(f"{why} Check that the file is there and that you may read it.") from error


def _empty(name: str) -> EmptyDocument:
    remedy = "If it shows some, as in a chart or a drawing, print it to a PDF and add that."
    return EmptyDocument(f"{name} holds no text. {remedy}")
