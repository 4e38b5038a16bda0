"""Health checks, as `localcrag doctor` shows them: versions, models, memory, search server, index."""

from __future__ import annotations

import os
import platform
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from typing import ParamSpec

from localcrag import __version__
from localcrag.app import graphics
from localcrag.app.assemble import Assembly
from localcrag.app.foreign_documents import ADVICE
from localcrag.app.machine import memory
from localcrag.app.outgoing import described, may_leave, outgoing
from localcrag.app.web import Web
from localcrag.backends.processes.confine import by_what
from localcrag.backends.store import deleted_words
from localcrag.backends.store.vectors.engine_choice import MOST_IN_HNSWLIB, why_not_hnswlib
from localcrag.records.documents import Document
from localcrag.records.enums import IndexEngine, ScorerKind
from localcrag.records.errors import LocalcragError, ModelDamaged, StoreError
from localcrag.records.models import FileState, ModelRole, behind_server
from localcrag.records.presets import of_uncalibrated_grades
from localcrag.settings import Settings
from localcrag.text.decimals import counted
from localcrag.text.language_of import NAMES

PACKAGES = ("torch", "sentence-transformers", "transformers", "usearch", "llama-cpp-python", "gradio", "httpx")


WORTH_SAYING = 1_000_000
"""Bytes of the database that are empty, from which on it is said."""


class State(StrEnum):
    OK = "ok"
    OFF = "off"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `detail` says what was seen and, when it failed, what to do."""

    name: str
    state: State
    detail: str


def examine(assembly: Assembly) -> Iterator[Finding]:
    """Yield one finding after the other; a check that fails is a finding too."""
    installed = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    yield Finding("versions", State.OK, f"localcrag {__version__}, Python {platform.python_version()}, {installed}")
    yield _memory()
    yield _graphics()
    yield _confined()
    settings = assembly.settings
    yield vector_engines(settings.index_engine, why_not_hnswlib())
    for name in (settings.embedder, settings.relevance, settings.llm):
        yield _checked(f"files of {name}", _files, assembly, name)
    yield _checked("embedder", _embedder, assembly)
    yield _checked("relevance", _relevance, assembly)
    yield _checked("language model", _llm, assembly)
    yield examine_privacy(assembly)
    yield from examine_stored(assembly)
    yield search_server(assembly.settings, assembly.web)


def examine_stored(assembly: Assembly) -> Iterator[Finding]:
    """Yield what is found of the database and of each collection, whose index is brought up to it."""
    yield _checked("database", _database, assembly)
    for name in assembly.collections.names():
        yield _checked(f"collection {name}", _collection, assembly, name)


def examine_privacy(assembly: Assembly) -> Finding:
    """Return what may leave this computer under the current settings."""
    return _checked("what can leave", _leaving, assembly)


def search_server(settings: Settings, web: Web) -> Finding:
    """Return whether the configured SearXNG answers, and in JSON."""
    if not settings.searxng_url:
        return Finding("web search", State.OFF, "no SearXNG is set (searxng_url), so nothing is asked of the web")
    try:
        health = web.health()
    except LocalcragError as error:
        return Finding("web search", State.FAILED, str(error))
    if health.error:
        return Finding("web search", State.FAILED, health.error)
    detail = f"{web.address} answers in JSON, {health.seconds:.2f} s"
    if health.failed_engines:
        detail += "; engines that failed: " + ", ".join(f"{name} ({why})" for name, why in health.failed_engines)
    return Finding("web search", State.OK, detail)


Arguments = ParamSpec("Arguments")


def _checked(
    name: str, look: Callable[Arguments, str], *arguments: Arguments.args, **named: Arguments.kwargs
) -> Finding:
    try:
        return Finding(name, State.OK, look(*arguments, **named))
    except LocalcragError as error:
        return Finding(name, State.FAILED, str(error))


def _leaving(assembly: Assembly) -> str:
    servers = outgoing(assembly)
    return " ".join([may_leave(servers), *(described(one) for one in servers if not one.agreed)])


def _files(assembly: Assembly, name: str) -> str:
    if behind_server(name):
        return "behind a server: none here"
    checks = [*assembly.library.verify(name)]
    wrong = [check for check in checks if check.state in (FileState.MISSING, FileState.WRONG)]
    if wrong:
        what = ", ".join(f"{check.path.name} is {check.state}" for check in wrong)
        raise ModelDamaged(f"{name}: {what}. Get it again: localcrag models get {name}")
    unknown = sum(check.state is FileState.UNKNOWN for check in checks)
    size = sum(check.path.stat().st_size for check in checks if check.path.is_file())
    known = "no checksum is known for it" if unknown else "checksums right"
    return f"{counted(len(checks), 'file')}, {size / 1e6:.0f} MB, {known}"


def _embedder(assembly: Assembly) -> str:
    embedder = assembly.models.embedder
    return f"{embedder.name}: {embedder.dimension} dimensions, {embedder.max_tokens} tokens at most"


def _relevance(assembly: Assembly) -> str:
    from localcrag.backends.models.relevance_format import describe  # noqa: PLC0415 - takes seconds

    scorer, settings = assembly.calibrations.scorer(), assembly.settings.under(assembly.collection_settings.preset())
    own, applied = scorer.calibration.thresholds, assembly.calibrations.applied()
    by_llm = settings.scorer is ScorerKind.LLM
    limits = settings.thresholds(of_uncalibrated_grades(own) if by_llm else own)
    if behind_server(settings.relevance):
        computes_in = f"its server ({assembly.models.served_scale})"
    else:
        folder = assembly.library.path(settings.relevance, ModelRole.RELEVANCE)
        computes_in = describe(folder, wanted=settings.relevance_format, cache=settings.data_dir / "cache")
    how = "calibrated" if scorer.calibration.fitted else "NOT calibrated: a plain sigmoid"
    if applied:
        how += f" for the collection “{applied.collection}” on {applied.how.passages} labels, {applied.made_at}"
    return (
        f"{scorer.name}: {how}; upper {limits.upper:g}, lower {limits.lower:g}, strip {limits.strip:g} (preset "
        f"{settings.preset}); computes in {computes_in}"
        + (f". Passages are graded by the language model {settings.llm}" if by_llm else "")
    )


def _llm(assembly: Assembly) -> str:
    if behind_server(assembly.settings.llm):
        model = assembly.library.servers.language_model(assembly.settings.llm)
        said = "as its server says" if model.says_window else "as set: its server does not say"
        return f"{model.name} ({model.program}): window of {model.context_tokens} tokens, {said}"
    threads = assembly.settings.threads or os.cpu_count()
    return f"{assembly.models.llm.name}: window of {assembly.models.llm.context_tokens} tokens, {threads} threads"


def _database(assembly: Assembly) -> str:
    problems = assembly.database.rows("PRAGMA quick_check(3)")
    if problems[0][0] != "ok":
        found = "; ".join(row[0] for row in problems)
        raise StoreError(f"{assembly.database.path} is damaged: {found}. Restore it from a backup.")
    said = f"{assembly.database.path}: {assembly.database.path.stat().st_size / 1e6:.1f} MB, sound"
    free = assembly.database.free()
    if free >= WORTH_SAYING:
        said += (
            f"; {free / 1e6:.1f} MB of it are empty, where something was deleted: documents to come take them, and "
            "`localcrag forget` gives them back"
        )
    if deleted_words.are_left(assembly.database):
        said += (
            "; words of what was deleted or changed are left to be overwritten: the page does it, or localcrag forget"
        )
    return said


def _collection(assembly: Assembly, name: str) -> str:
    documents = assembly.collections.store(name).documents()
    chunks = sum(document.chunks for document in documents)
    index = assembly.collections.index(name)
    rebuilt = "" if index.consistent() else "; the index file was missing or stale, and was built anew"
    index.refresh()
    index.save()
    held = f"{counted(len(documents), 'document')}, {counted(chunks, 'chunk')}"
    said = f"{held}, {len(index)} of them in the index{rebuilt}"
    if assembly.collections.mostly_foreign(documents):
        said += f". {ADVICE}"
    return said + of_unknown_words(documents)


def of_unknown_words(documents: Sequence[Document]) -> str:
    """Return what is said of documents in languages whose words the rules do not know; empty where there are none."""
    lacking = Counter(NAMES.get(one.language or "", "others") for one in documents if one.lacks_words)
    if not lacking:
        return ""
    named = ", ".join(f"{language} {number}" for language, number in lacking.most_common())
    return (
        f". Documents in languages whose words are not known ({named}) are searched, but follow-up questions and "
        "negations in these languages are not understood"
    )


def _confined() -> Finding:
    held = by_what()
    if not held:
        said = "by the egress guard alone: this system lets no process confine itself"
        return Finding("reading files", State.OFF, said)
    what = {"seccomp": "open no socket and start no program", "Landlock": "change no file"}
    can = ", and ".join(what[one] for one in held)
    return Finding("reading files", State.OK, f"in processes that can {can} ({', '.join(held)})")


def vector_engines(wanted: IndexEngine, why_not: str) -> Finding:
    """Return which library searches vectors; `why_not` says why hnswlib cannot."""
    if wanted is not IndexEngine.USEARCH and why_not:
        return Finding(
            "vector search",
            State.OFF,
            f"usearch searches all collections, because hnswlib cannot be imported ({why_not}). To compile it, install "
            f'a C++ compiler, then run: {sys.executable} -m pip install "hnswlib>=0.8,<0.9"',
        )
    if wanted is IndexEngine.AUTO:
        beyond = f"up to {MOST_IN_HNSWLIB:,} different vectors in a collection, usearch beyond"
        return Finding("vector search", State.OK, f"hnswlib {version('hnswlib')} {beyond}")
    return Finding("vector search", State.OK, f"{wanted} {version(wanted)} searches all collections (index_engine)")


def _graphics() -> Finding:
    found = graphics.report()
    return Finding("graphics", State.OFF if found.advice else State.OK, "\n        ".join(found.lines()))


def _memory() -> Finding:
    there = memory()
    said = (
        f"{there.total / 2**30:.1f} GiB of memory, {there.free / 2**30:.1f} GiB free"
        if there
        else "memory unknown on this system"
    )
    return Finding("machine", State.OK, f"{counted(os.cpu_count() or 1, 'core')}, {said}, {platform.platform()}")
