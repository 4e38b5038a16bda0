"""Which of the sources' own words are shown: never none where there are some, and what says otherwise stays."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from localcrag.crag.answer import quotations
from localcrag.crag.answer.generate import Certainty, GenerationTask
from localcrag.crag.context import AskedQuestion
from localcrag.crag.refine.refine import RefineRules, apply_limits, complete_evidence
from localcrag.crag.refine.strips import split_into_strips
from localcrag.records.enums import Grade, StripMode, StripReason
from localcrag.records.passages import GradedPassage, Strip
from localcrag.records.run import WebUse
from tests.support.made_records import graded

RULES = RefineRules(
    threshold=0.3, lowest=0.1, most=10, tokens=800, retention=0.3, count_tokens=lambda texts: [1] * len(texts)
)
DEPOSIT = "The deposit is two months' rent and is paid back within thirty days."
CONTEXT: Any = SimpleNamespace(parts=SimpleNamespace(rules=()))


def task(question: str, *passages: GradedPassage, relevances: Sequence[float]) -> GenerationTask:
    """Return the task of answering from these passages, whose strips have these relevances, passage by passage."""
    strips = [
        Strip(passage.id, span.start, span.end, span.text, 0.0, relevance, False)
        for passage, relevance in zip(passages, relevances, strict=True)
        for span in split_into_strips(passage.text, StripMode.SENTENCE, window_words=40)
    ]
    reasons = [StripReason.KEPT] * len(strips)
    refinement = complete_evidence(question, passages, apply_limits(strips, reasons, RULES), RULES)
    return GenerationTask(AskedQuestion(question, question), refinement, (), passages, passages, WebUse())


def test_where_a_less_sure_passage_says_the_same_it_is_shown() -> None:
    sure, less = graded(0.8, DEPOSIT, id="a"), graded(0.6, DEPOSIT, id="b", grade=Grade.AMBIGUOUS)
    made = task("What is the deposit?", sure, less, relevances=(0.70, 0.71))
    assert made.certainty is Certainty.SURE
    assert [one.piece.text for one in quotations.select_quotations(made, CONTEXT)] == [DEPOSIT]


def test_a_heading_is_shown_where_there_is_nothing_else() -> None:
    made = task("What is the deposit?", graded(0.8, "## Deposit: two months' rent", id="a"), relevances=(0.7,))
    assert quotations.select_quotations(made, CONTEXT) == []
    shown = quotations.all_quotations(made, CONTEXT)
    assert quotations.render(shown, made.refinement.sources) == "**Deposit: two months' rent** [1]"


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("The limit is 10.", 0),
        ("As it says, the limit is 10. Not more.", 1),
        ("They say: The limit is 10, and no more.", 0),
        ("The limit is 100 for guests.", 1),
        ("The limit is 10.50 for guests.", 1),
        ("The limit is 10,000 for guests.", 1),
    ],
)
def test_a_piece_is_left_out_only_where_it_is_said_word_for_word(said: str, left: int) -> None:
    made = task("What is the limit?", graded(0.8, "The limit is 10.", id="a"), relevances=(0.7,))
    assert len(quotations.make_quotations(made.evidence, made, CONTEXT, said)) == left


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("MOTOR 1. lower the motor 2. open the vent screw", True),
        ("1) lower the motor 2) open it", True),
        ("Single | 80 euros", True),
        ("The limit is 10. Guests pay 12.50 euros.", False),
        ("It was paid on the 3. of May.", False),
        ("Adults pay 12. Children pay 6. Both include lunch.", False),
    ],
)
def test_a_row_or_a_list_in_one_line_is_no_sentence(said: str, expected: bool) -> None:
    assert quotations.is_copied_list(said) is expected


def test_what_is_said_already_stays_among_the_sentences_that_are_shown() -> None:
    text = "Put on the guard when nights fall below 8 degrees. Tilt the hive two degrees forward."
    made = task("When do I put on the guard?", graded(0.8, text, id="a"), relevances=(0.7,))
    (shown,) = quotations.make_quotations(
        made.evidence, made, CONTEXT, "Put on the guard when nights fall below 8 degrees [1]."
    )
    assert shown.body == [text]
