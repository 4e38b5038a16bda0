"""Relations of parts in office files (OOXML): which part one refers to, and by which name."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

import lxml.etree

from localcrag.backends.readers import _binary_workbooks

etree: Any = lxml.etree  # has no type hints
Element = Any
WORKBOOK = "xl/workbook.xml"
"""The part that lists a workbook's sheets."""


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


def named_by(element: Element, ending: str = "}id") -> str:
    """Return the name by which an element refers to a part: that of its attribute with such an ending."""
    return next((str(value) for name, value in element.attrib.items() if name.endswith(ending)), "")


def visible_sheets(parts: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    """Yield the name of each sheet of a workbook that is not hidden, with its part, empty where that is not told.

    `parts` has WORKBOOK, or the binary one, and what that refers to. Raises LookupError where it has not, struct.error
    and etree.LxmlError.
    """
    if binary := parts.get(_binary_workbooks.WORKBOOK):
        of_binary = dict(related(_binary_workbooks.WORKBOOK, parts))
        for name, named in _binary_workbooks.sheets(binary):
            yield name, of_binary.get(named, "")
        return
    targets = dict(related(WORKBOOK, parts))
    listed = etree.fromstring(parts[WORKBOOK], etree.XMLParser(resolve_entities=False, huge_tree=True))
    for sheet in listed.iter("{*}sheet"):
        if sheet.get("state", "visible") == "visible":
            yield sheet.get("name") or "", targets.get(named_by(sheet), "")
