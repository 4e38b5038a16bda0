"""Read a data folder and check its consistency: the app's checks, SQLite's and our own."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from localcrag.app.assembly import Assembly
from localcrag.app.health import CheckState, examine_stored
from localcrag.records.errors import LocalcragError
from localcrag.storage.database import Database

NONE_OF = {
    "a chunk without a vector": "SELECT id FROM chunks WHERE id NOT IN (SELECT chunk_id FROM vectors)",
    "a vector without a chunk": "SELECT chunk_id FROM vectors WHERE chunk_id NOT IN (SELECT id FROM chunks)",
    "a vector of another length": (
        "SELECT v.chunk_id FROM vectors v JOIN chunks c ON c.id = v.chunk_id JOIN documents d ON d.id = c.document_id "
        "JOIN collections k ON k.id = d.collection_id WHERE length(v.vector) != 4 * k.dimension"
    ),
    "a document without chunks": (
        "SELECT name FROM documents d WHERE length(text) > 0 AND NOT EXISTS "
        "(SELECT 1 FROM chunks c WHERE c.document_id = d.id)"
    ),
    "a document whose length is another": "SELECT name FROM documents WHERE characters != length(text)",
    "a document without a language": (
        "SELECT name FROM documents WHERE id NOT IN (SELECT document_id FROM document_languages)"
    ),
    "stems of a chunk that is gone": "SELECT rowid FROM chunks_fts_stems WHERE rowid NOT IN (SELECT id FROM chunks)",
    "a chunk without its stems": (
        "SELECT c.id FROM chunks c JOIN document_languages l ON l.document_id = c.document_id AND l.stemmed "
        "WHERE c.id NOT IN (SELECT rowid FROM chunks_fts_stems)"
    ),
    "a PDF without its file": (
        "SELECT name FROM documents WHERE media_type = 'application/pdf' "
        "AND id NOT IN (SELECT document_id FROM originals)"
    ),
    "a page in the text that was not read": "SELECT page FROM scans WHERE in_text AND read IS NULL",
    "a turn that is answered, without its run": (
        "SELECT question FROM chat_turns WHERE state = 'answered' AND run_id NOT IN (SELECT id FROM runs)"
    ),
    "a run that cannot be read": "SELECT id FROM runs WHERE NOT json_valid(record)",
}
"""Queries for rows that no valid database contains."""
LEFT_OVER = (".within-*", ".web-*", "*.part", "index/*.tmp", "backups/.*.part", "*.new*")
"""Patterns of temporary files: one that is older than OLD seconds after a start should have been removed."""
OLD = 30.0


def facts_of(data: Path, database: Database) -> dict[str, str]:
    """Return the facts of a data folder. Raises StoreError."""
    facts = facts_in(database.rows)
    settings = data / "settings.json"
    stored = json.loads(settings.read_text("utf-8")) if settings.exists() else {}
    facts |= {f"setting {name}": str(value) for name, value in stored.items()}
    for copy in sorted((data / "backups").glob("*.sqlite3")):
        facts[f"backup {copy.name}"] = digest_of_copy(copy)
    return facts


def facts_in(rows: object) -> dict[str, str]:
    """Return the facts of a database; `rows` runs a query."""
    ask: Ask = rows  # type: ignore[assignment]
    of_document = "FROM documents d JOIN collections k ON k.id = d.collection_id"
    facts = {}
    for shelf, name, told in ask(f"SELECT k.name, d.name, d.sha256 {of_document}"):
        facts[f"document {shelf}/{name}"] = told
    for shelf, name, tag in ask(
        f"SELECT k.name, d.name, t.tag {of_document} JOIN document_tags t ON t.document_id = d.id"
    ):
        facts[f"tag {shelf}/{name}/{tag}"] = tag
    for shelf, name, read in ask(
        f"SELECT k.name, d.name, min(s.in_text) {of_document} JOIN scans s ON s.document_id = d.id GROUP BY d.id"
    ):
        facts[f"scan {shelf}/{name}"] = "read" if read else "waits"
    facts |= {f"chat {number}": title for number, title in ask("SELECT id, title FROM chats")}
    for chat, number, question in ask("SELECT chat_id, number, question FROM chat_turns"):
        facts[f"turn {chat}/{number}"] = question
    for chat, number, run in ask("SELECT chat_id, number, run_id FROM chat_turns WHERE state = 'answered'"):
        facts[f"answer {chat}/{number}"] = run
    for run, record in ask("SELECT id, record FROM runs"):
        facts[f"run {run}"] = hashlib.sha256(record.encode()).hexdigest()[:16]
    for run, what, target, good in ask("SELECT run_id, kind, target, good FROM labels"):
        facts[f"label {run}/{what}/{target}"] = str(good)
    return facts


class Ask:
    """Function that runs a query and returns its rows."""

    def __call__(self, sql: str, *values: object) -> list[tuple[str, ...]]: ...  # type: ignore[empty-body]


def digest_of_copy(path: Path) -> str:
    """Return a digest of a backup's content, or a description of what is wrong with it."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as copy:
            if (said := copy.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
                return f"damaged: {said}"
            facts = facts_in(lambda sql: copy.execute(sql).fetchall())
    except sqlite3.Error as error:
        return f"damaged: {error}"
    return digest(facts)


def digest(facts: dict[str, str]) -> str:
    """Return a digest of a database's facts."""
    return hashlib.sha256(json.dumps(sorted(facts.items())).encode()).hexdigest()[:16]


def problems_of(assembly: Assembly, gone: Sequence[str] = ()) -> Iterator[str]:
    """Yield the problems of a data folder that the app has opened; no document may contain the words in `gone`."""
    try:
        yield from problems_in(assembly.database)
        for finding in examine_stored(assembly):
            if finding.state is CheckState.FAILED:
                yield f"doctor: {finding.name}: {finding.detail}"
        for name in assembly.collections.names():
            yield from _problems_of_index(assembly, name, gone)
    except LocalcragError as error:
        yield f"{type(error).__name__}: {error}"
    folder = assembly.settings.data_dir
    left = [path for pattern in LEFT_OVER for path in folder.glob(pattern)]
    yield from (f"left over: {path.name}" for path in left if time.time() - path.stat().st_mtime > OLD)


def problems_in(database: Database) -> Iterator[str]:
    """Yield the problems of a database. Raises StoreError."""
    for row in database.rows("PRAGMA integrity_check"):
        if row[0] != "ok":
            yield f"integrity_check: {row[0]}"
    for row in database.rows("PRAGMA foreign_key_check"):
        yield f"foreign_key_check: {tuple(row)}"
    try:
        with database.transaction() as connection:
            for index in ("chunks_fts", "chunks_fts_stems"):
                connection.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)")  # noqa: S608
    except LocalcragError as error:
        yield f"full text: {error}"
    for what, sql in NONE_OF.items():
        yield from (f"{what}: {row[0]}" for row in database.rows(sql))


def _problems_of_index(assembly: Assembly, name: str, gone: Sequence[str]) -> Iterator[str]:
    index, store = assembly.collections.index(name), assembly.collections.store(name)
    index.refresh()
    there = set(store.chunk_ids())
    if len(index) != len(there):
        yield f"index of {name}: {len(index)} chunks, the database has {len(there)}"
    vector = assembly.models.embedder.embed(["what is there"])[0]
    found = {chunk for chunk, _ in index.nearest(vector, len(there) + 50)}
    if found != there:
        yield f"index of {name}: {len(there - found)} not found, {len(found - there)} found that are gone"
    for word in gone:
        if store.full_text(word, 5):
            yield f"deleted and found in {name}: {word}"
