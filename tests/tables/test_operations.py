"""Groups, the first few, negations, alternatives, differences, shares and times: what they come to on a table."""

from __future__ import annotations

import pytest

from localcrag.records.run import Computation
from tests.support.table_questions import computed_on

STOCK = """# Storeroom

Item | Shelf | Supplier | Price | Added | Checked
Toner | A | Inkwell | 58.90 € | 2026-01-12 | yes
Ribbon | A | Inkwell | 7.50 € | 2026-02-03 | no
Paper | B | Papyr | 4.15 € | 2026-02-20 | yes
Card | B | Papyr | 8.30 € | 2026-04-09 | no
Pens | C | | 3.50 € | 2026-05-02 | yes
Stapler | C | Officio | 12.80 € | 2026-06-30 | no
"""
BUSES = """# Buses

Bus | Leaves | Stop
1 | 06:15 | North
2 | 11:40 | South
3 | 17:05 | North
4 | 21:30 | South
"""
HOURS = """# Hours

Person | Project | Hours
Ann | Atlas | 6
Bo | Beacon | 8
Ann | Beacon | 2.5
Cy | Atlas | 4
"""


def computed(question: str, text: str = STOCK) -> Computation | None:
    return computed_on(text, question)


def rows(question: str, text: str = STOCK) -> list[str] | None:
    done = computed(question, text)
    return [row.cells[0] for row in done.rows] if done and not done.refused else None


def groups(question: str, text: str = STOCK) -> dict[str, str]:
    done = computed(question, text)
    assert done, "not taken"
    return {group.name: group.result for group in done.groups}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What are the three most expensive items?", ["Toner", "Stapler", "Card"]),
        ("Which two items are the cheapest?", ["Pens", "Paper"]),
        ("Top 3 items by price", ["Toner", "Stapler", "Card"]),
        ("Bottom 2 items by price", ["Pens", "Paper"]),
        ("Which items are not from Papyr or Inkwell?", None),
        ("Which items are not on shelf A?", ["Paper", "Card", "Pens", "Stapler"]),
        ("Which items are on shelf A or on shelf C?", ["Toner", "Ribbon", "Pens", "Stapler"]),
        ("Which items are on neither shelf A nor shelf B?", ["Pens", "Stapler"]),
        ("Which items have no supplier?", ["Pens"]),
        ("Which items are without a supplier?", ["Pens"]),
        ("Which items are not checked?", ["Ribbon", "Card", "Stapler"]),
        ("Which items are from Inkwell but not checked?", ["Ribbon"]),
        ("Which items were added in the second quarter?", ["Card", "Pens", "Stapler"]),
        ("Which items were added in Q1 2026?", ["Toner", "Ribbon", "Paper"]),
        ("Which items were added between 1 and 20 February?", ["Ribbon", "Paper"]),
        ("Which item was added first?", ["Toner"]),
        ("Which item was added last?", ["Stapler"]),
    ],
)
def test_rows_are_chosen(question: str, expected: list[str] | None) -> None:
    assert rows(question) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which buses leave after 17:00?", ["3", "4"]),
        ("Which buses leave before noon?", ["1", "2"]),
        ("Which buses leave between 6:00 and 12:00?", ["1", "2"]),
        ("Which buses leave before 7 am?", ["1"]),
        ("Which bus leaves first?", ["1"]),
        ("Which buses leave after 25:00?", None),
    ],
)
def test_times_of_day_are_compared(question: str, expected: list[str] | None) -> None:
    assert rows(question, BUSES) == expected


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("How many items per shelf?", STOCK, {"A": "2", "B": "2", "C": "2"}),
        ("What is the average price for each shelf?", STOCK, {"A": "33.20 €", "B": "6.225 €", "C": "8.15 €"}),
        ("Total price per quarter", STOCK, {"Q1 2026": "70.55 €", "Q2 2026": "24.60 €"}),
        ("How many items does each supplier have?", STOCK, {"Inkwell": "2", "Papyr": "2", "Officio": "1"}),
        ("How many hours per project?", HOURS, {"Atlas": "10", "Beacon": "10.5"}),
        ("Total hours by person", HOURS, {"Ann": "8.5", "Bo": "8", "Cy": "4"}),
    ],
)
def test_groups_are_computed_each(question: str, text: str, expected: dict[str, str]) -> None:
    assert groups(question, text) == expected


@pytest.mark.parametrize(
    ("question", "text", "result"),
    [
        ("Which shelf has the highest total price?", STOCK, "A"),
        ("Which shelf has the lowest average price?", STOCK, "B"),
        ("Which shelf has the most items?", STOCK, "A, B, C"),
        ("Which person has the most hours?", HOURS, "Ann"),
        ("Which project has the fewest hours?", HOURS, "Atlas"),
        ("How many different suppliers are there?", STOCK, "3"),
        ("How much more does the toner cost than the stapler?", STOCK, "46.10 €"),
        ("How much cheaper is the ribbon than the card?", STOCK, "0.80 €"),
        ("What is the difference in price between the card and the paper?", STOCK, "4.15 €"),
        ("How many more hours does Beacon have than Atlas?", HOURS, "0.5"),
        ("How many more items are there on shelf A than from Officio?", STOCK, None),
        ("How many more items does Inkwell have than Officio?", STOCK, "1"),
        ("What percentage of the items is checked?", STOCK, "50 %"),
        ("What share of the hours is on Atlas?", HOURS, "48.78 %"),
    ],
)
def test_one_result_comes_of_groups_and_sides(question: str, text: str, result: str | None) -> None:
    done = computed(question, text)
    assert (done.result if done else None) == result


@pytest.mark.parametrize(
    "question",
    [
        "Which items are not from Papyr and not cheap?",
        "Which items are from Papyr or cost less than 5 euros?",
        "How many items per shelf and supplier?",
        "How much more do pens cost than cards and paper?",
        "Which items were added last month?",
        "Which items were added last year?",
        "What is the last name?",
        "What are the three items?",
        "What is the price per item?",
        "Which shelf is the most expensive?",
        "What are the two most expensive shelves?",
        "What share of items did we sell?",
        "How much more is the toner than last year?",
        "Which items are no longer there?",
        "What is the total price without shelf?",
        "Which items have neither 3 nor 4 pieces?",
    ],
)
def test_what_is_not_clear_is_left_to_the_usual_flow(question: str) -> None:
    assert computed(question) is None


def test_an_empty_cell_that_decides_a_negation_is_a_refusal() -> None:
    done = computed("Which items are not from Papyr?")
    assert done
    assert done.refused == "Supplier is empty in rows that the question may mean"


def test_rows_of_one_currency_are_computed_though_the_column_has_several() -> None:
    text = "Trip | What | Amount\nZurich | Train | 64.00 CHF\nZurich | Hotel | 100.00 CHF\nLyon | Train | 92.00 EUR\n"
    done = computed("What is the total amount for Zurich?", text)
    assert done
    assert done.result == "164.00 CHF"
    assert groups("Total amount per trip", text) == {"Zurich": "164.00 CHF", "Lyon": "92.00 EUR"}
    refused = computed("Which trip has the highest total amount?", text)
    assert refused
    assert refused.refused == "Amount has several units: CHF, EUR"


SPENT = """# Statement

Day | Category | Amount
1 May 2026 | Food | -20.00
2 May 2026 | Rent | -800.00
3 May 2026 | Wages | 2000.00
4 May 2026 | Food | -30.00
"""


def test_of_amounts_with_a_minus_nothing_is_guessed() -> None:
    assert computed("Which category was the most spent on?", SPENT) is None
    for question in ("How much more was spent on rent than on food?", "Which entries are over 50?"):
        done = computed(question, SPENT)
        assert done
        assert "below zero" in done.refused


def test_a_german_date_does_not_make_its_numbers_doubtful() -> None:
    text = "Invoice | Date | Net\nR1 | 04.01.2026 | 120,50 €\nR2 | 11.01.2026 | 1.340,00 €\nR3 | 02.02.2026 | 9,90 €\n"
    done = computed("What is the total net?", text)
    assert done
    assert done.result == "1.470,40 €"


QUOTE = """# Quote

Item | Unit price | Sum
Cabinet | 210.00 | 840.00
Worktop | 390.00 | 390.00
Oven | 649.00 | 649.00
"""


@pytest.mark.parametrize(
    "question",
    ["Which items cost more than 400 in sum?", "How much more does the oven cost than the cabinet in sum?"],
)
def test_a_column_that_is_called_a_sum_is_not_taken_for_one(question: str) -> None:
    assert computed(question, QUOTE) is None


def test_ties_at_the_end_of_the_first_few_are_all_shown() -> None:
    done = computed("What are the two highest hours?", HOURS.replace("Cy | Atlas | 4", "Cy | Atlas | 6"))
    assert done
    assert done.row_count == 3
    assert done.notes == ("The last of them have the same value.",)
