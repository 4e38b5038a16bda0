"""What the ChunkStore promises, whatever it is asked, wherever the collection lives."""

from __future__ import annotations

import numpy as np
import pytest

from localcrag.records.documents import Chunk
from localcrag.storage.collections.full_text import MOST_CHUNKS
from localcrag.storage.protocol import Store
from tests.support.fakes import FakeEmbedder
from tests.support.homes import Homes
from tests.support.hostile_texts import HOSTILE

pytestmark = pytest.mark.contract

TEXTS = ("The hotel limit in London is 195 euros.", "Bicycles are lent at the reception.", "The word is word.")
GONE = 99
"""No chunk has this id."""


@pytest.fixture
def store(homes: Homes) -> Store:
    embedder = FakeEmbedder()
    store = homes.store()
    chunks = [Chunk(number, 0, len(text), text) for number, text in enumerate(TEXTS, start=1)]
    store.put(
        "a.txt", sha256="x", media_type="t", pages=3, text="\f".join(TEXTS), chunks=chunks,
        vectors=embedder.embed(TEXTS),
    )  # fmt: skip
    return store


def test_chunks_that_share_words_with_the_question_are_found_best_first(store: Store) -> None:
    first, second, _ = store.chunk_ids()
    assert store.full_text("Which limit has a hotel in London?", 5)[0] == first
    assert store.full_text("bicycles", 5) == [second]
    assert len(store.full_text("the bicycles of the word", 1)) == 1


def test_the_documents_that_have_a_word_are_found_in_whatever_form_it_stands(store: Store) -> None:
    _, second, _ = ids = store.chunk_ids()
    (document,) = set(store.documents_of([*ids, GONE]).values())
    assert store.documents_of([second, GONE]) == {second: document}
    assert store.documents_of([]) == {}
    assert store.number_of_documents() == 1
    for word in ("bicycle", "Hotels", "195", "in-london", '"London"'):
        assert store.documents_containing(word) == frozenset({document})
    for word in ("Paris", "", '"', "*"):
        assert store.documents_containing(word) == frozenset()


def test_a_word_that_very_many_chunks_have_is_not_looked_up(homes: Homes) -> None:
    embedder = FakeEmbedder()
    store = homes.store()
    texts = [*["a bicycle"] * MOST_CHUNKS, "a bicycle and a bell"]
    store.put(
        "a.txt", sha256="x", media_type="t", pages=1, text="\f".join(texts),
        chunks=[Chunk(1, 0, len(text), text) for text in texts], vectors=embedder.embed(texts),
    )  # fmt: skip
    assert store.documents_containing("bicycle") is None
    assert store.documents_containing("bell")


def test_chunks_and_vectors_are_given_for_the_ids_that_exist(store: Store) -> None:
    first, second, third = store.chunk_ids()
    assert store.chunks([second, GONE]) == {second: ("a.txt", Chunk(2, 0, len(TEXTS[1]), TEXTS[1]))}
    assert store.chunks([]) == {}
    assert store.titles([second, GONE]) == {second: "a"}
    assert store.vectors([]) == {}
    vectors = store.vectors([third, GONE, first])
    assert sorted(vectors) == [first, third]
    assert np.array_equal(vectors[first], FakeEmbedder().embed(TEXTS)[0])
    assert len(store.chunks(range(first, first + 5000))) == len(TEXTS)


@pytest.mark.parametrize("text", HOSTILE)
def test_any_question_is_searched_for_and_never_an_error(store: Store, text: str) -> None:
    assert set(store.full_text(text, 5)) <= set(store.chunk_ids())
    store.documents_containing(text)


def test_some_documents_alone_are_searched(homes: Homes) -> None:
    embedder = FakeEmbedder()
    store = homes.store()
    for name in ("a", "b", "c"):
        store.put(
            name, sha256=name, media_type="t", pages=None, text="a bicycle",
            chunks=[Chunk(None, 0, 9, "a bicycle")] * 2, vectors=embedder.embed(["a bicycle"] * 2),
        )  # fmt: skip
    ids = {document.name: document.id for document in store.documents()}
    chunks = store.chunk_ids()
    assert store.full_text("bicycle", 9) == chunks
    assert store.full_text("bicycle", 9, {ids["c"], ids["a"]}) == store.chunk_ids({ids["c"], ids["a"]})
    assert store.chunk_ids({ids["c"], ids["a"]}) == [*chunks[:2], *chunks[4:]]
    assert store.number_of_chunks({ids["c"]}) == 2 < store.number_of_chunks() == len(chunks) == 6
    assert store.full_text("bicycle", 9, set()) == store.chunk_ids(frozenset()) == []


def test_neighbours_are_those_of_the_same_document_and_text_is_given_by_its_place(store: Store) -> None:
    ids = store.chunk_ids()
    first, second, third = (
        (ids[number - 1], Chunk(number, 0, len(text), text)) for number, text in enumerate(TEXTS, start=1)
    )
    assert (store.neighbour(ids[0], behind=False), store.neighbour(ids[0], behind=True)) == (None, second)
    assert store.neighbour(ids[1], behind=False) == first
    assert store.neighbour(ids[1], behind=True) == third
    assert store.neighbour(ids[2], behind=True) is None
    assert (store.neighbour(GONE, behind=False), store.neighbour(GONE, behind=True)) == (None, None)
    assert store.excerpt(ids[1], 4, 15) == "hotel limit"
    assert store.excerpt(GONE, 0, 5) == ""


def test_chunks_are_found_by_places_of_their_document(homes: Homes) -> None:
    embedder = FakeEmbedder()
    store = homes.store()
    for name in ("a.txt", "b.txt"):
        text, start, chunks = "\n".join(TEXTS), 0, []
        for part in TEXTS:
            chunks.append(Chunk(None, start, start + len(part), part))
            start += len(part) + 1
        store.put(
            name, sha256=name, media_type="t", pages=None, text=text, chunks=chunks, vectors=embedder.embed(TEXTS)
        )
    second = chunks[1]
    ids = store.chunk_ids()
    assert store.chunks_within(ids[0], second.start, second.end) == [ids[1]]
    assert store.chunks_within(ids[2], second.start - 2, second.end) == ids[:2]
    assert store.chunks_within(ids[4], 0, start) == ids[3:]
    assert store.chunks_within(ids[0], start, start + 9) == []
    assert store.chunks_within(GONE, 0, 9) == []
