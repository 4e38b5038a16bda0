"""What a question about the only table of a text comes to, by the rules alone."""

from __future__ import annotations

from datetime import date

from localcrag.records.run import Computation
from localcrag.tables.execute import compute
from localcrag.tables.parse import Tables
from localcrag.tables.plan import build_plan
from localcrag.tables.question import parse_request


def computed_on(text: str, question: str, today: date | None = None) -> Computation | None:
    """Return the computation on a table that is called a list; None where none is meant."""
    request = parse_request(question, today)
    (table,) = Tables(text, paged=False).on_page(0)
    plan = build_plan(request, table, ["list"]) if request else None
    return compute(plan, "list.csv", None) if plan else None
