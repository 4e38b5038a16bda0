"""Archive reader: ZIP files, whose members are documents of their own."""

from __future__ import annotations

import zipfile
from calendar import timegm
from collections.abc import Generator
from pathlib import Path

from localcrag.backends.readers import _kinds, _packages
from localcrag.backends.readers._member_names import within
from localcrag.records.documents import Member
from localcrag.records.errors import EncryptedDocument
from localcrag.text.paths import Names, is_hidden

_NOT_MEANT = frozenset({"__MACOSX", "Thumbs.db", "desktop.ini"})
"""What programs put into archives for themselves."""


def open_members(path: Path, name: str, head: bytes) -> Generator[Member, None, None]:
    """Check the archive, and return its files, still to be unpacked; hidden ones are left out.

    Raises UnreadableDocument and EncryptedDocument.
    """
    if _kinds.identify(head) != _kinds.ZIP:
        raise _kinds.mismatch(path, name, "a ZIP archive", head)
    try:
        _packages.check(path, name, "a ZIP archive", head, remedy="unpack it and add the files")
    except EncryptedDocument:
        raise EncryptedDocument(
            f"{name} is protected with a password. Unpack it, and add the files that were in it."
        ) from None
    return _members(path, name)


def _members(path: Path, name: str) -> Generator[Member, None, None]:
    names = Names()
    try:
        with zipfile.ZipFile(path) as archive:
            for part in archive.infolist():
                inside = within(part.filename)
                if part.filename.endswith("/") or is_hidden(inside) or not _NOT_MEANT.isdisjoint(inside.parts):
                    continue
                yield _member(archive, part, name, names.of(inside))
    except _kinds.ZIP_ERRORS as error:
        raise _packages.damaged(name, "a ZIP archive", error) from error


def _member(archive: zipfile.ZipFile, part: zipfile.ZipInfo, name: str, own: str) -> Member:
    try:
        return Member(own, _packages.unpacked(archive, part), _changed(part))
    except (*_kinds.ZIP_ERRORS, OSError) as error:  # Also for a place before the file's beginning.
        reason = str(error) or type(error).__name__
        said = f"{name}/{own} cannot be unpacked ({reason}). Unpack {name} in another program, and add this file."
        return Member(own, b"", error=said)


def _changed(part: zipfile.ZipInfo) -> float | None:
    """Return when a file was changed last: an archive does not say in which time zone."""
    try:
        return float(timegm((*part.date_time, 0, 0, 0)))
    except (ValueError, OverflowError):
        return None
