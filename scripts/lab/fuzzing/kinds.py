"""Kinds of files that are fuzzed, and the file names that each is read under."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType

from localcrag.documents.readers.open_document import SUPPORTED
from localcrag.documents.readers.text import CONVERTERS

MOST_BYTES = 24_000
"""Most bytes in a seed and in an input; larger ones are read too slowly to try many."""
PASSWORD = "openpassword"  # noqa: S105 - of the locked seeds
_ALONE = (".pdf", ".doc", ".odt", ".rtf", ".ppt", ".odp", ".xls", ".ods", ".epub", ".msg", ".eml", ".mbox", ".zip")
KINDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **{ending[1:]: (ending,) for ending in _ALONE},
        "docx": (".docx", ".docm", ".dotx"),
        "pptx": (".pptx", ".pptm"),
        "xlsx": (".xlsx", ".xlsm"),
        "csv": (".csv", ".tsv"),
        "html": (".html", ".htm", ".xhtml"),
        "mht": (".mht", ".mhtml"),
        "picture": (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".gif", ".bmp", ".webp"),
        "text": tuple(ending for ending, kind in SUPPORTED.items() if kind in {"text/plain", "text/markdown"}),
    }
)
"""File extensions by kind."""
_WAYS = ("a.txt", "a.md", *{read: f"a{ending}" for ending, read in CONVERTERS.items()}.values())


def names_of(kind: str) -> tuple[str, ...]:
    """Return the file names under which an input of a kind is read; for texts, one for each way of reading them."""
    return _WAYS if kind == "text" else (f"a{KINDS[kind][0]}",)


def digest_of(data: bytes) -> str:
    """Return libFuzzer's file name for an input, its SHA-1."""
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()
