"""What a computation comes to: exact results, what is left out and said, and what is refused."""

from __future__ import annotations

import pytest

from localcrag.crag.compute import answer_text
from localcrag.records.run import Computation
from localcrag.records.wording import MAX_SHOWN, computation_in_words, result_in_words
from localcrag.tables.execute import MOST_ROWS, compute
from localcrag.tables.parse import Tables
from localcrag.tables.plan import build_plan
from localcrag.tables.question import parse_request

ORDERS = """# Orders 2026

Date | Customer | Amount | Status
2026-03-01 | Alpha | 1,234.50 € | paid
2026-03-02 | Beta, Ltd | 0.10 € | open
2026-03-02 | Alpha | 0.20 € | open
2026-04-05 | | 12.00 € | open
2026-04-06 | Gamma | tbc | open
2026-05-01 | Beta, Ltd | | paid
Total | | 1,246.80 € |
"""


def computed(question: str, text: str = ORDERS) -> Computation:
    request = parse_request(question)
    assert request
    (table,) = Tables(text, paged=False).on_page(0)
    plan = build_plan(request, table, ["orders"])
    assert plan, "not taken for a computation"
    return compute(plan, "orders.csv", None)


def left_out(done: Computation) -> list[tuple[int, str]]:
    return [(one.rows, one.why) for one in done.left_out]


TOTAL = (1, "a total of other rows")


def test_a_sum_is_exact_and_says_what_it_leaves_out() -> None:
    done = computed("What is the total amount?")
    assert (done.result, done.row_count, done.total_rows) == ("1,246.80 €", 4, 6)
    assert left_out(done) == [(1, "Amount is “tbc”"), (1, "Amount is empty"), TOTAL]
    assert answer_text(done, "[1]").split("\n\n")[:2] == [
        "**Total of Amount: 1,246.80 €** over 4 rows of the table “Orders 2026” [1]:",
        " ".join(
            f"1 row is not counted: {why}." for why in ("Amount is “tbc”", "Amount is empty", "a total of other rows")
        ),
    ]


def test_a_total_of_the_table_that_differs_is_said() -> None:
    done = computed("What is the total amount?", ORDERS.replace("1,246.80", "1,300.00"))
    assert done.result == "1,246.80 €"
    assert done.notes == ("The table itself says 1,300.00 € in its row “Total”.",)
    assert computed("What is the total amount?").notes == ()


def test_conditions_choose_the_rows() -> None:
    done = computed("What is the total amount of open orders in March?")
    assert (done.result, done.filters) == ("0.30 €", ("Date is in March", "Status is open"))
    assert [row.cells[2] for row in done.rows] == ["0.10 €", "0.20 €"]
    assert answer_text(done, "[1]").startswith(
        "**Total of Amount: 0.30 €** over 2 rows of the table “Orders 2026” "
        "where Date is in March and Status is open [1]:"
    )


@pytest.mark.parametrize(
    ("question", "result", "rows"),
    [
        ("How many entries in March?", "3", 3),
        ("How many orders in April 2026?", "2", 2),
        ("How many orders since 2 March 2026?", "5", 5),
        ("How many orders after 2 March 2026?", "3", 3),
        ("How many orders before April?", "3", 3),
        ("How many orders between March and April?", "5", 5),
        ("How many orders up to 2 March 2026?", "3", 3),
        ("How many orders of Beta, Ltd?", "2", 2),
        ("How many orders are paid?", "2", 2),
        ("How many customers are there?", "3", 5),
        ("What is the average amount?", "311.70 €", 4),
        ("What is the average amount in March?", "411.60 €", 3),
        ("What is the highest amount?", "1,234.50 €", 1),
        ("What is the lowest amount in March?", "0.10 €", 1),
        ("What is the latest order?", "2026-05-01", 1),
        ("What is the earliest order of Beta, Ltd?", "2026-03-02", 1),
        ("Which orders have an amount of at most 12 euros?", "", 3),
        ("Which orders are over 2,000 euros?", "", 0),
    ],
)
def test_results(question: str, result: str, rows: int) -> None:
    done = computed(question)
    assert (done.result, done.row_count, done.refused) == (result, rows, "")


def test_values_of_a_column_are_listed_once() -> None:
    done = computed("List all customers")
    assert done.values == ("Alpha", "Beta, Ltd", "Gamma")
    assert answer_text(done, "[1]").startswith(
        "**3 values** of Customer of the table “Orders 2026” [1]:\n\n1 row is not"
    )
    assert answer_text(done, "[1]").endswith("- Alpha\n- Beta, Ltd\n- Gamma")


def test_equal_extremes_are_all_shown() -> None:
    text = "Name | Price\nA | 3 €\nB | 9 €\nC | 9 €"
    done = computed("Which is the most expensive name?", text)
    assert [row.cells[0] for row in done.rows] == ["B", "C"]
    assert answer_text(done, "[1]").startswith("**Highest value of Price: 9 €** in 2 rows [1]:")


def test_an_average_that_does_not_come_out_even_is_said_to_be_rounded() -> None:
    done = computed("What is the average price?", "Name | Price\nA | 1 €\nB | 1 €\nC | 2 €")
    assert (done.result, done.notes) == ("1.33 €", ("The average is rounded.",))


def test_no_row_is_an_answer() -> None:
    done = computed("Which orders are over 2,000 euros?")
    assert answer_text(done, "[1]").startswith(
        "**0 rows** of the table “Orders 2026” where Amount is more than 2,000 euros [1]."
    )


@pytest.mark.parametrize(
    ("text", "question", "why"),
    [
        pytest.param("Item | Price\nA | 3 €\nB | 4 $\nC | 5 €", "What is the total price?",
                     "Price has several units: €, $", id="two currencies"),
        pytest.param("Item | Price\nA | 3 €\nB | 4 $\nC | 5 €", "Which item is the cheapest?",
                     "Price has several units: €, $", id="two currencies compared"),
        pytest.param("Item | Size\nA | 1.250\nB | 2.500\nC | 1.750", "What is the total size?",
                     "the numbers of the table can be read with a decimal point or a decimal comma", id="points"),
        pytest.param("Item | Discount\nA | 10 %\nB | 20 %\nC | 5 %", "What is the total discount?",
                     "Discount is in percent; percentages of different things cannot be added up", id="percent"),
        pytest.param("Item | Date\nA | 2025-03-01\nB | 2026-03-04\nC | 2026-05-01", "How many items after March?",
                     "Date covers several years, and the question does not name one", id="after March of which year"),
        pytest.param("Item | Date\nA | 01/02/2026\nB | 03/02/2026\nC | 05/06/2026", "How many items in March?",
                     "the dates in Date can be read with the day or the month first", id="days or months"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_exactly_is_refused(text: str, question: str, why: str) -> None:
    done = computed(question, text)
    assert (done.refused, done.result) == (why, "")
    assert answer_text(done, "[1]").startswith("**Not computed: ")
    assert why.replace("$", "") in answer_text(done, "[1]").replace("$", "")
    assert result_in_words(done) == f"not computed: {why}"


def test_a_cell_that_is_left_empty_under_its_group_is_not_passed_over_in_silence() -> None:
    text = "Article | Category\nA | Lamps\nB | |\nC | Chairs\nD | |"
    done = computed("How many articles are in the category Lamps?", text)
    assert (done.result, left_out(done)) == ("1", [(2, "Category is empty")])


def test_labels_and_totals_are_no_rows_and_names_that_look_like_totals_are() -> None:
    text = (
        "Article | Group | Price\nHair: | |\nTotal Care Shampoo | Hair | 4 €\nSoap | Hair | 2 €\n"
        "Subtotal hair | | 6 €\n"
        "Average Joe's Wax | Car | 9 €\nTotal of all | | 15 €"
    )
    done = computed("How many articles are there?", text)
    assert (done.result, left_out(done)) == ("3", [(2, "a total of other rows"), (1, "only the first cell is filled")])


def test_days_without_a_year_have_no_latest() -> None:
    text = "Event | Date\nRun | 3 March\nSwim | 5 April\nRide | 7 May"
    assert computed("What is the latest event?", text).refused == "the dates in Date have no year"


def test_months_of_several_years_are_said_to_be() -> None:
    text = "Item | Date\nA | 2025-03-01\nB | 2026-03-04\nC | 2026-05-01"
    done = computed("How many items in March?", text)
    assert (done.result, done.filters) == ("2", ("Date is in March of any year",))


def test_of_many_rows_some_are_shown_and_kept() -> None:
    text = "Item | Price\n" + "\n".join(f"Nr{number} | {number} €" for number in range(1, 251))
    done = computed("What is the total price?", text)
    assert (done.result, done.row_count, len(done.rows)) == ("31,375 €", 250, MOST_ROWS)
    said = answer_text(done, "[1]")
    assert said.count("| Nr") == MAX_SHOWN
    assert said.endswith("And 230 more.")


def test_cells_show_as_what_they_are() -> None:
    text = "Item | Price\n<img src=x> | 3 €\n[a](http://b) | 4 €\n`c | 5 €"
    said = answer_text(computed("Which items cost more than 2 euros?", text), "[1]")
    assert "<img" not in said
    assert "](" not in said


def test_a_line_says_all_of_it() -> None:
    assert computation_in_words(computed("What is the total amount of open orders in March?")) == (
        "total of Amount where Date is in March and Status is open (“Orders 2026”, orders.csv); 2 of 6 rows; 0.30 €. "
        "1 row is not counted: a total of other rows."
    )
