"""GGUF files for tests, made from the real one: its header, changed where a test needs it, and weights of zero."""

from __future__ import annotations

import struct
from pathlib import Path

HEADER = 4_000_000
"""Bytes from the beginning that hold the settings and the vocabulary of the embedded model."""
TEMPLATE = b"tokenizer.chat_template"


def hollow_copy(source: Path, target: Path, *, template: str | None = "") -> None:
    """Write a file that loads like `source` but knows nothing, and takes no room on the disk.

    `template` replaces the chat template ("": it stays; None: there is none) and must not be longer.
    """
    with source.open("rb") as file:
        header = file.read(HEADER)
    if template is None:
        header = header.replace(TEMPLATE, b"tokenizer.chat_forgotten"[: len(TEMPLATE)])
    elif template:
        header = _with_template(header, template.encode())
    with target.open("wb") as file:
        file.write(header)
        file.truncate(source.stat().st_size)


def _with_template(header: bytes, template: bytes) -> bytes:
    # A string's value: its type (four bytes), its length (eight bytes, little-endian), its bytes.
    length_at = header.index(TEMPLATE) + len(TEMPLATE) + 4
    length: int = struct.unpack_from("<Q", header, length_at)[0]
    padded = template + b"{#" + b" " * (length - len(template) - 4) + b"#}"
    return header[: length_at + 8] + padded + header[length_at + 8 + length :]
