"""Repair of a data folder: what can be made anew is made, a damaged database saved as far as it reads."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from localcrag.app.assemble import Assembly
from localcrag.app.health import Finding, State
from localcrag.backends.store import replacing, salvage
from localcrag.backends.store.database import Database, bring_up
from localcrag.backends.store.database_header import DATABASE_NAME, check_data_folder
from localcrag.backends.store.document_store import DocumentStore
from localcrag.records.backed_up import BackedUp
from localcrag.records.errors import LocalcragError, StoreError
from localcrag.settings import Settings
from localcrag.steps.ingest.recut import recut
from localcrag.text.decimals import counted

MADE_ANEW = ("index", "cache")
"""Folders with nothing that cannot be made again: vector indexes, faster copies of models, measured formats."""


def restore(settings: Settings, file: Path) -> BackedUp:
    """Put a backup in the place of what a data folder has, which may be damaged. Raises StoreError.

    No other process may have the folder open. See replacing.replace.
    """
    path = settings.data_dir / DATABASE_NAME
    check_data_folder(path)
    told = replacing.replace(path, file, bring_up)
    database = Database(path)
    try:
        database.put_back_files(settings.data_dir)
    finally:
        database.close()
    return told


def repair(settings: Settings) -> Iterator[Finding]:
    """Repair a data folder, and yield what was done, one finding after the other. Raises StoreError.

    No other process may have the folder open.
    """
    path = settings.data_dir / DATABASE_NAME
    check_data_folder(path)
    yield _database(path)
    for name in MADE_ANEW:
        shutil.rmtree(settings.data_dir / name, ignore_errors=True)
    yield Finding("caches", State.OK, "removed: faster copies of models are made again when they are needed")
    assembly = Assembly(settings)
    try:
        chunks = salvage.full_text_anew(assembly.database)
        yield Finding("full text", State.OK, f"made anew from {counted(chunks, 'chunk')}")
        for name in assembly.collections.names():
            yield _collection(assembly, name)
    finally:
        assembly.close()


def _database(path: Path) -> Finding:
    """Check the database, and where it is damaged put what can be read of it in its place."""
    with replacing.held_alone(path) as live:
        if live is not None and not (wrong := _wrong(live)):
            return Finding("database", State.OK, f"{path}: sound")
        if not path.exists():
            return Finding("database", State.OK, f"{path}: there is none yet")
        if live is not None and _indexes_anew(live):
            return Finding("database", State.OK, f"{path}: its indexes were damaged ({wrong}), and were made anew")
    try:
        with replacing.staged(path) as new:
            came = salvage.salvaged(path, new)
            kept = replacing.put_in_place(new, path, None)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"Nothing could be saved of {path}: {error}. It is as it was. Restore a backup: localcrag restore FILE"
        ) from error
    said = ", ".join(f"{number} {table.replace('_', ' ')}" for table, number in came.items() if number)
    return Finding(
        "database", State.FAILED,
        f"{path} was damaged. Saved into a new one: {said or 'nothing'}. The damaged one is kept in {kept}; compare, "
        "add again what is missing, or restore a backup (localcrag restore FILE); then remove it",
    )  # fmt: skip


def _wrong(live: sqlite3.Connection) -> str:
    """Return what is wrong with a database, in a few words; empty where nothing is."""
    try:
        found = [row[0] for row in live.execute("PRAGMA integrity_check(3)") if row[0] != "ok"]
    except sqlite3.Error as error:
        return str(error)
    return "; ".join(found)


def _indexes_anew(live: sqlite3.Connection) -> bool:
    """Make SQLite's indexes and the full-text index anew if that is all that is wrong, and return whether it was."""
    mended = False
    # A damaged database that is kept is kept as it was found.
    with suppress(sqlite3.Error):
        live.execute("BEGIN")
        live.execute("REINDEX")
        live.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('rebuild')")
        mended = not _wrong(live)
    if live.in_transaction:
        live.execute("COMMIT" if mended else "ROLLBACK")
    return mended


def _collection(assembly: Assembly, name: str) -> Finding:
    """Cut documents again that lost their chunks, and make the index of a collection that is not in a server."""
    if name in [one.name for one in assembly.collections.homes.elsewhere()]:
        return Finding(f"collection {name}", State.OFF, "lives in a PostgreSQL server, and was left as it is")
    try:
        cut = _recut(assembly, name)
        index = assembly.collections.index(name)
        index.refresh()
        index.save()
    except LocalcragError as error:
        return Finding(f"collection {name}", State.FAILED, str(error))
    recut = f", {cut} cut again from their text: add their files again to read them with all headings" if cut else ""
    return Finding(f"collection {name}", State.OK, f"{counted(len(index), 'chunk')} in its index, made anew{recut}")


def _recut(assembly: Assembly, name: str) -> int:
    """Cut the documents of a collection that have no chunks from their text, and return how many have some now."""
    lost = [one for one in assembly.collections.documents(name) if one.characters and not one.chunks]
    if not lost:
        return 0
    embedder = assembly.collections.embedders.of(name)
    store = DocumentStore(assembly.database, name, embedder=embedder.name, dimension=embedder.dimension)
    return recut(lost, shelf=store, embedder=embedder, chunk_tokens=assembly.settings.chunk_tokens)
