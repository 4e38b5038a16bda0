"""What a collection's home promises: names, tags, scans, files, other vectors, and copies that are the same."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localcrag.records.documents import (
    Chunk,
    ResidueSignature,
    ScannedLine,
    ScannedPage,
    StoredChunk,
    StoredDocument,
    StoredScan,
)
from localcrag.records.errors import NameRefused, StoreError, UnknownCollection, UnknownDocument, UnreadableDocument
from localcrag.records.ingest import OriginalFile
from localcrag.storage.collections.engine_choice import EngineChoice
from localcrag.storage.postgres.collection import PostgresCollection
from localcrag.storage.protocol import Store
from localcrag.text.places import SheetRow
from tests.support.fakes import FakeEmbedder
from tests.support.homes import Homes
from tests.support.other_languages import LEASES

pytestmark = pytest.mark.contract

READ = ScannedPage(100, 200, 0, 0.01, (ScannedLine("Räum den Keller", 0.9, 1, 2, 3, 4),), 0.9)

VECTOR = np.array([0.1, -3e-9, 1 / 3, *[0] * 61], np.float32).tobytes()


def put(store: Store, name: str, *texts: str, **more: Any) -> None:
    chunks = [Chunk(1, 0, len(text), text, "Rules", None) for text in texts]
    store.put(
        name, sha256=name, media_type="application/pdf", pages=1, text="\n".join(texts), chunks=chunks,
        vectors=FakeEmbedder().embed(texts), **more,
    )  # fmt: skip


def test_a_document_is_found_under_its_new_name(homes: Homes) -> None:
    store, home = homes.store(), homes.home()
    put(store, "lease.txt", "The deposit is paid in three parts.")
    put(store, "other.txt", "Nothing.")
    home.rename_document("lease.txt", "Sublet of the attic.txt")
    assert [one.name for one in home.documents()] == ["Sublet of the attic.txt", "other.txt"]
    assert store.full_text("attic", 5) == store.chunk_ids([store.documents()[0].id])
    assert not store.full_text("lease", 5)
    with pytest.raises(NameRefused, match=r"already has a document “other\.txt”"):
        home.rename_document("Sublet of the attic.txt", "other.txt")
    with pytest.raises(UnknownDocument):
        home.rename_document("gone", "new")


def test_of_names_those_that_documents_have_are_told(homes: Homes) -> None:
    store, home = homes.store(), homes.home()
    for name in ("lease.txt", "Räum.txt", "box.zip/a.txt"):
        put(store, name, "x")
    put(homes.store("another"), "other.txt", "x")
    wanted = ["Räum.txt", "lease.txt", "LEASE.txt", "other.txt", "box.zip", "%", "", "a\0b", "lease.txt"]
    assert home.existing(wanted) == {"lease.txt", "Räum.txt"}
    assert home.existing([]) == set()


def test_tags_are_of_documents_and_of_folders_now_and_later(homes: Homes) -> None:
    store, home = homes.store(), homes.home()
    put(store, "flat/lease.txt", "a")
    home.tag(["flat/", "flat/lease.txt"], ["2026", "Signed"], [])
    put(store, "flat/rules.txt", "b")
    put(store, "flat/lease.txt", "changed")
    assert {one.name: one.tags for one in home.documents()} == {
        "flat/lease.txt": ("2026", "Signed"), "flat/rules.txt": ("2026", "Signed"),
    }  # fmt: skip
    assert home.folder_tags() == {"flat": ["2026", "Signed"]}
    home.tag(["flat/", "flat/lease.txt"], [], ["signed"])
    assert [one.tags for one in home.documents()] == [("2026",), ("2026",)]
    with pytest.raises(UnknownDocument):
        home.tag(["cellar/"], ["x"], [])
    with pytest.raises(UnknownDocument):
        home.tag(["gone"], ["x"], [])
    with pytest.raises(NameRefused):
        home.tag(["flat/lease.txt"], ["a*"], [])


def test_scanned_pages_wait_are_read_and_get_into_the_text(homes: Homes) -> None:
    store, home = homes.store(), homes.home()
    put(store, "scan.pdf", "A stamp.", unread=[1, 2])
    scans = home.scans()
    (document,) = scans.documents()
    assert (document.waiting, document.recognised) == (2, 0)
    assert scans.waiting(document) == [1, 2]
    assert not isinstance(home, PostgresCollection) or home.has_pages_to_recognise()
    scans.keep(document, 1, READ, 0.5)
    scans.record_failure(document, 2, "No letters.")
    assert (scans.waiting(document), scans.read(document)) == ([], {1: READ})
    assert home.scanned_page("scan.pdf", 1) == READ
    assert home.scanned_page("scan.pdf", 2) is home.scanned_page("gone", 1) is None
    vectors = scans.vectors(document)
    assert [np.array_equal(vector, FakeEmbedder().embed(["A stamp."])[0]) for vector in vectors.values()] == [True]
    text = "Räum den Keller."
    scans.replace_text(
        document, text=text, chunks=[Chunk(1, 0, len(text), text)], vectors=FakeEmbedder().embed([text]),
        title="Notice", pages=[1],
    )  # fmt: skip
    assert scans.documents() == []
    assert not (isinstance(home, PostgresCollection) and home.has_pages_to_recognise())
    assert (scans.text(document), home.text("scan.pdf")) == (text, text)
    assert store.full_text("Keller", 5) == store.chunk_ids()
    (document,) = home.documents()
    assert (document.recognised, document.illegible, round(document.confidence or 0, 3)) == (1, 1, 0.9)
    scans.retry_failed()
    assert scans.waiting(document) == [2]
    # The same file again: what was read is not read again.
    put(store, "scan.pdf", "A stamp.", unread=[1, 2])
    (document,) = scans.documents()
    assert (scans.waiting(document), list(scans.read(document))) == ([2], [1])


def test_a_file_is_kept_with_its_document_and_goes_with_it(homes: Homes, tmp_path: Path) -> None:
    store, home = homes.store(), homes.home()
    file = tmp_path / "a.pdf"
    file.write_bytes(bytes(range(256)) * 9)
    put(store, "a.pdf", "one", original=OriginalFile(file, hashlib.sha256(file.read_bytes()).hexdigest()))
    (document,) = home.documents()
    assert home.original("a.pdf") == home.scans().original(document) == file.read_bytes()
    put(store, "a.pdf/mail.txt", "an attachment")
    assert store.delete("a.pdf") == 1
    assert home.original("a.pdf") is None
    assert home.documents() == []
    with pytest.raises(UnknownDocument):
        store.delete("a.pdf")


@pytest.mark.parametrize("then", [b"12", b"13", b"1", b"123", None])
def test_a_file_that_is_another_than_was_read_is_not_kept_nor_its_text(
    homes: Homes, tmp_path: Path, then: bytes | None
) -> None:
    store, file = homes.store(), tmp_path / "a.pdf"
    put(store, "a.pdf", "before")
    file.write_bytes(b"12")
    read = OriginalFile(file, hashlib.sha256(b"12").hexdigest())
    if then is None:
        file.unlink()
    else:
        file.write_bytes(then)
    if then == b"12":
        put(store, "a.pdf", "one", original=read)
        assert homes.home().original("a.pdf") == then
        return
    with pytest.raises(UnreadableDocument, match=r"a\.pdf changed while it was added"):
        put(store, "a.pdf", "one", original=read)
    assert homes.home().texts() == {"a.pdf": "before"}


@pytest.mark.parametrize("homes", ["postgres"], indirect=True)
def test_vectors_of_another_embedder_take_the_place_of_all_or_of_none(homes: Homes) -> None:
    store, home = homes.store(), homes.home()
    assert isinstance(home, PostgresCollection)
    put(store, "a.txt", "one", "another one")
    texts = home.chunk_texts()
    assert [text.rpartition("\n")[2] for _, text in texts] == ["one", "another one"]
    vectors = {chunk: np.eye(8, dtype=np.float32)[at] for at, (chunk, _) in enumerate(texts)}
    with pytest.raises(StoreError, match="changed while it was being re-indexed"):
        home.replace_vectors(embedder="new", dimension=8, vectors=dict(list(vectors.items())[:1]))
    home.replace_vectors(embedder="new", dimension=8, vectors=vectors)
    assert home.embedder() == ("new", 8)
    anew = homes.store(embedder="new", dimension=8)
    ((nearest, cosine),) = homes.index(anew).nearest(vectors[texts[1][0]], 1)
    assert nearest == texts[1][0]
    assert cosine == pytest.approx(1.0)
    with pytest.raises(StoreError, match="was indexed with new"):
        put(store, "b.txt", "two")


@pytest.mark.parametrize("text", ["plain", "a\tb\\N\r\nc\\.\n\\.\n", "a \0 in it", LEASES["zh"], LEASES["de"], ""])
def test_a_stored_document_is_the_same_wherever_it_is_put(homes: Homes, text: str, tmp_path: Path) -> None:
    store, home = homes.store(), homes.home()
    chunk = Chunk(None, 3, 3 + len(text), text, "A › B", "These are:", 0.25, (SheetRow(0, "Sheet", 4),))
    file = tmp_path / "file"
    file.write_bytes(b"\0\xff%PDF")
    stored = StoredDocument(
        name="x", sha256="s", media_type="t", pages=None, text=f"ab {text}", added_at="2026-01-02T03:04:05+00:00",
        dated="2025-12-31", title=None,
        chunks=(StoredChunk(chunk, "in front\nof it", VECTOR),) * 2,
        tags=("a", "Ü"), scans=(StoredScan(1, None, None, None, None, False), StoredScan(2, "{}", 0.5, 1.5, "e", True)),
        original=file.read_bytes(),
    )  # fmt: skip
    home.save_document(stored)
    assert home.stored("x") == home.as_stored(stored)
    home.save_document(replace(stored, tags=()))
    assert home.stored("x") == home.as_stored(replace(stored, tags=()))
    assert len(store.documents()) == 1
    home.remove(["x", "gone"])
    assert store.chunk_ids() == []
    with pytest.raises(UnknownDocument):
        home.stored("x")


def test_a_store_opens_the_index_of_its_collection(homes: Homes, tmp_path: Path) -> None:
    store = homes.store()
    put(store, "a.txt", "The deposit is paid in three parts.", "Bicycles stay in the cellar.")
    index = store.open_index(tmp_path, EngineChoice())
    index.refresh()
    assert index.is_consistent()
    (found, _cosine), *_ = index.nearest(FakeEmbedder().embed(["Bicycles stay in the cellar."])[0], 1)
    assert store.chunks([found])[found][1].text == "Bicycles stay in the cellar."


@pytest.mark.parametrize("homes", ["postgres"], indirect=True)
def test_a_deleted_document_leaves_nothing_in_the_tables_of_a_server(homes: Homes) -> None:
    store, home = homes.store(), homes.home()
    assert isinstance(home, PostgresCollection)
    put(store, "a.txt", "Nine purple herons slept here.")
    marks = [ResidueSignature("“purple herons”", (b"purple herons",))]
    assert {one.table for one in home.tables_containing(marks)} == {"documents", "chunks"}
    store.delete("a.txt")
    home.vacuum()
    assert home.tables_containing(marks) == []


def test_a_deleted_collection_is_gone_and_others_stay(homes: Homes) -> None:
    put(homes.store(), "a.txt", "one")
    put(homes.store("another"), "b.txt", "two")
    home = homes.home()
    home.delete()
    with pytest.raises(UnknownCollection):
        home.embedder()
    assert homes.home("another").texts() == {"b.txt": "two"}


def test_documents_take_each_others_names_and_one_in_the_way_is_replaced(homes: Homes) -> None:
    store, home = homes.store(), homes.home()
    for name in ("a.txt", "b.txt", "c.txt", "box.zip/a.txt", "box.zipped"):
        put(store, name, f"Text of {name}.")
    ids = {one.name: one.id for one in home.documents()}
    home.rename_all({"a.txt": "b.txt", "b.txt": "a.txt", "box.zip/a.txt": "c.txt", "gone": "d.txt"})
    assert {one.name: one.id for one in home.documents()} == {
        "a.txt": ids["b.txt"], "b.txt": ids["a.txt"], "c.txt": ids["box.zip/a.txt"], "box.zipped": ids["box.zipped"],
    }  # fmt: skip
    assert home.text("a.txt") == "Text of b.txt."


def test_documents_are_found_by_their_content_and_with_those_that_came_within_them(homes: Homes) -> None:
    store, home = homes.store(), homes.home()
    for name in ("mail.eml", "mail.eml/plan.pdf", "mail.eml.txt", "mail"):
        put(store, name, "A letter.")
    assert home.names_within("mail.eml") == ["mail.eml", "mail.eml/plan.pdf"]
    assert home.names_within("nothing") == []
    assert home.twin("mail") == "mail"  # `put` has the name for the checksum
    assert home.twin("none") is None
