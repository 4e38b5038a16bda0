"""A computation uses every word of its question, or is not made."""

from __future__ import annotations

import pytest

from tests.support.table_questions import computed_on

RENT = "What | Euros a month\nRent | 840\nHeating | 95\nRunning costs | 110\nTogether | 1,045\n"
PARTS = """Part | Supplier | Price | Weight (kg) | Stock | Ordered
Bolt | Alder | 10 € | 2 | 5 | 2026-01-01
Nut | Birch | 20 € | 3 | 9 | 2026-02-01
Pin | Alder | 30 € | 1 | 4 | 2026-03-01
"""


@pytest.mark.parametrize(
    ("text", "question"),
    [
        pytest.param(RENT, "What is the rent on the list, all together?", id="a sum of one row"),
        pytest.param(RENT, "What is the rent in total?", id="a total of one row"),
        pytest.param(RENT, "What is the average rent?", id="an average of one row"),
        pytest.param(RENT, "What is the highest rent?", id="the highest of one row"),
        pytest.param(PARTS, "What is the total price of the suppliers?", id="a column of words, in a sum"),
        pytest.param(PARTS, "What is the total stock of the ordered parts?", id="a column of days, in a sum"),
        pytest.param(PARTS, "How many parts with a weight are there?", id="a column of amounts, in a number of rows"),
        pytest.param(PARTS, "How many suppliers have a price?", id="a column of amounts, in a number of values"),
        pytest.param(PARTS, "Which parts from Alder have a stock?", id="a column of amounts, in rows"),
        pytest.param(PARTS, "What is the earliest order of stock?", id="a column of amounts, for the earliest day"),
    ],
)
def test_a_question_with_a_word_that_would_be_left_out_is_not_computed(text: str, question: str) -> None:
    assert computed_on(f"# List\n\n{text}", question) is None


@pytest.mark.parametrize(
    ("text", "question", "result"),
    [
        pytest.param(RENT, "What are the euros a month, all together?", "1,045", id="all rows but their total"),
        pytest.param(RENT, "How much are rent and heating in total?", "935", id="two rows"),
        pytest.param(PARTS, "What is the total stock of Alder?", "9", id="rows of a supplier"),
        pytest.param(PARTS, "What is the total stock of Birch?", "9", id="the only row of a supplier"),
        pytest.param(PARTS, "Which supplier has the most stock?", "Alder, Birch", id="a column that groups"),
        pytest.param(PARTS, "How many parts are from Alder?", "2", id="rows that are counted"),
        pytest.param(PARTS, "Which part has the highest price?", "30 €", id="rows under their own name"),
        pytest.param(PARTS, "How many parts were ordered in February 2026?", "1", id="days as a condition"),
    ],
)
def test_a_question_whose_words_are_all_used_is_computed(text: str, question: str, result: str) -> None:
    done = computed_on(f"# List\n\n{text}", question)
    assert done
    assert (done.refused, done.result) == ("", result)
