"""What the VectorIndex promises, over the real stores: the nearest chunks, whatever was added and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from localcrag.records.documents import Chunk
from localcrag.records.errors import StoreError
from localcrag.records.protocols import Vectors
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.engine_choice import EngineChoice
from localcrag.storage.collections.vector_index import MOST_RECENT, ChunkIndex
from localcrag.storage.database import Database
from localcrag.storage.protocol import Index, Store
from tests.support.engines import HNSWLIB, USEARCH, needs_hnswlib
from tests.support.homes import Homes, LocalHomes, PostgresHomes
from tests.support.threads import DEADLOCK, start

pytestmark = pytest.mark.contract

DIMENSION = 32


def some_vectors(number: int, seed: int, around: Vectors | None = None) -> Vectors:
    random = np.random.default_rng(seed).normal(size=(number, DIMENSION))
    vectors = random if around is None else around + 0.05 * random
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


GROWING_OVER = EngineChoice(most_in_hnswlib=1_000)
"""Which goes from hnswlib to usearch within these tests."""


@pytest.fixture(
    params=[
        pytest.param((MOST_RECENT, USEARCH), id="in memory"),
        pytest.param((300, HNSWLIB), marks=needs_hnswlib, id="in both, hnswlib"),
        pytest.param((300, USEARCH), id="in both, usearch"),
        pytest.param((0, HNSWLIB), marks=needs_hnswlib, id="in the file, hnswlib"),
        pytest.param((0, USEARCH), id="in the file, usearch"),
        pytest.param((0, GROWING_OVER), marks=needs_hnswlib, id="in the file, from one to the other"),
        pytest.param(None, id="postgresql"),
    ]
)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Homes]:
    if request.param is not None:
        most_recent, engines = request.param
        yield LocalHomes(tmp_path, most_recent=most_recent, engines=engines)
        return
    with closing(PostgresHomes(request.getfixturevalue("postgres").new())) as homes:
        yield homes


@pytest.fixture
def store(kept: Homes) -> Store:
    return kept.store("default", embedder="fake", dimension=DIMENSION)


@pytest.fixture
def index(store: Store, kept: Homes) -> Index:
    return kept.index(store)


def put(store: Store, name: str, vectors: Vectors) -> None:
    chunks = [Chunk(None, number, number + 1, "x") for number in range(len(vectors))]
    store.put(name, sha256=name, media_type="t", pages=None, text="x" * len(vectors), chunks=chunks, vectors=vectors)


def exact(store: Store, vector: Vectors, k: int) -> list[float]:
    cosines = [float(stored @ vector) for stored in store.vectors(store.chunk_ids()).values()]
    return sorted(cosines, reverse=True)[:k]


def test_the_nearest_come_first_with_their_cosines(store: Store, index: Index) -> None:
    put(store, "a", some_vectors(4000, seed=1))
    index.refresh()
    put(store, "b", some_vectors(1000, seed=3))
    vector = some_vectors(1, seed=2)[0]
    found = index.nearest(vector, 10)
    assert [cosine for _, cosine in found] == pytest.approx(exact(store, vector, 10), abs=1e-5)
    stored = store.vectors([chunk_id for chunk_id, _ in found])
    assert all(stored[chunk_id] @ vector == pytest.approx(cosine, abs=1e-5) for chunk_id, cosine in found)


@pytest.mark.parametrize("share", [1, 7, 300])
def test_within_some_documents_the_nearest_of_these_come_first(store: Store, index: Index, share: int) -> None:
    for number in range(300):
        put(store, str(number), some_vectors(5, seed=number))
    vector = some_vectors(1, seed=1000)[0]
    documents = [document.id for document in store.documents()][::share]
    some = store.chunk_ids(documents)
    cosines = sorted((float(stored @ vector) for stored in store.vectors(some).values()), reverse=True)
    found = index.nearest(vector, 10, [*documents, 10**9])
    assert [cosine for _, cosine in found] == pytest.approx(cosines[:10], abs=1e-5)
    assert len(found) == min(10, len(some))
    assert {chunk for chunk, _ in found} <= set(some)
    assert index.nearest(vector, 10, []) == []


@pytest.mark.slow
def test_within_most_of_many_documents_the_nearest_of_these_come_first(store: Store, index: Index) -> None:
    for number in range(40):
        put(store, str(number), some_vectors(250, seed=number))
    documents = [document.id for document in store.documents()][1:]
    own = store.vectors(store.chunk_ids(documents))
    ids, matrix = list(own), np.stack(list(own.values()))
    hits = 0
    for vector in some_vectors(20, seed=1000):
        found = index.nearest(vector, 10, documents)
        assert [cosine for _, cosine in found] == pytest.approx(
            [float(own[one] @ vector) for one, _ in found], abs=1e-5
        )
        hits += len({one for one, _ in found} & {ids[at] for at in np.argsort(-(matrix @ vector))[:10]})
    # A graph may miss one; which, is chance.
    assert hits >= 195


def test_of_hundreds_asked_for_the_first_cosines_are_exact_and_all_are_near(store: Store, index: Index) -> None:
    put(store, "a", some_vectors(2000, seed=1))
    vector = some_vectors(1, seed=2)[0]
    found = index.nearest(vector, 300)
    own = store.vectors([one for one, _ in found])
    assert [cosine for _, cosine in found[:40]] == pytest.approx(exact(store, vector, 40), abs=1e-5)
    assert [cosine for _, cosine in found] == pytest.approx([float(own[one] @ vector) for one, _ in found], abs=0.01)
    assert [cosine for _, cosine in found] == sorted((cosine for _, cosine in found), reverse=True)


@pytest.mark.parametrize("k", [-1, 0, 1, 7, 8, 1000])
def test_never_more_than_k_nor_than_there_are(store: Store, index: Index, k: int) -> None:
    vector = some_vectors(1, seed=2)[0]
    assert index.nearest(vector, k) == []
    put(store, "a", some_vectors(7, seed=1))
    found = index.nearest(vector, k)
    assert len({chunk_id for chunk_id, _ in found}) == len(found) == max(0, min(k, 7))


def test_one_is_found_where_all_round_it_was_deleted(store: Store, index: Index) -> None:
    around = some_vectors(1, seed=3)[0]
    put(store, "far", some_vectors(4000, seed=4))
    put(store, "near", some_vectors(900, seed=5, around=around))
    put(store, "nearest", some_vectors(1, seed=6, around=around))
    index.nearest(around, 1)
    store.delete("near")
    (kept,) = index.nearest(around, 1)
    assert store.chunks([kept[0]])[kept[0]][0] == "nearest"
    assert [cosine for _, cosine in index.nearest(around, 9)] == pytest.approx(exact(store, around, 9), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("order", [("notice", "text"), ("text", "notice")], ids=["first", "last"])
def test_the_same_notice_on_hundreds_of_pages_hides_no_other_chunk(
    store: Store, index: Index, order: tuple[str, str]
) -> None:
    texts = some_vectors(2000, seed=1)
    notice = texts.mean(axis=0, keepdims=True)
    vectors = {"text": texts, "notice": np.repeat(notice / np.linalg.norm(notice), 9000, axis=0).astype(np.float32)}
    for name in order:
        put(store, name, vectors[name])
        index.refresh()
    hits = 0
    for vector in texts[::100]:
        found = [cosine for _, cosine in index.nearest(vector, 6)]
        hits += sum(any(abs(one - wanted) < 1e-5 for one in found) for wanted in exact(store, vector, 6))
    # A graph may miss one; which, is chance.
    assert hits >= 117
    assert len(index.nearest(texts[0], 4900)) == 4900


def test_questions_and_changes_from_several_threads_do_not_disturb_each_other(store: Store, index: Index) -> None:
    put(store, "always", some_vectors(200, seed=1))
    first = store.chunk_ids()[0]
    vector = store.vectors([first])[first]

    def ask() -> None:
        for _ in range(60):
            found = index.nearest(vector, 5)
            assert found[0][0] == first
            assert len(found) == 5

    def change() -> None:
        for turn in range(12):
            put(store, f"now and then {turn % 3}", some_vectors(60, seed=10 + turn))
            index.refresh()
            if turn % 4 == 3:
                index.save()

    for thread in [start(work) for work in (ask, change, ask, index.refresh, ask)]:
        thread.result(DEADLOCK)
    assert len(index) == len(store.chunk_ids()) == 380
    found = [cosine for _, cosine in index.nearest(vector, 400)]
    assert found == pytest.approx(exact(store, vector, 380), abs=0.01)
    assert found[:40] == pytest.approx(exact(store, vector, 40), abs=1e-5)


class FailingOnce(DocumentStore):
    """A store whose vectors cannot be read the first time."""

    fails = True

    def vectors(self, ids: object) -> dict[int, Vectors]:
        if self.fails:
            self.fails = False
            raise StoreError("The disk was away.")
        return super().vectors(ids)  # type: ignore[arg-type]


def test_a_change_that_could_not_be_taken_up_is_taken_up_by_the_next_question(tmp_path: Path) -> None:
    store = FailingOnce(Database(tmp_path / "db.sqlite3"), "default", embedder="fake", dimension=DIMENSION)
    index = ChunkIndex(store, tmp_path)
    put(store, "a", some_vectors(7, seed=1))
    with pytest.raises(StoreError):
        index.nearest(some_vectors(1, seed=2)[0], 3)
    assert len(index.nearest(some_vectors(1, seed=2)[0], 3)) == 3
