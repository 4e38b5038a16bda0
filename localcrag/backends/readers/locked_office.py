"""Office files with a password, by msoffcrypto: Word, Excel and PowerPoint, today's and older.

The library is loaded when such a file comes, which is seldom.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.parsers.expat import ExpatError

from localcrag.backends.readers import _compound, _kinds, _passwords
from localcrag.records.errors import EncryptedDocument

PACKAGE = "EncryptedPackage"
"""The stream in which a file of today lies, when it has a password."""
# What Excel and PowerPoint lock files with that may be read by everyone and changed by few: [MS-OFFCRYPTO] 2.4.2.3 and
# 2.4.3.4, [MS-PPT] 2.2.32. They open them without asking.
OF_EXCEL, OF_POWERPOINT = "VelvetSweatshop", "/01Hannes Ruescher/01"
_ERRORS = (
    *(OSError, ValueError, TypeError, AttributeError, LookupError, AssertionError, OverflowError, RecursionError),
    *(struct.error, ExpatError),
)
"""What msoffcrypto runs into in files that are protected otherwise, or damaged, beside its own errors."""


class _AnotherPassword(Exception):
    """The password is not the file's."""


class _UnknownWay(Exception):
    """The file is protected in a way that is not known, or damaged."""


def is_locked(path: Path, head: bytes) -> bool:
    """Return whether a file is one of today's Office that has a password; older ones say so when they are read."""
    return _kinds.identify(head) == _kinds.OLE and _compound.holds(path, PACKAGE)


def refusal(data: bytes, name: str) -> EncryptedDocument:
    """Return the error for a file that has a password: that it is needed, or that none opens the file here."""
    try:
        file = _file(data)
        known = _known(file.format, name)
        _put_key(file, known)
    except _AnotherPassword:
        return _passwords.needed(name)
    except _UnknownWay:
        return _passwords.unknown_way(name)
    return _passwords.needed(name, known)


def unlocked(data: bytes, name: str, password: str) -> bytes:
    """Return a file as it is without its password.

    Raises PasswordNeeded when that is another, and EncryptedDocument where none opens the file here.
    """
    try:
        file = _file(data)
        _put_key(file, password)
        made = BytesIO()
        with _translated():
            file.decrypt(made)
    except _AnotherPassword as error:
        raise _passwords.another(name) from error
    except _UnknownWay as error:
        raise _passwords.unknown_way(name) from error
    return made.getvalue()


def _known(kind: str, name: str) -> str:
    of_excel = kind == "xls97" or (kind == "ooxml" and Path(name).suffix.lower().startswith(".xl"))
    return OF_EXCEL if of_excel else OF_POWERPOINT


def _file(data: bytes) -> Any:
    """Return the file as msoffcrypto has it. Raises _UnknownWay."""
    import msoffcrypto as untyped_msoffcrypto  # noqa: PLC0415
    from msoffcrypto.format import doc97, ppt97, xls97  # noqa: PLC0415

    msoffcrypto: Any = untyped_msoffcrypto  # has no type hints
    kinds: tuple[Any, ...] = (doc97, ppt97, xls97)
    for kind in kinds:
        # It writes what it has opened to a file for a moment. These processes write none.
        kind.tempfile = SimpleNamespace(TemporaryFile=BytesIO)
    with _translated():
        return msoffcrypto.OfficeFile(BytesIO(data))


def _put_key(file: Any, password: str) -> None:
    """Put in a password. Raises _AnotherPassword when it is not the file's, and _UnknownWay."""
    # Files of today take any password without being asked to verify it, and of another make nonsense.
    verified = {"verify_password": True} if file.format == "ooxml" else {}
    with _translated():
        file.load_key(password=password, **verified)
        if file.type == "plain":  # Of what else it passes over in silence there is no type at all.
            raise _UnknownWay


@contextmanager
def _translated() -> Iterator[None]:
    """Raise _AnotherPassword and _UnknownWay for what msoffcrypto runs into."""
    from msoffcrypto.exceptions import DecryptionError, FileFormatError, InvalidKeyError, ParseError  # noqa: PLC0415

    try:
        yield
    except InvalidKeyError as error:
        raise _AnotherPassword from error
    except (DecryptionError, FileFormatError, ParseError, *_ERRORS) as error:
        raise _UnknownWay from error
