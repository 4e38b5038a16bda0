"""A vector index follows its collection by what changed, and reads all ids where that is not known any more."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from localcrag.records.documents import Chunk
from localcrag.storage.collections import full_text
from localcrag.storage.collections.admin import delete_collection, move_documents
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.engine_choice import EngineChoice
from localcrag.storage.collections.vector_index import MOST_RECENT, ChunkIndex
from localcrag.storage.database import Database
from tests.support.engines import EACH_ENGINE
from tests.support.fakes import FakeEmbedder

EMBEDDER = FakeEmbedder()
Change = Callable[[DocumentStore, DocumentStore], object]


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "db.sqlite3")


def shelf(database: Database, name: str) -> DocumentStore:
    return DocumentStore(database, name, embedder=EMBEDDER.name, dimension=EMBEDDER.dimension)


def put(store: DocumentStore, name: str, chunks: int = 3) -> None:
    texts = [f"{name} {number}" for number in range(chunks)]
    store.put(
        name, sha256=name, media_type="t", pages=None, text=" ".join(texts),
        chunks=[Chunk(None, 0, len(text), text) for text in texts], vectors=EMBEDDER.embed(texts),
    )  # fmt: skip


def in_index(index: ChunkIndex) -> set[int]:
    """Return which chunks it finds."""
    return {chunk for chunk, _ in index.nearest(np.ones(EMBEDDER.dimension, np.float32), 10_000)}


CHANGES: dict[str, Change] = {
    "put": lambda one, _: put(one, "new"),
    "put again": lambda one, _: put(one, "a"),
    "deleted": lambda one, _: one.delete("a"),
    "moved away": lambda one, other: move_documents(one._database, ["a"], "one", other.name),
    "moved here": lambda one, other: move_documents(one._database, ["z"], other.name, "one"),
    "another collection deleted": lambda one, other: delete_collection(one._database, other.name),
    "nothing": lambda one, other: None,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_number_of_chunks_is_right_after_every_change(database: Database, change: Change) -> None:
    one, other = shelf(database, "one"), shelf(database, "other")
    for name in "abc":
        put(one, name)
    put(other, "z")
    assert one.number_of_chunks() == len(one.chunk_ids())
    change(one, other)
    assert one.number_of_chunks() == len(one.chunk_ids())


def test_chunks_that_another_process_put_are_counted(database: Database, tmp_path: Path) -> None:
    here, there = shelf(database, "one"), shelf(Database(tmp_path / "db.sqlite3"), "one")
    put(here, "a")
    assert here.number_of_chunks() == 3
    put(there, "b", 2)
    assert here.number_of_chunks() == 5
    there.delete("a")
    assert here.number_of_chunks() == 2


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_came_and_went_is_told_without_reading_all_ids(database: Database, change: Change) -> None:
    one, other = shelf(database, "one"), shelf(database, "other")
    for name in "abc":
        put(one, name)
    put(other, "z")
    before, state = set(one.chunk_ids()), one.changes(None)[0]
    change(one, other)
    now, changes = one.changes(state)
    assert changes is not None
    came, gone = changes
    after = set(one.chunk_ids())
    assert (before | came) - gone == after
    assert came <= after
    assert now == one.changes(now)[0]
    assert one.changes(now)[1] == (set(), set())


@pytest.mark.parametrize("engines", EACH_ENGINE)
@pytest.mark.parametrize("most_recent", [0, 4, MOST_RECENT])
def test_an_index_is_the_same_as_one_made_anew_whatever_happens(
    database: Database, tmp_path: Path, most_recent: int, engines: EngineChoice
) -> None:
    chosen = random.Random(3)
    stores = [shelf(database, "one"), shelf(database, "other")]
    indexes = [ChunkIndex(store, tmp_path, engines=engines, most_recent=most_recent) for store in stores]
    for turn in range(120):
        here, there = chosen.sample([0, 1], 2)
        names = [document.name for document in stores[here].documents()]
        what = chosen.choice(["put", "put", "delete", "move", "save", "look"])
        if what == "put" or not names:
            put(stores[here], f"{here} {chosen.randrange(9)}", chosen.randrange(1, 5))
        elif what == "delete":
            stores[here].delete(chosen.choice(names))
        elif what == "move":
            taken = {document.name for document in stores[there].documents()}
            move_documents(
                database, [name for name in names if name not in taken][:1], stores[here].name, stores[there].name
            )
        elif what == "save":
            indexes[here].refresh()
            indexes[here].save()
        else:
            indexes[here] = ChunkIndex(stores[here], tmp_path, engines=engines, most_recent=most_recent)
        assert in_index(indexes[here]) == set(stores[here].chunk_ids()), (turn, what)
    assert in_index(indexes[0]) == set(stores[0].chunk_ids())
    assert in_index(indexes[1]) == set(stores[1].chunk_ids())


@pytest.mark.parametrize("most_recent", [0, 4, MOST_RECENT])
def test_an_index_that_lacks_more_than_is_kept_reads_all_ids(
    database: Database, tmp_path: Path, most_recent: int
) -> None:
    store = shelf(database, "one")
    put(store, "a")
    put(store, "b")
    index, behind = (ChunkIndex(store, tmp_path, most_recent=most_recent) for _ in range(2))
    assert len(in_index(behind)) == 6
    store.delete("a")
    with database.transaction() as connection:
        connection.execute("UPDATE chunk_changes SET number = number + ?", (full_text.CHANGES_KEPT,))
    put(store, "b")
    index.refresh()
    index.save()
    assert store.changes((0, 0))[1] is None
    assert in_index(behind) == in_index(index) == set(store.chunk_ids())


def test_no_more_changes_are_kept_than_an_index_may_lack(database: Database, tmp_path: Path) -> None:
    store = shelf(database, "one")
    put(store, "a", 5)
    index = ChunkIndex(store, tmp_path)
    index.refresh()
    with database.transaction() as connection:
        connection.executemany(
            "INSERT INTO chunk_changes (collection_id, chunk_id) VALUES (?, ?)",
            [(store.id, 10**9)] * (full_text.CHANGES_KEPT + 20),
        )
    index.save()
    put(store, "b")
    index.refresh()
    index.save()
    assert database.rows("SELECT count(*) FROM chunk_changes")[0][0] == full_text.CHANGES_KEPT


@pytest.mark.parametrize("engines", EACH_ENGINE)
@pytest.mark.parametrize("most_recent", [0, 4, MOST_RECENT])
def test_a_database_in_anothers_place_is_read_anew(
    database: Database, tmp_path: Path, most_recent: int, engines: EngineChoice
) -> None:
    store = shelf(database, "one")
    put(store, "a")
    index = ChunkIndex(store, tmp_path, engines=engines, most_recent=most_recent)
    before = in_index(index)
    database.back_up_to(tmp_path / "copy")
    store.delete("a")
    put(store, "b", 7)
    assert in_index(index) == set(store.chunk_ids())
    database.restore_from(tmp_path / "copy")
    assert in_index(index) == set(store.chunk_ids()) == before
    put(store, "c", 5)
    (best, *_) = index.nearest(EMBEDDER.embed(["c 3"])[0], 3)
    assert store.chunks([best[0]])[best[0]][1].text == "c 3"
