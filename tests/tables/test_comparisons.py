"""Two columns of a row that are compared, and groups of days and months: what they come to, and what is left alone."""

from __future__ import annotations

from datetime import date

import pytest

from localcrag.records.run import Computation
from tests.support.table_questions import computed_on

BUDGET = """# Household

Month | Budget | Spending
January | 1,200.00 € | 1,150.00 €
February | 1,200.00 € | 1,260.50 €
March | 1,300.00 € | 1,420.00 €
April | 1,250.00 € | 1,250.00 €
"""
SHOPS = """# Shops

Shop | Town | Budget | Cost | Revenue
Quay | Bern | 500 | 480 | 900
Mill | Bern | 500 | 620 | 610
Gate | Chur | 900 | 950 | 940
Gate | Chur | 900 | 870 | 1000
"""
PRICES = """# Prices

Item | Price 2025 | Price 2026
Bread | 3.20 € | 3.60 €
Milk | 1.20 € | 1.15 €
Eggs | 2.90 € | 2.90 €
"""
OLD_AND_NEW = PRICES.replace("Price 2025", "Old price").replace("Price 2026", "New price")
STOCK = """# Stock

Item | Stock | Minimum | Limit
Toner | 3 | 5 | 9
Paper | 40 | 20 | 30
Pens | | 10 | 30
"""
TASKS = """# Tasks

Task | Due | Done
Paint | 2026-10-20 | 2026-10-22
Clean | 2026-11-26 | 2026-11-26
Fix | 2026-11-30 | 2026-11-20
Plan | 2027-01-15 |
"""
SALES = """# Sales

Shop | Target | Sales | Cost
North | 100 | 120 | 80
South | 100 | 90 | 110
West | 100 | 100 | 60
"""
TRAINS = """# Trains

Train | Planned | Actual
IC 1 | 10:05 | 10:20
IC 2 | 23:55 | 00:10
IC 3 | 12:00 | 11:58
"""
LOG = """# Log

Date | Room | Amount
2026-03-01 | A | 20.00
2026-03-01 | B | 35.00
2026-03-02 | A | 50.00
2026-04-02 | C | 10.00
2 April 2026 | C | 5.00
"""


def computed(question: str, text: str) -> Computation | None:
    return computed_on(text, question, date(2026, 5, 4))


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("In which months was spending above budget?", BUDGET, ["February", "March"]),
        ("Which months were over budget?", BUDGET, ["February", "March"]),
        ("In which months was the budget exceeded?", BUDGET, ["February", "March"]),
        ("In which months did we spend less than the budget?", BUDGET, ["January"]),
        ("In which month was spending equal to the budget?", BUDGET, ["April"]),
        ("Which items cost more in 2026 than in 2025?", PRICES, ["Bread"]),
        ("Which items cost more now than last year?", PRICES, ["Bread"]),
        ("Which items are cheaper this year than last year?", PRICES, ["Milk"]),
        ("Which items cost more now than before?", OLD_AND_NEW, ["Bread"]),
        ("Which items have a higher new price than old price?", OLD_AND_NEW, ["Bread"]),
        ("Which items are below their minimum stock?", STOCK, ["Toner"]),
        ("Which tasks were done after they were due?", TASKS, ["Paint"]),
        ("Which trains were later than planned?", TRAINS, ["IC 1"]),
        ("Which tasks were done before the due date?", TASKS, ["Fix"]),
        ("Which shops had a cost above the revenue in Bern?", SHOPS, ["Mill"]),
    ],
)
def test_rows_are_chosen_by_two_columns(question: str, text: str, expected: list[str]) -> None:
    done = computed(question, text)
    assert done
    assert not done.refused
    assert [row.cells[0] for row in done.rows] == expected


@pytest.mark.parametrize(
    ("question", "text", "result"),
    [
        ("How many months were over budget?", BUDGET, "2"),
        ("How much over budget was March?", BUDGET, "120.00 €"),
        ("How much under budget was January?", BUDGET, "50.00 €"),
        ("By how much was March over budget?", BUDGET, "120.00 €"),
        ("How much did spending exceed the budget in March?", BUDGET, "120.00 €"),
        ("How much more was spent than budgeted in February?", BUDGET, "60.50 €"),
        ("What is the difference between budget and spending in March?", BUDGET, "-120.00 €"),
        ("How much over budget were we in total?", BUDGET, "130.50 €"),
        ("How much more does bread cost now than last year?", PRICES, "0.40 €"),
        ("How much over budget was Gate in total?", SHOPS, "20"),
        ("How much over budget was IT in total?", SHOPS.replace("Gate", "IT"), "20"),
    ],
)
def test_columns_are_subtracted_in_one_row_or_in_all(question: str, text: str, result: str) -> None:
    done = computed(question, text)
    assert done
    assert (done.refused, done.result) == ("", result)


def test_what_was_compared_is_said_and_empty_cells_are_left_out() -> None:
    done = computed("Which items are below the minimum?", STOCK)
    assert done
    assert (done.filters, done.left_out[0].why) == (("Stock is less than Minimum",), "Stock is empty")
    difference = computed("How much over budget was March?", BUDGET)
    assert difference
    assert difference.column == "Spending − Budget"
    assert [group.name for group in difference.groups] == ["Spending", "Budget"]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which shops were over budget?", SHOPS),  # Gate has two rows, and may be meant in sum.
        ("How much over budget was Gate?", SHOPS),
        ("Which shops had a higher revenue than the cost of Mill?", SHOPS),
        ("Which shops had more revenue than Mill?", SHOPS),
        ("Which items are cheaper in 2026 than in 2025?", PRICES.replace("Price", "Stock").replace(" €", "")),
        ("Which items cost more now than last year?", PRICES.replace("2025", "2022").replace("2026", "2023")),
        ("How much more will bread cost than last year?", PRICES),
        ("Which items are over the plan?", STOCK),
        ("Which tasks were done after Fix?", TASKS),
        ("Which shops are below target?", SALES),  # Of two columns, neither is called as the target's.
        (
            "Which shops are over the max weight?",
            "Shop | Weight | Max weight | Cost\nA | 3 | 2 | 9\nB | 1 | 2 | 9\nC | 2 | 2 | 8\n",
        ),
        ("Which months are more than 100 over budget?", BUDGET),  # By how much, and not above 100.
        ("Which months are over budget by more than 100?", BUDGET),
        (
            "Which months had more revenue than cost?",
            "Month | Revenue (thousands) | Cost (millions)\nMay | 9 | 2\nJune | 3 | 1\nJuly | 4 | 2\n",
        ),
        ("What was the average amount per day?", LOG),  # Of a day's rows, or of the days' totals.
    ],
)
def test_what_may_mean_something_else_is_left_alone(question: str, text: str) -> None:
    assert computed(question, text) is None


@pytest.mark.parametrize(
    ("question", "text", "result"),
    [
        ("Which month has the highest total?", LOG, "March 2026"),
        ("In which month was the total amount lowest?", LOG, "April 2026"),
        ("Which day has the highest total?", LOG, "1 March 2026"),
        ("On which date was the most spent?", LOG, "1 March 2026"),
        ("On which day were most entries?", LOG, "1 March 2026, 2 April 2026"),
        ("Which month had the fewest entries?", LOG, "April 2026"),
        ("Which month has the highest total spending?", BUDGET, "1,420.00 €"),
        ("Which month has the highest total amount?", LOG.replace("-03-01", "-05"), "May 2026"),
    ],
)
def test_the_highest_day_or_month_is_of_its_total(question: str, text: str, result: str) -> None:
    done = computed(question, text)
    assert done
    assert (done.refused, done.result) == ("", result)


def test_a_total_for_each_month_is_of_the_column_that_is_called_so() -> None:
    log = LOG.replace("Room | Amount", "Litres | Total").replace("| A |", "| 3 |").replace("| B |", "| 4 |")
    done = computed("What was the total per month?", log.replace("| C |", "| 5 |"))
    assert done
    assert [(group.name, group.result) for group in done.groups] == [("March 2026", "105.00"), ("April 2026", "15.00")]


def test_a_minus_may_be_how_expenses_are_written() -> None:
    done = computed(
        "Which months were over plan?",
        "Month | Plan | Spending\nMay | -100 | -150\nJune | -100 | -50\nJuly | -100 | -90\n",
    )
    assert done
    assert done.refused


def test_of_single_rows_there_is_no_highest_average() -> None:
    fees = "# Fees\n\nCourse | Fee\nYoga | 20\nChess | 30\nDance | 25\n"
    assert computed("Which course has the highest average fee?", fees) is None


@pytest.mark.parametrize("question", ["When were the most entries?", "Which month had the highest amount?"])
def test_what_the_most_is_of_must_be_clear(question: str) -> None:
    assert computed(question, LOG) is None
