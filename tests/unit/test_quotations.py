"""Whether stored runs quote a document, where there are many of them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from localcrag.backends.store.database import Database
from localcrag.backends.store.quotations import are_quoted, passages_of
from localcrag.backends.store.run_store import RunStore
from tests.support.made_records import graded, some_run

LONG = "The ferry leaves from berth 7. " * 4_000
"""124 kB."""
ODD = ("Über “uns”.md", 'the "old" one.txt', "back\\slash.txt", "line\nbreak\t\x01.txt", "日本.pdf", "50 %_.txt")


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "db.sqlite3")


@pytest.mark.parametrize("name", ODD)
def test_a_document_is_found_by_its_name_as_it_is_written_in_runs(database: Database, name: str) -> None:
    runs = RunStore(database)
    runs.save(some_run(1, passages=(graded(0.9, "Of it.", document=name), graded(0.8, "Other.", document="b.txt"))))
    runs.save(some_run(2, passages=(graded(0.9, f"It says {name}.", document="b.txt"),)))
    assert passages_of(database, "default", [name]) == ["Of it."]
    assert are_quoted(database, "default", ["gone.txt", name])
    assert not are_quoted(database, "other", [name])
    assert not are_quoted(database, "default", [name[1:]])


def test_a_run_of_a_very_old_version_that_names_it_in_its_question_quotes_nothing(database: Database) -> None:
    with database.transaction() as connection:
        row = ("r", "2025-01-01", "default", "a.txt", None, '{"question":"a.txt"}')
        connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", row)
    assert not are_quoted(database, "default", ["a.txt"])


@pytest.mark.parametrize(
    ("looked_for", "found"),
    [
        (lambda database: are_quoted(database, "default", ["a.txt"]), True),
        (lambda database: are_quoted(database, "default", ["b.txt"]), False),
        (lambda database: passages_of(database, "default", ["a.txt"]), ["Short."]),
    ],
    ids=["quoted", "not quoted", "its passages"],
)
def test_runs_are_looked_through_one_by_one(
    database: Database, looked_for: Callable[[Database], object], found: object
) -> None:
    runs = RunStore(database)
    for number in range(1, 29):
        runs.save(some_run(number, answer=LONG, passages=(graded(0.9, "Short.", document="a.txt"),)))
    tracemalloc.start()
    try:
        assert looked_for(database) == found
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * len(LONG)
