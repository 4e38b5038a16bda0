"""A collection as a file: read back as it was; what is damaged, foreign, newer or hostile is refused."""

from __future__ import annotations

import json
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localcrag.records.documents import Chunk, StoredChunk, StoredDocument, StoredScan
from localcrag.records.errors import StoreError
from localcrag.storage.collections import collection_file
from localcrag.storage.collections.collection_file import CollectionDescription, CollectionReader, CollectionWriter
from localcrag.text.places import SheetRow

DIMENSION = 4
VECTOR = np.array([0.5, 0.5, 0.5, 0.5], "<f4").tobytes()
SCANNED = json.dumps(
    {"width": 10, "height": 10, "turn": 0, "slope": 0.0, "lines": [["Rope", 0, 0, 5, 5, 0.9]], "certainty": 0.9}
)
DOCUMENT = StoredDocument(
    name="house/lease.pdf", sha256="a" * 64, media_type="application/pdf", pages=2, text="Die Miete beträgt 900 Euro.",
    added_at="2026-11-28T02:00:00+00:00", dated="2026-11-01", title="Miete",
    chunks=(StoredChunk(Chunk(1, 0, 9, "Die Miete", "Teil 1", None, 0.5, (SheetRow(0, "A", 2),)), "Miete", VECTOR),),
    tags=("contract",), scans=(StoredScan(2, SCANNED, 0.9, 1.0, None, True),), original=b"%PDF \x00\xff",
)  # fmt: skip
ABOUT = CollectionDescription("house", "all-minilm-l6-v2", DIMENSION, 1, None, "never", {"house": ["home"]})


def write(path: Path, *documents: StoredDocument, about: CollectionDescription = ABOUT) -> Path:
    with closing(CollectionWriter(path)) as writer:
        for one in documents:
            writer.add(one)
        writer.finish(replace(about, documents=len(documents)))
    return path


def read(path: Path) -> list[StoredDocument]:
    with closing(CollectionReader(path)) as reader:
        return list(reader.documents())


def test_what_is_written_is_read_back_as_it_was(tmp_path: Path) -> None:
    other = replace(DOCUMENT, name="note.txt", chunks=(), tags=(), scans=(), original=None, pages=None, dated=None)
    path = write(tmp_path / "house.localcrag", DOCUMENT, other)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read(path) == [DOCUMENT, other]
    with closing(CollectionReader(path)) as reader:
        assert reader.about == replace(ABOUT, documents=2)
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "house.localcrag"
    path.write_text("mine")
    with pytest.raises(StoreError, match="already exists"):
        CollectionWriter(path)
    assert path.read_text() == "mine"
    with pytest.raises(StoreError, match="cannot be written"):
        CollectionWriter(tmp_path / "no folder" / "house.localcrag")


def test_what_is_not_finished_leaves_no_file(tmp_path: Path) -> None:
    with closing(CollectionWriter(tmp_path / "house.localcrag")) as writer:
        writer.add(DOCUMENT)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content", [b"", b"SQLite format 3\x00", b"PK\x03\x04" + b"\0" * 200], ids=["empty", "cut", "zip"]
)
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is not an exported localcrag collection"):
        CollectionReader(path)
    with pytest.raises(StoreError, match="cannot be read"):
        CollectionReader(tmp_path / "missing")


def changed(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return path


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        (f"PRAGMA user_version = {collection_file.FORMAT_VERSION + 1}", "Update localcrag"),
        ("CREATE TRIGGER t AFTER INSERT ON about BEGIN SELECT 1; END", "its tables are not"),
        ("CREATE VIEW v AS SELECT 1", "its tables are not"),
        ("CREATE TABLE more (x)", "its tables are not"),
        ("DELETE FROM documents", "documents are missing"),
        ("UPDATE documents SET number = 7", "documents are missing"),
        ("UPDATE documents SET document = replace(document, '900', '901')", "document 1 was changed"),
        ("UPDATE documents SET original = x'00'", "document 1 was changed"),
        ("UPDATE about SET value = '\"other\"' WHERE key = 'name'", "it was changed"),
        ("DELETE FROM about", "description of the collection"),
    ],
)
def test_a_file_that_was_changed_is_refused(tmp_path: Path, statement: str, why: str) -> None:
    path = changed(write(tmp_path / "f", DOCUMENT), statement)
    with pytest.raises(StoreError, match=why):
        CollectionReader(path)


def test_a_file_that_was_cut_off_or_has_torn_bytes_is_refused(tmp_path: Path) -> None:
    many = [replace(DOCUMENT, name=f"{number}.txt", text="word " * 3000) for number in range(40)]
    whole = write(tmp_path / "whole", *many).read_bytes()
    for share in (0.2, 0.5, 0.9):
        (tmp_path / "cut").write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(StoreError, match="was not imported"):
            CollectionReader(tmp_path / "cut")
    for place in range(4096, len(whole), len(whole) // 25):
        torn = bytearray(whole)
        torn[place : place + 16] = b"\xff" * 16
        (tmp_path / "torn").write_bytes(torn)
        try:
            documents = read(tmp_path / "torn")
        except StoreError:
            continue
        assert documents == many  # The bytes were nobody's.


@pytest.mark.parametrize("name", ["/etc/passwd", "../up.txt", "a//b", "a/./b", "", " ", "x" * 1001])
def test_a_name_that_is_a_path_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="cannot be called"):
        read(write(tmp_path / "f", replace(DOCUMENT, name=name)))


def test_characters_that_are_not_seen_are_taken_out_of_names(tmp_path: Path) -> None:
    odd = replace(DOCUMENT, name="a\u202egnp.exe", title="T\x1b[31m", tags=("x\x07y",))
    (one,) = read(write(tmp_path / "f", odd))
    assert (one.name, one.title, one.tags) == ("a\ufffdgnp.exe", "T\ufffd[31m", ("x\ufffdy",))


def _chunk(**fields: Any) -> StoredDocument:
    (stored,) = DOCUMENT.chunks
    return replace(DOCUMENT, chunks=(replace(stored, chunk=replace(stored.chunk, **fields)),))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: replace(DOCUMENT, sha256="A" * 64), "checksum"),
        (lambda: replace(DOCUMENT, media_type="<script>"), "kind"),
        (lambda: replace(DOCUMENT, pages=-1), "number of pages"),
        (lambda: replace(DOCUMENT, added_at="<b>now</b>"), "time"),
        (lambda: replace(DOCUMENT, dated="tomorrow"), "day"),
        (lambda: replace(DOCUMENT, tags=("a,b",)), "a tag is invalid"),
        (lambda: replace(DOCUMENT, scans=(StoredScan(2, "{}", None, None, None, False),)), "recognised on page 2"),
        (lambda: replace(DOCUMENT, scans=(StoredScan(0, None, None, None, None, False),)), "scanned page"),
        (lambda: _chunk(end=5_000), "place of a chunk"),
        (lambda: _chunk(start=-1), "place of a chunk"),
        (lambda: _chunk(confidence=2.0), "confidence"),
        (lambda: replace(DOCUMENT, chunks=(replace(DOCUMENT.chunks[0], vector=VECTOR[:8]),)), "number of vectors"),
        (lambda: replace(DOCUMENT, chunks=(replace(DOCUMENT.chunks[0], vector=b"\xff" * 16),)), "length of a vector"),
        (lambda: _chunk(page=0), "page of a chunk"),
    ],
)  # fmt: skip
def test_what_a_stranger_may_write_into_it_is_refused(
    tmp_path: Path, make: Callable[[], StoredDocument], why: str
) -> None:
    with pytest.raises(StoreError, match=why):
        read(write(tmp_path / "f", make()))


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"name": ""}, "has no name"),
        ({"name": "x" * 101}, "too long"),
        ({"embedder": "<img src=x>"}, "names no embedding model"),
        ({"dimension": 0}, "contains invalid numbers"),
        ({"dimension": 10**9}, "contains invalid numbers"),
        ({"folder_tags": {"../x": ["y"]}}, "cannot be called"),
        ({"folder_tags": ["x"]}, "description of the collection"),
    ],
)
def test_what_it_says_of_its_collection_is_checked(tmp_path: Path, fields: dict[str, Any], why: str) -> None:
    with pytest.raises(StoreError, match=why):
        read(write(tmp_path / "f", DOCUMENT, about=replace(ABOUT, **fields)))


def test_a_web_mode_that_is_not_known_asks_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "f", DOCUMENT, about=replace(ABOUT, web="everywhere", preset="reckless"))
    with closing(CollectionReader(path)) as reader:
        assert (reader.about.web, reader.about.preset) == ("never", None)


def test_two_documents_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="two documents are called"):
        read(write(tmp_path / "f", DOCUMENT, DOCUMENT))
