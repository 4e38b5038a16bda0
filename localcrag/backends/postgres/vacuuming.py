"""Deleted texts are removed from a server's files: tables, indexes, and the planner's statistics."""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.backends.postgres.connection import PostgresDatabase
from localcrag.records.forgetting import Mark, Place

CLEARED_SINCE = 180000
"""server_version_num of the first that can forget the statistics of a column (pg_clear_attribute_stats)."""
_CLEAR = """
SELECT pg_clear_attribute_stats(schemaname, tablename, attname, inherited) FROM pg_stats
WHERE schemaname = 'localcrag' AND tablename = :table
"""


def vacuum(database: PostgresDatabase, collection: int) -> None:
    """Write the tables of a collection anew, and what the planner knows of them. Raises StoreError.

    It keeps the most frequent values of each column, words of documents among them, and those of before stay in its
    table until that is written anew, too, which the owner of the database may have done. Of a table that is empty by
    now, PostgreSQL 15 to 17 keep them.
    """
    partition = f"chunks_{int(collection)}"
    tables = ("documents", partition, "term_counts", "originals", "scans", "document_tags", "folder_tags")
    can_clear = int(database.rows("SHOW server_version_num")[0]["server_version_num"]) >= CLEARED_SINCE
    for table in (*tables, "chunks"):
        if can_clear:
            database.rows(_CLEAR, table=table)
        if table in tables:
            database.run_alone(f"VACUUM (FULL, ANALYZE) localcrag.{table}")
    database.run_alone("VACUUM (FULL) pg_catalog.pg_statistic")


def tables_with(database: PostgresDatabase, marks: Sequence[Mark]) -> list[Place]:
    """Return which tables of the server, of whichever collection, have a text among these marks. Raises StoreError."""
    texts = {mark.forms[0].decode(): mark.said for mark in marks if mark.said.startswith("“")}
    sql = "SELECT 1 FROM localcrag.{} WHERE strpos(text, :text) > 0 LIMIT 1"
    return [
        Place(str(database.address), said, table=table)
        for table in ("documents", "chunks")
        for text, said in texts.items()
        if database.rows(sql.format(table), text=text)
    ]
