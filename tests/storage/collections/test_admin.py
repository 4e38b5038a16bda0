"""Collections and documents under other names and in other places, with all that belongs to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.records.documents import Chunk
from localcrag.records.enums import Preset
from localcrag.records.errors import EmbedderMismatch, NameRefused, UnknownCollection, UnknownDocument
from localcrag.records.passages import Thresholds
from localcrag.records.run import Run
from localcrag.settings import load
from localcrag.storage.chat_store import ChatStore
from localcrag.storage.collections.admin import delete_collection, move_documents, rename_collection
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.queries import choose, collection_names, preset_of
from localcrag.storage.collections.sqlite_collection import SqliteCollection
from localcrag.storage.collections.vector_index import ChunkIndex
from localcrag.storage.database import Database
from localcrag.storage.run_store import RunStore
from tests.support.fakes import FakeEmbedder
from tests.support.stored_documents import documents_of, rename_document

EMBEDDER = FakeEmbedder()


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "db.sqlite3")


def shelf(database: Database, name: str, *documents: str, embedder: str = "e") -> DocumentStore:
    store = DocumentStore(database, name, embedder=embedder, dimension=EMBEDDER.dimension)
    for text in documents:
        store.put(
            f"{text}.txt", sha256=text, media_type="text/plain", pages=None, text=text,
            chunks=[Chunk(None, 0, len(text), text)], vectors=EMBEDDER.embed([text]),
        )  # fmt: skip
    return store


def names(database: Database, collection: str) -> list[str]:
    return [document.name for document in documents_of(database, collection)]


def found(index: ChunkIndex, store: DocumentStore, text: str) -> list[str]:
    return [store.chunks([chunk])[chunk][1].text for chunk, _ in index.nearest(EMBEDDER.embed([text])[0], 10)]


def test_a_collection_takes_everything_that_is_its_own_to_its_new_name(database: Database) -> None:
    shelf(database, "work", "tower")
    choose(database, "work", preset=Preset.FAST)
    choose(database, "travel", preset=Preset.GENERAL)  # of a collection that is gone
    chats, runs = ChatStore(database), RunStore(database)
    chat = chats.begin("work")
    runs.save(
        Run(run_id="r", created_at="2026", collection="work", question="q", standalone_question="q",
            thresholds=Thresholds(0.5, 0.2, 0.3))
    )  # fmt: skip
    rename_collection(database, "work", "  travel ")
    assert collection_names(database) == ["travel"]
    assert names(database, "travel") == ["tower.txt"]
    assert preset_of(database, "travel") is Preset.FAST
    assert preset_of(database, "work") is None
    assert chats.chat(chat.id).collection == "travel"
    assert runs.get("r").collection == "travel"
    assert [line.run_id for line in runs.lines("travel")] == ["r"]


def test_a_deleted_collection_is_gone_with_its_documents(database: Database) -> None:
    shelf(database, "work", "tower")
    shelf(database, "other", "bridge")
    choose(database, "work", preset=Preset.FAST)
    delete_collection(database, "work")
    assert collection_names(database) == ["other"]
    assert preset_of(database, "work") is None
    for table in ("documents", "chunks", "vectors"):
        assert len(database.rows(f"SELECT 1 FROM {table}")) == 1  # noqa: S608
    assert DocumentStore(database, "other", embedder="e", dimension=EMBEDDER.dimension).full_text("tower", 5) == []


def test_moved_documents_are_found_where_they_are_and_nowhere_else(database: Database, tmp_path: Path) -> None:
    one, two = shelf(database, "one", "tower", "bridge"), shelf(database, "two", "harbour", "market")
    indexes = [ChunkIndex(store, tmp_path) for store in (one, two)]
    for index in indexes:
        index.refresh()
    # One there and one back: number and highest id would be what they were, had the chunks kept their ids.
    move_documents(database, ["tower.txt"], "one", "two")
    move_documents(database, ["market.txt"], "two", "one")
    assert (names(database, "one"), names(database, "two")) == (
        ["bridge.txt", "market.txt"],
        ["harbour.txt", "tower.txt"],
    )
    assert set(found(indexes[0], one, "tower")) == {"bridge", "market"}
    assert set(found(indexes[1], two, "tower")) == {"harbour", "tower"}
    assert len(one.full_text("market", 5)) == len(two.full_text("tower", 5)) == 1
    assert one.full_text("tower", 5) == []


def test_documents_are_moved_all_or_none(database: Database) -> None:
    shelf(database, "one", "tower", "bridge")
    shelf(database, "two", "bridge")
    with pytest.raises(NameRefused, match="bridge"):
        move_documents(database, ["tower.txt", "bridge.txt"], "one", "two")
    with pytest.raises(UnknownDocument):
        move_documents(database, ["tower.txt", "gone.txt"], "one", "two")
    assert names(database, "one") == ["bridge.txt", "tower.txt"]


def test_documents_of_another_embedder_stay_where_they_are(database: Database) -> None:
    shelf(database, "one", "tower")
    shelf(database, "two", embedder="other")
    with pytest.raises(EmbedderMismatch, match="re-embed"):
        move_documents(database, ["tower.txt"], "one", "two")


def test_a_document_is_found_under_its_new_name(database: Database) -> None:
    store = shelf(database, "one", "tower")
    rename_document(database, "one", "tower.txt", " The  tower ")
    assert names(database, "one") == ["The tower"]
    assert SqliteCollection(database, store.name, Path()).text("The tower") == "tower"


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (lambda of: rename_collection(of, "one", "two"), NameRefused),
        (lambda of: rename_collection(of, "one", "  "), NameRefused),
        (lambda of: rename_collection(of, "one", "x" * 101), NameRefused),
        (lambda of: rename_collection(of, "gone", "x"), UnknownCollection),
        (lambda of: delete_collection(of, "gone"), UnknownCollection),
        (lambda of: rename_document(of, "one", "tower.txt", "bridge.txt"), NameRefused),
        (lambda of: rename_document(of, "one", "gone.txt", "x"), UnknownDocument),
        (lambda of: rename_document(of, "gone", "tower.txt", "x"), UnknownCollection),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_changes(
    database: Database, use: Callable[[Database], None], error: type[Exception]
) -> None:
    shelf(database, "one", "tower", "bridge")
    shelf(database, "two")
    with pytest.raises(error):
        use(database)
    assert collection_names(database) == ["one", "two"]
    assert names(database, "one") == ["bridge.txt", "tower.txt"]


def test_a_new_collection_needs_a_name_of_its_own(tmp_path: Path) -> None:
    assembly = Assembly(load(data_dir=tmp_path))
    assert assembly.collections.new("  The  cellar ") == "The cellar"
    for name in ("The cellar", "default", " ", "x" * 101):
        with pytest.raises(NameRefused):
            assembly.collections.new(name)
    assert assembly.collections.names() == ["The cellar"]
    assembly.close()
