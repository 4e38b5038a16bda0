"""Health checks for `localcrag doctor`, and the repair of a damaged data folder.

`examine` checks versions, models, memory, search server, database and indexes without changing documents; `repair`
saves everything readable in a damaged database, and rebuilds the rest from it.
"""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path

from localcrag import __version__
from localcrag.app.assembly import Assembly
from localcrag.app.collections.collections import ADVICE
from localcrag.app.egress import describe_outgoing, may_leave, outgoing
from localcrag.app.models import hardware
from localcrag.app.models.hardware import memory
from localcrag.app.web_search import Web
from localcrag.documents.ingest import recut
from localcrag.privacy import log_file
from localcrag.privacy.worker_process import confinement_mechanisms
from localcrag.records.documents import BackupSummary, Document
from localcrag.records.enums import IndexEngine, ScorerKind
from localcrag.records.errors import LocalcragError, ModelDamaged, SearchError, StoreError
from localcrag.records.models import FileState, ModelRole, is_served
from localcrag.settings import Settings
from localcrag.storage import backup, salvage
from localcrag.storage.collections import full_text
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.engine_choice import MOST_IN_HNSWLIB, hnswlib_import_error
from localcrag.storage.database import Database, migrate
from localcrag.storage.schema import DATABASE_NAME, check_data_folder
from localcrag.text.translation import counted
from localcrag.text.words import NAMES

PACKAGES = ("torch", "sentence-transformers", "transformers", "usearch", "llama-cpp-python", "gradio", "httpx")


MIN_EMPTY_BYTES = 1_000_000
"""Number of empty bytes in the database file from which the report mentions them."""


ERRORS_SHOWN = 3
"""Number of errors from the log file to show."""


class CheckState(StrEnum):
    OK = "ok"
    OFF = "off"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `detail` describes the finding and, after a failure, the remedy."""

    name: str
    state: CheckState
    detail: str


def examine(assembly: Assembly) -> Iterator[Finding]:
    """Yield the findings of all checks; a check that raises an error is a failed finding."""
    installed = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    yield Finding(
        "versions", CheckState.OK, f"localcrag {__version__}, Python {platform.python_version()}, {installed}"
    )
    yield _memory()
    yield _graphics()
    yield _confined()
    settings = assembly.settings
    yield vector_engines(settings.index_engine, hnswlib_import_error())
    for name in (settings.embedder, settings.relevance, settings.llm):
        yield _checked(f"files of {name}", _files, assembly, name)
    for name, look in {"embedder": _embedder, "relevance": _relevance, "language model": _llm}.items():
        yield _checked(name, look, assembly)
    yield examine_privacy(assembly)
    yield from examine_stored(assembly)
    yield Finding("log", CheckState.OK, _log_file(settings))
    yield search_server(settings, assembly.web)


def examine_stored(assembly: Assembly) -> Iterator[Finding]:
    """Yield the findings for the database and for each collection, whose index is updated first."""
    yield _checked("database", _database, assembly)
    for name in assembly.collections.names():
        yield _checked(f"collection {name}", _collection, assembly, name)


def _log_file(settings: Settings) -> str:
    """Return the location of the log file, and its last errors."""
    path = settings.data_dir / log_file.FOLDER / log_file.NAME
    if not path.is_file():
        return f"{path}: nothing was logged yet"
    errors = log_file.last_lines(settings.data_dir, ERRORS_SHOWN, "ERROR", "CRITICAL")
    return "\n        ".join([f"{path}, its last errors:", *errors]) if errors else f"{path}: no errors"


def examine_privacy(assembly: Assembly) -> Finding:
    """Return the finding about what may leave this computer under the current settings."""
    return _checked("what can leave", _leaving, assembly)


def search_server(settings: Settings, web: Web) -> Finding:
    """Return whether the configured SearXNG answers, and in JSON."""
    if not settings.searxng_url:
        return Finding("web search", CheckState.OFF, "no SearXNG is set (searxng_url), so the web is not searched")
    return _checked("web search", _search, web)


def _search(web: Web) -> str:
    health = web.health()
    if health.error:
        raise SearchError(health.error)
    detail = f"{web.address} answers in JSON, {health.seconds:.2f} s"
    if health.failed_engines:
        detail += "; engines that failed: " + ", ".join(f"{name} ({why})" for name, why in health.failed_engines)
    return detail


def _checked(name: str, look: Callable[..., str], *arguments: object) -> Finding:
    try:
        return Finding(name, CheckState.OK, look(*arguments))
    except LocalcragError as error:
        return Finding(name, CheckState.FAILED, str(error))


def _leaving(assembly: Assembly) -> str:
    servers = outgoing(assembly)
    return " ".join([may_leave(servers), *(describe_outgoing(one) for one in servers if not one.agreed)])


def _files(assembly: Assembly, name: str) -> str:
    if is_served(name):
        return "on a server: no files on this computer"
    checks = [*assembly.library.verify(name)]
    wrong = (FileState.MISSING, FileState.WRONG)
    if what := ", ".join(f"{check.path.name} is {check.state}" for check in checks if check.state in wrong):
        raise ModelDamaged(f"{name}: {what}. Download it again: localcrag models get {name}")
    unknown = sum(check.state is FileState.UNKNOWN for check in checks)
    size = sum(check.path.stat().st_size for check in checks if check.path.is_file())
    known = "no known checksum" if unknown else "checksums match"
    return f"{counted(len(checks), 'file')}, {size / 1e6:.0f} MB, {known}"


def _embedder(assembly: Assembly) -> str:
    embedder = assembly.models.embedder
    return f"{embedder.name}: {embedder.dimension} dimensions, at most {embedder.max_tokens} tokens"


def _relevance(assembly: Assembly) -> str:
    from localcrag.models.reranker_format import describe  # noqa: PLC0415 - takes seconds

    scorer, settings = assembly.calibrations.scorer(), assembly.settings.under(assembly.collection_settings.preset())
    own, applied = scorer.calibration.thresholds, assembly.calibrations.applied()
    by_llm = settings.scorer is ScorerKind.LLM
    limits = settings.thresholds(own)
    if is_served(settings.relevance):
        computes_in = f"its server ({assembly.models.served_scale})"
    else:
        folder = assembly.library.path(settings.relevance, ModelRole.RELEVANCE)
        computes_in = describe(folder, wanted=settings.relevance_format, cache=settings.data_dir / "cache")
    how = "calibrated" if scorer.calibration.fitted else "NOT calibrated: a plain sigmoid"
    if applied:
        how += (
            f" for the collection “{applied.collection}” on {counted(applied.how.passages, 'label')}, {applied.made_at}"
        )
    return (
        f"{scorer.name}: {how}; upper {limits.upper:g}, lower {limits.lower:g}, strip {limits.strip:g} (preset "
        f"{settings.preset}); computes in {computes_in}"
        + (f". Passages are graded by the language model {settings.llm}" if by_llm else "")
    )


def _llm(assembly: Assembly) -> str:
    if is_served(assembly.settings.llm):
        model = assembly.library.servers.language_model(assembly.settings.llm)
        source = "as reported by its server" if model.says_window else "as set, because its server does not report it"
        return f"{model.name} ({model.program}): context window of {model.context_tokens} tokens, {source}"
    threads = counted(assembly.settings.threads or os.cpu_count() or 1, "thread")
    return f"{assembly.models.llm.name}: context window of {assembly.models.llm.context_tokens} tokens, {threads}"


def _database(assembly: Assembly) -> str:
    problems = assembly.database.rows("PRAGMA quick_check(3)")
    if problems[0][0] != "ok":
        found = "; ".join(row[0] for row in problems)
        raise StoreError(f"{assembly.database.path} is damaged: {found}. Restore it from a backup.")
    text = f"{assembly.database.path}: {assembly.database.path.stat().st_size / 1e6:.1f} MB, sound"
    free = assembly.database.free_bytes()
    if free >= MIN_EMPTY_BYTES:
        text += (
            f"; {free / 1e6:.1f} MB of it are empty after deletions: new documents reuse them, and `localcrag forget` "
            "frees them"
        )
    if full_text.has_pending_words(assembly.database):
        text += "; words of deleted or changed documents still have to be overwritten: run localcrag forget"
    return text


def _collection(assembly: Assembly, name: str) -> str:
    documents = assembly.collections.store(name).documents()
    chunks = sum(document.chunks for document in documents)
    index = assembly.collections.index(name)
    rebuilt = "" if index.is_consistent() else "; the index file was missing or stale and was rebuilt"
    index.refresh()
    index.save()
    held = f"{counted(len(documents), 'document')}, {counted(chunks, 'chunk')}"
    text = f"{held}, {len(index)} of them in the index{rebuilt}"
    if assembly.collections.mostly_foreign(documents):
        text += f". {ADVICE}"
    return text + unsupported_languages_note(documents)


def unsupported_languages_note(documents: Sequence[Document]) -> str:
    """Return the note about documents in languages without a word list; empty if there are none."""
    lacking = Counter(NAMES.get(one.language or "", "others") for one in documents if one.has_no_lexicon)
    if not lacking:
        return ""
    named = ", ".join(f"{language} {number}" for language, number in lacking.most_common())
    return (
        f". localcrag has no word lists for some languages ({named}). It searches these documents, but does not "
        "understand follow-up questions and negations in these languages"
    )


def _confined() -> Finding:
    held = confinement_mechanisms()
    if not held:
        text = "protected only by the egress guard: this system does not support confining processes"
        return Finding("reading files", CheckState.OFF, text)
    what = {"seccomp": "open no socket and start no program", "Landlock": "change no file"}
    can = ", and ".join(what[one] for one in held)
    return Finding("reading files", CheckState.OK, f"in processes that can {can} ({', '.join(held)})")


def vector_engines(wanted: IndexEngine, why_not: str) -> Finding:
    """Return which library searches the vectors; `why_not` is the reason if hnswlib cannot."""
    if wanted is not IndexEngine.USEARCH and why_not:
        text = (
            f"usearch searches all collections, because hnswlib cannot be imported ({why_not}). To compile it, install "
            f'a C++ compiler, then run: {sys.executable} -m pip install "hnswlib>=0.8,<0.9"'
        )
        return Finding("vector search", CheckState.OFF, text)
    if wanted is IndexEngine.AUTO:
        limit = f"{MOST_IN_HNSWLIB:,} different vectors in a collection"
        text = f"hnswlib {version('hnswlib')} up to {limit}, usearch for more"
    else:
        text = f"{wanted} {version(wanted)} searches all collections (index_engine)"
    return Finding("vector search", CheckState.OK, text)


def _graphics() -> Finding:
    found = hardware.report()
    return Finding("graphics", CheckState.OFF if found.advice else CheckState.OK, "\n        ".join(found.lines()))


def _memory() -> Finding:
    text, there = "memory unknown on this system", memory()
    if there:
        text = f"{there.total / 2**30:.1f} GiB of memory, {there.free / 2**30:.1f} GiB free"
    return Finding("machine", CheckState.OK, f"{counted(os.cpu_count() or 1, 'core')}, {text}, {platform.platform()}")


REBUILT_FOLDERS = ("index", "cache")
"""Folders whose content can be rebuilt: vector indexes, faster copies of models, measured formats."""


def restore(settings: Settings, file: Path) -> BackupSummary:
    """Replace the data folder's database, damaged or not, with a backup. Raises StoreError.

    No other process may have the folder open. See localcrag.storage.backup.restore.
    """
    path = settings.data_dir / DATABASE_NAME
    check_data_folder(path)
    restored = backup.restore(path, file, migrate)
    with closing(Database(path)) as database:
        database.restore_files(settings.data_dir)
    return restored


def repair(settings: Settings) -> Iterator[Finding]:
    """Repair a data folder, yielding a finding for each step. Raises StoreError.

    No other process may have the folder open.
    """
    path = settings.data_dir / DATABASE_NAME
    check_data_folder(path)
    # The database must be sound before Assembly opens it.
    yield _repair_database(path)
    for name in REBUILT_FOLDERS:
        shutil.rmtree(settings.data_dir / name, ignore_errors=True)
    yield Finding("caches", CheckState.OK, "removed: localcrag makes faster copies of models again when it needs them")
    with closing(Assembly(settings)) as assembly:
        chunks = salvage.rebuild_full_text(assembly.database)
        yield Finding("full text", CheckState.OK, f"rebuilt from {counted(chunks, 'chunk')}")
        for name in assembly.collections.names():
            if name in [one.name for one in assembly.collections.homes.elsewhere()]:
                yield Finding(f"collection {name}", CheckState.OFF, "on a PostgreSQL server; not repaired")
            else:
                yield _checked(f"collection {name}", _repair_collection, assembly, name)


def _repair_database(path: Path) -> Finding:
    """Check the database; if it is damaged, replace it with a new one that contains all readable rows."""
    with backup.exclusive_lock(path) as live:
        if live is not None and not (wrong := _damage(live)):
            return Finding("database", CheckState.OK, f"{path}: sound")
        if not path.exists():
            return Finding("database", CheckState.OK, f"{path}: not created yet")
        if live is not None and _rebuild_indexes(live):
            return Finding("database", CheckState.OK, f"{path}: its indexes were damaged ({wrong}) and were rebuilt")
    try:
        with backup.staged(path) as new:
            came = salvage.copy_readable_rows(path, new)
            kept = backup.replace_database(new, path, None)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"Nothing could be rescued from {path}: {error}. It was not changed. "
            "Restore a backup: localcrag restore FILE"
        ) from error
    counts = ", ".join(f"{number} {table.replace('_', ' ')}" for table, number in came.items() if number)
    return Finding(
        "database", CheckState.FAILED,
        f"{path} was damaged. Rescued into a new database: {counts or 'nothing'}. The damaged one is kept in {kept}. "
        "Compare them, then add missing documents again or restore a backup (localcrag restore FILE)",
    )  # fmt: skip


def _damage(live: sqlite3.Connection) -> str:
    """Return a short description of the damage to a database, or "" if it is sound."""
    try:
        found = [row[0] for row in live.execute("PRAGMA integrity_check(3)") if row[0] != "ok"]
    except sqlite3.Error as error:
        return str(error)
    return "; ".join(found)


def _rebuild_indexes(live: sqlite3.Connection) -> bool:
    """Rebuild SQLite's indexes and the full-text index; keep the result only if nothing else is damaged.

    Return whether that was the case.
    """
    mended = False
    # If this does not repair everything, it is rolled back, so that a damaged database stays exactly as it was.
    with suppress(sqlite3.Error):
        live.execute("BEGIN")
        live.execute("REINDEX")
        live.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('rebuild')")
        mended = not _damage(live)
    if live.in_transaction:
        live.execute("COMMIT" if mended else "ROLLBACK")
    return mended


def _repair_collection(assembly: Assembly, name: str) -> str:
    """Chunk documents that lost their chunks again, and rebuild the index of a collection on this computer."""
    cut = _recut(assembly, name)
    index = assembly.collections.index(name)
    index.refresh()
    index.save()
    recut = (
        f", {counted(cut, 'document')} chunked again from the stored text; to restore all headings, add the files again"
    )
    return f"{counted(len(index), 'chunk')} in its rebuilt index{recut if cut else ''}"


def _recut(assembly: Assembly, name: str) -> int:
    """Chunk the documents without chunks from their stored text; return how many have chunks now."""
    lost = [one for one in assembly.collections.documents(name) if one.characters and not one.chunks]
    if not lost:
        return 0
    embedder = assembly.collections.embedders.get(name)
    store = DocumentStore(assembly.database, name, embedder=embedder.name, dimension=embedder.dimension)
    return recut(lost, shelf=store, embedder=embedder, chunk_tokens=assembly.settings.chunk_tokens)
