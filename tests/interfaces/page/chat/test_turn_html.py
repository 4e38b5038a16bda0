"""Turns of a chat as HTML: what can be done with each, what is being done, and what its action came to."""

from __future__ import annotations

import dataclasses
import re

import pytest

from localcrag.evaluation.plan import FULL
from localcrag.interfaces.page.chat.html import meaning, turn_html, turns_html
from localcrag.records.run import ChatTurn, TurnState, Version
from tests.support.made_evaluations import HOSTILE, varied

RUNS = varied().runs[FULL]


def turn(name: str, state: TurnState = TurnState.ANSWERED) -> ChatTurn:
    run = RUNS[name]
    return ChatTurn(number=1, question=f"Q {HOSTILE}", answer=run.answer, run_id=run.run_id, state=state)


def test_an_answered_turn_can_be_copied_asked_again_judged_and_explained() -> None:
    html = turn_html(turn("right"), RUNS["right"], labels=True)
    for what in ("edit", "copy", "again", "good", "bad", "open"):
        assert f'data-do="{what}"' in html
    assert html.count('aria-pressed="true"') == 1
    assert "<script>" not in html
    assert "CORRECT" in html


def test_a_turn_that_is_being_answered_says_what_is_being_done_and_offers_nothing() -> None:
    html = turn_html(turn("right", TurnState.ASKED), RUNS["right"], busy="scoring 8 passages")
    assert "scoring 8 passages …" in html
    assert "not checked against the evidence yet" in html
    assert 'aria-busy="true"' in html
    assert 'data-do="again"' not in html


@pytest.mark.parametrize(
    ("shown", "says", "before", "after"),
    [(3, "Version 1 of 2", "", "5"), (5, "Version 2 of 2", "3", "")],
)
def test_a_turn_with_versions_leads_to_the_others(shown: int, says: str, before: str, after: str) -> None:
    versions = (Version(3, TurnState.ANSWERED), Version(5, TurnState.ANSWERED))
    html = turn_html(dataclasses.replace(turn("right"), number=shown, versions=versions), RUNS["right"])
    assert says in html
    assert re.findall(r'data-show="(\d*)" aria-label="(?:Previous|Next) version"', html) == [before, after]
    assert html.count(" disabled>") == 1


@pytest.mark.parametrize(
    ("newest", "says"),
    [
        (TurnState.STOPPED, "The newest version was stopped."),
        (TurnState.FAILED, "The newest version failed."),
        (TurnState.ANSWERED, None),
    ],
)
def test_a_turn_says_that_a_newer_version_did_not_finish(newest: TurnState, says: str | None) -> None:
    versions = (Version(1, TurnState.ANSWERED), Version(2, newest))
    html = turn_html(dataclasses.replace(turn("right"), versions=versions), RUNS["right"])
    assert ("The newest version" in html) == bool(says)
    assert says is None or says in html


def test_a_turn_with_one_version_has_nothing_to_choose() -> None:
    assert "lc-versions" not in turn_html(turn("right"), RUNS["right"])


def test_a_stopped_turn_and_one_that_failed_say_so() -> None:
    assert "Stopped" in turn_html(turn("right", TurnState.STOPPED), RUNS["right"])
    failed = ChatTurn(number=2, question="Q", state=TurnState.FAILED)
    assert "could not be answered" in turn_html(failed, None)
    assert "data-run" not in turn_html(failed, None)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("right", "your documents are enough"),
        ("web-right", "not in your documents · answered from the web"),
        ("silent", "not answered"),
        ("invented", "possibly in your documents"),
    ],
)
def test_an_action_is_said_in_words_that_are_about_what_was_found(name: str, words: str) -> None:
    assert meaning(RUNS[name]) == words


def test_likely_passages_in_place_of_an_answer_are_not_certain() -> None:
    assert meaning(dataclasses.replace(RUNS["right"], uncertain=True)) == "not certain"


def test_turns_whose_runs_are_gone_are_still_shown() -> None:
    html = turns_html([turn("right"), turn("silent")], {}, {})
    assert html.count("lc-turn-head") == 0
    assert html.count("<article") == 2
    assert "It holds 42 litres" in html
