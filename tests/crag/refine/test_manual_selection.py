"""Sentences that a person puts in or takes out: what becomes of the evidence, and the answer from it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from localcrag.crag.refine.refine import apply_choice
from localcrag.pipeline import answer_selection
from localcrag.records.enums import Action, StripReason
from localcrag.records.events import RunFinished
from localcrag.records.passages import Choice
from localcrag.records.run import Run
from tests.support.desk import ANSWERABLE, DOCUMENT, UNANSWERABLE, Desk
from tests.support.fakes import FakeLanguageModel


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, *DOCUMENT, retry=False)


def forced(desk: Desk, before: Run, choice: Choice) -> Run:
    events = list(answer_selection(before, choice, parts=desk.parts(), settings=desk.settings))
    assert isinstance(events[-1], RunFinished)
    return events[-1].run


def kept(run: Run) -> list[str]:
    return [strip.text for strip in run.strips if strip.kept]


def test_a_sentence_that_is_put_in_is_evidence_and_its_reason_says_who_did_it(desk: Desk) -> None:
    _, before = desk.ask(ANSWERABLE)
    dropped = next(strip for strip in before.strips if not strip.kept)
    desk.llm = FakeLanguageModel("The limit is 195 euros [1].")
    run = forced(desk, before, Choice({(dropped.passage, dropped.start): True}))
    assert dropped.text in kept(run)
    assert dropped.text in " ".join(piece.text for piece in run.evidence)
    assert [strip.reason for strip in run.strips if strip.text == dropped.text] == [StripReason.PUT_IN]
    assert run.forced_from == before.run_id
    assert run.run_id != before.run_id
    assert desk.runs.runs == [before, run]
    assert [step.name for step in run.steps] == ["refine", "generate", "verify"]
    assert (run.action, run.passages, run.attempts) == (before.action, before.passages, before.attempts)


def test_a_sentence_that_is_taken_out_is_not_in_the_prompt(desk: Desk) -> None:
    _, before = desk.ask(ANSWERABLE)
    first = next(strip for strip in before.strips if strip.kept)
    others = {strip.passage: True for strip in before.strips if strip.passage != first.passage}
    run = forced(desk, before, Choice({(first.passage, first.start): False}, others))
    assert first.text not in kept(run)
    assert first.text not in desk.llm.prompts[-1][-1].content
    assert [strip.reason for strip in run.strips if strip.text == first.text] == [StripReason.TAKEN_OUT]


def test_a_passage_that_was_not_looked_at_is_looked_at_when_it_is_put_in(desk: Desk) -> None:
    _, before = desk.ask(UNANSWERABLE)
    assert (before.action, before.strips) == (Action.INCORRECT, ())
    passage = before.passages[0]
    desk.llm = FakeLanguageModel(f"{passage.text.split('.')[0]} [1].")
    run = forced(desk, before, Choice(passages={passage.id: True}))
    assert {strip.passage for strip in run.strips} == {passage.id}
    assert run.evidence
    assert all(strip.kept for strip in run.strips)
    assert run.answer.startswith(passage.text.split(".")[0])


def test_without_any_sentence_left_it_abstains(desk: Desk) -> None:
    _, before = desk.ask(ANSWERABLE)
    run = forced(desk, before, Choice(passages={passage.id: False for passage in before.passages}))
    assert run.abstained
    assert run.evidence == ()


def test_an_instruction_that_is_planted_is_not_put_in(desk: Desk) -> None:
    _, before = desk.ask(ANSWERABLE)
    strip = dataclasses.replace(before.strips[0], kept=False, reason=StripReason.INSTRUCTION)
    refinement = apply_choice([strip], before.passages, Choice({(strip.passage, strip.start): True}))
    assert refinement.strips == (strip,)
    assert refinement.evidence == ()


def test_a_choice_says_whether_it_puts_anything_in() -> None:
    assert Choice({("a", 0): True, ("b", 5): True}, {"c": False}).puts_in
    assert not Choice({("a", 0): False}, {"c": False, "b": False}).puts_in


def test_a_run_that_was_chosen_from_can_be_chosen_from_again(desk: Desk) -> None:
    _, before = desk.ask(ANSWERABLE)
    dropped = next(strip for strip in before.strips if not strip.kept)
    place = (dropped.passage, dropped.start)
    once = forced(desk, before, Choice({place: True}))
    twice = forced(desk, once, Choice({place: False}))
    assert kept(twice) == kept(before)
    assert twice.forced_from == once.run_id
