"""Tables on which a computation would look exact and be wrong: it is refused, or computed right."""

from __future__ import annotations

import pytest

from tests.support.table_questions import computed_on

PARTS = "Part | Unit price | Quantity\nBolt | 10 | 2\nNut | 20 | 3\nPin | 30 | 1\n"


@pytest.mark.parametrize(
    ("text", "question", "result"),
    [
        pytest.param("No | Item | Cost\n1 | A | 1\n2 | B | 2\n3 | C | 4\n4 | Total | 7\n", "What is the total cost?",
                     "7", id="a total that has a number, too"),
        pytest.param("No | Film | Stars\n1 | Alien | 4\n2 | Total Recall | 5\n3 | Heat | 3\n",
                     "What is the total number of films?", "3", id="a film that is called like a total"),
        pytest.param("Item | Amount\nA | 100 €\nB | 50 €\nC | 1 €\nAmount due | 151 €\n", "What is the total amount?",
                     "151 €", id="amount due"),
        pytest.param("Item | Amount\nA | (100.00) €\nB | 50.00 €\nC | $ (1.00)\n".replace("$", "€"),
                     "What is the total amount?", "-51.00 €", id="brackets and a unit outside"),
        pytest.param("Program | Version | Price\nA | 2.5 | 1.234 €\nB | 3.1 | 2.500 €\nC | 1.0 | 12,50 €\n",
                     "What is the total price?", "3.746,50 €", id="versions say nothing of decimals"),
        pytest.param("Item | Price | Weight\nA | 1 | 5\nB | 2 | 5\nC | 3 | 5\n", "What is the total price?", "6",
                     id="prices of different things"),
        pytest.param(PARTS, "What is the total quantity?", "6", id="quantities"),
        pytest.param(PARTS, "What is the average unit price?", "20", id="the average of a price"),
        pytest.param("Account | Balance\nA | 1\nB | 2\nC | 3\n", "What is the total balance?", "6", id="accounts"),
        pytest.param("Item | Cost\nA | tbc\nB | 20\nC | 30\n", "Which item has the lowest cost?", "20",
                     id="what is not known yet"),
    ],
)  # fmt: skip
def test_what_can_be_computed_right_is(text: str, question: str, result: str) -> None:
    done = computed_on(f"# List\n\n{text}", question)
    assert done
    assert (done.refused, done.result) == ("", result)


def test_a_column_of_numbers_that_are_too_long_to_be_read_is_one_of_names() -> None:
    rows = "".join(f"{number} | {at}\n" for at, number in enumerate(["9" * 5000, "9" * 20, "7"], start=1))
    done = computed_on(f"# List\n\nParcels | Weight\n{rows}", "What is the total weight?")
    assert done
    assert (done.refused, done.result) == ("", "6")


@pytest.mark.parametrize(
    ("text", "question", "why"),
    [
        pytest.param("Item | Amount\nA | 100\nB | 50\nC | 1\nAll items | 151\n", "What is the total amount?",
                     "the last row, “All items”, may be the total of the others", id="a total under another name"),
        pytest.param("Item | Amount\nA | 100\nB | 50\nC | 1\nAll items | 151\n", "Which item has the highest amount?",
                     "the last row, “All items”, may be the total of the others", id="which is the highest"),
        pytest.param(PARTS, "What is the total price?", "Unit price holds unit prices, so it is not added up",
                     id="unit prices"),
        pytest.param(PARTS.replace("Unit price", "Price"), "What is the total price?",
                     "Price holds unit prices, so it is not added up", id="prices beside quantities"),
        pytest.param("Person | Hourly rate\nA | 1 €\nB | 2 €\nC | 3 €\n", "What is the total hourly rate?",
                     "Hourly rate holds unit prices, so it is not added up", id="rates"),
        pytest.param("Month | Cumulative sales\nMay | 1\nJune | 2\nJuly | 4\n", "What are the total cumulative sales?",
                     "Cumulative sales is a running total, so it is not added up", id="running totals"),
        pytest.param("Date | Balance\n2026-01-01 | 1\n2026-01-02 | 2\n2026-01-03 | 4\n", "What is the total balance?",
                     "Balance is a running total, so it is not added up", id="an account's balance by days"),
        pytest.param("Item | Cost\nA | 10-12\nB | 20\nC | 30\nD | 40\n", "Which item has the lowest cost?",
                     "Cost is “10-12”, which may be the lowest or highest value", id="a range may be the lowest"),
        pytest.param("Program | Version | Price\nA | 2.5 | 1.234 €\nB | 3.1 | 2.500 €\nC | 1.0 | 1.100 €\n",
                     "What is the total price?",
                     "the numbers of the table can be read with a decimal point or a decimal comma",
                     id="versions do not tell that a point is a decimal one"),
    ],
)  # fmt: skip
def test_what_would_look_exact_and_be_wrong_is_refused(text: str, question: str, why: str) -> None:
    done = computed_on(f"# List\n\n{text}", question)
    assert done
    assert (done.refused, done.result) == (why, "")
