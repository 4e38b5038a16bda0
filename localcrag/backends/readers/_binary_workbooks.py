"""Workbooks of Excel that are records of bytes (XLSB, [MS-XLSB]): their sheets, comments on them."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Any

import lxml.etree

etree: Any = lxml.etree  # has no type hints
WORKBOOK = "xl/workbook.bin"
"""The part that lists the sheets."""
COMMENTS = re.compile(r"xl/comments\d*\.bin")
_SHEET, _AUTHOR, _COMMENT, _COMMENT_TEXT = 156, 632, 635, 637
_VISIBLE = 0
_SEVEN_BITS = 0x7F
_NO_TEXT = 0xFFFFFFFF
"""As a length."""
_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def records(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield kind, place and length of a part's records. Raises IndexError where it is cut off."""
    at = 0
    while at < len(data):
        kind, at = _number(data, at, 2)
        length, at = _number(data, at, 4)
        yield kind, at, length
        at += length


def sheets(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the name of each sheet that is not hidden, with the name by which the workbook refers to its part.

    Raises IndexError and struct.error, as all here does of what is damaged.
    """
    for kind, at, _ in records(data):
        if kind == _SHEET:
            related, behind = _text(data, at + 8)
            if int.from_bytes(data[at : at + 4], "little") == _VISIBLE:
                yield _text(data, behind)[0], related


def comments(data: bytes) -> bytes:
    """Return the comments on a sheet as the XML that they are in other workbooks."""
    root = etree.Element("comments")
    one: Any = None
    for kind, at, _ in records(data):
        if kind == _AUTHOR:
            etree.SubElement(root, "author").text = _text(data, at)[0]
        elif kind == _COMMENT:
            author, row, _, column, _ = struct.unpack_from("<IIIII", data, at)
            one = etree.SubElement(root, "comment", ref=cell_name(row, column), authorId=str(author))
        elif kind == _COMMENT_TEXT and one is not None:
            etree.SubElement(one, "t").text = _text(data, at + 1)[0]
    return bytes(etree.tostring(root))


def cell_name(row: int, column: int) -> str:
    """Return what a spreadsheet program calls a cell, of which both count from 0."""
    letters, left = "", column + 1
    while left > 0:
        left, letter = divmod(left - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return f"{letters}{row + 1}"


def _number(data: bytes, at: int, longest: int) -> tuple[int, int]:
    """Return a number that is written in bytes of seven bits each, and where the next one begins."""
    number = 0
    for place in range(longest):
        byte = data[at + place]
        number |= (byte & _SEVEN_BITS) << 7 * place
        if byte <= _SEVEN_BITS:
            return number, at + place + 1
    return number, at + longest


def _text(data: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<I", data, at)
    end = at + 4 + 2 * (0 if length == _NO_TEXT else length)
    return _NOT_IN_XML.sub("", data[at + 4 : end].decode("utf-16-le", "replace")), end
