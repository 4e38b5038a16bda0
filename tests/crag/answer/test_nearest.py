"""What comes nearest, where it is far: a part of a passage, and of a list no torn one."""

from __future__ import annotations

from localcrag.crag.answer.quotations import FAR_PASSAGE_WORDS, PASSAGE_WORDS, render_nearest
from tests.support.made_records import graded

STEPS = [
    "Check the team calendar; in Assembly no more than two people may be away at the same time as others.",
    "Enter the dates in Tempora, at least three weeks ahead for absences of a week or longer.",
    "Your team lead answers within five working days, and no answer by then counts as approval.",
    "Set an out-of-office message naming your stand-in, and tell the front desk who that will be.",
]


def listed(steps: list[str]) -> str:
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))


def far(text: str) -> str:
    return render_nearest("Who tells the front desk of the stand-in?", [graded(0.001, text)], near=0.014)


def test_of_a_procedure_that_is_shown_in_part_no_first_step_is_missing() -> None:
    shown = far(f"### How to request it\n\n{listed(STEPS)}\n\n{'The rest is about other things. ' * 30}")
    assert FAR_PASSAGE_WORDS < len(listed(STEPS).split()) < PASSAGE_WORDS
    assert [step for step in STEPS if step not in shown] == []
    assert len(shown.split()) < PASSAGE_WORDS


def test_a_part_of_a_list_that_is_long_is_a_part() -> None:
    shown = far(listed(STEPS[:3] * 6 + STEPS[3:]))
    assert STEPS[3] in shown
    assert len(shown.split()) < PASSAGE_WORDS


def test_what_stands_behind_a_list_brings_no_list() -> None:
    shown = far(f"{listed(STEPS[:3])}\n\nThe front desk is told of the stand-in. {'It is open on Mondays. ' * 20}")
    assert "told of the stand-in" in shown
    assert "Tempora" not in shown
