"""Slides as separate files, and the drawings and comments of sheets and slides.

Each slide becomes a file, so that it keeps its number. anydoc reads the text of a slide. To keep a single slide of an
old presentation, the records of all other slides in the slide list ([MS-PPT] 2.4.14.3) get a type that no reader knows.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import lxml.etree
from markupsafe import escape

from localcrag.documents.readers import kinds, packages
from localcrag.documents.readers.office import drawings, sheets
from localcrag.text.translation import whole_number

etree: Any = lxml.etree  # has no type hints
Element = Any
_SHEET_PARTS = re.compile(
    r"xl/(?:workbook\.(?:xml|bin)|(?:\w+/)?_rels/[^/]+\.rels|comments\d*\.(?:xml|bin)"
    r"|(?:drawings|charts|comments|threadedComments|persons)/[^/]+\.xml)"
)
_SLIDE_PARTS = re.compile(r"ppt/(?:(?:slides/)?_rels/[^/]+\.rels|(?:charts|comments)/[^/]+\.xml|\w*[aA]uthors\.xml)")
_SLIDE = re.compile(r"ppt/slides/_rels/([^/]+)\.rels")
_READ_ERRORS = (*kinds.ZIP_ERRORS, *drawings.DRAWING_ERRORS, kinds.DamagedCompound, LookupError)
_UNREADABLE = "<p>What is drawn or commented here could not be read.</p>"


def sheet_annotations(path: Path) -> dict[str, str]:
    """Return the drawings and comments of a workbook's visible sheets, as HTML, by sheet name."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = packages.read_parts(archive, _SHEET_PARTS)
        visible = list(sheets.visible_sheets(parts))
    except _READ_ERRORS:  # The reader of the cells reports the error.
        return {}
    for name in filter(sheets.COMMENTS.fullmatch, parts):
        with suppress(*_READ_ERRORS):  # if it is not converted, it is reported as unreadable
            parts[name] = sheets.comments(parts[name])
    return {name: markup for name, part in visible if (markup := _part_annotations(part, parts))}


def old_sheet_annotations(path: Path) -> dict[str, str]:
    """Return the text boxes and comments of an Excel workbook from before 2007, as HTML, by sheet name."""
    found = {}
    try:
        for name, data, begins in sheets.old_sheets(path):
            try:
                boxes, notes = sheets.cell_annotations(data, begins)
                content = [*boxes, *(_comment(*one) for one in notes)]
            except _READ_ERRORS:
                found[name] = _UNREADABLE
            else:
                found[name] = drawings.limited_html([f"<p>{escape(one)}</p>" for one in content if one.strip()])
    except _READ_ERRORS:  # The reader of the cells reports the error.
        return {}
    return {name: content for name, content in found.items() if content}


def slide_annotations(parts: Mapping[str, bytes]) -> str:
    """Return the charts and comments of a slide as HTML; `parts` are the parts of its file."""
    known = {name: data for name, data in parts.items() if _SLIDE_PARTS.fullmatch(name)}
    slides = filter(None, map(_SLIDE.fullmatch, known))
    return "".join(_part_annotations(f"ppt/slides/{slide[1]}", known) for slide in slides)


def _part_annotations(part: str, parts: Mapping[str, bytes]) -> str:
    """Return the drawings and comments of a sheet or slide as HTML."""
    pieces: list[str] = []
    roots = []
    try:
        for name in dict.fromkeys(name for _, name in sheets.relationships(part, parts) if name in parts):
            try:
                roots.append(drawings.parse_xml(parts[name]))
                pieces += _drawn(name, roots[-1], parts)
            except drawings.DRAWING_ERRORS:
                pieces.append(_UNREADABLE)
        pieces += [f"<p>{escape(one)}</p>" for one in _comments(roots, parts)]
    except _READ_ERRORS:
        pieces.append(_UNREADABLE)
    return drawings.limited_html(pieces)


def _drawn(name: str, root: Element, parts: Mapping[str, bytes]) -> Iterator[str]:
    kind = _kind(root)
    if kind == "chartSpace":
        yield drawings.chart_markup(root)
    elif kind == "wsDr":
        targets = dict(sheets.relationships(name, parts))
        for one in root.iter("{*}txBody", "{*}chart"):
            if next(one.iterancestors("{*}Fallback"), None) is not None:
                continue
            if _kind(one) == "txBody":
                yield "".join(f"<p>{escape(paragraph)}</p>" for paragraph in drawings.paragraphs(one))
                continue
            chart = parts.get(targets.get(sheets.relationship_id(one), ""))
            try:
                yield drawings.chart_markup(drawings.parse_xml(chart), in_cells=True) if chart else _UNREADABLE
            except drawings.DRAWING_ERRORS:
                yield _UNREADABLE


def _comments(roots: Iterable[Element], parts: Mapping[str, bytes]) -> Iterator[str]:
    """Yield comments with their authors; on a sheet, threaded comments (since 2018) replace their copies."""
    by_kind = {_kind(root): root for root in roots}
    nothing = etree.Element("nothing")
    threaded, notes, on_slide = (by_kind.get(kind, nothing) for kind in ("ThreadedComments", "comments", "cmLst"))
    people = _people(parts) if {"ThreadedComments", "cmLst"} & by_kind.keys() else {}
    replaced = set()
    for one in threaded.iter("{*}threadedComment"):
        replaced.add(one.get("ref"))
        yield _comment(one.get("ref"), people.get(one.get("personId", ""), ""), _text(one.iter("{*}text")))
    authors = ["".join(one.itertext()) for one in notes.iter("{*}author")]
    for one in notes.iter("{*}comment"):
        if one.get("ref") not in replaced:
            number = whole_number(one.get("authorId", ""))
            author = authors[number] if number is not None and number < len(authors) else ""
            yield _comment(one.get("ref"), author, _text(one.iter("{*}t")))
    for one in on_slide.iter("{*}cm", "{*}reply"):
        author = people.get(one.get("authorId", ""), "")
        own = [paragraph for body in one.iterchildren("{*}txBody") for paragraph in drawings.paragraphs(body)]
        yield _comment(None, author, _text(one.iterchildren("{*}text")) + " ".join(own))


def _text(elements: Iterable[Element]) -> str:
    return "".join(one.text or "" for one in elements)


def _comment(cell: str | None, author: str, text: str) -> str:
    author = " ".join(author.split())
    body = " ".join(text.split()).removeprefix(f"{author}:").strip()
    return f"Comment{f' on {cell}' if cell else ''}{f' by {author}' if author else ''}: {body}"


def _people(parts: Mapping[str, bytes]) -> dict[str, str]:
    """Return the names of the authors of comments, by their ids."""
    lists = (data for name, data in parts.items() if "persons/" in name or name.endswith("uthors.xml"))
    people = (one for data in lists for one in drawings.parse_xml(data).iter("{*}person", "{*}cmAuthor", "{*}author"))
    return {one.get("id", ""): one.get("displayName") or one.get("name") or "" for one in people}


def _kind(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


DOCUMENT, CURRENT_USER = "PowerPoint Document", "Current User"
MOST_SLIDES, MOST_BYTES = 2_000, 2 * 10**9
"""Maximum slides of a presentation, and maximum bytes of all its slides' files together, which are read in turn."""
_HEAD = struct.Struct("<HHI")
"""Head of a record: version and instance, type, length."""
_EDIT, _DIRECTORY, _DOCUMENT, _LIST, _PERSIST, _NOTES = 0x0FF5, 0x1772, 0x03E8, 0x0FF0, 0x03F3, 0x03F0
_MOST_EDITS, _MOST_RECORDS = 1_000, 100_000
_SLIDE_LIST, _NOTES_LIST = 0, 2
"""Instances of the slide list and of the notes list; the list of masters has another instance."""
Record = tuple[int, int, int, int]
"""Instance, type, and the start and end of the content of a record."""


def old_slides(path: Path) -> tuple[int, Iterator[bytes]] | None:
    """Return the number of slides in a presentation, and each slide as a separate file, in order.

    Return None if the slide list is missing, as in damaged files, or too long.
    """
    try:
        with kinds.open_compound(path) as root:
            stream, user = root.stream(DOCUMENT) or b"", root.stream(CURRENT_USER) or b""
            slides = _slides(stream, user)
            if not slides or len(slides) > MOST_SLIDES or len(slides) * path.stat().st_size > MOST_BYTES:
                return None
            places = dict(root.file_offsets(DOCUMENT, [at for slide in slides for at in slide]))
            data = path.read_bytes()
            # No reader knows a record of type 0. Each slide's file gets the types of its own records back.
            silent = bytearray(data)
            for place in places.values():
                silent[place] = 0
    except kinds.DamagedCompound:
        return None
    return len(slides), _old_slide_files(data, bytes(silent), [[places[at] for at in slide] for slide in slides])


def _old_slide_files(data: bytes, silent: bytes, slides: list[list[int]]) -> Iterator[bytes]:
    for own in slides:
        alone = bytearray(silent)
        for place in own:
            alone[place] = data[place]
        yield bytes(alone)


def _slides(stream: bytes, user: bytes) -> list[list[int]]:
    """Return for each slide the offsets of the two type bytes in each of its records and of its notes' records.

    Raises ValueError, LookupError and struct.error.
    """
    document, offsets = _saved_objects(stream, struct.unpack_from("<I", user, 16)[0])
    _, _, start, end = _record(stream, offsets[document], len(stream), _DOCUMENT)
    slides: list[list[int]] = []
    numbers: dict[int, list[int]] = {}
    # The list of slides comes before the list of their notes.
    for instance, _, begins, ends in (one for one in _within(stream, start, end) if one[1] == _LIST):
        own: list[int] = []
        for _, inner, at, _ in _within(stream, begins, ends) if instance in {_SLIDE_LIST, _NOTES_LIST} else ():
            if inner == _PERSIST and instance == _SLIDE_LIST:
                own = numbers[struct.unpack_from("<I", stream, at + 12)[0]] = []
                slides.append(own)
            elif inner == _PERSIST and slides:
                own = numbers.get(_notes_slide(stream, offsets[struct.unpack_from("<I", stream, at)[0]]), slides[-1])
            # The type is in bytes 2 and 3 of a record's head, which has eight bytes.
            own += [at - 6, at - 5]
    return slides


def _notes_slide(stream: bytes, notes_at: int) -> int:
    """Return the number of the slide that the notes belong to."""
    _, _, start, end = _record(stream, notes_at, len(stream), _NOTES)
    begins = next((one[2] for one in _within(stream, start, end)), len(stream))
    return int(struct.unpack_from("<I", stream, begins)[0])


def _saved_objects(stream: bytes, edit: int) -> tuple[int, dict[int, int]]:
    """Return the document's number, and the offset of the latest version of each saved object, by its number."""
    documents: list[int] = []
    offsets: dict[int, int] = {}
    left = _MOST_RECORDS
    for _ in range(_MOST_EDITS):
        _, _, start, _ = _record(stream, edit, len(stream), _EDIT)
        edit, directory, document = struct.unpack_from("<III", stream, start + 8)
        documents.append(document)
        _, _, at, end = _record(stream, directory, len(stream), _DIRECTORY)
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
    raise ValueError("it contains too many saved versions")


def _record(stream: bytes, at: int, limit: int, expected: int | None = None) -> Record:
    """Return the record at an offset. Raises ValueError if it is of another kind or goes beyond `limit`."""
    version, kind, length = _HEAD.unpack_from(stream, at)
    if expected not in (None, kind) or at + 8 + length > limit:
        raise ValueError("its records are damaged")
    return version >> 4, kind, at + 8, at + 8 + length


def _within(stream: bytes, start: int, end: int) -> Iterator[Record]:
    for _ in range(_MOST_RECORDS):
        if start + 8 > end:
            return
        record = _record(stream, start, end)
        yield record
        start = record[3]
    raise ValueError("it has too many records")


XML_ERROR: type[Exception] = etree.LxmlError
POWERPOINT, OPEN_DOCUMENT = "ppt/presentation.xml", "content.xml"
"""Names of the parts that list the slides."""
CHARTS = "ppt/charts/"
_SLIDE_FOLDERS = ("ppt/slides/", "ppt/notesSlides/")
_MAIN = ("http://schemas.openxmlformats.org/presentationml/2006/main", "http://purl.oclc.org/ooxml/presentationml/main")
_SLIDE_TAGS = {
    POWERPOINT: tuple(f"{{{namespace}}}sldId" for namespace in _MAIN),
    OPEN_DOCUMENT: ("{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}page",),
}
"""Elements that list a slide, by the part that they are in."""


def split_slides(path: Path, listing: str) -> tuple[int, Iterator[tuple[bytes, str]]]:
    """Return the number of slides, and each slide in order as a separate file, with its charts and comments as HTML.

    The files of a PowerPoint presentation do not contain its charts. `listing` is the part that lists the slides.
    Raises the errors of zipfile, KeyError if the part is missing, and XML_ERROR.
    """
    with zipfile.ZipFile(path) as archive:
        root = drawings.parse_xml(archive.read(listing))
        if listing == OPEN_DOCUMENT:
            drawings.insert_drawings(root, drawings.embedded_objects(archive))
        slides = [slide for slide in root.iter(*_SLIDE_TAGS[listing]) if slide is not root]
    return len(slides), _slide_files(path, listing, root, slides)


def _slide_files(path: Path, listing: str, root: Element, slides: list[Element]) -> Iterator[tuple[bytes, str]]:
    with zipfile.ZipFile(path) as archive:
        # For pictures and films it is enough that the parts exist.
        with_text = (".xml", ".rels", "mimetype")
        parts = {name: archive.read(name) if name.endswith(with_text) else b"" for name in archive.namelist()}
    places = [(slide.getparent(), slide) for slide in slides]
    # All slides are removed from the list and put back one at a time.
    for place, slide in places:
        place.remove(slide)
    for place, slide in places:
        place.append(slide)
        slide_parts = _file_parts(slide, listing, parts)
        place.remove(slide)
        extra_html = slide_annotations(slide_parts) if listing == POWERPOINT else ""
        shown = (part for part in slide_parts.items() if not part[0].startswith(CHARTS))
        yield packages.packed(shown).getvalue(), extra_html


def _file_parts(slide: Element, listing: str, parts: Mapping[str, bytes]) -> dict[str, bytes]:
    kept = dict(parts)
    if listing == POWERPOINT:
        own = _slide_parts(slide, parts)
        kept = {name: data for name, data in parts.items() if not name.startswith(_SLIDE_FOLDERS) or name in own}
    kept[listing] = etree.tostring(slide.getroottree(), encoding="utf-8", xml_declaration=True)
    return kept


def _slide_parts(slide: Element, parts: Mapping[str, bytes]) -> set[str]:
    """Return the parts that only the slide uses: itself, its notes, and their relationships."""
    number = sheets.relationship_id(slide)
    itself = [target for key, target in sheets.relationships(POWERPOINT, parts) if key == number]
    related = (target for part in itself for _, target in sheets.relationships(part, parts))
    own = [*itself, *(target for target in related if target.startswith(_SLIDE_FOLDERS))]
    return {name for part in own for name in (part, sheets.relationships_part(part))}
