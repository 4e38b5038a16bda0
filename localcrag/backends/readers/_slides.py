"""Slides: of a presentation, one of each slide alone, so that each keeps its number."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import lxml.etree

from localcrag.backends.readers._beside import beside_slide
from localcrag.backends.readers._drawings import parsed
from localcrag.backends.readers._open_drawings import objects_of, put_in_place
from localcrag.backends.readers._relations import named_by, related, relations_of

etree: Any = lxml.etree  # has no type hints
Element = Any
XML_ERROR: type[Exception] = etree.LxmlError
POWERPOINT, OPEN_DOCUMENT = "ppt/presentation.xml", "content.xml"
"""The parts that list the slides."""
CHARTS = "ppt/charts/"
_OF_SLIDES = ("ppt/slides/", "ppt/notesSlides/")
_LISTED = {
    POWERPOINT: tuple(
        f"{{{namespace}}}sldId"
        for namespace in (
            "http://schemas.openxmlformats.org/presentationml/2006/main",
            "http://purl.oclc.org/ooxml/presentationml/main",
        )
    ),
    OPEN_DOCUMENT: ("{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}page",),
}
"""What stands there for each."""


def slides_of(path: Path, listing: str) -> tuple[int, Iterator[tuple[bytes, str]]]:
    """Return how many slides a presentation has, and each as a file of its own with what stands beside its shapes.

    They come in order; charts and comments (`_beside.py`) are not in these files.
    `listing` is the part that lists them. Raises what zipfile raises, KeyError where it is missing, and XML_ERROR.
    """
    with zipfile.ZipFile(path) as archive:
        root = parsed(archive.read(listing))
        if listing == OPEN_DOCUMENT:
            put_in_place(root, objects_of(archive))
        slides = [slide for slide in root.iter(*_LISTED[listing]) if slide is not root]
    return len(slides), _each(path, listing, root, slides)


def _each(path: Path, listing: str, root: Element, slides: list[Element]) -> Iterator[tuple[bytes, str]]:
    with zipfile.ZipFile(path) as archive:
        # Of pictures and films it is enough that they are there.
        parts = {name: archive.read(name) if _has_text(name) else b"" for name in archive.namelist()}
    places = [(slide.getparent(), slide) for slide in slides]
    for place, slide in places:
        place.remove(slide)
    for place, slide in places:
        place.append(slide)
        of_slide = _parts_of(slide, listing, parts)
        place.remove(slide)
        beside = beside_slide(of_slide) if listing == POWERPOINT else ""
        yield _packed({name: data for name, data in of_slide.items() if not name.startswith(CHARTS)}), beside


def _has_text(name: str) -> bool:
    return name.endswith((".xml", ".rels")) or name == "mimetype"


def _parts_of(slide: Element, listing: str, parts: Mapping[str, bytes]) -> dict[str, bytes]:
    kept = dict(parts)
    if listing == POWERPOINT:
        own = _own(slide, parts)
        kept = {name: data for name, data in parts.items() if not name.startswith(_OF_SLIDES) or name in own}
    kept[listing] = etree.tostring(slide.getroottree(), encoding="utf-8", xml_declaration=True)
    return kept


def _own(slide: Element, parts: Mapping[str, bytes]) -> set[str]:
    """Return the parts that are the slide's alone: itself, its notes, and what those refer to."""
    number = named_by(slide)
    itself = [target for key, target in related(POWERPOINT, parts) if key == number]
    notes = [target for part in itself for _, target in related(part, parts) if target.startswith(_OF_SLIDES)]
    return {name for part in (*itself, *notes) for name in (part, relations_of(part))}


def _packed(parts: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return packed.getvalue()
