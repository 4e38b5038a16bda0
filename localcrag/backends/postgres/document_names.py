"""Names of documents of a collection in PostgreSQL: many changed or looked for, and by content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from localcrag.backends.postgres.document_store import PostgresStore
from localcrag.backends.postgres.names import find, search_by_name


class PostgresNames:
    """The names of a collection's documents."""

    def __init__(self, store: Callable[[], PostgresStore]) -> None:
        self._store = store

    def rename_all(self, names: Mapping[str, str]) -> None:
        """Give documents other names, all at once: they may take each other's. One that has such a name is replaced."""
        store = self._store()
        rename = "UPDATE localcrag.documents SET name = :new WHERE collection_id = :collection AND name = :name"
        # By way of names that nobody has: PostgreSQL has no NUL in a text.
        away = {f"\x01{number}": (old, new) for number, (old, new) in enumerate(names.items())}
        with store.writing() as session:
            for there, (old, _) in away.items():
                session.run(rename, new=there, collection=store.id, name=old)
            for there, (_, new) in away.items():
                for document in find(session, store.id, there):
                    store.remove(session, new)
                    session.run(rename, new=new, collection=store.id, name=there)
                    if document["title"] is None:
                        search_by_name(session, store.id, document["id"], new)
            session.run("UPDATE localcrag.collections SET changes = changes + 1 WHERE id = :id", id=store.id)

    def there(self, names: Iterable[str]) -> set[str]:
        """Return those of these names that documents have."""
        store = self._store()
        sql = (
            "SELECT name FROM localcrag.documents WHERE collection_id = :collection "
            "AND name = ANY(CAST(:names AS text[]))"
        )
        asked = [one for one in names if "\0" not in one]  # PostgreSQL has none in a text.
        return {row["name"] for row in store.database.rows(sql, collection=store.id, names=asked)}

    def within(self, name: str) -> list[str]:
        """Return the document of that name, if it is there, and those that came within it, by name."""
        store = self._store()
        sql = (
            "SELECT name FROM localcrag.documents WHERE collection_id = :collection "
            "AND (name = :name OR starts_with(name, :folder))"
        )
        rows = store.database.rows(sql, collection=store.id, name=name, folder=f"{name}/")
        return sorted(row["name"] for row in rows)

    def with_content(self, sha256: str) -> str | None:
        """Return the first name, in order, of a document of that checksum."""
        return self._store().twin(sha256, but="")
