"""Opening a document: one function for every kind of file, one module per kind.

What is decided here: whether a file can be read, and by which reader. Where its content says what it is, that counts
and not its name; an error says what it is as well.
"""

from __future__ import annotations

import stat
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Never, TypeVar

from localcrag.backends.readers import (
    _data_pictures,
    _kinds,
    archive,
    docx,
    html,
    image,
    locked_office,
    locked_open_document,
    mail,
    office,
    pdf,
    shown_pictures,
    text,
)
from localcrag.backends.readers._written_as import WRITTEN_AS
from localcrag.backends.readers.properties import properties_of
from localcrag.records.document_kinds import PDF_TYPE
from localcrag.records.documents import ARCHIVE, Member, Page, ScannedPage
from localcrag.records.errors import DocumentError, EmptyDocument, UnreadableDocument, UnsupportedDocument

_Read = TypeVar("_Read")
SUPPORTED: Mapping[str, str] = MappingProxyType(
    {
        ".pdf": PDF_TYPE,
        **dict.fromkeys((".docx", ".docm", ".dotx", ".dotm"), _kinds.DOCX),
        **dict.fromkeys((".doc", ".dot"), _kinds.DOC),
        **dict.fromkeys((".odt", ".ott"), _kinds.ODT),
        ".rtf": _kinds.RTF,
        **dict.fromkeys((".pptx", ".pptm", ".ppsx", ".ppsm", ".potx"), _kinds.PPTX),
        **dict.fromkeys((".ppt", ".pps", ".pot"), _kinds.PPT),
        **dict.fromkeys((".odp", ".otp"), _kinds.ODP),
        **dict.fromkeys((".xlsx", ".xlsm", ".xltx", ".xltm", ".xlsb"), _kinds.XLSX),
        **dict.fromkeys((".xls", ".xlt"), _kinds.XLS),
        **dict.fromkeys((".ods", ".ots"), _kinds.ODS),
        ".csv": _kinds.CSV,
        **dict.fromkeys((".tsv", ".tab"), _kinds.TSV),
        ".epub": _kinds.EPUB,
        **dict.fromkeys((".md", ".markdown"), "text/markdown"),
        **dict.fromkeys((".html", ".htm"), _kinds.HTML_TYPE),
        ".xhtml": "application/xhtml+xml",
        **dict.fromkeys((".txt", ".text", ".log", ".org", *WRITTEN_AS), "text/plain"),
        **dict.fromkeys((".eml", ".emlx"), mail.EML),
        **dict.fromkeys((".msg", ".oft"), _kinds.MSG),
        **dict.fromkeys((".mbox", ".mbx"), mail.MBOX),
        **dict.fromkeys((".mht", ".mhtml"), mail.MHTML),
        ".png": "image/png",
        **dict.fromkeys((".jpg", ".jpeg"), "image/jpeg"),
        **dict.fromkeys((".tif", ".tiff"), "image/tiff"),
        ".gif": "image/gif",
        ".bmp": "image/bmp",
        ".webp": "image/webp",
        ".zip": ARCHIVE,
    }
)
"""Name endings, in lower case, and the media type of each."""
WITHOUT_ENDING = frozenset(
    "readme license licence copying notice authors contributors changelog changes news install todo makefile "
    "dockerfile jenkinsfile vagrantfile procfile gemfile rakefile".split()
)
"""Names, in lower case, of texts that have no ending. Others without one may be keys and programs."""
_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            ".7z .rar .tar .gz .tgz .bz2 .xz .zst .iso .cab .dmg .jar".split(), "Unpack it, and add the files in it."
        ),
        **dict.fromkeys(
            ".mp3 .wav .ogg .flac .m4a .aac .wma .mp4 .mkv .avi .mov .webm .mpg .mpeg .wmv".split(),
            "Add what is said in it as text or as subtitles.",
        ),
        **dict.fromkeys(
            ".p7s .sig .asc .pgp .gpg".split(),
            "Save what was signed or encrypted in the program it comes from, and add that.",
        ),
    }
)
"""What to do with files of these kinds, where that is something else than with most."""


@dataclass(frozen=True)
class OpenDocument:
    """A document whose pages are still to be read; `page_count` is None for kinds of file without pages.

    `members` are files within it, to be read after its pages; an archive has no pages, nor has an office file that
    shows pictures and says nothing.

    `dated` is the ISO date that the document itself bears, `title` what its properties call it; None where there is
    none that can be true. Exhausting or closing `pages` closes the file.
    Reading them raises the errors of `open_document`.
    """

    media_type: str
    page_count: int | None
    pages: Generator[Page, None, None]
    dated: str | None
    title: str | None
    members: Generator[Member, None, None]


def open_document(path: Path, name: str, scans: Mapping[int, ScannedPage] = MappingProxyType({})) -> OpenDocument:
    """Open the file at `path`; `name` is the document's name: its ending says the kind where the content does not.

    `scans` are pages that text recognition has read, by their numbers from 1.

    Raises UnsupportedDocument, UnreadableDocument, EncryptedDocument and EmptyDocument.
    """
    suffix = Path(name).suffix.lower()
    try:
        head = _head(path, name)
        if locked_office.is_locked(path, head):
            raise locked_office.refusal(path.read_bytes(), name)
        if locked_open_document.is_locked(path, head):
            raise locked_open_document.refusal(path, name)
        by_content = _kinds.media_type(path, head)
        media_type = by_content or SUPPORTED.get(suffix) or _without_ending(name)
        if media_type is None:
            raise _unsupported(name, suffix)
        if media_type == ARCHIVE:
            members = archive.open_members(path, name, head)
            return OpenDocument(media_type, None, _nothing(), None, None, members)
        page_count, pages = _open_pages(media_type, path, name, head, scans, told=by_content is not None)
    except OSError as error:
        raise _unopened(name, error) from error
    known = properties_of(path, media_type)
    members = mail.members(path, name, media_type) if media_type in (mail.EML, mail.MBOX, _kinds.MSG) else _nothing()
    document = OpenDocument(media_type, page_count, pages, known.dated, known.title, members)
    return _with_pictures(document, path, name)


def _with_pictures(document: OpenDocument, path: Path, name: str) -> OpenDocument:
    """Return a document with the pictures that it shows in place of text: without any text it is an archive of them."""
    if document.media_type == mail.MHTML:
        return _with_written_pictures(document, mail.pictures_of_page(path, name), name)
    is_notebook = document.media_type == "text/plain" and name.lower().endswith(_data_pictures.NOTEBOOK)
    if is_notebook or document.media_type in _data_pictures.TYPES:
        return _with_written_pictures(document, _data_pictures.members(path, is_notebook=is_notebook), name)
    shown = shown_pictures.parts_of(path, document.media_type)
    if not shown:
        return replace(document, pages=_checked(document.pages, name))
    try:
        pages = list(document.pages)
    except OSError as error:
        raise _unopened(name, error) from error
    if not shown_pictures.say_more(shown, pages):
        return replace(document, pages=_checked(_given(pages), name))
    members = shown_pictures.members(path, shown)
    if not any(page.text.strip() for page in pages):
        return OpenDocument(ARCHIVE, None, _nothing(), None, None, members)
    seen = [replace(page, unread=False) for page in pages]
    return replace(document, pages=_given(seen), members=members)


def _with_written_pictures(document: OpenDocument, pictures: Generator[Member, None, None], name: str) -> OpenDocument:
    """Return a text with the pictures that are written into it; without any other text it is an archive of them."""
    try:
        pages = list(document.pages)
        if any(page.text.strip() for page in pages):
            return replace(document, pages=_given(pages), members=pictures)
        found = list(pictures)
    except OSError as error:
        raise _unopened(name, error) from error
    if not found:
        return replace(document, pages=_checked(_given(pages), name))
    return OpenDocument(ARCHIVE, None, _nothing(), None, None, _given(found))


def unlocked(path: Path, name: str, password: str) -> bytes:
    """Return a file as it is without its password.

    Raises PasswordNeeded when that is another, UnreadableDocument, and EncryptedDocument where none opens it here.
    """
    try:
        head = _head(path, name)
        if _kinds.identify(head) == _kinds.PDF:
            return pdf.unlocked(path, name, password)
        if _kinds.identify(head) == _kinds.ZIP:
            return locked_open_document.unlocked(path, name, password, head)
        return locked_office.unlocked(path.read_bytes(), name, password)
    except OSError as error:
        raise _unopened(name, error) from error


def _open_pages(
    media_type: str, path: Path, name: str, head: bytes, scans: Mapping[int, ScannedPage], *, told: bool
) -> tuple[int | None, Generator[Page, None, None]]:
    if media_type == PDF_TYPE:
        return pdf.open_pages(path, name, head, scans)
    if media_type in image.TYPES:
        return image.open_pages(path, name, scans)
    if media_type in office.FORMATS:
        return office.open_pages(path, name, head, media_type, told=told)
    if media_type in (mail.EML, mail.MBOX, mail.MHTML, _kinds.MSG):
        return mail.open_pages(path, name, head, media_type)
    whole = {
        _kinds.DOCX: docx.open_pages,
        _kinds.HTML_TYPE: html.open_pages,
        "application/xhtml+xml": html.open_pages,
    }
    return None, whole.get(media_type, text.open_pages)(path, name, head)


def _given(read: Sequence[_Read]) -> Generator[_Read, None, None]:
    yield from read


def _nothing() -> Generator[Never, None, None]:
    yield from ()


def _head(path: Path, name: str) -> bytes:
    """Return the file's first bytes, having made sure that it is a file and holds something."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):  # a pipe would be waited for without end
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "not an ordinary file"
        raise UnreadableDocument(f"{name} cannot be opened: it is {what}. Choose a file.")
    with path.open("rb") as file:
        head = file.read(_kinds.HEAD_BYTES)
    if len(head) == status.st_size and not head.strip():
        raise _empty(name)
    return head


def _checked(pages: Generator[Page, None, None], name: str) -> Generator[Page, None, None]:
    """Pass on the pages; raise EmptyDocument after the last when none held any text, nor shows any."""
    empty = True
    try:
        for page in pages:
            empty = empty and not page.unread and not page.text.strip()
            yield page
    except OSError as error:
        raise _unopened(name, error) from error
    finally:
        pages.close()
    if empty:
        raise _empty(name)


def _without_ending(name: str) -> str | None:
    return "text/plain" if PurePath(name).name.lower() in WITHOUT_ENDING else None


def _unsupported(name: str, suffix: str) -> DocumentError:
    kind = f"files that end in {suffix}" if suffix else "files without a name ending"
    most = (
        "Save it as PDF, as text, or as a file of Word, Excel or PowerPoint, and add that; or give it the name ending "
        "that fits its content."
    )
    return UnsupportedDocument(f"{name} was left out: there is no reader for {kind}. {_REMEDIES.get(suffix, most)}")


def _unopened(name: str, error: OSError) -> UnreadableDocument:
    return UnreadableDocument(
        f"{name} cannot be opened: {error.strerror or error}. Check that the file is there and that you may read it."
    )


def _empty(name: str) -> EmptyDocument:
    return EmptyDocument(
        f"{name} holds no text. If it shows some, as in a chart or a drawing, print it to a PDF and add that."
    )
