"""Queries by collection name: settings and calibrations, checks of names and tags, and error messages.

A calibration belongs to a scorer (its name and weights) and to the embedding model whose cosines it was fitted to. It
is inactive while another scorer or model is in use, and active again when both return.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter

from localcrag.records.enums import Preset, WebMode
from localcrag.records.errors import EmbedderMismatch, NameRefused, StoreError, UnknownCollection, UnknownDocument
from localcrag.records.thresholds import CalibrationOrigin, FittedCalibration, ScorerIdentity, StoredCalibration
from localcrag.storage.collections.admin import normalised_name
from localcrag.storage.database import Database, now
from localcrag.storage.schema import IS_VISIBLE


def collection_names(database: Database) -> list[str]:
    """Return the names of all collections, without unfinished imports."""
    sql = f"SELECT k.name FROM collections k WHERE {IS_VISIBLE} ORDER BY k.name"  # noqa: S608 - our own SQL
    return database.column(sql)


def with_other_embedder(database: Database, embedder: str) -> list[str]:
    """Return the names of the collections that were indexed with another embedding model."""
    sql = f"SELECT k.name FROM collections k WHERE k.embedder != ? AND {IS_VISIBLE} ORDER BY k.name"  # noqa: S608 - our own SQL
    return database.column(sql, embedder)


def has_history(database: Database, name: str) -> bool:
    """Return whether there are runs, labels or pins of a collection of that name, even if the collection is deleted."""
    sql = """
    SELECT 1 FROM runs WHERE collection = ?1 UNION SELECT 1 FROM labels WHERE collection = ?1
    UNION SELECT 1 FROM pins WHERE collection = ?1
    """
    return bool(database.rows(sql, name))


def require_collection(database: Database, name: str) -> None:
    """Raise UnknownCollection, with the names of the existing ones, if there is no collection `name`."""
    names = collection_names(database)
    if name not in names:
        there = ", ".join(names) if names else "none yet"
        raise UnknownCollection(
            f"There is no collection “{name}” (there are: {there}). To create it, add documents: "
            f"localcrag ingest PATH --collection {name}"
        )


def embedder_mismatch(
    name: str, row: Mapping[str, Any] | sqlite3.Row, embedder: str, dimension: int
) -> EmbedderMismatch:
    """Return the error for a collection (with the row `row`) that was indexed with another embedding model."""
    return EmbedderMismatch(
        f"The collection “{name}” was indexed with {row['embedder']} ({row['dimension']} dimensions), but the "
        f"embedder in use is {embedder} ({dimension}). Either go back to the former one (localcrag models use NAME), "
        f"or embed the collection anew: localcrag ingest --re-embed --collection {name}"
    )


def no_document(collection: str, name: str) -> UnknownDocument:
    """Return the error for a document that a collection does not have."""
    return UnknownDocument(
        f"The collection “{collection}” has no document “{name}”. "
        f"localcrag documents --collection {collection} lists what it has; the name of a folder ends with “/”."
    )


def preset_of(database: Database, collection: str) -> Preset | None:
    """Return the collection's preset, or None if it has none or this version does not know it."""
    name = database.value("SELECT preset FROM collection_settings WHERE collection = ?", collection)
    return Preset(name) if name in list(Preset) else None


def web_mode_of(database: Database, collection: str) -> WebMode | None:
    """Return the collection's web mode: None if it has none, NEVER if this version does not know the mode."""
    name = database.value("SELECT web FROM collection_settings WHERE collection = ?", collection)
    if name is None:
        return None
    return WebMode(name) if name in list(WebMode) else WebMode.NEVER


def chosen_embedders(database: Database) -> dict[str, str]:
    """Return the embedding models that were chosen for single collections, by collection name."""
    sql = "SELECT collection, embedder FROM collection_settings WHERE embedder IS NOT NULL"
    return dict[str, str](map(tuple, database.rows(sql)))


def choose(database: Database, collection: str, **choices: str | None) -> None:
    """Set a collection's `preset`, `web` mode or `embedder`; None: that of the settings. Raises StoreError."""
    with database.transaction() as connection:
        for column, value in choices.items():
            sql = (
                f"INSERT INTO collection_settings (collection, {column}) VALUES (?, ?) "  # noqa: S608 - our own names
                f"ON CONFLICT (collection) DO UPDATE SET {column} = excluded.{column}"
            )
            connection.execute(sql, (collection, value))


LONGEST_TAG = 50
"""Maximum number of characters of a tag."""


def no_folder(name: str) -> UnknownDocument:
    """Return the error for a folder without documents."""
    return UnknownDocument(f"No document lies in a folder “{name}”. Add the folder first: localcrag ingest PATH")


def checked_tag(word: str) -> str:
    """Return a tag without needless spaces and leading “#”. Raises NameRefused."""
    word = normalised_name(" ".join(word.split()).lstrip("#"), "tag")
    if len(word) > LONGEST_TAG:
        raise NameRefused(f"The tag has {len(word)} characters; at most {LONGEST_TAG} are allowed. Shorten it.")
    if "*" in word or "," in word:
        raise NameRefused(f"Tags cannot contain “*” or a comma: “{word}”. Remove it and try again.")
    return word


_STORED = TypeAdapter(StoredCalibration)


class CalibrationStore:
    """The calibrations of a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def has_calibration(self, scorer: str, collection: str) -> bool:
        """Return whether a calibration is stored for a scorer of this name, with any weights. Raises StoreError."""
        sql = "SELECT 1 FROM calibrations WHERE scorer = ? AND collection = ? AND undone_at IS NULL LIMIT 1"
        return bool(self._database.rows(sql, scorer, collection))

    def active(self, identity: ScorerIdentity, collection: str) -> StoredCalibration | None:
        """Return the active calibration (the newest not undone), or None if the scorer's own applies.

        Raises StoreError.
        """
        return next((one for one in self.history(identity, collection) if one.undone_at is None), None)

    def history(self, identity: ScorerIdentity, collection: str) -> list[StoredCalibration]:
        """Return all calibrations that were ever applied, newest first, also undone ones. Raises StoreError."""
        rows = self._database.rows(
            "SELECT id, collection, scorer, weights, embedder, made_at, undone_at, record FROM calibrations "
            "WHERE scorer = ? AND weights = ? AND embedder = ? AND collection = ? ORDER BY id DESC",
            *(identity.scorer, identity.weights, identity.embedder, collection),
        )
        return [_stored(row) for row in rows]

    def apply(
        self, identity: ScorerIdentity, collection: str, calibration: FittedCalibration, how: CalibrationOrigin
    ) -> StoredCalibration:
        """Store a calibration as the active one, and return it. Raises StoreError."""
        made_at = now()
        record = json.dumps({"calibration": asdict(calibration), "how": asdict(how)})
        with self._database.transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO calibrations (collection, scorer, weights, embedder, made_at, record) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (collection, identity.scorer, identity.weights, identity.embedder, made_at, record),
            )
        return StoredCalibration(int(cursor.lastrowid or 0), collection, identity, made_at, None, calibration, how)

    def undo(self, identity: ScorerIdentity, collection: str) -> StoredCalibration | None:
        """Undo the active calibration and return it, or None if there is none. Raises StoreError."""
        one = self.active(identity, collection)
        if one is not None:
            self._database.run("UPDATE calibrations SET undone_at = ? WHERE id = ?", now(), one.id)
        return one


def _stored(row: sqlite3.Row) -> StoredCalibration:
    identity = ScorerIdentity(row["scorer"], row["weights"], row["embedder"])
    try:
        return _STORED.validate_python({**row, "identity": identity, **json.loads(row["record"])})
    except ValueError as error:
        raise StoreError(
            f"The calibration of {row['made_at']} for the collection “{row['collection']}” was written by another "
            "version and cannot be read. Use that version, or another --data-dir."
        ) from error
