"""Which collections a database has: found by name, made, and opened to everybody."""

from __future__ import annotations

from localcrag.backends.postgres import schema
from localcrag.backends.postgres.connection import PostgresDatabase, Row
from localcrag.records.errors import NameRefused, UnknownCollection


def find(database: PostgresDatabase, name: str) -> Row | None:
    """Return what is known of the collection of that name. Raises StoreError."""
    rows = database.rows("SELECT * FROM localcrag.collections WHERE name = :name", name=name)
    return rows[0] if rows else None


def names(database: PostgresDatabase) -> list[str]:
    """Return the names of the collections that can be used. Raises StoreError."""
    rows = database.rows('SELECT name FROM localcrag.collections WHERE arriving IS NULL ORDER BY name COLLATE "C"')
    return [row["name"] for row in rows]


def require(database: PostgresDatabase, name: str) -> Row:
    """Return what is known of a collection that can be used. Raises UnknownCollection and StoreError."""
    row = find(database, name)
    at = database.address.at
    if row is None:
        there = ", ".join(names(database)) or "none yet"
        raise UnknownCollection(f"There is no collection “{name}” at {at} (there are: {there}).")
    if row["arriving"] is not None:
        raise UnknownCollection(f"The collection “{name}” at {at} is still on its way there. Try again later.")
    return row


def make(
    database: PostgresDatabase, name: str, *, embedder: str, dimension: int, arriving: str, created_at: str
) -> int:
    """Return the id of a collection that is to arrive, which is made unless it is on its way already, from the same.

    Raises NameRefused when there is another of that name, and StoreError.
    """
    with database.transaction() as session:
        sql = "SELECT * FROM localcrag.collections WHERE name = :name FOR UPDATE"
        for row in session.rows(sql, name=name):
            if row["arriving"] == arriving and (row["embedder"], row["dimension"]) == (embedder, dimension):
                return int(row["id"])
            if row["arriving"] != arriving:
                raise NameRefused(
                    f"There is a collection “{name}” at {database.address.at} already. Rename this one first, or use "
                    f"that one: localcrag collection connect {name} {database.address}"
                )
            schema.drop_partition(session, row["id"])
            session.run("DELETE FROM localcrag.collections WHERE id = :id", id=row["id"])
        (row,) = session.rows(
            "INSERT INTO localcrag.collections (id, name, embedder, dimension, created_at, arriving) VALUES "
            "(nextval('localcrag.collection_ids'), :name, :embedder, :dimension, :created_at, :arriving) RETURNING id",
            name=name, embedder=embedder, dimension=dimension, created_at=created_at, arriving=arriving,
        )  # fmt: skip
        schema.add_partition(session, row["id"])
        return int(row["id"])


def index(database: PostgresDatabase, collection: int) -> None:
    """Index a collection that has arrived, unless it is indexed. Raises StoreError."""
    with database.transaction(collection) as session:
        (row,) = session.rows("SELECT dimension FROM localcrag.collections WHERE id = :id", id=collection)
        session.run(f"SET LOCAL maintenance_work_mem = '{schema.INDEX_MEMORY}'")
        schema.add_index(session, collection, row["dimension"])
        session.run(f"ANALYZE localcrag.chunks_{int(collection)}")


def open_to_all(database: PostgresDatabase, collection: int) -> None:
    """Let everybody use a collection that has arrived. Raises StoreError."""
    with database.transaction(collection) as session:
        session.run("UPDATE localcrag.collections SET arriving = NULL WHERE id = :id", id=collection)
