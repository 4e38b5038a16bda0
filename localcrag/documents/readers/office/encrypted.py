"""Office files with a password: Microsoft Office by msoffcrypto, OpenDocument by cryptography.

The libraries are loaded only for such a file, which is rare.

OpenDocument (part 2, section 4) derives a key from a hash of the password, and encrypts the packed data with it. Since
version 24.2, LibreOffice encrypts all parts together, as OpenDocument 1.5 will specify. Blowfish, which programs used
before 2012, and keys of other kinds (OpenPGP) are not supported.
"""

from __future__ import annotations

import hashlib
import struct
import zipfile
import zlib
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.parsers.expat import ExpatError

import lxml.etree

from localcrag.documents.readers import kinds, packages
from localcrag.records.errors import EncryptedDocument, PasswordNeeded

PACKAGE = "EncryptedPackage"
"""Name of the stream that contains the file, in a current Office file with a password."""
# Passwords that Excel and PowerPoint use for files that everyone may read but few may change: [MS-OFFCRYPTO] 2.4.2.3
# and 2.4.3.4, [MS-PPT] 2.2.32. The programs open such files without asking.
EXCEL_PASSWORD, POWERPOINT_PASSWORD = "VelvetSweatshop", "/01Hannes Ruescher/01"
_PARSER_ERRORS = (struct.error, ExpatError, OverflowError, RecursionError)
_OFFICE_ERRORS = (OSError, ValueError, TypeError, AttributeError, LookupError, AssertionError, *_PARSER_ERRORS)
"""Errors that msoffcrypto raises, besides its own, on files that are damaged or protected in another way."""


def is_locked_office(path: Path, head: bytes) -> bool:
    """Return whether a file is a current Office file with a password; older files raise an error when they are read."""
    return kinds.identify(head) == kinds.OLE and kinds.has_stream(path, PACKAGE)


def office_refusal(data: bytes, name: str) -> EncryptedDocument:
    """Return the error for a file with a password: that it is needed, or that no password can open the file."""
    try:
        with _translate_errors(name):
            file = _file(data)
            known = _default_password(file.format, name)
            _set_password(file, known)
    except PasswordNeeded:
        return packages.password_needed(name)
    except EncryptedDocument as error:
        return error
    return packages.password_needed(name, known)


def unlocked_office(data: bytes, name: str, password: str) -> bytes:
    """Return a file's content without its password.

    Raises PasswordNeeded if the password is wrong, and EncryptedDocument if no password can open the file.
    """
    made = BytesIO()
    with _translate_errors(name):
        file = _file(data)
        _set_password(file, password)
        file.decrypt(made)
    return made.getvalue()


def _default_password(kind: str, name: str) -> str:
    is_excel = kind == "xls97" or (kind == "ooxml" and Path(name).suffix.lower().startswith(".xl"))
    return EXCEL_PASSWORD if is_excel else POWERPOINT_PASSWORD


def _file(data: bytes) -> Any:
    """Open a file with msoffcrypto."""
    import msoffcrypto as untyped_msoffcrypto  # noqa: PLC0415
    from msoffcrypto.format import doc97, ppt97, xls97  # noqa: PLC0415

    msoffcrypto: Any = untyped_msoffcrypto  # has no type hints
    formats: tuple[Any, ...] = (doc97, ppt97, xls97)
    for kind in formats:
        # msoffcrypto writes an opened file to a temporary file, but reader processes may not write files.
        kind.tempfile = SimpleNamespace(TemporaryFile=BytesIO)
    return msoffcrypto.OfficeFile(BytesIO(data))


def _set_password(file: Any, password: str) -> None:
    """Enter a password. Raises msoffcrypto's errors."""
    # Current files accept any password unless it is verified, and a wrong one decrypts them to nonsense.
    file.load_key(password=password, **({"verify_password": True} if file.format == "ooxml" else {}))
    if file.type == "plain":  # files from before 2007 lack `type` then (AttributeError)
        raise ValueError("the file is not encrypted")


@contextmanager
def _translate_errors(name: str) -> Iterator[None]:
    """Raise PasswordNeeded and EncryptedDocument instead of the errors of msoffcrypto."""
    from msoffcrypto.exceptions import DecryptionError, FileFormatError, InvalidKeyError, ParseError  # noqa: PLC0415

    try:
        yield
    except InvalidKeyError as error:
        raise packages.wrong_password(name) from error
    except (DecryptionError, FileFormatError, ParseError, *_OFFICE_ERRORS) as error:
        raise packages.unsupported_encryption(name) from error


etree: Any = lxml.etree
MANIFEST, WHOLE, CONTENT = "META-INF/manifest.xml", "encrypted-package", "content.xml"
MOST_BYTES, MOST_ROUNDS, MOST_PASSES, MOST_LANES, MOST_KIB = 20_000_000, 10_000_000, 100, 64, 2**20
"""Maximum bytes of a manifest, and maximum cost of a key, so that no file can keep the machine busy. LibreOffice
uses 100,000 rounds of PBKDF2, or 3 passes of Argon2 in 4 lanes over 64 MB."""
WHAT = "an OpenDocument file"
_ODF = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
_MANIFEST = f"{{{_ODF}}}"
_NAMESPACES = (_MANIFEST, "{urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0}")
_W3C = "http://www.w3.org"
_CBC = {f"{_W3C}/2001/04/xmlenc#aes{bits}-cbc": bits // 8 for bits in (128, 192, 256)}
_GCM = {f"{_W3C}/2009/xmlenc11#aes{bits}-gcm": bits // 8 for bits in (128, 192, 256)}
"""Ciphers by name, with the number of bytes of their keys."""
_PBKDF2 = ("PBKDF2", f"{_ODF}#pbkdf2")
_ARGON2 = (
    "urn:oasis:names:tc:opendocument:xmlns:manifest:1.5#argon2id",
    "urn:org:documentfoundation:names:experimental:office:manifest:argon2id",
)
_SHA1 = ("SHA1", f"{_W3C}/2000/09/xmldsig#sha1", "SHA1/1K", f"{_ODF}#sha1-1k")
_SHA256 = (f"{_W3C}/2000/09/xmldsig#sha256", f"{_W3C}/2001/04/xmlenc#sha256", f"{_ODF}#sha256-1k")
_HASHES = {**dict.fromkeys(_SHA1, "sha1"), **dict.fromkeys(_SHA256, "sha256")}
"""Hashes of passwords, and of the first 1,024 bytes of the packed data, by name."""
_CHECKSUM_BYTES, _BLOCK, _VECTOR = 1024, 16, 12
"""Number of bytes covered by a checksum, in an AES block, and in the vector in front of GCM data."""
_OPEN_DOCUMENT_ERRORS = (*kinds.ZIP_ERRORS, KeyError, IndexError, etree.LxmlError)


@dataclass(frozen=True, slots=True)
class _Lock:
    """The encryption of a part; the fields are those of the manifest."""

    cipher: str
    vector: bytes
    derivation: str
    salt: bytes
    rounds: int
    lanes: int
    kib: int
    start: str
    checksum_type: str
    checksum: bytes

    @property
    def is_known(self) -> bool:
        """Return whether a password can open the part."""
        is_checked = self.checksum_type in _HASHES and len(self.vector) == _BLOCK
        if self.start not in _HASHES or not (self.cipher in _GCM or (self.cipher in _CBC and is_checked)):
            return False
        if self.derivation in _PBKDF2:
            return 0 < self.rounds <= MOST_ROUNDS
        within = 0 < self.rounds <= MOST_PASSES and 0 < self.lanes <= MOST_LANES and 0 < self.kib <= MOST_KIB
        return self.derivation in _ARGON2 and within


def is_locked_open_document(path: Path, head: bytes) -> bool:
    """Return whether a file is an OpenDocument file that has a password."""
    return kinds.identify(head) == kinds.ZIP and bool(_read_locks(path))


def open_document_refusal(path: Path, name: str) -> EncryptedDocument:
    """Return the error for a file with a password: that it is needed, or that no password can open the file."""
    known = all(lock.is_known for lock in _read_locks(path).values())
    return packages.password_needed(name) if known else packages.unsupported_encryption(name)


def unlocked_open_document(path: Path, name: str, password: str, head: bytes) -> bytes:
    """Return a file's content without its password; if it is encrypted part by part, only the parts with text.

    Raises PasswordNeeded if the password is wrong, EncryptedDocument if no password can open the file, and
    UnreadableDocument.
    """
    locks = _read_locks(path)
    if not locks or not all(lock.is_known for lock in locks.values()):
        raise packages.unsupported_encryption(name)
    packages.check(path, name, WHAT, head)
    try:
        with zipfile.ZipFile(path) as archive:
            if whole := locks.get(WHOLE):
                return _decrypt(archive.read(WHOLE), whole, name, password)
            return _decrypt_parts(archive, locks, name, password)
    except _OPEN_DOCUMENT_ERRORS as error:
        raise packages.damaged(name, WHAT, error) from error


def _decrypt_parts(archive: zipfile.ZipFile, locks: Mapping[str, _Lock], name: str, password: str) -> bytes:
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as copy:
        for part in archive.namelist():
            data = archive.read(part) if part == "mimetype" or part.endswith(".xml") else b""
            if data and part != MANIFEST:
                copy.writestr(part, _decrypt(data, locks[part], name, password) if part in locks else data)
    return made.getvalue()


def _decrypt(data: bytes, lock: _Lock, name: str, password: str) -> bytes:
    """Return the content of encrypted `data`. Raises PasswordNeeded, and ValueError if it is damaged."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - seldom needed
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    key = _key(lock, password)
    if lock.cipher in _GCM:
        try:
            return _unpacked(AESGCM(key).decrypt(data[:_VECTOR], data[_VECTOR:], None))
        except InvalidTag as error:
            # The data may also be damaged; the two cannot be told apart.
            raise packages.wrong_password(name) from error
    if not data or len(data) % _BLOCK:
        raise ValueError("a locked part is cut off")
    packed = Cipher(algorithms.AES(key), modes.CBC(lock.vector)).decryptor().update(data)
    packed = packed[: -packed[-1]]  # The last byte is the number of bytes that were added to fill the last block.
    checksum = hashlib.new(_HASHES[lock.checksum_type], packed[:_CHECKSUM_BYTES], usedforsecurity=False)
    if checksum.digest() != lock.checksum:
        raise packages.wrong_password(name)
    return _unpacked(packed)


def _key(lock: _Lock, password: str) -> bytes:
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id  # noqa: PLC0415

    start = hashlib.new(_HASHES[lock.start], password.encode()).digest()
    size = {**_CBC, **_GCM}[lock.cipher]
    if lock.derivation in _PBKDF2:
        return hashlib.pbkdf2_hmac("sha1", start, lock.salt, lock.rounds, size)
    derived = Argon2id(salt=lock.salt, length=size, iterations=lock.rounds, lanes=lock.lanes, memory_cost=lock.kib)
    return derived.derive(start)


def _unpacked(packed: bytes) -> bytes:
    raw = zlib.decompressobj(-zlib.MAX_WBITS)
    data = raw.decompress(packed, packages.MAX_UNPACKED_BYTES)
    if raw.unconsumed_tail:
        raise ValueError(f"it unpacks to more than {packages.MAX_UNPACKED_BYTES / 1e6:.0f} MB")
    return data


def _read_locks(path: Path) -> dict[str, _Lock]:
    """Return the encryption of a file's encrypted parts, by name.

    The result is empty if the text is not encrypted, or if the file is of another kind.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(MANIFEST).file_size > MOST_BYTES:
                return {}
            manifest = etree.fromstring(archive.read(MANIFEST), etree.XMLParser(resolve_entities=False))
        entries = manifest.iter(f"{_MANIFEST}file-entry")
        found = ((one.get(f"{_MANIFEST}full-path"), one.find(f"{_MANIFEST}encryption-data")) for one in entries)
        locks = {str(name): _lock(data) for name, data in found if data is not None}
    except _OPEN_DOCUMENT_ERRORS:  # It is damaged or not an OpenDocument file, which its reader reports.
        return {}
    return {} if {WHOLE, CONTENT}.isdisjoint(locks) else locks


def _lock(data: Any) -> _Lock:
    empty = etree.Element("none")
    parts = ("algorithm", "key-derivation", "start-key-generation")
    cipher, key, start = (found if (found := data.find(_MANIFEST + part)) is not None else empty for part in parts)
    return _Lock(
        cipher=_attribute(cipher, "algorithm-name"),
        vector=b64decode(_attribute(cipher, "initialisation-vector")),
        derivation=_attribute(key, "key-derivation-name"),
        salt=b64decode(_attribute(key, "salt")),
        rounds=int(_attribute(key, "iteration-count") or _attribute(key, "argon2-iterations") or 0),
        lanes=int(_attribute(key, "argon2-lanes") or 0),
        kib=int(_attribute(key, "argon2-memory") or 0),
        start=_attribute(start, "start-key-generation-name") or "SHA1",
        checksum_type=_attribute(data, "checksum-type"),
        checksum=b64decode(_attribute(data, "checksum")),
    )


def _attribute(element: Any, name: str) -> str:
    return next((value for space in _NAMESPACES if (value := element.get(space + name))), "")
