"""Outcomes of questions with labelled whole answers, on examples that were worked out by hand."""

from __future__ import annotations

import dataclasses

import pytest

from localcrag.evaluation.diagnosis import FIRST_WORDS, Outcome, count_outcomes, needed_found, outcome_of, says
from localcrag.records.enums import Action
from localcrag.records.evaluation_set import AnswerLocation
from localcrag.records.run import Run
from localcrag.records.wording import SOURCE_WORDS
from tests.support.made_evaluations import passage, question, run

LINE = "The tank holds 42 litres, of which 40 can be used."
ASKED = dataclasses.replace(
    question("tank", AnswerLocation.DOCUMENTS, "42"),
    all_of=(("42 litres", "forty-two litres"), ("40",)),
    needed=(LINE,),
)
NOTHING = question("roof", AnswerLocation.NOWHERE)
HOLDS = passage("p1", LINE, 0.9)
FILLER = "The lamp is green and " * (FIRST_WORDS // 5) + "old. "


def answered(answer: str, *, abstained: bool = False) -> Run:
    return run(ASKED, [HOLDS], answer, action=Action.CORRECT, abstained=abstained)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        pytest.param("It holds forty-two litres, 40 of them usable [1].", Outcome.RIGHT, id="all strings"),
        pytest.param("It holds 42 litres.", Outcome.PARTLY, id="one of two"),
        pytest.param(FILLER + "It holds 42 litres, 40 usable.", Outcome.PARTLY, id="all, after too much else"),
        pytest.param("It holds 17 litres.", Outcome.WRONG, id="none"),
    ],
)
def test_a_sure_answer_is_right_if_it_says_everything_soon(answer: str, outcome: Outcome) -> None:
    assert outcome_of(ASKED, answered(answer)) is outcome


@pytest.mark.parametrize(
    ("text", "string", "said"),
    [
        ("It takes 70min.", "70", True),
        ("Only from 7-8th November.", "7", True),
        ("The rent is 1,045 euros.", "1045", True),
        ("It is 10.45 euros.", "45", False),
        ("Arweave.org pays for it.", "Arweave", True),
        ("Keep it in the refrigerator.", "refriger", True),
        ("It is nothing else.", "no", False),
        ("5. Elections take two days.", "5", False),
    ],
)
def test_a_string_is_said_word_by_word(text: str, string: str, said: bool) -> None:
    assert says(text, [string]) is said


def test_what_only_the_words_of_the_sources_say_is_not_said_first() -> None:
    answer = f"It holds 42 litres.\n\n{SOURCE_WORDS}\n\n“{LINE}”"
    assert outcome_of(ASKED, answered(answer)) is Outcome.PARTLY


def test_an_answer_that_rests_on_many_lines_may_be_longer() -> None:
    long = dataclasses.replace(ASKED, needed=(LINE, FILLER))
    assert outcome_of(long, answered(FILLER + "It holds 42 litres, 40 usable.")) is Outcome.RIGHT


def test_what_is_not_answered_is_refused_or_rightly_left_unanswered() -> None:
    silent = answered(f"The closest passage: “{LINE}”", abstained=True)
    assert outcome_of(ASKED, silent) is Outcome.REFUSED
    assert outcome_of(NOTHING, silent) is Outcome.UNANSWERED
    assert outcome_of(NOTHING, answered("It is red.")) is Outcome.INVENTED


def test_needed_lines_are_found_in_passages_whatever_their_markup() -> None:
    assert needed_found(ASKED, answered(""))
    marked = run(ASKED, [passage("p1", f"**{LINE.replace(',', ' |')}**", 0.9)], "", action=Action.CORRECT)
    assert needed_found(ASKED, marked)
    assert needed_found(ASKED, run(ASKED, [passage("p2", "The tank is red.", 0.1)], "", action=None)) is False
    assert needed_found(NOTHING, answered("")) is None


def test_groups_are_counted() -> None:
    pairs = [
        (ASKED, answered("42 litres, 40 usable.")),
        (ASKED, answered("17 litres.")),
        (ASKED, answered("", abstained=True)),
        (NOTHING, answered("Red.")),
    ]
    counts = count_outcomes(pairs, "all")
    assert (counts.answerable, counts.right, counts.wrong, counts.refused, counts.sure_without) == (3, 1, 1, 1, 1)
    assert (counts.unanswerable, counts.invented, counts.words) == (1, 1, 4)
