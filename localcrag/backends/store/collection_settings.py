"""Settings of a single collection, in SQLite: preset and web mode."""

from __future__ import annotations

from localcrag.backends.store.database import Database
from localcrag.records.enums import Preset, WebMode


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


def web_mode_of(database: Database, collection: str) -> WebMode | None:
    """Return the collection's web mode; None when it has none, NEVER for one that this version does not know."""
    rows = database.rows("SELECT web FROM collection_settings WHERE collection = ?", collection)
    name = rows[0]["web"] if rows else None
    if name is None:
        return None
    return WebMode(name) if name in list(WebMode) else WebMode.NEVER


def set_web_mode(database: Database, collection: str, mode: WebMode | None) -> None:
    """Give the collection a web mode; None takes it away. Raises StoreError."""
    with database.transaction() as connection:
        connection.execute(
            "INSERT INTO collection_settings (collection, web) VALUES (?, ?) "
            "ON CONFLICT (collection) DO UPDATE SET web = excluded.web",
            (collection, mode),
        )
