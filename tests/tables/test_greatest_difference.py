"""Two columns of a row whose difference is the greatest or the smallest: what is found, and what is left alone."""

from __future__ import annotations

import pytest

from localcrag.crag.compute import answer_text
from localcrag.records.wording import computation_in_words
from tests.support.table_questions import computed_on

DEPARTMENTS = """# Departments

Department | Town | Budget | Spending
IT | Bern | 100.00 € | 150.00 €
HR | Bern | 1,000.00 € | 1,050.00 €
Sales | Chur | 400.00 € | 380.00 €
Law | Genf | 90.00 € | 60.00 €
Canteen | Basel | 50.00 € |
Total | | 1,640.00 € | 1,640.00 €
"""
PROJECTS = """# Projects

Project | Estimate | Actual
Roof | 100 | 90
Door | 50 | 75
Wall | 40 | 15
Gate | 0 | 10
"""
LIMITS = """# Cards

Employee | Limit | Spent
Ann | 500 € | 520 €
Ben | 300 € | 410 €
Cem | 900 € | 100 €
"""
OLD_AND_NEW = "# Prices\n\nItem | Old | New\nA | 1 | 2\nB | 2 | 3\nC | 1 | 1\n"
WITH_DIFFERENCE = OLD_AND_NEW.replace("New", "New | Difference").replace("2\n", "2 | 1\n").replace("3\n", "3 | 1\n")
TWO_FIT = "# Projects\n\nProject | Plan | Used | Actual\nA | 1 | 2 | 3\nB | 2 | 3 | 4\nC | 1 | 1 | 1\n"


PLANNED = PROJECTS.replace("Estimate", "Planned").replace("Project |", "Department |")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which department is furthest over budget?", "25"),
        ("Which departments are over budget?", "Door"),
    ],
)
def test_the_budget_is_the_column_of_what_was_planned(question: str, answer: str) -> None:
    found = computed_on(PLANNED, question)
    assert found is not None
    assert answer in answer_text(found, "[1]")
    assert "Roof" not in answer_text(found, "[1]")


@pytest.mark.parametrize(
    ("question", "text", "rows", "result"),
    [
        ("Which department is furthest over budget?", DEPARTMENTS, ["IT", "HR"], "50.00 €"),
        ("Which department is most over its budget?", DEPARTMENTS, ["IT", "HR"], "50.00 €"),
        ("Which department went over budget by the most?", DEPARTMENTS, ["IT", "HR"], "50.00 €"),
        ("Which department exceeded its budget by the largest amount?", DEPARTMENTS, ["IT", "HR"], "50.00 €"),
        ("Which department is furthest over budget in Bern?", DEPARTMENTS, ["IT", "HR"], "50.00 €"),
        ("Which department is the furthest under budget?", DEPARTMENTS, ["Law"], "30.00 €"),
        ("Which department is least under budget?", DEPARTMENTS, ["Sales"], "20.00 €"),
        ("Which department is over budget by the largest percentage?", DEPARTMENTS, ["IT"], "50 %"),
        ("Which department is furthest under budget in percent?", DEPARTMENTS, ["Law"], "33.33 %"),
        ("which project is most under its estimate", PROJECTS, ["Wall"], "25"),
        ("biggest difference between estimate and actual", PROJECTS, ["Door", "Wall"], "25"),
        ("Which project has the biggest difference between actual and estimate?", PROJECTS, ["Door", "Wall"], "25"),
        ("What is the smallest difference between the estimate and actual?", PROJECTS, ["Roof", "Gate"], "10"),
        ("who exceeded their limit by the most", LIMITS, ["Ben"], "110 €"),
        ("Who spent the most over their limit?", LIMITS, ["Ben"], "110 €"),
    ],
)
def test_rows_with_the_greatest_or_smallest_difference(question: str, text: str, rows: list[str], result: str) -> None:
    done = computed_on(text, question)
    assert done
    assert (done.refused, [row.cells[0] for row in done.rows], done.result) == ("", rows, result)


def test_a_column_called_difference_says_nothing_of_a_budget() -> None:
    done = computed_on(
        WITH_DIFFERENCE.replace("Old", "Budget").replace("New", "Actual"), "Which item is most over budget?"
    )
    assert done
    assert [row.cells[0] for row in done.rows] == ["A", "B"]


def test_what_was_compared_and_what_is_left_out_is_said() -> None:
    done = computed_on(DEPARTMENTS, "Which department is furthest over budget?")
    assert done
    assert done.filters == ("Spending is more than Budget",)
    assert [(one.rows, one.why) for one in done.left_out] == [(1, "Spending is empty"), (1, "a total of other rows")]
    assert answer_text(done, "[1]").startswith(
        "**Greatest difference between Spending and Budget: 50.00 €** in 2 rows of the table “Departments” "
        "where Spending is more than Budget [1]:"
    )
    assert computation_in_words(done).startswith("greatest difference between Spending and Budget where Spending is")


def test_a_percentage_is_of_what_was_planned_and_said_to_be_rounded() -> None:
    done = computed_on(DEPARTMENTS, "Which department is furthest under budget in percent?")
    assert done
    assert done.notes == ("The percentage is rounded.",)
    assert answer_text(done, "").startswith(
        "**Greatest difference between Budget and Spending, in percent of Budget: 33"
    )


def test_that_none_is_over_is_an_answer() -> None:
    done = computed_on(LIMITS.replace("520", "20").replace("410", "41"), "Who exceeded their limit by the most?")
    assert done
    assert (done.refused, done.result, done.row_count) == ("", "", 0)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which project is over its estimate by the largest percentage?", PROJECTS),  # Gate's was nothing.
        (
            "Which department is furthest over budget?",
            DEPARTMENTS.replace("100.00 € | 150.00 €", "100.00 $ | 150.00 $"),
        ),
        ("biggest difference between estimate and actual", PROJECTS.replace("| 15", "| -15")),
    ],
)
def test_what_cannot_be_done_exactly_is_refused(question: str, text: str) -> None:
    done = computed_on(text, question)
    assert done
    assert done.refused
    assert done.result == ""


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which town is furthest over budget?", DEPARTMENTS),  # Bern has two rows, and may be meant in sum.
        ("Which city is furthest over budget?", DEPARTMENTS),
        ("Which item has the biggest difference between old and new in percent?", OLD_AND_NEW),
        ("Which project has the biggest percentage difference between actual and estimate?", PROJECTS),
        ("Which three projects are furthest over their estimate?", PROJECTS),
        ("How many projects are furthest over their estimate?", PROJECTS),
        ("What is the average of the biggest difference between actual and estimate?", PROJECTS),
        ("Which department is the biggest over budget in total?", DEPARTMENTS),
        ("Who exceeded their limit by the most?", LIMITS.replace("Ben", "Ann")),
        ("Which department will be furthest over budget?", DEPARTMENTS),
        ("Which project is furthest over plan?", TWO_FIT),
        ("Which item has the biggest difference between old and new?", WITH_DIFFERENCE),
        ("Which department is furthest over budget?", DEPARTMENTS.replace("150.00 €", "150.00 $")),
    ],
)  # fmt: skip
def test_what_may_mean_something_else_is_left_alone(question: str, text: str) -> None:
    assert computed_on(text, question) is None
