"""Mutations that keep a file's format: archive parts, packed PDF streams, numbers, elements, lines."""

from __future__ import annotations

import io
import random
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable

Plain = Callable[[bytes, int], bytes]
"""Function that mutates bytes, up to a length, without knowing their format."""
MOST_UNPACKED = 500_000
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_NUMBERS = (
    *(b"0", b"-1", b"1", b"2", b"255", b"65536", b"2147483647", b"-2147483648", b"4294967296", b"1e308", b"1e-308"),
    *(b"99999999999999999999", b"0.5", b"NaN", b"inf", b"1048576", b"9" * 400),
)
_ELEMENT = re.compile(rb"<[^<>]{1,400}>|\\[a-z]+-?\d*|[{}\[\]()]|\n")
_STREAM = re.compile(rb"stream\r?\n(.*?)endstream", re.DOTALL)
_TIMES = (1, 1, 2, 50, 400)
_FAR = 12
"""Most elements in a piece that is moved."""


def changed(data: bytes, most: int, chance: random.Random, plain: Plain) -> bytes:
    """Return a mutated input of at most `most` bytes."""
    made = None
    if data.startswith(b"PK") and chance.random() < 0.9:
        made = _archive(data, chance, plain)
    elif b"%PDF-" in data[:1024] and chance.random() < 0.5:
        made = _stream(data, chance, plain)
    if made is None or len(made) > most:
        made = _pieces(data, most, chance, plain)
    return made[:most]


def _archive(data: bytes, chance: random.Random, plain: Plain) -> bytes | None:
    """Return an archive with one part changed, removed, doubled or renamed; None if the archive is damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if not archive.filelist or sum(part.file_size for part in archive.filelist) > MOST_UNPACKED:
                return None
            parts = [(part.filename, archive.read(part)) for part in archive.filelist]
    except Exception:  # noqa: BLE001 - whatever a damaged one makes zipfile run into
        return None
    written = [number for number, (name, _) in enumerate(parts) if name.endswith((".xml", ".rels", ".xhtml", "html"))]
    at = chance.choice(written if written and chance.random() < 0.9 else range(len(parts)))
    name, content = parts[at]
    match chance.randrange(40):
        case 0:
            del parts[at]
        case 1:
            parts.append((name, chance.choice(parts)[1]))
        case 2:
            parts[at] = (plain(name.encode(), 60).decode("utf-8", "replace") or name, content)
        case 3:
            parts[at] = (name, chance.choice(parts)[1])
        case _:
            parts[at] = (name, _pieces(content, MOST_UNPACKED, chance, plain))
    packed = io.BytesIO()
    try:
        with warnings.catch_warnings(), zipfile.ZipFile(packed, "w") as archive:
            warnings.simplefilter("ignore")  # zipfile warns of two parts with the same name, which is intended here.
            for own, content in parts:
                archive.writestr(zipfile.ZipInfo(own or "a"), content, zipfile.ZIP_DEFLATED)
    except (ValueError, UnicodeError):
        return None
    return packed.getvalue()


def _stream(data: bytes, chance: random.Random, plain: Plain) -> bytes | None:
    """Return a PDF with one stream decompressed and mutated; None if it has no stream."""
    found = [match.span(1) for match in _STREAM.finditer(data)]
    if not found:
        return None
    start, end = chance.choice(found)
    content, unpacker = data[start:end], zlib.decompressobj()
    try:
        unpacked = unpacker.decompress(content, MOST_UNPACKED)
    except zlib.error:
        return data[:start] + _pieces(content, MOST_UNPACKED, chance, plain) + data[end:]
    return data[:start] + zlib.compress(_pieces(unpacked, MOST_UNPACKED, chance, plain)) + b"\n" + data[end:]


def _pieces(data: bytes, most: int, chance: random.Random, plain: Plain) -> bytes:
    """Return data with a number changed, or elements removed, moved or repeated; otherwise, mutate its bytes."""
    way = chance.randrange(4)
    if way == 0 and (numbers := [match.span() for match in _NUMBER.finditer(data)]):
        start, end = chance.choice(numbers)
        return data[:start] + chance.choice(_NUMBERS) + data[end:]
    if way == 1 and len(places := [match.start() for match in _ELEMENT.finditer(data)]) > 1:
        first = chance.randrange(len(places) - 1)
        start, end = places[first], places[min(first + chance.randint(1, _FAR), len(places) - 1)]
        piece, target = data[start:end] * chance.choice(_TIMES), chance.choice(places)
        if chance.random() < 0.3:
            return data[:start] + data[end:]
        return (data[:target] + piece + data[target:])[:most]
    return plain(data, most)
