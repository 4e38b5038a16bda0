"""Cells that are called like a month, a verb or a word of no meaning: where a question names them, and where not."""

from __future__ import annotations

import pytest

from tests.support.table_questions import computed_on

HOURS = """# Hours

Name | Team | Date | Hours | Spent
Will | Sales | 2026-03-01 | 4 | 10
May | Sales | 2026-03-02 | 5 | 20
Mark | IT | 2026-05-02 | 6 | 30
Anna | IT | 2026-05-03 | 7 | 40
Rose | IT | 2026-05-03 | 7 | 45
Will | IT | 2026-06-03 | 8 | 50
May | IT | 2026-05-04 | 9 | 60
"""
UNDATED = """# Hours

Name | Hours
Will Smith | 4
May | 5
Anna | 6
May | 7
"""
GRADES = """# Grades

Name | Mark
Mark | 4
Anna | 5
Mark | 6
"""
LAMPS = "# Lamps\n\nLamp | Country | State | Watts\nA | US | On | 4\nB | UK | Off | 5\nC | US | On | 6\n"


@pytest.mark.parametrize(
    ("question", "filters", "result"),
    [
        ("What did Will spend?", ("Name is Will",), "60"),
        ("How much did Will spend?", ("Name is Will",), "60"),
        ("What did Will spend in total?", ("Name is Will",), "60"),
        ("What did Will spend in June?", ("Date is in June", "Name is Will"), "50"),
        ("How many hours did May work in March?", ("Date is in March", "Name is May"), "5"),
        ("How many hours did May work in May?", ("Date is in May", "Name is May"), "9"),
        ("How many hours did Rose work in total?", ("Name is Rose",), "7"),
        ("Total hours for Mark", ("Name is Mark",), "6"),
        ("What are Will's hours in total?", ("Name is Will",), "12"),
        ("What did IT spend in total?", ("Team is IT",), "225"),
        ("How many entries are in May?", ("Date is in May",), "4"),
        ("How many entries are there of Will?", ("Name is Will",), "2"),
        ("How many more hours did Will work than May in total?", (), "-2"),
    ],
)
def test_a_capital_inside_the_sentence_makes_a_name_of_a_cell(
    question: str, filters: tuple[str, ...], result: str
) -> None:
    done = computed_on(HOURS, question)
    assert done
    assert (done.refused, done.filters, done.result) == ("", filters, result)


def test_without_dates_a_month_of_whom_is_a_person() -> None:
    done = computed_on(UNDATED, "What are the total hours of May?")
    assert done
    assert (done.filters, done.result) == (("Name is May",), "12")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Will the total exceed 100?", HOURS),
        ("What was spent by May in total?", HOURS),  # By her, or until then.
        ("Total hours for May", HOURS),
        ("Which entries are from May?", HOURS),
        ("How many entries are in May?", UNDATED),
        ("What did Will spend in total?", HOURS.replace("Will", "Bill")),  # Of whom there is none.
        ("What did IT spend in total?", HOURS.replace("IT", "HR")),
        ("What are the total hours of Will?", UNDATED),  # Of whom there may be several.
        ("What did May spend in total?", HOURS.replace("May", "Bill")),
        ("What Did Will Spend In Total?", HOURS),  # Each word has a capital: they tell nothing.
        ("what did will spend in total?", HOURS),
        ("What is the average for Mark?", GRADES),
        ("How many lamps are on?", LAMPS),
        ("total watts of us", LAMPS),
        ("total watts us lamps", LAMPS),
        ("What is the total Rose?", HOURS.replace("Hours |", "Rose |")),
    ],
)
def test_what_may_be_a_name_or_not_is_left_alone(question: str, text: str) -> None:
    assert computed_on(text, question) is None


def test_words_without_a_capital_are_no_names() -> None:
    done = computed_on(HOURS, "What will the total hours be?")
    assert done is None or not done.filters
    of_header = computed_on(
        "# List\n\nItem | Cost With Tax\nA | 1\nB | 2\nC | 3\n", "What is the highest Cost With Tax?"
    )
    assert of_header
    assert of_header.result == "3"
