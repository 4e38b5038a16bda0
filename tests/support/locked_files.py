"""Office files with a password, made from those without: today's, those before 2007, and OpenDocument.

As [MS-OFFCRYPTO] and OpenDocument's part 2 have them. Keys of Office are made by msoffcrypto, which has nothing that
writes such files but for today's.
"""

from __future__ import annotations

import base64
import hashlib
import io
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import msoffcrypto.format.ooxml
import olefile
from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from msoffcrypto.method import rc4, rc4_cryptoapi
from msoffcrypto.method.ecma376_standard import ECMA376Standard

from tests.support.compound_files import Tree, compound
from tests.support.documents import make_zip

crypto: Any = msoffcrypto
ole: Any = olefile
older: Any = rc4
newer: Any = rc4_cryptoapi
standard: Any = ECMA376Standard
_ODF = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
_LIBREOFFICE = "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0"
ROUNDS = 1000
SALT, VERIFIER = bytes(range(16)), bytes(range(100, 116))
AES_128, RC4, SHA_1, BITS = 0x660E, 0x6801, 0x8004, 128
FLAGS_AT, KEY_AT, CLX_AT, FIRST_ENCRYPTED = 10, 14, 418, 0x44
"""In the file information block of a Word document of before 2007."""
IS_ENCRYPTED, IS_OBFUSCATED = 0x0100, 0x8000
BOF, END, FILE_PASS, SHEET, LABEL = 0x0809, 0x000A, 0x002F, 0x0085, 0x0204
"""Records of an Excel workbook of before 2007."""


def lock_agile(path: Path, password: str) -> Path:
    """Lock a file of more than 4,096 bytes as Office has done since 2010."""
    made = io.BytesIO()
    crypto.format.ooxml.OOXMLFile(io.BytesIO(path.read_bytes())).encrypt(password, made)
    path.write_bytes(made.getvalue())
    return path


def lock_standard(path: Path, password: str) -> Path:
    """Lock a file as Office 2007 does."""
    key = standard.makekey_from_password(password, AES_128, SHA_1, 24, BITS, len(SALT), SALT)
    its_hash = hashlib.sha1(VERIFIER, usedforsecurity=False).digest().ljust(32, b"\0")
    verified = _aes(key, VERIFIER), _aes(key, its_hash)
    data = path.read_bytes()
    package = struct.pack("<Q", len(data)) + _aes(key, data + bytes(-len(data) % 16))
    info = struct.pack("<HH", 4, 2) + _described(AES_128, *verified)
    path.write_bytes(compound({"EncryptionInfo": info, "EncryptedPackage": package}))
    return path


def lock_doc(path: Path, password: str, *, obfuscated: bool = False) -> Path:
    """Lock a Word document of before 2007; `obfuscated` as Word 95 did, which nothing opens here."""
    tree = _tree(path)
    words, table = bytearray(_bytes(tree["WordDocument"])), _bytes(tree["1Table"])
    info = struct.pack("<HH", 2, 2) + _described(RC4, *_verified(password))
    (flags,) = struct.unpack_from("<H", words, FLAGS_AT)
    struct.pack_into("<H", words, FLAGS_AT, flags | IS_ENCRYPTED | (IS_OBFUSCATED if obfuscated else 0))
    struct.pack_into("<I", words, KEY_AT, len(info))
    (clx,) = struct.unpack_from("<I", words, CLX_AT)
    struct.pack_into("<I", words, CLX_AT, clx + len(info))
    tree["1Table"] = info + _rc4(password, info + table)[len(info) :]
    tree["WordDocument"] = bytes(words[:FIRST_ENCRYPTED]) + _rc4(password, bytes(words))[FIRST_ENCRYPTED:]
    path.write_bytes(compound(tree))
    return path


def make_xls(path: Path, text: str, password: str = "", *, obfuscated: bool = False) -> Path:
    """Write a workbook of before 2007 with a sheet of one cell, with a password as Excel 97 locks it.

    `obfuscated`: it says that it is locked as Excel 95 did.
    """
    letters = text.encode("cp1252")
    records = [(BOF, struct.pack("<HHHHII", 0x600, 5, 0, 0, 0, 0))]
    if obfuscated:
        records.append((FILE_PASS, struct.pack("<HHH", 0, 1, 1)))
    elif password:
        key = older._makekey(password, SALT, 0)
        its_hash = hashlib.md5(VERIFIER, usedforsecurity=False).digest()
        verified = Cipher(ARC4(key), mode=None).encryptor().update(VERIFIER + its_hash)
        records.append((FILE_PASS, struct.pack("<HHH", 1, 1, 1) + SALT + verified))
    before = sum(len(data) + 4 for _, data in records) + 4 + 8 + 5 + 4
    records += [(SHEET, struct.pack("<IHBB", before, 0, 5, 0) + b"Fees1"), (END, b"")]
    records.append((BOF, struct.pack("<HHHHII", 0x600, 16, 0, 0, 0, 0)))
    records += [(LABEL, struct.pack("<HHHHB", 0, 0, 0, len(letters), 0) + letters), (END, b"")]
    plain = b"".join(struct.pack("<HH", kind, len(data)) + data for kind, data in records)
    locked = older.DocumentRC4.decrypt(password, SALT, io.BytesIO(plain), blocksize=1024).read() if password else plain
    book, at = b"", 0
    for kind, data in records:
        shown = 4 + (len(data) if kind in {BOF, FILE_PASS} else 4 if kind == SHEET else 0)
        book += plain[at : at + shown] + locked[at + shown : at + 4 + len(data)]
        at += 4 + len(data)
    path.write_bytes(compound({"Workbook": book}))
    return path


def lock_open_document(path: Path, password: str, *, cipher: str = "aes256-cbc") -> Path:
    """Lock the parts of an OpenDocument file as LibreOffice has done since 2012; its way is called `cipher`."""
    start = hashlib.sha256(password.encode()).digest()
    parts, entries = {}, ""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            if name == "mimetype":
                parts[name] = data
                continue
            deflated = zlib.compressobj(wbits=-zlib.MAX_WBITS)
            packed = deflated.compress(data) + deflated.flush()
            added = 16 - len(packed) % 16
            key = hashlib.pbkdf2_hmac("sha1", start, SALT + name.encode(), ROUNDS, 32)
            filled = packed + bytes(added - 1) + bytes([added])
            parts[name] = Cipher(algorithms.AES(key), modes.CBC(VERIFIER)).encryptor().update(filled)
            said = _manifested(f"2001/04/xmlenc#{cipher}", VERIFIER, f'm:iteration-count="{ROUNDS}"', name)
            checksum = base64.b64encode(hashlib.sha256(packed[:1024]).digest()).decode()
            said = said.format(
                f'm:checksum-type="{_ODF}#sha256-1k" m:checksum="{checksum}"', "PBKDF2", "2000/09/xmldsig"
            )
            entries += f'<m:file-entry m:full-path="{name}" m:size="{len(data)}">{said}</m:file-entry>'
    return make_zip(path, {**parts, "META-INF/manifest.xml": _manifest(entries)})


def lock_whole_open_document(path: Path, password: str, *, kib: int = 8192) -> Path:
    """Lock an OpenDocument file as LibreOffice has done since 2024: all of it in one."""
    data = path.read_bytes()
    deflated = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = deflated.compress(data) + deflated.flush()
    start = hashlib.sha256(password.encode()).digest()
    key = Argon2id(salt=SALT + b"x", length=32, iterations=3, lanes=4, memory_cost=8192).derive(start)
    vector = VERIFIER[:12]
    rest = f'l:argon2-iterations="3" l:argon2-lanes="4" l:argon2-memory="{kib}"'
    said = _manifested("2009/xmlenc11#aes256-gcm", vector, rest, "x")
    said = said.format("", "urn:org:documentfoundation:names:experimental:office:manifest:argon2id", "2001/04/xmlenc")
    entries = f'<m:file-entry m:full-path="encrypted-package" m:size="{len(data)}">{said}</m:file-entry>'
    return make_zip(path, {
        "mimetype": b"application/vnd.oasis.opendocument.text",
        "encrypted-package": vector + AESGCM(key).encrypt(vector, packed, None),
        "META-INF/manifest.xml": _manifest(entries),
    })  # fmt: skip


def _manifested(cipher: str, vector: bytes, rest: str, name: str) -> str:
    """Return how a part is locked; there are gaps for its checksum, and the names of its derivation and its hash."""
    salt = base64.b64encode(SALT + name.encode()).decode()
    return (
        f'<m:encryption-data {{0}}><m:algorithm m:algorithm-name="http://www.w3.org/{cipher}" '
        f'm:initialisation-vector="{base64.b64encode(vector).decode()}"/><m:start-key-generation '
        'm:start-key-generation-name="http://www.w3.org/{2}#sha256" m:key-size="32"/>'
        f'<m:key-derivation m:key-derivation-name="{{1}}" m:key-size="32" m:salt="{salt}" {rest}/></m:encryption-data>'
    )


def _manifest(entries: str) -> bytes:
    return f'<m:manifest xmlns:m="{_ODF}" xmlns:l="{_LIBREOFFICE}" m:version="1.3">{entries}</m:manifest>'.encode()


def _tree(path: Path) -> Tree:
    with ole.OleFileIO(path.read_bytes()) as file:
        return {name: file.openstream(name).read() for (name,) in file.listdir()}


def _bytes(stream: bytes | Tree) -> bytes:
    assert isinstance(stream, bytes)
    return stream


def _aes(key: bytes, data: bytes) -> bytes:
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(data)  # noqa: S305 - as Office 2007 does


def _rc4(password: str, data: bytes) -> bytes:
    """Return data locked, or opened, which is the same."""
    return bytes(newer.DocumentRC4CryptoAPI.decrypt(password, SALT, BITS, io.BytesIO(data)).read())


def _verified(password: str) -> tuple[bytes, bytes]:
    key = newer._makekey(password, SALT, BITS, 0)
    its_hash = hashlib.sha1(VERIFIER, usedforsecurity=False).digest()
    locked = Cipher(ARC4(key), mode=None).encryptor().update(VERIFIER + its_hash)
    return locked[:16], locked[16:]


def _described(algorithm: int, verifier: bytes, its_hash: bytes) -> bytes:
    """Return how a file is locked, and what shows whether a password is its own."""
    header = struct.pack("<IIIIIIII", 0x24, 0, algorithm, SHA_1, BITS, 24, 0, 0) + "RSA\0".encode("utf-16-le")
    return (
        struct.pack("<II", 0x24, len(header)) + header
        + struct.pack("<I", len(SALT)) + SALT + verifier + struct.pack("<I", 20) + its_hash
    )  # fmt: skip
