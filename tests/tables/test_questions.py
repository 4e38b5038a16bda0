"""Which questions are for computing on a table, with which operation, column and conditions; and which are not."""

from __future__ import annotations

import pytest

from localcrag.tables.parse import Table, Tables
from localcrag.tables.plan import build_plan
from localcrag.tables.plan_columns import TablePlan
from localcrag.tables.question import parse_request
from localcrag.tables.values import Amount

CATALOGUE = """# Product catalogue

Product | Category | Price | Stock | Added
Desk lamp | Lamps | 39.90 € | 12 | 2026-01-12
Floor lamp | Lamps | 129.00 € | 3 | 2026-02-03
Office chair | Chairs | 249.00 € | 7 | 2026-03-09
Stool | Chairs | 45.50 € | | 2026-03-20
Bookshelf | Shelves | 89.00 € | 15 | 2025-12-02
Total | | 552.40 € | 37 |
"""


def table_of(text: str) -> Table:
    (table,) = Tables(text, paged=False).on_page(0)
    return table


def plan(question: str, text: str = CATALOGUE, *names: str) -> TablePlan | None:
    request = parse_request(question)
    return build_plan(request, table_of(text), names or ("catalogue",)) if request else None


def told(found: TablePlan | None) -> tuple[str, str | None, list[str]] | None:
    """Return operation, column and conditions in short, None where there is nothing to compute."""
    if found is None:
        return None
    tests = [
        " ".join(
            [test.column.name, test.relation.value, *(
                str(value.value) if isinstance(value, Amount) else str(value)
                for value in (test.value, test.high) if value is not None
            )]
        )
        for test in found.tests
    ]  # fmt: skip
    return found.operation.name, found.column.name if found.column else None, tests


@pytest.mark.parametrize(
    ("question", "operation", "column", "tests"),
    [
        ("which products cost more than 40 euros", "FILTER", None, ["Price more than 40"]),
        ("Which products cost 45.50 euros or more?", "FILTER", None, ["Price at least 45.50"]),
        ("Which products cost between 40 and 100 euros?", "FILTER", None, ["Price between 40 100"]),
        ("Please show me all products under €50.", "FILTER", None, ["Price less than 50"]),
        ("products over 40 euros with less than 10 in stock", "FILTER", None,
         ["Price more than 40", "Stock less than 10"]),
        ("Which products were added before 2026?", "FILTER", None, ["Added less than 2026"]),
        ("Which products were added between January and February 2026?", "FILTER", None,
         ["Added between January 2026 February 2026"]),
        ("Which products are in the category Chairs?", "FILTER", None, ["Category exactly Chairs"]),
        ("How many products are there?", "COUNT", None, []),
        ("What is the number of products?", "COUNT", None, []),
        ("How many products cost less than €100?", "COUNT", None, ["Price less than 100"]),
        ("how many entries in March", "COUNT", None, ["Added exactly March"]),
        ("How many entries in March 2026?", "COUNT", None, ["Added exactly March 2026"]),
        ("How many products were added since 1 February 2026?", "COUNT", None, ["Added at least 1 February 2026"]),
        ("How many categories are there?", "COUNT", "Category", []),
        ("What is the total price?", "SUM", "Price", []),
        ("What is the total stock of lamps?", "SUM", "Stock", ["Category exactly Lamps"]),
        ("How many pieces are in stock in total?", "SUM", "Stock", []),
        ("How much do all chairs cost in total?", "SUM", "Price", ["Category exactly Chairs"]),
        ("average price of chairs", "AVERAGE", "Price", ["Category exactly Chairs"]),
        ("What do lamps cost on average?", "AVERAGE", "Price", ["Category exactly Lamps"]),
        ("What's the cheapest product?", "MINIMUM", "Price", []),
        ("Which product is the most expensive?", "MAXIMUM", "Price", []),
        ("Which product costs the most?", "MAXIMUM", "Price", []),
        ("Which lamp is the cheapest?", "MINIMUM", "Price", ["Category exactly Lamps"]),
        ("What is the highest stock?", "MAXIMUM", "Stock", []),
        ("Which product has the lowest stock?", "MINIMUM", "Stock", []),
        ("What was the latest product added?", "MAXIMUM", "Added", []),
        ("List all products", "VALUES", "Product", []),
        ("Which categories are there?", "VALUES", "Category", []),
        ("Can you list all the categories in the catalogue?", "VALUES", "Category", []),
    ],
)  # fmt: skip
def test_a_computation_is_seen(question: str, operation: str, column: str | None, tests: list[str]) -> None:
    assert told(plan(question)) == (operation, column, tests)


@pytest.mark.parametrize(
    "question",
    [
        pytest.param("What does the stool cost?", id="one cell"),
        pytest.param("What do chairs cost?", id="several cells"),
        pytest.param("What is the price of the floor lamp?", id="one cell by its column"),
        pytest.param("How many desk lamps are in stock?", id="a number that stands in a cell"),
        pytest.param("How many lamps are in the catalogue?", id="kinds or pieces, where there is a stock"),
        pytest.param("How many chairs have we sold?", id="a word that is nothing of the table"),
        pytest.param("How many products does the company sell in Germany?", id="a place that is nothing of it"),
        pytest.param("What is the total revenue?", id="another sum"),
        pytest.param("Which products cost more than 40 dollars?", id="another currency"),
        pytest.param("Is the stool cheaper than 50 euros?", id="yes or no"),
        pytest.param("Why is the most expensive product so dear?", id="why"),
        pytest.param("How many days until delivery?", id="no column"),
        pytest.param("Which product is the second cheapest?", id="second"),
        pytest.param("How many products do I have to order?", id="somebody's own"),
        pytest.param("What is the difference between the cheapest and the dearest lamp?", id="a difference"),
        pytest.param("How do I add a product?", id="how to"),
        pytest.param("Which products or categories are there?", id="two columns"),
        pytest.param("Which products cost more than 1.000 euros?", id="a number that reads in two ways"),
        pytest.param("What's the best product?", id="best"),
        pytest.param("What is the maximum discount?", id="a column that is not there"),
        pytest.param("Tell me about the products", id="no operation"),
        pytest.param("products", id="a word"),
        pytest.param("", id="nothing"),
        pytest.param("What is the price of all products and who buys them?", id="two questions"),
        pytest.param("List all prices", id="amounts are not listed without their rows"),
    ],
)
def test_what_is_not_clearly_one_is_none(question: str) -> None:
    assert told(plan(question)) is None


LEAVE = """# Staff handbook

## Special leave

| Occasion | Days | Evidence |
|---|---|---|
| Wedding | 2 | certificate |
| Birth of a child | 10 | certificate |
| Move | 1 | none |
| Death of a parent | 3 | certificate |
"""
HIRE = """# Terms of hire

Group | Minimum age | Deposit
Small | 19 | £200
Estate | 21 | £300
Van | 25 | £500
"""
SALES = """# Sales

Region | Jan | Feb | March
North | 10 | 12 | 14
South | 20 | 22 | 24
West | 30 | 32 | 34
"""


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (LEAVE, "How many days of leave do I have?"),
        (LEAVE, "How many days off for a wedding?"),
        (LEAVE, "How many days of special leave are there?"),
        (LEAVE, "How many days of leave for a move?"),
        (LEAVE, "What is the evidence for a wedding?"),
        (HIRE, "maximum age for hire"),
        (HIRE, "What is the minimum age?"),
        (HIRE, "What's the lowest minimum age?"),
        (HIRE, "How old must I be for a van?"),
        (SALES, "What were the sales in April?"),
        (SALES, "What is the total of North?"),
    ],
)
def test_a_number_that_stands_there_is_not_counted(text: str, question: str) -> None:
    assert told(plan(question, text, "handbook")) is None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the total in March?", ("SUM", "March", [])),
        ("What are the average sales in Feb?", ("AVERAGE", "Feb", [])),
        ("Which region had the highest sales in March?", ("MAXIMUM", "March", [])),
        ("How many regions are there?", ("COUNT", None, [])),
    ],
)
def test_months_may_be_columns(question: str, expected: tuple[str, str | None, list[str]]) -> None:
    assert told(plan(question, SALES, "sales")) == expected


def test_months_may_be_cells() -> None:
    text = "Month | Kind | Amount\nMarch | rent | 10 €\nMarch | food | 20 €\nApril | rent | 10 €"
    assert told(plan("total amount in March", text)) == ("SUM", "Amount", ["Month exactly March"])
    assert told(plan("how many entries in March", text)) == ("COUNT", None, ["Month exactly March"])


ORDERS = """# Orders

Date | Customer | Amount | Status
2026-03-01 | Alpha | 12.00 € | paid
2026-03-02 | Beta | 20.00 € | open
2026-03-02 | Alpha | 15.00 € | open
"""


@pytest.mark.parametrize(
    "question",
    [
        "Which customers have more than 2 orders?",
        "How many customers have more than one order?",
        "Who is the largest customer?",
        "What did Alpha order?",
        "How many orders are above average?",
        "Which orders are 20 euros?",
        "Which orders are over 5k?",
    ],
)
def test_what_is_of_groups_of_rows_is_not_taken_for_rows(question: str) -> None:
    assert told(plan(question, ORDERS, "orders")) is None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which customer has the highest amount?", ("MAXIMUM", "Amount", [])),
        ("What is the largest order?", ("MAXIMUM", "Amount", [])),
        ("Which orders are open?", ("FILTER", None, ["Status exactly open"])),
        ("How many customers have open orders?", ("COUNT", "Customer", ["Status exactly open"])),
        ("What is the average order value?", ("AVERAGE", "Amount", [])),
        ("total number of orders", ("COUNT", None, [])),
        ("How much did Alpha spend in total in March?",
         ("SUM", "Amount", ["Date exactly March", "Customer exactly Alpha"])),
    ],
)  # fmt: skip
def test_what_is_of_rows_is(question: str, expected: tuple[str, str | None, list[str]]) -> None:
    assert told(plan(question, ORDERS, "orders")) == expected


def test_of_two_columns_that_fit_equally_none_is_guessed() -> None:
    text = "Item | Net price | Gross price\nA | 10 € | 12 €\nB | 20 € | 24 €\nC | 30 € | 36 €"
    assert told(plan("Which items cost more than 15 euros?", text)) is None
    assert told(plan("What is the highest price?", text)) is None
    assert told(plan("What is the highest net price?", text)) == ("MAXIMUM", "Net price", [])
    assert told(plan("Which items have a gross price over 15 euros?", text)) == (
        "FILTER", None, ["Gross price more than 15"],
    )  # fmt: skip


def test_a_cell_of_two_columns_is_not_guessed() -> None:
    text = "Name | From | To\nA | Bath | York\nB | York | Bath\nC | Bath | Hull"
    assert told(plan("How many entries in Bath?", text)) is None


NUMBERED = """Order | Customer | Date | Amount | Status
1000 | Berg | 2025-01-12 | 107.30 | paid
1001 | Moen | 2025-03-10 | 579.86 | open
1002 | Berg | 2025-03-20 | 825.48 | open
1003 | Dahl | 2025-04-02 | 12.00 | paid
"""


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the total amount of open orders?", ("SUM", "Amount", ["Status exactly open"])),
        ("What is the sum of all paid orders?", ("SUM", "Amount", ["Status exactly paid"])),
        ("How much did Berg order in total?", ("SUM", "Amount", ["Customer exactly Berg"])),
        ("How many orders were there in March?", ("COUNT", None, ["Date exactly March"])),
        ("How many orders does Berg have?", ("COUNT", None, ["Customer exactly Berg"])),
        ("How many orders are still open?", ("COUNT", None, ["Status exactly open"])),
        ("Which orders are open?", ("FILTER", None, ["Status exactly open"])),
        ("What is the highest order?", ("MAXIMUM", "Amount", [])),
        ("How many customers are there?", ("COUNT", "Customer", [])),
    ],
)
def test_numbers_of_orders_are_names_and_never_added_up(
    question: str, expected: tuple[str, str | None, list[str]]
) -> None:
    found = told(plan(question, NUMBERED, "orders"))
    assert found is not None
    assert (*found[:2], [said if "Date" not in said else "Date exactly March" for said in found[2]]) == expected


def test_values_of_a_column_that_has_to_be_one_are_not_counted() -> None:
    assert plan("How many clients is Berg?", NUMBERED, "orders") is None
    suppliers = "Article | Supplier\nOar | Lund\nBuoy | Vik\nHorn | Lund\n"
    found = told(plan("How many articles does Lund supply?", suppliers, "price list"))
    assert found == ("COUNT", None, ["Supplier exactly Lund"])
