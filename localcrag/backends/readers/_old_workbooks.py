"""Workbooks of Excel before 2007 ([MS-XLS]): their sheets; comments and text boxes on them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from localcrag.backends.readers import _compound
from localcrag.backends.readers._binary_workbooks import cell_name

_BIFF8 = 0x600
_BEGIN, _END, _SHEET = 0x809, 0x0A, 0x85
_NOTE, _OBJECT, _TEXT, _GOES_ON = 0x1C, 0x5D, 0x1B6, 0x3C
_BOXES = frozenset((2, 3, 6, 30))
"""Kinds of objects that people write into: rectangle, oval, text box, and the shapes of Office since 1997."""


def sheets(path: Path) -> Iterator[tuple[str, bytes, int]]:
    """Yield the name of each sheet that is not hidden, the workbook's records, and where the sheet's begin in them.

    Raises DamagedCompound, struct.error, and ValueError for an older workbook.
    """
    with _compound.opened(path) as folder:
        data = folder.stream("Workbook") or b""
    if struct.unpack_from("<HHH", data)[::2] != (_BEGIN, _BIFF8):
        raise ValueError("an older workbook")
    for kind, at, _ in records(data, 0):
        if kind == _SHEET:
            begins, state = struct.unpack_from("<IB", data, at)
            if state == 0:
                yield _letters(data, at + 7, data[at + 6]), data, begins


def records(data: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """Yield kind, place and length of the records of a part of a workbook, without those of charts within it."""
    depth = 0
    while at < len(data):
        kind, length = struct.unpack_from("<HH", data, at)
        depth += (kind == _BEGIN) - (kind == _END)
        if depth == 0:
            return
        if depth == 1:
            yield kind, at + 4, length
        at += 4 + length


def beside_cells(data: bytes, begins: int) -> tuple[list[str], list[tuple[str, str, str]]]:
    """Return what text boxes on a sheet say, and its comments: each with its cell and its author.

    Raises struct.error and IndexError.
    """
    boxes: dict[int, list[str]] = {}
    others: dict[int, list[str]] = {}
    notes: list[tuple[str, str, int]] = []
    number = left = 0
    texts = others
    for kind, at, length in records(data, begins):
        if kind == _OBJECT:
            of, number = struct.unpack_from("<4xHH", data, at)
            texts = boxes if of in _BOXES else others
        elif kind == _TEXT:
            left = int.from_bytes(data[at + 10 : at + 12], "little")
            texts[number] = []
        elif kind == _GOES_ON and left > 0:
            part = data[at : at + length]
            texts[number].append(_letters(part, 0, left))
            left -= (length - 1) // (1 + part[0] % 2)
        elif kind == _NOTE:
            row, column, _, of, characters = struct.unpack_from("<HHHHH", data, at)
            notes.append((cell_name(row, column), _letters(data, at + 10, characters), of))
    said = [(cell, author, "".join(others.get(of, ()))) for cell, author, of in notes]
    return ["".join(one) for one in boxes.values()], said


def _letters(data: bytes, at: int, length: int) -> str:
    """Return so many characters, which stand behind a byte that says how wide they are."""
    wide = data[at] % 2
    return data[at + 1 : at + 1 + length * (1 + wide)].decode("utf-16-le" if wide else "latin-1", "replace")
