"""What an answer rests on, and what reading all of the documents would take."""

from __future__ import annotations

import dataclasses

import pytest

from localcrag.evaluation.plan import FULL
from localcrag.interfaces.page.chat.html import turn_html
from localcrag.records.restriction import SearchScope
from localcrag.records.run import ChatTurn, Run, StepCost, TurnState
from localcrag.runs.recording import unread_passages
from tests.support.made_evaluations import varied


def run_of(question: str, scope: SearchScope | None) -> Run:
    """Return a run that took 0.6 s to score what it read."""
    run = varied().runs[FULL]["right"]
    steps = (StepCost("retrieve", 1.0), StepCost("evaluate", 0.6))
    return dataclasses.replace(run, question=question, standalone_question=question, scope=scope, steps=steps)


SOME = SearchScope(3, 3, passages=240, read=24)


def test_what_was_not_read_is_said_with_what_reading_it_takes() -> None:
    left = unread_passages(run_of("What is the deposit?", SOME))
    assert left is not None
    assert (left.matters, left.in_words, left.cost_in_words) == (
        False,
        "This is based on 24 of 240 passages.",
        "about 6 s",
    )
    # What asks for all there is, is looked for in two wordings.
    listed = unread_passages(run_of("List all deadlines", SOME))
    assert listed is not None
    assert (listed.matters, listed.cost_in_words) == (True, "about 12 s")
    many = unread_passages(run_of("List all deadlines", dataclasses.replace(SOME, passages=4_800)))
    assert many is not None
    assert many.cost_in_words == "about 4 min"


@pytest.mark.parametrize(
    "scope", [None, SearchScope(3, 3), SearchScope(1, 1, passages=5, read=5), dataclasses.replace(SOME, whole=True)]
)
def test_nothing_is_said_where_all_was_read_or_nothing_is_known(scope: SearchScope | None) -> None:
    assert unread_passages(run_of("List all deadlines", scope)) is None


@pytest.mark.parametrize(("question", "words"), [("List all fees", True), ("What is the fee?", False)])
def test_a_turn_offers_to_read_all_and_says_why_where_that_matters(question: str, words: bool) -> None:
    run = run_of(question, SOME)
    answered = ChatTurn(number=1, question=question, answer=run.answer, run_id=run.run_id, state=TurnState.ANSWERED)
    html = turn_html(answered, run)
    assert html.count('data-do="all"') == 1
    assert ("This is based on 24 of 240 passages." in html) is words
    assert ("Read all 240 passages for it (about 6 s)" in html) is not words
    assert 'data-do="all"' not in turn_html(answered, dataclasses.replace(run, scope=None))
