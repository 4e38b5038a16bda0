""" "Last month", "this week so far" and such in questions about tables: the days that are taken, or why none are."""

from __future__ import annotations

from datetime import date

import pytest

from localcrag.records.run import Computation
from tests.support.table_questions import computed_on

THURSDAY = date(2026, 11, 26)
TASKS = """# Tasks

Task | Owner | Due
Paint | Ann | 2026-10-20
Clean | Bo | 2026-11-26
Sweep | Bo | 2026-11-22
Fix | Ann | 2026-11-30
Plan | Bo | 2027-01-15
"""
MONTHS = """# Cost

Month | Cost
January | 20
February | 30
March | 25
"""


def computed(question: str, text: str = TASKS, today: date | None = THURSDAY) -> Computation | None:
    return computed_on(text, question, today)


@pytest.mark.parametrize(
    ("question", "expected", "days"),
    [
        ("Which tasks are due today?", ["Clean"], "26 November 2026"),
        ("Which tasks are due this week?", ["Clean"], "23 November 2026 to 29 November 2026"),
        ("Which tasks were due last week?", ["Sweep"], "16 November 2026 to 22 November 2026"),
        ("Which tasks are due next week?", ["Fix"], "30 November 2026 to 6 December 2026"),
        ("Which tasks were due last month?", ["Paint"], "October 2026"),
        ("Which tasks are due in the current month?", ["Clean", "Sweep", "Fix"], "November 2026"),
        ("Which tasks are due this quarter?", ["Paint", "Clean", "Sweep", "Fix"], "October 2026 to December 2026"),
        ("Which tasks are due next year?", ["Plan"], "2027"),
        ("Which tasks were due this year so far?", ["Paint", "Clean", "Sweep"], "1 January 2026 to 26 November 2026"),
        ("Which tasks are due after today?", ["Fix", "Plan"], "26 November 2026"),
        ("Which tasks are due from next month on?", ["Plan"], "December 2026"),
        ("Which tasks are due by the end of next month?", ["Paint", "Clean", "Sweep", "Fix"], "December 2026"),
        ("Which tasks are due since this month?", ["Clean", "Sweep", "Fix", "Plan"], "November 2026"),
        ("Which tasks of Bo were due before this week?", ["Sweep"], "23 November 2026 to 29 November 2026"),
    ],
)
def test_the_days_are_counted_from_the_day_of_the_question(question: str, expected: list[str], days: str) -> None:
    done = computed(question)
    assert done
    assert not done.refused
    assert [row.cells[0] for row in done.rows] == expected
    assert done.notes[0].startswith("Asked on 26 November 2026, “")
    assert f"” means {days}." in done.notes[0]


@pytest.mark.parametrize(
    ("today", "question", "days"),
    [
        (date(2026, 1, 31), "Which tasks were due last month?", "December 2025"),
        (date(2026, 2, 1), "Which tasks were due last quarter?", "October 2025 to December 2025"),
        (date(2024, 2, 29), "Which tasks are due tomorrow?", "1 March 2024"),
        (date(2027, 1, 1), "Which tasks were due this week?", "28 December 2026 to 3 January 2027"),
    ],
)
def test_months_and_weeks_go_over_the_end_of_a_year(today: date, question: str, days: str) -> None:
    done = computed(question, today=today)
    assert done
    assert days in done.notes[0]


def test_two_months_are_compared() -> None:
    done = computed("How many more tasks are due this month than last month?")
    assert done
    assert (done.result, len(done.notes)) == ("2", 2)


@pytest.mark.parametrize(
    "words",
    ["in the last month", "in the past week", "in the next three weeks", "next Monday", "three weeks ago", "this May"],
)
def test_days_that_are_not_clear_are_refused_with_what_to_ask_instead(words: str) -> None:
    done = computed(f"Which tasks were due {words}?")
    assert done
    assert "ask with dates, as in" in done.refused
    assert done.notes == ()


def test_dates_that_have_no_year_are_refused_with_what_stands_there() -> None:
    done = computed("What was the total cost last month?", MONTHS)
    assert done
    assert "“last month”; use the table's wording, such as “January”" in done.refused


@pytest.mark.parametrize(
    "question",
    [
        "Which tasks were due the day before yesterday?",
        "Which tasks are due from last month to this month?",
        "Which tasks are due this month or next month?",
        "Which tasks are not due this year?",
        "Which tasks are due between today and next week?",
        "Which task is next?",
    ],
)
def test_spans_and_other_days_are_left_alone(question: str) -> None:
    assert computed(question) is None


def test_without_the_day_of_the_question_nothing_is_taken_for_it() -> None:
    assert computed("Which tasks were due last month?", today=None) is None
