"""Names of documents of a collection: many changed or looked for at once, and by content."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from localcrag.backends.store.database import Database
from localcrag.backends.store.shelving import collection_row, search_by_name


class LocalNames:
    """The names of a collection's documents."""

    def __init__(self, database: Database, collection: str) -> None:
        self._database, self._collection = database, collection

    def rename_all(self, names: Mapping[str, str]) -> None:
        """Give documents other names, all at once: they may take each other's. One that has such a name is replaced.

        Raises UnknownCollection and StoreError.
        """
        rename = "UPDATE documents SET name = ? WHERE collection_id = ? AND name = ?"
        with self._database.transaction() as connection:
            shelf = collection_row(connection, self._collection)["id"]
            # By way of names that nobody has.
            away = {f"\0{number}": (old, new) for number, (old, new) in enumerate(names.items())}
            moved = {
                there: new
                for there, (old, new) in away.items()
                if connection.execute(rename, (there, shelf, old)).rowcount
            }
            for there, new in moved.items():
                connection.execute("DELETE FROM documents WHERE collection_id = ? AND name = ?", (shelf, new))
                connection.execute(rename, (new, shelf, there))
                search_by_name(connection, shelf, new)

    def there(self, names: Iterable[str]) -> set[str]:
        """Return those of these names that documents have."""
        sql = (
            "SELECT d.name FROM json_each(?) j CROSS JOIN collections k CROSS JOIN documents d "
            "ON d.collection_id = k.id AND d.name = j.value WHERE k.name = ?"
        )
        return {row["name"] for row in self._database.rows(sql, json.dumps([*names]), self._collection)}

    def within(self, name: str) -> list[str]:
        """Return the document of that name, if it is there, and those that came within it, by name."""
        # What begins with “name/” lies between it and “name0”: “0” comes after “/”, and an index knows that order.
        sql = (
            "SELECT d.name FROM documents d JOIN collections k ON k.id = d.collection_id WHERE k.name = ?1 "
            "AND (d.name = ?2 OR d.name > ?2 || '/' AND d.name < ?2 || '0') ORDER BY d.name"
        )
        return [row["name"] for row in self._database.rows(sql, self._collection, name)]

    def with_content(self, sha256: str) -> str | None:
        """Return the first name, in order, of a document of that checksum."""
        sql = (
            "SELECT d.name FROM documents d JOIN collections k ON k.id = d.collection_id WHERE k.name = ? "
            "AND d.sha256 = ? ORDER BY d.name LIMIT 1"
        )
        rows = self._database.rows(sql, self._collection, sha256)
        return rows[0]["name"] if rows else None
