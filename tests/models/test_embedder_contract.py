"""What every Embedder promises."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from localcrag.records.protocols import Embedder
from tests.support.fakes import FakeEmbedder
from tests.support.hostile_texts import HOSTILE
from tests.support.threads import DEADLOCK, start

pytestmark = pytest.mark.contract

TEXTS = (
    "The hotel limit in London is 195 euros a night.",
    "cats",
    "",
    "Bicycles are lent at the reception, for a fee that depends on the season and on the length of the ride.",
    "words without an end " * 200,
)


@pytest.fixture(params=["fake", "real"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "fake":
        return FakeEmbedder()
    real: Embedder = request.getfixturevalue("bi_encoder")
    return real


def test_each_text_becomes_a_row_of_unit_length(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)


def test_no_texts_are_no_rows(embedder: Embedder) -> None:
    vectors = embedder.embed([])
    assert vectors.shape == (0, embedder.dimension)
    assert vectors.dtype == np.float32
    assert embedder.count_tokens([]) == []


def test_a_text_has_the_same_vector_alone_in_company_and_in_another_order(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS * 15)
    backwards = embedder.embed((TEXTS * 15)[::-1])[::-1]
    alone = np.vstack([embedder.embed([text]) for text in TEXTS])
    assert np.einsum("ij,ij->i", together, backwards).min() > 0.999
    assert np.einsum("ij,ij->i", together[: len(TEXTS)], alone).min() > 0.999


def test_the_same_texts_have_the_same_vectors_every_time(embedder: Embedder) -> None:
    assert np.array_equal(embedder.embed(TEXTS), embedder.embed(TEXTS))


def test_several_threads_may_ask_at_once(embedder: Embedder) -> None:
    expected, counts = embedder.embed(TEXTS), embedder.count_tokens(TEXTS)
    working = [start(lambda: [(embedder.embed(TEXTS), embedder.count_tokens(TEXTS)) for _ in range(3)]) for _ in "abcd"]
    for vectors, counted in (result for thread in working for result in thread.result(DEADLOCK)):
        assert np.array_equal(vectors, expected)
        assert counted == counts


def test_a_text_is_nearer_to_one_of_its_own_subject_than_to_another(embedder: Embedder) -> None:
    question, answer, other = embedder.embed(["What is the hotel limit in London?", TEXTS[0], TEXTS[3]])
    assert question @ answer > question @ other


@pytest.mark.parametrize("over", [-1, 0, 1], ids=["one below", "the most", "one above"])
def test_a_text_is_read_up_to_max_tokens_and_no_further(embedder: Embedder, over: int) -> None:
    tokens = embedder.max_tokens + over
    texts = ["cat " * (tokens - 1) + last for last in ("dog", "fish")]
    assert embedder.count_tokens(texts) == [tokens, tokens]
    one, other = embedder.embed(texts)
    assert np.array_equal(one, other) == (over > 0)


def test_a_longer_text_has_more_tokens(embedder: Embedder) -> None:
    counts = embedder.count_tokens(["cat " * length for length in range(0, 600, 100)])
    assert counts[0] == 0
    assert all(shorter < longer for shorter, longer in pairwise(counts))


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_has_a_vector_and_a_length(embedder: Embedder, text: str) -> None:
    vectors = embedder.embed([text, "cats"])
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(2), abs=1e-5)
    assert vectors[1] @ embedder.embed(["cats"])[0] > 0.999
    assert embedder.count_tokens([text])[0] >= 0
