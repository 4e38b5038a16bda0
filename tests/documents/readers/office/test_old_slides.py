"""Slides of PowerPoint before 2007 keep their numbers."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from localcrag.documents.readers.office import slides
from localcrag.documents.readers.open_document import open_document
from tests.support.compound_files import compound
from tests.support.office_files import make_ppt

SLIDES = [("Prices", "A ticket costs 12 euros.", "Mention the discount."), ("", "", ""), ("Hours", "From 9 to 5.", "")]
TEXTS = ["## Prices\n\nA ticket costs 12 euros.\n\nNotes: Mention the discount.", "", "## Hours\n\nFrom 9 to 5."]
EDIT = struct.pack("<HHI", 0, 0x0FF5, 28)


def read(path: Path) -> list[tuple[int | None, str]]:
    document = open_document(path, "talk.ppt")
    pages = [(page.number, page.text) for page in document.pages]
    assert document.page_count in {None, len(pages)}
    return pages


def test_slides_are_pages_with_their_notes(tmp_path: Path) -> None:
    assert read(make_ppt(tmp_path / "a", SLIDES)) == [*enumerate(TEXTS, start=1)]


def test_what_was_saved_last_is_what_counts(tmp_path: Path) -> None:
    path = make_ppt(tmp_path / "a", SLIDES, earlier=[("Old prices", "A ticket costs 10 euros.", "")])
    assert read(path) == [*enumerate(TEXTS, start=1)]


@pytest.mark.parametrize(
    ("what", "by"),
    [
        pytest.param(EDIT, EDIT[:4] + b"\xff\xff\xff\xff", id="a length beyond the end"),
        pytest.param(struct.pack("<HH", 0, 0x1772), bytes(4), id="no directory"),
        pytest.param(struct.pack("<I", 0xE391C05F), bytes(4), id="an unknown user"),
    ],
)
def test_where_the_list_of_slides_is_not_found_they_are_one_page(tmp_path: Path, what: bytes, by: bytes) -> None:
    path = make_ppt(tmp_path / "a", SLIDES)
    data = path.read_bytes()
    assert what in data
    path.write_bytes(data.replace(what, by, 1))
    text = "\n\n".join(text for _, text in read(path) if text)
    assert "A ticket costs 12 euros." in text


def test_saves_in_a_circle_and_directories_without_end_end(tmp_path: Path) -> None:
    path = make_ppt(tmp_path / "a", SLIDES, earlier=SLIDES)
    data = path.read_bytes()
    last = data.rindex(EDIT)
    itself = struct.pack("<I", last - data.index(b"\x0f\x00\xee\x03"))  # from where the stream begins
    path.write_bytes(data[: last + 16] + itself + data[last + 20 :])
    assert slides.old_slides(path) is None
    assert "A ticket costs 12 euros." in "".join(text for _, text in read(path))
    directory = data.rindex(struct.pack("<HH", 0, 0x1772)) + 8
    path.write_bytes(data[:directory] + b"\x01\x00\xf0\xff" + data[directory + 4 :])
    assert slides.old_slides(path) is None


def test_directories_of_nothing_end(tmp_path: Path) -> None:
    empty = struct.pack("<HHI", 0, 0x1772, 2_000_000) + bytes(2_000_000)
    edit = EDIT + struct.pack("<8x5I", 8, 44, 0, 0, 0)  # It says that it was saved before, by itself.
    stream = bytes(8) + edit + empty
    (tmp_path / "a").write_bytes(compound({"PowerPoint Document": stream, "Current User": struct.pack("<16xI", 8)}))
    assert slides.old_slides(tmp_path / "a") is None
