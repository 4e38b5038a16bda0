"""Relations of parts in office files (OOXML): which part one refers to, and by which name."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

import lxml.etree

etree: Any = lxml.etree  # has no type hints


def relations_of(part: str) -> str:
    """Return the part that lists what a part refers to."""
    folder, name = posixpath.split(part)
    return f"{folder}/_rels/{name}.rels"


def related(part: str, parts: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    """Yield the parts that a part refers to, each with the name that it refers to it by."""
    written = parts.get(relations_of(part))
    if written is None:
        return
    for one in etree.fromstring(written, etree.XMLParser(resolve_entities=False)):
        target = one.get("Target") or ""
        folder = "" if target.startswith("/") else posixpath.dirname(part)
        yield one.get("Id") or "", posixpath.normpath(posixpath.join(folder, target.lstrip("/")))
