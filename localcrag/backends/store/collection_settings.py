"""Settings of a single collection, in SQLite: preset, web mode and embedder."""

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


def embedder_of(database: Database, collection: str) -> str | None:
    """Return the embedder that was chosen for the collection, None where none was."""
    return embedders(database).get(collection)


def embedders(database: Database) -> dict[str, str]:
    """Return the embedders that were chosen for collections, by these."""
    rows = database.rows("SELECT collection, embedder FROM collection_settings WHERE embedder IS NOT NULL")
    return {row["collection"]: row["embedder"] for row in rows}


def set_embedder(database: Database, collection: str, embedder: str | None) -> None:
    """Have the collection be embedded with an embedder of its own; None: with the one in use. Raises StoreError."""
    with database.transaction() as connection:
        connection.execute(
            "INSERT INTO collection_settings (collection, embedder) VALUES (?, ?) "
            "ON CONFLICT (collection) DO UPDATE SET embedder = excluded.embedder",
            (collection, embedder),
        )
