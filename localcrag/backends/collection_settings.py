"""What is chosen for one collection, in the database."""

from __future__ import annotations

from localcrag.backends.database import Database
from localcrag.datatypes import Preset


def preset_of(database: Database, collection: str) -> Preset | None:
    """Return the collection's preset; None when it has none, or one that this version does not know."""
    rows = database.rows("SELECT preset FROM collection_settings WHERE collection = ?", collection)
    name = rows[0]["preset"] if rows else None
    return Preset(name) if name in list(Preset) else None


def set_preset(database: Database, collection: str, preset: Preset | None) -> None:
    """Give the collection a preset; None takes it away. Raises StoreError."""
    with database.transaction() as connection:
        connection.execute(
            "INSERT INTO collection_settings (collection, preset) VALUES (?, ?) "
            "ON CONFLICT (collection) DO UPDATE SET preset = excluded.preset",
            (collection, preset),
        )
