"""The flow with the language model as the scorer: what it decides, what it costs, and what becomes of its failures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localcrag.crag import grading
from localcrag.crag.context import MAX_JUDGEMENTS, new_judgement_cache
from localcrag.interfaces.cli import terminal
from localcrag.interfaces.page import run_panel
from localcrag.pipeline import answer
from localcrag.records.enums import Action, Grade, Origin, ScorerKind
from localcrag.records.events import GradePiece, RunStarted, StepStarted
from localcrag.records.passages import Thresholds
from localcrag.records.run import Run
from localcrag.records.thresholds import FittedCalibration, Logistic
from localcrag.runs import for_programs, recording
from localcrag.runs.recording import describe_grader
from localcrag.settings import load
from tests.support.desk import ANSWERABLE, DOCUMENT, UNANSWERABLE, WEB, Desk, with_web
from tests.support.fakes import FakeLanguageModel, FakeScorer, FakeWeb

ANSWER = "The limit is 195 euros [1]."
LOW = FittedCalibration(
    passage=Logistic(logit=1.0, bias=-3.0), strip=Logistic(logit=1.0, bias=0.0), thresholds=Thresholds(0.35, 0.12, 0.5)
)
"""A scale on which 0.73 is a good passage of the fake scorer's, though 0.5 of its own may be another's best."""


def judgement(grade: str, confidence: float = 0.9, reasoning: str = "The passage says so.") -> str:
    return json.dumps({"reasoning": reasoning, "grade": grade, "confidence": confidence})


CORRECT, AMBIGUOUS, INCORRECT = (judgement(grade) for grade in Grade)


def desk(folder: Path, *answers: str, fails: str | None = None, **settings: object) -> Desk:
    made = Desk(folder, *DOCUMENT, scorer="llm", **settings)
    made.llm = FakeLanguageModel(*answers, fails=fails)
    return made


def local(run: Run) -> list[Grade]:
    return [passage.grade for passage in run.passages if passage.origin is Origin.LOCAL]


@pytest.mark.parametrize(
    ("judgements", "action"),
    [
        ((INCORRECT, CORRECT, INCORRECT), Action.CORRECT),
        ((INCORRECT, AMBIGUOUS, INCORRECT), Action.AMBIGUOUS),
        ((INCORRECT, judgement("correct", 0.3), INCORRECT), Action.AMBIGUOUS),
        ((INCORRECT, INCORRECT, INCORRECT), Action.INCORRECT),
    ],
)
def test_the_language_models_grades_decide(tmp_path: Path, judgements: tuple[str, ...], action: Action) -> None:
    _, run = desk(tmp_path, *judgements, ANSWER).ask(UNANSWERABLE)
    assert run.action is action
    assert run.scorer is ScorerKind.LLM
    assert describe_grader(run) == "the language model fake-llm"
    assert (run.thresholds.upper, run.thresholds.lower) == (0.7, 0.3)
    assert {passage.reason for passage in run.passages} == {"The passage says so."}


@pytest.mark.parametrize("reasoning", ["not scored", "Not scored.", "unscored"])
def test_no_reasoning_of_the_language_model_makes_a_passage_count_as_not_scored(
    tmp_path: Path, reasoning: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = desk(tmp_path / "usual", INCORRECT, CORRECT, INCORRECT, ANSWER).ask(ANSWERABLE)[1]
    odd = judgement("correct", reasoning=reasoning)
    _, run = desk(tmp_path / "odd", judgement("incorrect", reasoning=reasoning), odd, INCORRECT, ANSWER).ask(ANSWERABLE)
    assert (run.action, run.rule) == (usual.action, usual.rule)
    assert run.action is Action.CORRECT
    assert local(run) == local(usual)
    assert all(passage.scored for passage in run.passages)
    assert [passage["relevance"] for passage in for_programs.passages(run.passages)] == [0.95, 0.05, 0.05]
    monkeypatch.setenv("COLUMNS", "200")
    terminal.show_details(run)
    assert f"because: {reasoning}" in capsys.readouterr().err
    assert recording.read(recording.dump(run)) == run


def test_what_the_grading_costs_is_in_the_run_and_that_it_is_not_calibrated_too(tmp_path: Path) -> None:
    made = desk(tmp_path, INCORRECT, CORRECT, INCORRECT, ANSWER)
    events, run = made.ask(ANSWERABLE)
    step = next(step for step in run.steps if step.name == "evaluate")
    assert step.llm_calls == 3
    assert step.prompt_tokens == sum(made.llm.count_tokens(prompt) for prompt in made.llm.prompts[:3])
    assert step.completion_tokens == sum(stream.usage.completion_tokens for stream in made.llm.streams[:3]) > 15
    assert [schema is None for schema in made.llm.schemas] == [False, False, False, True]
    assert any("fake-llm" in warning and "not calibrated" in warning for warning in run.warnings)
    details = [event.detail for event in events if isinstance(event, StepStarted)]
    assert "grading passage 3 of 3" in details


def test_the_cross_encoder_scores_the_strips_and_no_passage(tmp_path: Path) -> None:
    made = desk(tmp_path, CORRECT, INCORRECT, INCORRECT, ANSWER)
    _, run = made.ask(ANSWERABLE)
    assert [texts for _, texts in made.scorer.calls] == [tuple(strip.text for strip in run.strips)]
    assert {strip.passage for strip in run.strips} == {run.passages[0].id}


def test_web_results_are_graded_the_same_way(tmp_path: Path) -> None:
    made = with_web(desk(tmp_path, *[INCORRECT] * 3, "", "orbits moon", CORRECT, "The moon orbits [1]."), FakeWeb(WEB))
    made.settings = load(**{**made.settings.model_dump(), "scorer": "llm"})
    _, run = made.ask(UNANSWERABLE)
    found = [passage for passage in run.passages if passage.origin is Origin.WEB]
    assert [(passage.relevance, passage.reason) for passage in found] == [(0.95, "The passage says so.")]
    assert next(step.llm_calls for step in run.steps if step.name == "search") == 2


@pytest.mark.parametrize(
    "broken",
    [CORRECT[:30], '{"reasoning": "", "grade": "correct", "confidence": NaN}', ""],
    ids=["cut", "NaN", "empty"],
)
def test_a_passage_that_the_model_fails_on_is_graded_by_the_cross_encoder(tmp_path: Path, broken: str) -> None:
    made = desk(tmp_path, INCORRECT, broken, INCORRECT, ANSWER)
    made.scorer = FakeScorer(LOW)
    _, run = made.ask(ANSWERABLE)
    plain = Desk(tmp_path / "plain", *DOCUMENT)
    plain.scorer = FakeScorer(LOW)
    _, by_cross_encoder = plain.ask(ANSWERABLE)
    assert run.passages[1].grade is by_cross_encoder.passages[1].grade
    assert run.passages[1].logit == by_cross_encoder.passages[1].logit
    assert [passage.reason is None for passage in run.passages] == [False, True, False]
    assert any("graded 2 of 3" in warning and "left to fake-scorer" in warning for warning in run.warnings)


def test_a_model_that_breaks_off_every_time_leaves_the_cross_encoders_grades(tmp_path: Path) -> None:
    made = desk(tmp_path, fails="out of memory")
    made.scorer = FakeScorer(LOW)
    _, run = made.ask(ANSWERABLE)
    plain = Desk(tmp_path / "plain", *DOCUMENT)
    plain.scorer = FakeScorer(LOW)
    _, by_cross_encoder = plain.ask(ANSWERABLE)
    assert local(run) == local(by_cross_encoder)
    assert run.action is by_cross_encoder.action
    assert any("graded 0 of 3" in warning and "out of memory" in warning for warning in run.warnings)


def test_a_passage_longer_than_the_models_window_is_left_to_the_cross_encoder(tmp_path: Path) -> None:
    made = Desk(tmp_path, "The hotel limit in London is 195 euros. " * 400, scorer="llm")
    made.llm = FakeLanguageModel(ANSWER)
    _, run = made.ask(ANSWERABLE)
    assert run.action is Action.CORRECT
    assert run.passages[0].reason is None
    assert any("graded 0 of 1" in warning and "2000" in warning for warning in run.warnings)


def test_ones_own_thresholds_hold_for_the_language_models_grades_too(tmp_path: Path) -> None:
    _, run = desk(tmp_path, CORRECT, CORRECT, CORRECT, ANSWER, upper=0.99, lower=0.96).ask(ANSWERABLE)
    assert run.action is Action.INCORRECT
    assert set(local(run)) == {Grade.INCORRECT}


def test_without_a_passage_the_model_is_not_asked(tmp_path: Path) -> None:
    made = Desk(tmp_path, scorer="llm")
    _, run = made.ask(ANSWERABLE)
    assert run.abstained
    assert made.llm.prompts == []


def test_stopping_in_the_middle_of_a_grade_stops_the_model(tmp_path: Path) -> None:
    made = desk(tmp_path, CORRECT, CORRECT, CORRECT, ANSWER)
    events = answer(ANSWERABLE, parts=made.parts(), settings=made.settings)
    pieces = 0
    for event in events:
        pieces += isinstance(event, GradePiece)
        if pieces == 10:
            break
    events.close()
    assert [stream.closed for stream in made.llm.streams] == [True, True]
    assert 0 < made.llm.streams[1].usage.completion_tokens < made.llm.streams[0].usage.completion_tokens
    assert made.runs.runs[0].stopped
    assert made.runs.runs[0].passages == ()


def test_folding_the_events_gives_the_stored_run_and_json_keeps_it_whole(tmp_path: Path) -> None:
    events, run = desk(tmp_path, CORRECT, "{", INCORRECT, ANSWER).ask(ANSWERABLE)
    assert isinstance(events[0], RunStarted)
    folded = events[0].run
    for event in events[:-1]:
        folded = recording.apply(folded, event)
    assert folded == run == recording.read(recording.dump(run))
    assert recording.to_json(run)["passages"][0]["reason"] == "The passage says so."
    assert recording.to_json(run)["scorer"] == "llm"


def test_runs_stored_before_there_was_a_choice_of_scorer_are_still_read(tmp_path: Path) -> None:
    _, run = Desk(tmp_path, *DOCUMENT).ask(ANSWERABLE)
    document = recording.to_json(run)
    del document["scorer"]
    for passage in document["passages"]:
        del passage["reason"]
    assert recording.read(json.dumps(document)) == run
    assert describe_grader(run) == "the reranker fake-scorer"


HURTING = "<img src=x onerror=alert(1)> [bold]{{ run }}"


def shown(folder: Path) -> Run:
    return desk(folder, judgement("correct", reasoning=HURTING), INCORRECT, INCORRECT, ANSWER).ask(ANSWERABLE)[1]


def test_the_panel_shows_the_models_reason_as_text_and_the_cost(tmp_path: Path) -> None:
    panel = run_panel.panel(shown(tmp_path))
    assert "&lt;img src=x onerror=alert(1)&gt; [bold]{{ run }}" in panel
    assert "<img" not in panel
    assert "graded by the language model fake-llm" in panel
    assert "3 calls, " in panel


def test_the_terminal_shows_the_models_reason_as_text_and_the_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    terminal.show_details(shown(tmp_path))
    said = capsys.readouterr().err
    assert f"because: {HURTING}" in said
    assert "graded by the language model fake-llm" in said
    assert "(3 model calls, " in said


def test_what_was_graded_is_not_graded_again(tmp_path: Path) -> None:
    asked = desk(tmp_path, INCORRECT, CORRECT, INCORRECT, ANSWER, ANSWER)
    parts = asked.parts()
    first, again = (
        list(answer(ANSWERABLE, parts=parts, settings=asked.settings))[-1].run  # type: ignore[union-attr]
        for _ in range(2)
    )
    assert [sum(step.llm_calls for step in run.steps) for run in (first, again)] == [4, 1]
    assert again.passages == first.passages
    assert again.answer == first.answer


def test_a_judgement_that_failed_is_asked_for_again(tmp_path: Path) -> None:
    asked = desk(tmp_path, "no judgement", CORRECT, INCORRECT, ANSWER, INCORRECT, ANSWER)
    parts = asked.parts()
    list(answer(ANSWERABLE, parts=parts, settings=asked.settings))
    run = list(answer(ANSWERABLE, parts=parts, settings=asked.settings))[-1].run  # type: ignore[union-attr]
    assert sum(step.llm_calls for step in run.steps) == 2
    assert not any("were left to" in warning for warning in run.warnings)


def test_only_so_many_judgements_are_kept() -> None:
    known, judgement = new_judgement_cache(), grading.JUDGEMENT.read(CORRECT)
    for number in range(MAX_JUDGEMENTS + 1):
        known["model", "question", str(number)] = judgement
    assert [key[2] for key in known] == [str(number) for number in range(1, MAX_JUDGEMENTS + 1)]
