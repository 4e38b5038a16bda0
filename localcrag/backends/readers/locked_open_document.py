"""OpenDocument files with a password, by cryptography: locked part by part, or all in one.

As OpenDocument's part 2, section 4 has it: a hash of the password is made into a key, and what was packed is locked by
that. LibreOffice has locked all in one since 24.2, as 1.5 is to have it. Blowfish, by which programs before 2012 locked
files, and keys of others (OpenPGP) are not known here.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import lxml.etree

from localcrag.backends.readers import _kinds, _packages, _passwords
from localcrag.records.errors import EncryptedDocument

etree: Any = lxml.etree
MANIFEST, WHOLE, CONTENT = "META-INF/manifest.xml", "encrypted-package", "content.xml"
MOST_BYTES, MOST_ROUNDS, MOST_PASSES, MOST_LANES, MOST_KIB = 20_000_000, 10_000_000, 100, 64, 2**20
"""Of a manifest; what a key may take, so that no file keeps the machine busy. LibreOffice: 100,000 rounds of PBKDF2, or
3 passes of Argon2 in 4 lanes over 64 MB."""
WHAT = "an OpenDocument file"
_MANIFEST = "{urn:oasis:names:tc:opendocument:xmlns:manifest:1.0}"
_NAMESPACES = (_MANIFEST, "{urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0}")
_W3C = "http://www.w3.org"
_CBC = {f"{_W3C}/2001/04/xmlenc#aes{bits}-cbc": bits // 8 for bits in (128, 192, 256)}
_GCM = {f"{_W3C}/2009/xmlenc11#aes{bits}-gcm": bits // 8 for bits in (128, 192, 256)}
"""Ciphers by their names, with the bytes of their keys."""
_PBKDF2 = ("PBKDF2", "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0#pbkdf2")
_ARGON2 = (
    "urn:oasis:names:tc:opendocument:xmlns:manifest:1.5#argon2id",
    "urn:org:documentfoundation:names:experimental:office:manifest:argon2id",
)
_HASHES = {
    **dict.fromkeys(("SHA1", f"{_W3C}/2000/09/xmldsig#sha1", "SHA1/1K"), "sha1"),
    **dict.fromkeys((f"{_W3C}/2000/09/xmldsig#sha256", f"{_W3C}/2001/04/xmlenc#sha256"), "sha256"),
    "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0#sha1-1k": "sha1",
    "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0#sha256-1k": "sha256",
}
"""Of passwords, and of the first 1,024 bytes of what was packed."""
_FIRST, _BLOCK, _VECTOR = 1024, 16, 12
"""Bytes: what a checksum is of; of AES; of what stands before what GCM has locked."""
_ERRORS = (*_kinds.ZIP_ERRORS, KeyError, IndexError, etree.LxmlError)


class _AnotherPassword(Exception):
    """The password is not the file's."""


@dataclass(frozen=True, slots=True)
class _Lock:
    """How a part is locked; its fields are as the manifest has them."""

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
        """Whether a password opens it here."""
        if self.start not in _HASHES or not (self.cipher in _GCM or (self.cipher in _CBC and self._is_checked)):
            return False
        if self.derivation in _PBKDF2:
            return 0 < self.rounds <= MOST_ROUNDS
        within = 0 < self.rounds <= MOST_PASSES and 0 < self.lanes <= MOST_LANES and 0 < self.kib <= MOST_KIB
        return self.derivation in _ARGON2 and within

    @property
    def _is_checked(self) -> bool:
        return self.checksum_type in _HASHES and len(self.vector) == _BLOCK


def is_locked(path: Path, head: bytes) -> bool:
    """Return whether a file is an OpenDocument file that has a password."""
    return _kinds.identify(head) == _kinds.ZIP and bool(_locks_of(path))


def refusal(path: Path, name: str) -> EncryptedDocument:
    """Return the error for a file that has a password: that it is needed, or that none opens the file here."""
    known = all(lock.is_known for lock in _locks_of(path).values())
    return _passwords.needed(name) if known else _passwords.unknown_way(name)


def unlocked(path: Path, name: str, password: str, head: bytes) -> bytes:
    """Return a file as it is without its password: of one that is locked part by part, the parts that are texts.

    Raises PasswordNeeded when that is another, EncryptedDocument where none opens the file here, UnreadableDocument.
    """
    locks = _locks_of(path)
    if not locks or not all(lock.is_known for lock in locks.values()):
        raise _passwords.unknown_way(name)
    _packages.check(path, name, WHAT, head)
    try:
        with zipfile.ZipFile(path) as archive:
            if whole := locks.get(WHOLE):
                return _opened(archive.read(WHOLE), whole, password)
            return _opened_parts(archive, locks, password)
    except _AnotherPassword as error:
        raise _passwords.another(name) from error
    except _ERRORS as error:
        raise _packages.damaged(name, WHAT, error) from error


def _opened_parts(archive: zipfile.ZipFile, locks: Mapping[str, _Lock], password: str) -> bytes:
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as copy:
        for part in archive.namelist():
            data = archive.read(part) if part == "mimetype" or part.endswith(".xml") else b""
            if data and part != MANIFEST:
                copy.writestr(part, _opened(data, locks[part], password) if part in locks else data)
    return made.getvalue()


def _opened(data: bytes, lock: _Lock, password: str) -> bytes:
    """Return what is locked in `data`. Raises _AnotherPassword, and ValueError when it is damaged."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - seldom needed
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    key = _key(lock, password)
    if lock.cipher in _GCM:
        try:
            return _unpacked(AESGCM(key).decrypt(data[:_VECTOR], data[_VECTOR:], None))
        except InvalidTag as error:
            raise _AnotherPassword from error  # Or damaged, which nobody can tell apart.
    if not data or len(data) % _BLOCK:
        raise ValueError("a locked part is cut off")
    packed = Cipher(algorithms.AES(key), modes.CBC(lock.vector)).decryptor().update(data)
    packed = packed[: -packed[-1]]  # The last byte says how many were added to make whole blocks.
    if hashlib.new(_HASHES[lock.checksum_type], packed[:_FIRST], usedforsecurity=False).digest() != lock.checksum:
        raise _AnotherPassword
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
    data = raw.decompress(packed, _packages.MAX_UNPACKED_BYTES)
    if raw.unconsumed_tail:
        raise ValueError(f"it unpacks to more than {_packages.MAX_UNPACKED_BYTES / 1e6:.0f} MB")
    return data


def _locks_of(path: Path) -> dict[str, _Lock]:
    """Return how the parts are locked that are, by their names; none of a file whose text is not, or of another one."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(MANIFEST).file_size > MOST_BYTES:
                return {}
            manifest = etree.fromstring(archive.read(MANIFEST), etree.XMLParser(resolve_entities=False))
        locks = {
            str(entry.get(f"{_MANIFEST}full-path")): _lock(data)
            for entry in manifest.iter(f"{_MANIFEST}file-entry")
            if (data := entry.find(f"{_MANIFEST}encryption-data")) is not None
        }
    except _ERRORS:  # It is no OpenDocument file, or damaged: whoever reads it says so.
        return {}
    return {} if {WHOLE, CONTENT}.isdisjoint(locks) else locks


def _lock(data: Any) -> _Lock:
    empty = etree.Element("none")
    parts = ("algorithm", "key-derivation", "start-key-generation")
    cipher, key, start = (found if (found := data.find(_MANIFEST + part)) is not None else empty for part in parts)
    return _Lock(
        cipher=_said(cipher, "algorithm-name"),
        vector=b64decode(_said(cipher, "initialisation-vector")),
        derivation=_said(key, "key-derivation-name"),
        salt=b64decode(_said(key, "salt")),
        rounds=int(_said(key, "iteration-count") or _said(key, "argon2-iterations") or 0),
        lanes=int(_said(key, "argon2-lanes") or 0),
        kib=int(_said(key, "argon2-memory") or 0),
        start=_said(start, "start-key-generation-name") or "SHA1",
        checksum_type=_said(data, "checksum-type"),
        checksum=b64decode(_said(data, "checksum")),
    )


def _said(element: Any, name: str) -> str:
    return next((said for space in _NAMESPACES if (said := element.get(space + name))), "")
