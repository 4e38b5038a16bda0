"""Full text in a large collection: frequent words of a question count together, and searching costs no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcrag.records.documents import Chunk
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.full_text import MOST_SCORED
from localcrag.storage.database import Database
from tests.support.fakes import FakeEmbedder

EMBEDDER = FakeEmbedder()


def opened(folder: Path, collection: str) -> DocumentStore:
    database = Database(folder / "db.sqlite3")
    return DocumentStore(database, collection, embedder=EMBEDDER.name, dimension=EMBEDDER.dimension)


def put(store: DocumentStore, name: str, texts: list[str]) -> None:
    vectors = EMBEDDER.embed(["same"]).repeat(len(texts), axis=0)
    chunks = [Chunk(None, 0, len(text), text) for text in texts]
    store.put(name, sha256=name, media_type="t", pages=None, text=" ".join(texts), chunks=chunks, vectors=vectors)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    store = opened(folder, "large")
    number = MOST_SCORED // 2 + 100
    put(store, "harbours", [f"The harbour of the town number {n} is deep." for n in range(number)])
    put(store, "fees", [f"The fee of the month number {n} is low." for n in range(number)])
    put(store, "both", ["The fee of the harbour is nine crowns.", "The fee of the harbour at Quillon is two crowns."])
    return folder


@pytest.fixture
def store(folder: Path) -> DocumentStore:
    return opened(folder, "large")


def found(store: DocumentStore, question: str, most: int = 3) -> list[str]:
    ids = store.full_text(question, most)
    chunks = store.chunks(ids)
    return [chunks[one][1].text for one in ids]


def test_a_rare_word_finds_its_chunk_among_frequent_ones(store: DocumentStore) -> None:
    assert found(store, "What is the fee of the harbour at Quillon?")[0].endswith("Quillon is two crowns.")


def test_frequent_words_find_the_chunks_that_have_all_of_them(store: DocumentStore) -> None:
    assert {*found(store, "What is the harbour fee?")[:2]} == {
        "The fee of the harbour is nine crowns.",
        "The fee of the harbour at Quillon is two crowns.",
    }


@pytest.mark.parametrize("question", ["harbour", "the", "What is the of?", "the harbour the harbour"])
def test_where_all_words_are_frequent_something_is_found_nevertheless(store: DocumentStore, question: str) -> None:
    assert len(found(store, question)) == 3


@pytest.mark.parametrize("question", ["", "?!", "zebra", "zebra the"])
def test_other_questions_raise_nothing(store: DocumentStore, question: str) -> None:
    assert len(found(store, question)) in (0, 3)


def test_another_collection_beside_it_changes_nothing(folder: Path, tmp_path: Path) -> None:
    questions = ["What is the fee of the harbour at Quillon?", "harbour fee", "crowns", "the month number 7"]
    store = opened(folder, "large")
    alone = [found(store, question, 30) for question in questions]
    beside = opened(folder, "beside")
    put(beside, "other", ["The fee of the harbour at Quillon is another one."])
    assert [found(store, question, 30) for question in questions] == alone
    assert found(beside, "Quillon") == ["The fee of the harbour at Quillon is another one."]
    beside.delete("other")
