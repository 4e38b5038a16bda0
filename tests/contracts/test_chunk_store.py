"""What the ChunkStore promises, whatever it is asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from localcrag.backends.store.database import Database
from localcrag.backends.store.document_store import DocumentStore
from localcrag.backends.store.word_search import MOST_CHUNKS
from localcrag.records.documents import Chunk
from localcrag.records.protocols import ChunkStore
from tests.support.fakes import FakeEmbedder
from tests.support.hostile_texts import HOSTILE

TEXTS = ("The hotel limit in London is 195 euros.", "Bicycles are lent at the reception.", "The word is word.")


@pytest.fixture
def store(tmp_path: Path) -> ChunkStore:
    embedder = FakeEmbedder()
    store = DocumentStore(Database(tmp_path / "db.sqlite3"), "c", embedder=embedder.name, dimension=embedder.dimension)
    chunks = [Chunk(number, 0, len(text), text) for number, text in enumerate(TEXTS, start=1)]
    store.put(
        "a.txt", sha256="x", media_type="t", pages=3, text="\f".join(TEXTS), chunks=chunks,
        vectors=embedder.embed(TEXTS),
    )  # fmt: skip
    return store


def test_chunks_that_share_words_with_the_question_are_found_best_first(store: ChunkStore) -> None:
    assert store.full_text("Which limit has a hotel in London?", 5)[0] == 1
    assert store.full_text("bicycles", 5) == [2]
    assert len(store.full_text("the bicycles of the word", 1)) == 1


def test_the_documents_that_have_a_word_are_found_in_whatever_form_it_stands(store: ChunkStore) -> None:
    (document,) = set(store.documents_of([1, 2, 3, 99]).values())
    assert store.documents_of([2, 99]) == {2: document}
    assert store.documents_of([]) == {}
    assert store.number_of_documents() == 1
    for word in ("bicycle", "Hotels", "195", "in-london", '"London"'):
        assert store.documents_with(word) == frozenset({document})
    for word in ("Paris", "", '"', "*"):
        assert store.documents_with(word) == frozenset()


def test_a_word_that_very_many_chunks_have_is_not_looked_up(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    store = DocumentStore(Database(tmp_path / "db.sqlite3"), "c", embedder=embedder.name, dimension=embedder.dimension)
    texts = [*["a bicycle"] * MOST_CHUNKS, "a bicycle and a bell"]
    store.put(
        "a.txt", sha256="x", media_type="t", pages=1, text="\f".join(texts),
        chunks=[Chunk(1, 0, len(text), text) for text in texts], vectors=embedder.embed(texts),
    )  # fmt: skip
    assert store.documents_with("bicycle") is None
    assert store.documents_with("bell")


def test_chunks_and_vectors_are_given_for_the_ids_that_exist(store: ChunkStore) -> None:
    assert store.chunks([2, 99]) == {2: ("a.txt", Chunk(2, 0, len(TEXTS[1]), TEXTS[1]))}
    assert store.chunks([]) == {}
    assert store.titles([2, 99]) == {2: "a"}
    assert store.vectors([]) == {}
    vectors = store.vectors([3, 99, 1])
    assert sorted(vectors) == [1, 3]
    assert np.array_equal(vectors[1], FakeEmbedder().embed(TEXTS)[0])
    assert len(store.chunks(range(5000))) == len(TEXTS)


@pytest.mark.parametrize("text", HOSTILE)
def test_any_question_is_searched_for_and_never_an_error(store: ChunkStore, text: str) -> None:
    assert set(store.full_text(text, 5)) <= {1, 2, 3}
    store.documents_with(text)


def test_some_documents_alone_are_searched(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    store = DocumentStore(Database(tmp_path / "db.sqlite3"), "c", embedder=embedder.name, dimension=embedder.dimension)
    for name in ("a", "b", "c"):
        store.put(
            name, sha256=name, media_type="t", pages=None, text="a bicycle",
            chunks=[Chunk(None, 0, 9, "a bicycle")] * 2, vectors=embedder.embed(["a bicycle"] * 2),
        )  # fmt: skip
    ids = {document.name: document.id for document in store.documents()}
    assert store.full_text("bicycle", 9) == store.chunk_ids() == [1, 2, 3, 4, 5, 6]
    assert store.full_text("bicycle", 9, {ids["c"], ids["a"]}) == store.chunk_ids({ids["c"], ids["a"]}) == [1, 2, 5, 6]
    assert store.full_text("bicycle", 9, set()) == store.chunk_ids(frozenset()) == []


def test_neighbours_are_those_of_the_same_document_and_text_is_given_by_its_place(store: ChunkStore) -> None:
    first, second = ((number, Chunk(number, 0, len(text), text)) for number, text in enumerate(TEXTS[:2], start=1))
    assert (store.neighbour(1, behind=False), store.neighbour(1, behind=True)) == (None, second)
    assert store.neighbour(2, behind=False) == first
    assert store.neighbour(3, behind=True) is None
    assert (store.neighbour(99, behind=False), store.neighbour(99, behind=True)) == (None, None)
    assert store.excerpt(2, 4, 15) == "hotel limit"
    assert store.excerpt(99, 0, 5) == ""


def test_chunks_are_found_by_places_of_their_document(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    store = DocumentStore(Database(tmp_path / "db.sqlite3"), "c", embedder=embedder.name, dimension=embedder.dimension)
    for name in ("a.txt", "b.txt"):
        text, start, chunks = "\n".join(TEXTS), 0, []
        for part in TEXTS:
            chunks.append(Chunk(None, start, start + len(part), part))
            start += len(part) + 1
        store.put(
            name, sha256=name, media_type="t", pages=None, text=text, chunks=chunks, vectors=embedder.embed(TEXTS)
        )
    second = chunks[1]
    assert store.chunks_within(1, second.start, second.end) == [2]
    assert store.chunks_within(3, second.start - 2, second.end) == [1, 2]
    assert store.chunks_within(5, 0, start) == [4, 5, 6]
    assert store.chunks_within(1, start, start + 9) == []
    assert store.chunks_within(99, 0, 9) == []
