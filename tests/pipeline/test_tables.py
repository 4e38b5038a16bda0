"""Questions about a CSV file and an Excel workbook of sixty rows are computed on them, with the real models."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from decimal import Decimal

import pytest

from localcrag import Localcrag
from localcrag.records.enums import Action
from localcrag.records.run import Run
from tests.support.office_files import Cell, make_xlsx

pytestmark = pytest.mark.models

CUSTOMERS = ("Alder Ltd", "Birch & Co", "Cedar GmbH", "Dogwood AG")
KINDS = ("Lamps", "Chairs", "Shelves")
HANDBOOK = """# Staff handbook

Full-time staff have 27 days of leave a year. Orders over 500 euros need the signature of the head of purchasing. The
archive is closed for two days in March. Claims for travel are handed in within six weeks of the journey.
"""


def order(number: int) -> tuple[str, str, Decimal, str]:
    """Return date, customer, amount and status of an order."""
    return (
        f"2026-{1 + number // 12:02}-{1 + 2 * (number % 12):02}",
        CUSTOMERS[number % 4],
        Decimal(137 * number % 4000) + Decimal(number % 10) / 10,
        "open" if number % 3 else "paid",
    )


ORDERS = [order(number) for number in range(60)]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Localcrag]:
    folder = tmp_path_factory.mktemp("tables")
    with (folder / "orders.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["Date", "Customer", "Amount", "Status"])
        rows.writerows((date, customer, f"{amount:,.2f} €", status) for date, customer, amount, status in ORDERS)
    articles: list[list[Cell]] = [
        [f"Article {100 + number}", KINDS[number % 3], (10.5 + number, '#,##0.00 "€"'), 3 * number]
        for number in range(60)
    ]
    total: list[Cell] = ["Total", "", (2400, '#,##0.00 "€"'), 5310]
    make_xlsx(folder / "catalogue.xlsx", {"Catalogue": [["Article", "Category", "Price", "Stock"], *articles, total]})
    (folder / "handbook.md").write_text(HANDBOOK, encoding="utf-8")
    with Localcrag(folder / "data", web="never") as made:
        for name in ("orders.csv", "catalogue.xlsx", "handbook.md"):
            made.add(folder / name)
        yield made


def amounts(month: str = "", customer: str = "", status: str = "") -> list[Decimal]:
    return [
        amount
        for date, by, amount, state in ORDERS
        if month in date and customer in by and status in state
    ]  # fmt: skip


def computed(app: Localcrag, question: str, document: str) -> Run:
    run = app.ask(question)
    assert run.computation, run.answer
    assert run.computation.document == document
    assert run.action is Action.CORRECT
    assert run.evidence
    assert f"[{run.evidence[0].n}]" in run.answer
    assert not any(step.llm_calls for step in run.steps)
    return run


def test_orders_are_counted_added_up_and_chosen(app: Localcrag) -> None:
    march = amounts("-03-")
    run = computed(app, "How many orders are there in March?", "orders.csv")
    assert run.answer.startswith(f"**{len(march)} rows** where Date is in March [1]")
    run = computed(app, "What is the total amount of orders in March?", "orders.csv")
    assert run.answer.startswith(f"**Total of Amount: {sum(march):,.2f} €** over {len(march)} rows")
    run = computed(app, "What is the total amount of open orders of Birch & Co?", "orders.csv")
    assert run.answer.startswith(f"**Total of Amount: {sum(amounts(customer='Birch', status='open')):,.2f} €**")
    run = computed(app, "Which order has the highest amount?", "orders.csv")
    assert run.answer.startswith(f"**Highest value of Amount: {max(amounts()):,.2f} €** in 1 row [1]")
    assert f"{max(amounts()):,.2f} €" in run.evidence[0].text
    run = computed(app, "Which orders are over 3,500 euros?", "orders.csv")
    assert run.computation
    assert run.computation.row_count == sum(amount > 3500 for amount in amounts())


def test_a_workbook_is_computed_on_without_its_total(app: Localcrag) -> None:
    run = computed(app, "Which articles cost more than 60 euros?", "catalogue.xlsx")
    assert run.answer.startswith("**10 rows** where Price is more than 60 euros [1]")
    run = computed(app, "What is the total stock of all articles?", "catalogue.xlsx")
    assert run.answer.startswith("**Total of Stock: 5,310** over 60 rows")
    assert "1 row is not counted: a total of other rows." in run.answer
    run = computed(app, "What is the average price of chairs?", "catalogue.xlsx")
    assert "40.00 €" in run.answer.split("\n")[0]
    run = computed(app, "List all categories in the catalogue", "catalogue.xlsx")
    assert run.answer.endswith("- Lamps\n- Chairs\n- Shelves")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many days of leave do I have?", "27 days"),
        ("How many days is the archive closed in March?", "two days"),
        ("What does Article 117 cost?", "27.50 €"),
    ],
)
def test_what_a_sentence_or_a_cell_says_is_not_computed(app: Localcrag, question: str, answer: str) -> None:
    run = app.ask(question)
    assert run.computation is None
    assert answer in run.answer
