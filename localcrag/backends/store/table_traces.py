"""What is left of texts in the database's tables, value by value, also where one lies across pages."""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.backends.store.database import Database
from localcrag.records.forgetting import Mark, Place


class _Held:
    """Values that have one of some marks; it remembers which."""

    def __init__(self, marks: Sequence[Mark]) -> None:
        self._marks, self.found = list(marks), dict[str, None]()

    def __contains__(self, value: object) -> bool:
        held = [mark.said for mark in self._marks if mark.within(value)]
        self.found |= dict.fromkeys(held)
        return bool(held)


def tables_with(database: Database, marks: Sequence[Mark]) -> list[Place]:
    """Return which tables have which of these marks. Raises StoreError."""
    places = []
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    for (table,) in database.rows(tables):
        for column in database.rows("SELECT name FROM pragma_table_info(?)", table):
            held = _Held(marks)
            # A function of ours looks at each value, so that no two of them are in memory at once.
            sql = f'SELECT count(*) FROM "{table}" WHERE chosen("{column["name"]}")'  # noqa: S608 - names of ours
            database.rows(sql, chosen=held)
            places += [Place(database.path.name, said, table=f"{table}.{column['name']}") for said in held.found]
    return places
