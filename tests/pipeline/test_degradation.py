"""What each fault comes to: a lesser answer, and a warning that says what failed and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.models.lifecycle import MissingLanguageModel, MissingScorer
from localcrag.app.uploads import uploads_from
from localcrag.crag.answer.generate import cut_to_sentences
from localcrag.crag.context import Budget
from localcrag.pipeline import answer
from localcrag.records.enums import Action, NotAsked
from localcrag.records.errors import ModelError, ModelMissing, StoreError
from localcrag.records.events import AnswerPiece, Event, RunFinished
from localcrag.records.protocols import Decoding, Vectors
from localcrag.records.run import Message, Run
from localcrag.settings import load
from localcrag.text.sentences import Span
from tests.support.desk import ANSWERABLE, DOCUMENT, HALF, UNANSWERABLE, WEB, Desk, with_web
from tests.support.fakes import FakeLanguageModel, FakeScorer, FakeStream, FakeWeb

pytestmark = pytest.mark.models


class Time:
    """A clock that stands still until it is told what the time is."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("seconds", "passed", "spent"),
    [(0.0, 1e9, False), (10.0, 4.9, False), (10.0, 5.0, True), (10.0, 50.0, True)],
)
def test_a_budget_tells_when_a_share_of_it_is_spent(seconds: float, passed: float, spent: bool) -> None:
    time = Time()
    budget = Budget(seconds, time)
    time.now += passed
    assert budget.spent(0.5) is spent
    assert budget.limited is (seconds > 0)


def test_what_a_person_takes_to_think_is_not_counted() -> None:
    time = Time()
    budget = Budget(10.0, time)
    with budget.paused():
        time.now += 100.0
    assert not budget.spent(0.5)


class SlowScorer(FakeScorer):
    """Each of its passes takes `seconds`."""

    def __init__(self, time: Time, seconds: float) -> None:
        super().__init__()
        self._time, self._seconds = time, seconds

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        self._time.now += self._seconds
        return super().logits(question, texts)


class SlowLanguageModel(FakeLanguageModel):
    """Takes `seconds` before it begins to write for the first time."""

    def __init__(self, time: Time, seconds: float, *answers: str) -> None:
        super().__init__(*answers)
        self._time, self._seconds = time, seconds

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> FakeStream:
        self._time.now += self._seconds
        self._seconds = 0.0
        return super().stream(messages, decoding)


def ask_within(desk: Desk, question: str, time: Time, seconds: float = 10.0) -> Run:
    events = list(answer(question, parts=desk.parts(), settings=desk.settings, budget=Budget(seconds, time)))
    assert isinstance(events[-1], RunFinished)
    return events[-1].run


def slow_scoring(desk: Desk, time: Time) -> None:
    desk.scorer = SlowScorer(time, 2.5)


def slow_rewriting(desk: Desk, time: Time) -> None:
    desk.llm = SlowLanguageModel(time, 7.0, "", "The hotel limit suits nobody [1].")


@pytest.mark.parametrize(
    ("question", "slow", "warning", "steps"),
    [
        pytest.param(
            ANSWERABLE, slow_scoring, "Only 2 of 3 passages were scored",
            ["retrieve", "evaluate", "decide", "refine", "generate", "verify"], id="fewer passages",
        ),
        pytest.param(
            UNANSWERABLE, lambda desk, time: setattr(desk, "scorer", SlowScorer(time, 4.5)), "not searched again",
            ["retrieve", "evaluate", "decide"], id="no second look",
        ),
        pytest.param(
            HALF, slow_rewriting, "used whole, not sentence by sentence",
            ["retrieve", "evaluate", "decide", "retry", "refine", "generate", "verify"], id="no strips",
        ),
        pytest.param(
            ANSWERABLE, lambda desk, time: setattr(desk, "scorer", SlowScorer(time, 8.5)), "quoted instead of an",
            ["retrieve", "evaluate", "decide", "refine"], id="quoting",
        ),
    ],
)  # fmt: skip
def test_what_there_is_no_time_for_is_left_out_and_said(
    tmp_path: Path, question: str, slow: Callable[[Desk, Time], None], warning: str, steps: list[str]
) -> None:
    time, desk = Time(), Desk(tmp_path, *DOCUMENT)
    slow(desk, time)
    run = ask_within(desk, question, time)
    assert any(warning in said and "10 s (time_budget)" in said for said in run.warnings), run.warnings
    assert [step.name for step in run.steps] == steps
    assert run.answer


def test_without_a_time_budget_slowness_leaves_nothing_out(tmp_path: Path) -> None:
    time, desk = Time(), Desk(tmp_path, *DOCUMENT)
    slow_scoring(desk, time)
    run = ask_within(desk, ANSWERABLE, time, seconds=0.0)
    assert run.warnings == ()
    assert len(run.passages) == 3
    assert len(desk.scorer.calls[0][1]) == 3


def test_the_web_is_not_asked_when_there_is_no_time_for_it(tmp_path: Path) -> None:
    time, desk = Time(), with_web(Desk(tmp_path, *DOCUMENT), FakeWeb(WEB))
    desk.scorer = SlowScorer(time, 4.5)
    run = ask_within(desk, UNANSWERABLE, time)
    assert run.web.not_asked is NotAsked.NO_TIME
    assert "too little of the time budget was left" in run.answer


def test_an_answer_that_takes_too_long_is_stopped_at_its_last_whole_sentence(tmp_path: Path) -> None:
    time, desk = Time(), Desk(tmp_path, *DOCUMENT)
    desk.llm = FakeLanguageModel("It is 195 euros [1]. Breakfast is included and more of it")
    events: list[Event] = []
    for event in answer(ANSWERABLE, parts=desk.parts(), settings=desk.settings, budget=Budget(10.0, time)):
        events.append(event)
        if isinstance(event, AnswerPiece) and event.text.startswith("is included"[:2]) and len(events) > 14:
            time.now = 11.0
    assert isinstance(events[-1], RunFinished)
    run = events[-1].run
    assert run.answer == "It is 195 euros [1]."
    assert any("The language model was stopped" in warning for warning in run.warnings)
    assert desk.llm.streams[0].closed


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("One. Two th", "One."),
        ("One [1]. Two? Thr", "One [1]. Two?"),
        ("One. [1] Tw", "One. [1]"),
        ("It costs 3.5", ""),
        ("“One.” Two", "“One.”"),
        ("一。二", "一。"),
        ("", ""),
    ],
)
def test_what_breaks_off_is_cut_at_the_last_end_of_a_sentence(written: str, kept: str) -> None:
    assert cut_to_sentences(written) == kept


MISSING = ModelMissing("There is no model x. `localcrag models get x` gets it.")


class FailsOnStrips(FakeScorer):
    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> NoReturn:
        raise ModelError("The relevance model failed: out of memory. Close other programs.")


@pytest.mark.parametrize(
    ("fault", "warning", "answer_begins", "abstained"),
    [
        pytest.param(
            lambda desk: setattr(desk, "scorer", MissingScorer("x", MISSING)),
            "could not be scored, so they are used in the order in which they were found: There is no model x.",
            "The limit is 195 euros", False, id="no relevance model",
        ),
        pytest.param(
            lambda desk: setattr(desk, "scorer", FailsOnStrips()),
            "used whole, because their sentences could not be scored: The relevance model failed",
            "The limit is 195 euros", False, id="sentences that cannot be scored",
        ),
        pytest.param(
            lambda desk: setattr(desk, "llm", MissingLanguageModel("x", MISSING)),
            "could not be written: There is no model x. `localcrag models get x`",
            "The language model could not write an answer.", True, id="no language model",
        ),
    ],
)  # fmt: skip
def test_a_model_that_is_missing_or_fails_is_said_and_done_without(
    tmp_path: Path, fault: Callable[[Desk], None], warning: str, answer_begins: str, abstained: bool
) -> None:
    desk = Desk(tmp_path, *DOCUMENT)
    fault(desk)
    _, run = desk.ask(ANSWERABLE)
    assert any(warning in said for said in run.warnings), run.warnings
    assert run.answer.startswith(answer_begins)
    assert all(strip.reason for strip in run.strips)
    assert run.abstained is abstained
    assert "195 euros" in run.answer


def test_without_a_relevance_model_nothing_is_called_correct_and_nobody_is_asked_again(tmp_path: Path) -> None:
    desk = with_web(Desk(tmp_path, *DOCUMENT), FakeWeb(WEB))
    desk.scorer = MissingScorer("x", MISSING)  # type: ignore[assignment]
    _, run = desk.ask(ANSWERABLE)
    assert run.action is Action.AMBIGUOUS
    assert run.rule == "the passages could not be scored"
    assert {(passage.scored, passage.reason) for passage in run.passages} == {(False, None)}
    assert desk.web is not None
    assert desk.web.queries == []
    assert not any("no calibration" in warning for warning in run.warnings)


@pytest.mark.parametrize("policy", ["max", "fraction", "ratio", "count"])
def test_passages_that_could_not_be_scored_are_used_under_every_policy(tmp_path: Path, policy: str) -> None:
    desk = Desk(tmp_path, *DOCUMENT, policy=policy)
    desk.scorer = MissingScorer("x", MISSING)  # type: ignore[assignment]
    _, run = desk.ask(ANSWERABLE)
    assert run.evidence


class BrokenIndex:
    def nearest(self, vector: Vectors, k: int, among: Collection[int] | None = None) -> NoReturn:
        raise StoreError("The index is not readable. Check the folder.")


def test_an_index_that_fails_leaves_the_words_to_look_for(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *DOCUMENT)
    desk.index = BrokenIndex()
    _, run = desk.ask(ANSWERABLE)
    assert run.answer == "The limit is 195 euros [1]."
    assert any("only keywords were used: The index is not readable." in warning for warning in run.warnings)


@pytest.mark.parametrize(
    ("setting", "warning"),
    [("relevance", "could not be scored"), ("llm", "could not be written")],
)
def test_the_real_app_without_one_of_its_models_says_so_and_answers_as_far_as_it_can(
    tmp_path: Path, handbook: Path, setting: str, warning: str
) -> None:
    assembly = Assembly(load(data_dir=tmp_path, **{setting: "no-such-model"}))
    for _ in assembly.ingest(uploads_from([handbook])):
        pass
    last = list(assembly.ask("Who keeps the handbook?"))[-1]
    assembly.close()
    assert isinstance(last, RunFinished)
    assert any(warning in said and "no-such-model" in said for said in last.run.warnings)
    assert "Ottilie Brandt" in last.run.answer
