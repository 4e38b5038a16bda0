"""Renewal: what an earlier version cut into chunks is cut anew, found by its headings, and nothing is lost between."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcrag.backends.store.database import Database
from localcrag.backends.store.document_store import DocumentStore
from localcrag.backends.store.shelving import delete_collection, rename_collection, rename_document
from localcrag.backends.store.vector_index import ChunkIndex
from localcrag.records.documents import FROM_TEXT, LAYOUT, LEAST_LAYOUT, Chunk
from localcrag.records.errors import UnknownCollection
from localcrag.records.ingest import IngestProgress, IngestResult
from localcrag.steps.ingest.renew import renew
from tests.support.fakes import FakeEmbedder

TEXT = """# Tarn Lodge

## Boat hire

A rowing boat is ten euros an hour, and the oars are in the shed behind the house; bring them back dry and clean.

## Sauna

It is heated from four to eight, on Sundays for women alone, and the wood is in the price; towels are not, bring them.
"""


def older(folder: Path, *names: str) -> DocumentStore:
    """Return a collection with documents as a version before headings were known added them."""
    embedder = FakeEmbedder()
    database = Database(folder / "db.sqlite3")
    store = DocumentStore(database, "default", embedder=embedder.name, dimension=embedder.dimension)
    for name in names:
        store.put(
            name, sha256=name, media_type="text/markdown", pages=None, text=TEXT,
            chunks=[Chunk(None, 0, len(TEXT), TEXT)], vectors=embedder.embed([TEXT]),
        )  # fmt: skip
    with database.transaction() as connection:
        connection.execute("UPDATE documents SET layout = 1")
    return store


def test_a_document_that_earlier_rules_of_reading_made_waits_for_its_file(tmp_path: Path) -> None:
    store = older(tmp_path, "a.md")
    with Database(tmp_path / "db.sqlite3").transaction() as connection:
        connection.execute("UPDATE documents SET layout = ?", (LEAST_LAYOUT,))
    assert LEAST_LAYOUT < LAYOUT, "what is added again is read anew"
    assert store.outdated() == []


def test_documents_of_an_earlier_version_are_cut_anew_and_found_by_their_headings(tmp_path: Path) -> None:
    store = older(tmp_path, "a.md", "b.md")
    index = ChunkIndex(store, tmp_path / "index")
    before = store.chunk_ids()
    events = list(renew(shelf=store, index=index, embedder=FakeEmbedder(), chunk_tokens=32))
    assert [event.document for event in events if isinstance(event, IngestResult)] == ["a.md", "b.md"]
    assert max(event.files for event in events if isinstance(event, IngestProgress)) == 2
    assert store.outdated() == []
    assert not set(before) & set(store.chunk_ids())
    chunks = [chunk for _, chunk in store.chunks(store.chunk_ids()).values()]
    assert {chunk.section for chunk in chunks} == {"Boat hire", "Sauna"}
    assert {store.text(name) for name in ("a.md", "b.md")} == {TEXT}
    found = store.full_text("lodge", 9)
    assert sorted(found) == store.chunk_ids(), "the title is searched with every chunk"


def test_the_title_that_a_file_stated_is_kept(tmp_path: Path) -> None:
    store = older(tmp_path, "page.html", "a.md")
    with store_database(store).transaction() as connection:
        connection.execute("UPDATE documents SET title = 'Lodge Guide' WHERE name = 'page.html'")
    index = ChunkIndex(store, tmp_path / "index")
    list(renew(shelf=store, index=index, embedder=FakeEmbedder(), chunk_tokens=32))
    titles: dict[str, set[str]] = {"page.html": set(), "a.md": set()}
    for number, title in store.titles(store.chunk_ids()).items():
        titles[store.chunks([number])[number][0]].add(title)
    assert titles == {"page.html": {"Lodge Guide"}, "a.md": {"Tarn Lodge"}}


def test_a_renewal_that_is_interrupted_goes_on_with_what_is_left(tmp_path: Path) -> None:
    store = older(tmp_path, "a.md", "b.md", "c.md")
    index = ChunkIndex(store, tmp_path / "index")
    events = renew(shelf=store, index=index, embedder=FakeEmbedder(), chunk_tokens=32)
    for event in events:
        if isinstance(event, IngestResult):
            break
    events.close()
    assert [one.name for one in store.outdated()] == ["b.md", "c.md"]
    assert index.nearest(FakeEmbedder().embed(["boat"])[0], 9), "what is done is found already"
    list(renew(shelf=store, index=index, embedder=FakeEmbedder(), chunk_tokens=32))
    assert store.outdated() == []


def test_a_document_that_is_deleted_meanwhile_stays_deleted(tmp_path: Path) -> None:
    store = older(tmp_path, "a.md")
    events = renew(shelf=store, index=ChunkIndex(store, tmp_path / "index"), embedder=FakeEmbedder(), chunk_tokens=32)
    next(events)
    store.delete("a.md")
    list(events)
    assert store.documents() == []
    assert store.chunk_ids() == []


def test_a_document_that_is_deleted_before_its_turn_does_not_end_the_renewal(tmp_path: Path) -> None:
    store = older(tmp_path, "a.md", "b.md", "c.md")
    events = renew(shelf=store, index=ChunkIndex(store, tmp_path / "index"), embedder=FakeEmbedder(), chunk_tokens=32)
    next(events)
    store.delete("b.md")
    assert [event.document for event in events if isinstance(event, IngestResult)] == ["a.md", "c.md"]
    assert store.outdated() == []


def test_a_document_that_is_put_anew_meanwhile_keeps_its_new_chunks(tmp_path: Path) -> None:
    store = older(tmp_path, "a.md")
    events = renew(shelf=store, index=ChunkIndex(store, tmp_path / "index"), embedder=FakeEmbedder(), chunk_tokens=32)
    next(events)
    text = "The lodge is closed."
    store.put(
        "a.md", sha256="new", media_type="text/markdown", pages=None, text=text,
        chunks=[Chunk(None, 0, len(text), text)], vectors=FakeEmbedder().embed([text]),
    )  # fmt: skip
    list(events)
    assert [chunk.text for _, chunk in store.chunks(store.chunk_ids()).values()] == [text]


def test_a_document_that_is_renamed_to_a_deleted_ones_name_keeps_its_own_text(tmp_path: Path) -> None:
    store = older(tmp_path, "a.md", "b.md")
    events = renew(shelf=store, index=ChunkIndex(store, tmp_path / "index"), embedder=FakeEmbedder(), chunk_tokens=32)
    next(events)
    store.delete("a.md")
    rename_document(store_database(store), "default", "b.md", "a.md")
    list(events)
    assert [one.name for one in store.outdated()] == ["a.md"], "renewed at the next start"


def test_the_end_of_the_collection_is_the_end_of_its_renewal(tmp_path: Path) -> None:
    store = older(tmp_path, "a.md", "b.md")
    events = renew(shelf=store, index=ChunkIndex(store, tmp_path / "index"), embedder=FakeEmbedder(), chunk_tokens=32)
    next(events)
    delete_collection(store_database(store), "default")
    with pytest.raises(UnknownCollection, match="no collection “default” any more"):
        list(events)


def test_a_collection_that_is_renamed_meanwhile_is_renewed_to_its_end(tmp_path: Path) -> None:
    store = older(tmp_path, "a.md", "b.md")
    events = renew(shelf=store, index=ChunkIndex(store, tmp_path / "index"), embedder=FakeEmbedder(), chunk_tokens=32)
    next(events)
    rename_collection(store_database(store), "default", "other")
    list(events)
    assert store.outdated() == []


def test_a_file_that_is_added_again_is_read_again_for_what_its_text_does_not_tell(tmp_path: Path) -> None:
    store = older(tmp_path, "a.md")
    list(renew(shelf=store, index=ChunkIndex(store, tmp_path / "index"), embedder=FakeEmbedder(), chunk_tokens=32))
    (document,) = store.documents()
    assert document.layout == FROM_TEXT != LAYOUT


def store_database(store: DocumentStore) -> Database:
    return store._database
