"""RTF as Outlook packs it: what was written before is referred to by its place ([MS-OXRTFCP])."""

from __future__ import annotations

import struct

_PACKED, _PLAIN = b"LZFu", b"MELA"
_HEAD = struct.Struct("<II4sI")
"""Bytes that follow its first field, bytes of the RTF, how it is packed, checksum."""
_WINDOW = 4096
_REFERENCE = 2
"""Bytes of one; it is of two bytes and more, so that its length counts from there."""
# What the window begins with, by the specification.
_BEFORE = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans Serif"
    rb"SymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0%b\par \pard\plain\f0\fs20\b\i\u\tab\tx"
) % b"\r\n"


def unpacked(data: bytes) -> bytes:
    """Return the RTF. Raises ValueError when it is packed otherwise; of what is cut off, it is what there is."""
    if len(data) < _HEAD.size:
        raise ValueError("its RTF has no head")
    _, size, how, _ = _HEAD.unpack_from(data)
    body = data[_HEAD.size :]
    if how == _PLAIN:
        return body[:size]
    if how != _PACKED:
        raise ValueError("its RTF is packed in a way that is not known")
    # No more than nine times the packed bytes: a reference of two stands for 17.
    return _written(body, size)[len(_BEFORE) :][:size]


def _written(body: bytes, size: int) -> bytes:
    """Return what the window begins with, and behind it up to `size` bytes of RTF and a few."""
    out, at = bytearray(_BEFORE), 0
    while at < len(body) and len(out) < len(_BEFORE) + size:
        kinds = body[at]
        at += 1
        for bit in range(8):
            if not kinds >> bit & 1:
                out += body[at : at + 1]
                at += 1
                continue
            if at + _REFERENCE > len(body):
                return bytes(out)
            place, length = int.from_bytes(body[at : at + _REFERENCE]) >> 4, (body[at + 1] & 0xF) + _REFERENCE
            at += _REFERENCE
            back = (len(out) - place) % _WINDOW
            if back == 0:  # Its own place is the end.
                return bytes(out)
            for _ in range(length):
                # Places that nothing was written to yet are empty.
                out.append(out[-back] if back <= len(out) else 0)
    return bytes(out)
