"""The labelled questions about tables, and how scripts/lab/everyday/measure_tables.py tells right from wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab.everyday.measure_tables import QUESTIONS, is_number, is_right, written
from lab.everyday.questions import rows

from localcrag.records.computation import Computation, Group, TableRow
from localcrag.records.enums import Operation

TABLES = list(rows(QUESTIONS))


def test_the_set_has_both_parts_and_every_question_once() -> None:
    assert {table["part"] for table in TABLES} == {"dev", "held out"}
    assert len(TABLES) >= 25
    assert sum(len(table["questions"]) for table in TABLES) >= 250
    for table in TABLES:
        asked = [one["question"] for one in table["questions"]]
        assert len(set(asked)) == len(asked), table["id"]


def test_each_question_says_what_it_must_come_to(tmp_path: Path) -> None:
    for table in TABLES:
        assert all(path.stat().st_size for path in written(table, tmp_path))
        for one in table["questions"]:
            reasons = one["kind"] in ("usual", "refuse")
            assert ("why" in one) is reasons
            assert reasons or len({"number", "rows", "groups", "values"} & one.keys()) == 1


@pytest.mark.parametrize(
    ("result", "label", "same"),
    [
        ("1.535,15 €", "1535.15", True),
        ("€1.6875", "1.6875", True),
        ("13.86 %", "13.8570", True),
        ("13.9 %", "13.8570", True),
        ("13.8 %", "13.8570", False),
        ("-242.00", "-242.00", True),
        ("7", "8", False),
        ("none", "8", False),
    ],
)
def test_a_number_is_read_as_it_is_written(result: str, label: str, same: bool) -> None:
    assert is_number(result, label) is same


def done(**fields: Any) -> Computation:
    given: dict[str, Any] = {
        "document": "a.csv", "title": None, "table": "", "section": "", "pages": (), "header": ("Name", "Fee"),
        "operation": Operation.FILTER, "column": None, "filters": (), "of_rows": 3, "row_count": 1, "rows": (),
    }  # fmt: skip
    return Computation(**{**given, **fields})


def test_rows_values_and_groups_must_be_all_that_are_expected() -> None:
    one, other = TableRow(("Ann", "3"), None, 0, 1), TableRow(("Bo", "4"), None, 1, 2)
    assert is_right(done(rows=(other, one)), {"key": "Name", "rows": ["Ann", "Bo"]})
    assert not is_right(done(rows=(one,)), {"key": "Name", "rows": ["Ann", "Bo"]})
    assert is_right(done(values=("a", "b")), {"values": ["b", "a"]})
    assert is_right(done(groups=(Group("May 2026", "3.00 €", 1),)), {"groups": {"May": "3"}})
    assert not is_right(done(groups=(Group("May", "3.00 €", 1),)), {"groups": {"May": "4"}})
    assert not is_right(done(), {"number": "4"})
