"""The cache of logits: nothing is scored twice, nothing is mixed up, and it does not grow for ever."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from localcrag.crag.context import Parts
from localcrag.crag.grading import ScoreCache
from localcrag.records.errors import ModelError
from localcrag.records.protocols import Vectors
from localcrag.text.sentences import split_sentences
from tests.support.desk import DOCUMENT, Desk
from tests.support.fakes import FakeScorer

QUESTION = "What is the hotel limit in London?"
LIMIT, BICYCLES, LONDON = "The hotel limit is 195 euros.", "Bicycles are lent out.", "London is large."


class CachedDesk(Desk):
    """The flow with a cache before its scorer, as the app has it."""

    def parts(self) -> Parts:
        parts = super().parts()
        self.cache = getattr(self, "cache", ScoreCache(parts.scorer))
        return dataclasses.replace(parts, scorer=self.cache)


def test_an_answer_that_is_generated_again_is_not_scored_again(tmp_path: Path) -> None:
    desk = CachedDesk(tmp_path, *DOCUMENT)
    _, first = desk.ask(QUESTION)
    calls = list(desk.scorer.calls)
    _, again = desk.ask(QUESTION)
    assert len(calls) == 2  # the passages, and their sentences
    assert desk.scorer.calls == calls
    assert again.passages == first.passages
    assert again.strips == first.strips


def test_another_question_is_scored_on_the_same_texts() -> None:
    inner = FakeScorer()
    cache = ScoreCache(inner)
    cache.logits(QUESTION, [LIMIT])
    cache.logits("Where are bicycles lent out?", [LIMIT])
    assert len(inner.calls) == 2


def test_only_the_texts_that_are_new_are_scored_and_all_logits_keep_their_places() -> None:
    inner = FakeScorer()
    cache = ScoreCache(inner)
    cache.logits(QUESTION, [LIMIT, LONDON])
    logits = cache.logits(QUESTION, [BICYCLES, LONDON, LIMIT])
    assert inner.calls[-1] == (QUESTION, (BICYCLES,))
    assert np.array_equal(logits, FakeScorer().logits(QUESTION, [BICYCLES, LONDON, LIMIT]))


def test_a_text_that_comes_twice_in_one_call_is_scored_once() -> None:
    inner = FakeScorer()
    logits = ScoreCache(inner).logits(QUESTION, [LIMIT, BICYCLES, LIMIT])
    assert inner.calls == [(QUESTION, (LIMIT, BICYCLES))]
    assert logits[0] == logits[2] != logits[1]


def test_where_the_question_ends_and_the_text_begins_makes_a_difference() -> None:
    inner = FakeScorer()
    cache = ScoreCache(inner)
    cache.logits("hotel", ["limit"])
    cache.logits("hotellimit", [""])
    cache.logits("", ["hotellimit"])
    assert len(inner.calls) == 3


def test_texts_that_were_not_asked_for_the_longest_are_forgotten_first() -> None:
    inner = FakeScorer()
    cache = ScoreCache(inner, most=2)
    for text in (LIMIT, BICYCLES, LIMIT, LONDON):  # LIMIT is known the second time, and then newer than BICYCLES
        cache.logits(QUESTION, [text])
    calls = len(inner.calls)
    cache.logits(QUESTION, [LIMIT, LONDON])
    assert len(inner.calls) == calls
    cache.logits(QUESTION, [BICYCLES])
    assert len(inner.calls) == calls + 1


def test_more_texts_in_one_call_than_are_kept_all_get_their_logit() -> None:
    texts = [LIMIT, BICYCLES, LONDON]
    assert np.array_equal(
        ScoreCache(FakeScorer(), most=1).logits(QUESTION, texts), FakeScorer().logits(QUESTION, texts)
    )


class FailingOnce(FakeScorer):
    """A model that fails the first time it is asked."""

    failed = False

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        if not self.failed:
            self.failed = True
            raise ModelError("no memory left")
        return super().logits(question, texts)


def test_a_failure_is_not_remembered() -> None:
    cache = ScoreCache(FailingOnce())
    with pytest.raises(ModelError, match="no memory left"):
        cache.logits(QUESTION, [LIMIT])
    assert np.array_equal(cache.logits(QUESTION, [LIMIT]), FakeScorer().logits(QUESTION, [LIMIT]))


def test_name_and_calibration_are_the_scorers() -> None:
    inner = FakeScorer()
    cache = ScoreCache(inner)
    assert cache.name == inner.name
    assert cache.calibration is inner.calibration


def test_strips_are_scored_once_and_again_only_in_a_text_with_a_new_one() -> None:
    inner = FakeScorer()
    cache = ScoreCache(inner)
    texts = [f"{LIMIT} {BICYCLES}", LONDON]
    strips = [split_sentences(text) for text in texts]
    first = cache.strip_logits(QUESTION, texts, strips)
    again = cache.strip_logits(QUESTION, texts, strips)
    assert len(inner.calls) == 1
    assert all(np.array_equal(one, other) for one, other in zip(first, again, strict=True))
    assert np.array_equal(np.concatenate(first), inner.logits(QUESTION, [LIMIT, BICYCLES, LONDON]))
    cache.strip_logits(QUESTION, [*texts, BICYCLES], [*strips, split_sentences(BICYCLES)])
    assert inner.calls[-1] == (QUESTION, (BICYCLES,))


def test_a_strip_is_kept_apart_from_the_same_words_as_a_passage_and_in_another_text() -> None:
    inner = FakeScorer()
    cache = ScoreCache(inner)
    cache.logits(QUESTION, [LIMIT])
    cache.strip_logits(QUESTION, [LIMIT], [split_sentences(LIMIT)])
    cache.strip_logits(QUESTION, [f"{LIMIT} {LONDON}"], [split_sentences(LIMIT)])
    assert len(inner.calls) == 3
