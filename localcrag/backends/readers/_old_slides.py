"""Slides of PowerPoint before 2007: one presentation of each slide alone, so that it keeps its number.

In the list of slides ([MS-PPT] 2.4.14.3) the records of all others are made into some that no reader knows; what a
slide says is left to anydoc.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from localcrag.backends.readers import _compound

DOCUMENT, CURRENT_USER = "PowerPoint Document", "Current User"
MOST_SLIDES, MOST_BYTES = 2_000, 2 * 10**9
"""Of a presentation, and of the files of all its slides together: each is read anew."""
_HEAD = struct.Struct("<HHI")
"""Version and instance, type, length."""
_EDIT, _DIRECTORY, _DOCUMENT, _LIST, _PERSIST, _NOTES = 0x0FF5, 0x1772, 0x03E8, 0x0FF0, 0x03F3, 0x03F0
_MOST_EDITS, _MOST_RECORDS = 1_000, 100_000
_OF_SLIDES, _OF_NOTES = 0, 2
"""The instances of lists; masters have another."""
Record = tuple[int, int, int, int]
"""Instance, type, where its content begins, and ends."""


def slides_of(path: Path) -> tuple[int, Iterator[bytes]] | None:
    """Return how many slides a presentation has, and each as a file of its own, in order.

    None where the list of slides is not found, as in damaged files, or is too long.
    """
    try:
        with _compound.opened(path) as root:
            stream, user = root.stream(DOCUMENT) or b"", root.stream(CURRENT_USER) or b""
            slides = _slides(stream, user)
            if not slides or len(slides) > MOST_SLIDES or len(slides) * path.stat().st_size > MOST_BYTES:
                return None
            places = dict(root.places(DOCUMENT, [at for slide in slides for at in slide]))
            data = path.read_bytes()
            silent = bytearray(data)
            for place in places.values():
                silent[place] = 0
    except _compound.DamagedCompound:
        return None
    return len(slides), _each(data, bytes(silent), [[places[at] for at in slide] for slide in slides])


def _each(data: bytes, silent: bytes, slides: list[list[int]]) -> Iterator[bytes]:
    for own in slides:
        alone = bytearray(silent)
        for place in own:
            alone[place] = data[place]
        yield bytes(alone)


def _slides(stream: bytes, user: bytes) -> list[list[int]]:
    """Return for each slide where the types of its records and of its notes' stand, both bytes of each.

    Raises ValueError, LookupError and struct.error.
    """
    document, offsets = _saved(stream, struct.unpack_from("<I", user, 16)[0])
    _, _, start, end = _record(stream, offsets[document], _DOCUMENT)
    slides: list[list[int]] = []
    numbers: dict[int, list[int]] = {}
    # The list of slides comes before that of their notes.
    for instance, _, begins, ends in (one for one in _within(stream, start, end) if one[1] == _LIST):
        own: list[int] = []
        for _, inner, at, _ in _within(stream, begins, ends) if instance in {_OF_SLIDES, _OF_NOTES} else ():
            if inner == _PERSIST and instance == _OF_SLIDES:
                own = numbers[struct.unpack_from("<I", stream, at + 12)[0]] = []
                slides.append(own)
            elif inner == _PERSIST and slides:
                own = numbers.get(_slide_of(stream, offsets[struct.unpack_from("<I", stream, at)[0]]), slides[-1])
            own += [at - 6, at - 5]
    return slides


def _slide_of(stream: bytes, notes_at: int) -> int:
    """Return the number of the slide that notes are on."""
    _, _, start, end = _record(stream, notes_at, _NOTES)
    begins = next((one[2] for one in _within(stream, start, end)), len(stream))
    return int(struct.unpack_from("<I", stream, begins)[0])


def _saved(stream: bytes, edit: int) -> tuple[int, dict[int, int]]:
    """Return the document's number, and by such numbers where each thing begins that was saved, at last or before."""
    documents: list[int] = []
    offsets: dict[int, int] = {}
    left = _MOST_RECORDS
    for _ in range(_MOST_EDITS):
        _, _, start, _ = _record(stream, edit, _EDIT)
        edit, directory, document = struct.unpack_from("<III", stream, start + 8)
        documents.append(document)
        _, _, at, end = _record(stream, directory, _DIRECTORY)
        while at < end:
            (packed,) = struct.unpack_from("<I", stream, at)
            first, count = packed & 0xFFFFF, packed >> 20
            left -= 1 + count
            if left < 0:
                break
            for number, offset in enumerate(struct.unpack_from(f"<{count}I", stream, at + 4), start=first):
                offsets.setdefault(number, offset)
            at += 4 * (1 + count)
        if not edit or left < 0:
            return documents[0], offsets
    raise ValueError("it was saved too often")


def _record(stream: bytes, at: int, expected: int) -> Record:
    version, kind, length = _HEAD.unpack_from(stream, at)
    if kind != expected or at + 8 + length > len(stream):
        raise ValueError("its records are damaged")
    return version >> 4, kind, at + 8, at + 8 + length


def _within(stream: bytes, start: int, end: int) -> Iterator[Record]:
    for _ in range(_MOST_RECORDS):
        if start + 8 > end:
            return
        version, kind, length = _HEAD.unpack_from(stream, start)
        if start + 8 + length > end:
            raise ValueError("its records are damaged")
        yield version >> 4, kind, start + 8, start + 8 + length
        start += 8 + length
    raise ValueError("it has too many records")
