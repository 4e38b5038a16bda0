"""What every Scorer promises."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from localcrag.crag.grading import ScoreCache
from localcrag.models.encoders import unsupported_reason
from localcrag.models.reranker import CACHED_PAIRS, SPAN_HEAD_FILE, CrossEncoder
from localcrag.records.enums import NumberFormat
from localcrag.records.protocols import Scorer
from localcrag.text.sentences import split_sentences
from localcrag.text.words import replace_surrogates
from tests.support.fakes import FakeScorer
from tests.support.hostile_texts import HOSTILE, MILLION
from tests.support.threads import DEADLOCK, start
from tests.support.tiny_models import first_layers, tiny_bert

pytestmark = pytest.mark.contract

QUESTION = "What is the hotel limit in London?"
RELEVANT = "The hotel limit in London is 195 euros a night."
IRRELEVANT = "Photosynthesis turns light into sugar in the leaves of plants."
TEXTS = (RELEVANT, IRRELEVANT, "", "The hotel limit in Bergen is 165 euros.", "words without an end " * 30)


FORMATS = [one for one in (NumberFormat.FP32, NumberFormat.BF16, NumberFormat.INT8) if not unsupported_reason(one)]

ROUNDING = 0.001
"""What padding may change on a graphics processor, where texts are scored together; on others it is nothing."""


@pytest.fixture(scope="module")
def loaded(relevance_folder: Path) -> Callable[[NumberFormat], CrossEncoder]:
    """The real model in a format, loaded once."""
    return cache(lambda number_format: CrossEncoder("mine", relevance_folder, number_format=number_format))


KINDS = ("fake", "cached fake", "without a place head", *FORMATS)
Loaded = Callable[[NumberFormat], CrossEncoder]


@pytest.fixture(params=KINDS)
def scorer(request: pytest.FixtureRequest, loaded: Loaded, relevance_folder: Path, tmp_path: Path) -> Scorer:
    return made(request.param, loaded, relevance_folder, tmp_path)


@pytest.fixture(params=KINDS)
def of_any_text(request: pytest.FixtureRequest, loaded: Loaded, relevance_folder: Path, tmp_path: Path) -> Scorer:
    """As `scorer`, for texts that only have to come through; in int8 a model of one layer.

    Without a processor's instructions for int8, a text that fills the window takes the real one ten seconds.
    """
    if request.param is NumberFormat.INT8:
        return CrossEncoder("tiny", tiny_bert(tmp_path / "tiny", relevance_folder), number_format=NumberFormat.INT8)
    return made(request.param, loaded, relevance_folder, tmp_path)


@pytest.fixture(params=KINDS)
def steady(request: pytest.FixtureRequest, loaded: Loaded, relevance_folder: Path, tmp_path: Path) -> Scorer:
    """As `scorer`, for what a logit depends on, whatever it is; in int8 the real model's first layers."""
    if request.param is NumberFormat.INT8:
        folder = first_layers(tmp_path / "short", relevance_folder, layers=2)
        return CrossEncoder("short", folder, number_format=NumberFormat.INT8)
    return made(request.param, loaded, relevance_folder, tmp_path)


def made(kind: str | NumberFormat, loaded: Loaded, relevance_folder: Path, folder: Path) -> Scorer:
    """Return a scorer of a kind; `folder` is for its files."""
    if kind == "without a place head":
        return CrossEncoder("bare", without_place_head(folder, relevance_folder))
    if isinstance(kind, NumberFormat):
        return loaded(kind)
    return FakeScorer() if kind == "fake" else ScoreCache(FakeScorer())


def without_place_head(folder: Path, relevance_folder: Path) -> Path:
    """Return a folder with the real model but for its place head, as other cross-encoders come."""
    for path in relevance_folder.iterdir():
        if path.name != SPAN_HEAD_FILE:
            (folder / path.name).symlink_to(path)
    return folder


def test_each_text_gets_one_logit(scorer: Scorer) -> None:
    logits = scorer.logits(QUESTION, TEXTS)
    assert logits.shape == (len(TEXTS),)
    assert logits.dtype == np.float32


def test_no_texts_get_no_logits(scorer: Scorer) -> None:
    logits = scorer.logits(QUESTION, [])
    assert logits.shape == (0,)
    assert logits.dtype == np.float32


def test_logits_are_raw_and_no_probabilities(scorer: Scorer) -> None:
    logits = scorer.logits(QUESTION, TEXTS)
    assert logits.max() > 1
    assert logits.min() < 0


def test_a_text_that_answers_scores_above_one_that_does_not(scorer: Scorer) -> None:
    relevant, irrelevant = scorer.logits(QUESTION, [RELEVANT, IRRELEVANT])
    assert relevant > irrelevant + 1


def test_a_text_scores_the_same_alone_in_company_and_in_another_order(steady: Scorer) -> None:
    texts = TEXTS + TEXTS[:4] * 16
    together = steady.logits(QUESTION, texts)
    backwards = steady.logits(QUESTION, texts[::-1])[::-1]
    alone = np.concatenate([steady.logits(QUESTION, [text]) for text in TEXTS])
    assert together == pytest.approx(backwards, abs=ROUNDING)
    assert together[: len(TEXTS)] == pytest.approx(alone, abs=ROUNDING)


def test_the_same_texts_score_the_same_every_time(steady: Scorer) -> None:
    assert np.array_equal(steady.logits(QUESTION, TEXTS), steady.logits(QUESTION, TEXTS))


def test_several_threads_may_ask_at_once(steady: Scorer) -> None:
    expected = steady.logits(QUESTION, TEXTS)
    working = [start(lambda: [steady.logits(QUESTION, TEXTS) for _ in range(3)]) for _ in "abcd"]
    for logits in (result for thread in working for result in thread.result(DEADLOCK)):
        assert np.array_equal(logits, expected)


def test_calibrated_relevances_grow_with_the_logit_and_stay_probabilities(scorer: Scorer) -> None:
    logits = np.concatenate([[-np.inf, -1e9], np.linspace(-15, 15, 200), [1e9, np.inf]]).astype(np.float32)
    for relevances in (
        scorer.calibration.passages(logits, np.zeros_like(logits), np.zeros_like(logits)),
        scorer.calibration.passages(logits, np.ones_like(logits), np.zeros_like(logits)),
        scorer.calibration.strips(logits, np.ones_like(logits)),
    ):
        assert relevances.shape == logits.shape
        assert relevances.dtype == np.float32
        assert (np.diff(relevances) >= 0).all()
        assert relevances[0] < 0.001
        assert relevances[-1] > 0.999
        assert ((relevances >= 0) & (relevances <= 1)).all()


def test_the_thresholds_are_probabilities_in_order(scorer: Scorer) -> None:
    thresholds = scorer.calibration.thresholds
    assert 0 <= thresholds.lower <= thresholds.upper <= 1
    assert 0 <= thresholds.strip <= 1


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_and_any_question_get_a_logit(of_any_text: Scorer, text: str) -> None:
    assert np.isfinite(of_any_text.logits(QUESTION, [text, RELEVANT])).all()
    assert np.isfinite(of_any_text.logits(text, [RELEVANT])).all()


def test_a_text_is_read_as_far_as_the_window_reaches_however_long_it_is(of_any_text: Scorer) -> None:
    long, longer = (f"{RELEVANT} {'word ' * count}" for count in (3_000, MILLION))
    long_logit, longer_logit = of_any_text.logits(QUESTION, [long, longer])
    assert long_logit == longer_logit


def test_a_text_is_seen_beside_a_question_that_alone_would_fill_the_window(steady: Scorer) -> None:
    question = f"{QUESTION} {'word ' * 3_000}"
    relevant, irrelevant = steady.logits(question, [RELEVANT, IRRELEVANT])
    assert relevant != irrelevant


def test_of_a_question_and_a_text_that_are_both_too_long_both_are_seen(of_any_text: Scorer) -> None:
    filler = "word " * 3_000
    texts = [f"{text} {filler}" for text in (RELEVANT, IRRELEVANT)]
    relevant, irrelevant = of_any_text.logits(f"{QUESTION} {filler}", texts)
    other_question, _ = of_any_text.logits(f"How do plants make sugar? {filler}", texts)
    assert relevant != irrelevant
    assert relevant != other_question


PASSAGE = f"{IRRELEVANT} {RELEVANT} Breakfast is paid for by the traveller."


def test_each_strip_of_each_text_gets_one_logit(scorer: Scorer) -> None:
    texts = [PASSAGE, "", RELEVANT]
    strips = [split_sentences(text) for text in texts]
    logits = scorer.strip_logits(QUESTION, texts, strips)
    assert [part.shape for part in logits] == [(3,), (0,), (1,)]
    assert all(part.dtype == np.float32 for part in logits)
    assert np.isfinite(np.concatenate(logits)).all()
    assert scorer.strip_logits(QUESTION, [], []) == []


def test_the_strip_that_answers_scores_above_the_others_of_its_passage(scorer: Scorer) -> None:
    (logits,) = scorer.strip_logits(QUESTION, [PASSAGE], [split_sentences(PASSAGE)])
    assert logits[1] > max(logits[0], logits[2]) + 1


def test_a_strip_scores_the_same_whether_its_passage_was_scored_before_or_others_were(steady: Scorer) -> None:
    strips = split_sentences(PASSAGE)
    (before,) = steady.strip_logits(QUESTION, [PASSAGE], [strips])
    steady.logits(QUESTION, [f"Number {number}." for number in range(CACHED_PAIRS + 1)])
    steady.logits(QUESTION, [PASSAGE])
    (after,) = steady.strip_logits(QUESTION, [PASSAGE], [strips])
    _, beside = steady.strip_logits(QUESTION, [RELEVANT, PASSAGE], [[], strips])
    assert after == pytest.approx(before, abs=ROUNDING)
    assert beside == pytest.approx(before, abs=ROUNDING)


def test_a_strip_beyond_the_window_gets_a_logit_too(scorer: Scorer) -> None:
    text = f"{'Plants make sugar. ' * 110}{RELEVANT}"
    strips = split_sentences(text)
    (logits,) = scorer.strip_logits(QUESTION, [text], [strips])
    assert np.isfinite(logits).all()
    assert logits[-1] > logits[0] + 1


@pytest.mark.parametrize("text", HOSTILE)
def test_the_strips_of_any_text_get_logits(of_any_text: Scorer, text: str) -> None:
    text = replace_surrogates(text)  # as documents, questions and results of the web come in
    strips = split_sentences(text)[:5]  # of a long text each has a dozen windows
    (logits,) = of_any_text.strip_logits(QUESTION, [text], [strips])
    assert np.isfinite(logits).all()
    assert len(logits) == len(strips)
