"""Find and remove the runs, turns, labels and pins that quote a document, by its name or its text."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from localcrag.records.documents import RemovedQuotations
from localcrag.records.passages import citations
from localcrag.records.run import chat_title
from localcrag.storage.chat_store import delete_turn
from localcrag.storage.database import Database

_SEPARATORS = re.compile(r"\[\d[\d, ]*\]|\n")
_SURROUNDING = " \t-–•*>_|“”\"'."
"""Pattern for what separates the quotations in an answer (citations and line breaks), and characters around a
quotation."""
LEAST_QUOTED = 20
"""Minimum number of characters for a text that occurs in a document to count as a quotation."""


@dataclass(frozen=True, slots=True)
class QuotedDocuments:
    """The documents to look for: their collection, names, texts, and phrases that no other document has.

    `others` are the documents that stay, by collection and name. A passage from one of them counts as a quotation only
    if it contains one of the phrases.
    """

    collection: str
    names: frozenset[str]
    texts: tuple[str, ...]
    phrases: tuple[str, ...]
    others: frozenset[tuple[str, str]] = frozenset()

    def occur_in(self, text: str | None) -> bool:
        """Return whether a text is part of one of the documents, or contains one of the phrases."""
        if not text:
            return False
        part = text.strip()
        return self._says_phrase(text) or (len(part) >= LEAST_QUOTED and any(part in one for one in self.texts))

    def is_named(self, collection: str, document: object) -> bool:
        """Return whether this is the name of one of the documents."""
        return collection == self.collection and document in self.names

    def occur_in_record(self, collection: str, names: Iterable[object], texts: Iterable[str | None]) -> bool:
        """Return whether one of the names is that of a document, or one of the texts quotes one."""
        return any(self.is_named(collection, name) for name in names) or any(map(self.occur_in, texts))

    def occur_in_run(self, run: Mapping[str, Any], *, by_name: bool = True) -> bool:
        """Return whether a stored run found or quotes text of the documents.

        Without `by_name`, only texts are compared, because documents of an evaluation set may have any names.
        """
        return bool(self._passages(run, by_name=by_name)) or self._quotes_outside_passages(run, by_name=by_name)

    def redacted_run(self, run: dict[str, Any]) -> dict[str, Any] | None:
        """Return a run without the passages from the documents, or None if its answer cites or quotes them."""
        found = self._passages(run, by_name=True)
        cited = {n for text in (run.get("answer", ""), *_sentence_citations(run)) for n in citations(text)}
        if any(piece["passage"] in found and piece["n"] in cited for piece in run.get("evidence", ())):
            return None
        parts = (("passages", "id"), ("strips", "passage"), ("evidence", "passage"))
        rest = run | {part: [one for one in run.get(part, ()) if one[key] not in found] for part, key in parts}
        used = {piece["source"] for piece in rest["evidence"]}
        rest["sources"] = [one for one in run.get("sources", ()) if one["id"] in used]
        return None if self._quotes_outside_passages(rest, by_name=True) else rest

    def _passages(self, run: Mapping[str, Any], *, by_name: bool) -> set[str]:
        """Return the ids of a run's passages that come from the documents."""
        return {one["id"] for one in run.get("passages", ()) if self._is_ours(one, run["collection"], by_name=by_name)}

    def _is_ours(self, passage: Mapping[str, Any], collection: str, *, by_name: bool) -> bool:
        if by_name and self.is_named(collection, passage.get("document")):
            return True
        if by_name and (collection, passage.get("document")) in self.others:
            return self._says_phrase(passage["text"])
        return self.occur_in(passage["text"])

    def _quotes_outside_passages(self, run: Mapping[str, Any], *, by_name: bool) -> bool:
        """Return whether anything but a run's passages comes from the documents, such as its answer or its sources.

        An answer may show lines of a passage without citing them: if no passage was certain, it shows the likeliest
        passages.
        """
        computation = run.get("computation") or {}
        named = [one.get("document") for one in (*run.get("sources", ()), computation)]
        if by_name and any(self.is_named(run["collection"], name) for name in named):
            return True
        cells = [cell for row in computation.get("rows", ()) for cell in row["cells"]]
        texts = [*_pieces(run.get("answer", "")), *(one["text"] for one in run.get("strips", ())), *cells]
        remaining = [one["text"] for one in run.get("passages", ())]
        return self._says_phrase(json.dumps(run, ensure_ascii=False)) or any(
            self.occur_in(one) and not any(one.strip() in text for text in remaining) for one in texts
        )

    def _says_phrase(self, text: str) -> bool:
        return any(phrase in text for phrase in self.phrases)


def _sentence_citations(run: Mapping[str, Any]) -> list[str]:
    """Return the citations that belong to the sentences of a run's answer, each written as “[n]”."""
    return [f"[{n}]" for one in run.get("support", ()) if one.get("shown", True) for n in one["citations"]]


def _pieces(answer: str) -> list[str]:
    """Return the parts of an answer that may be literal quotations, without citations and punctuation."""
    return [piece.strip(_SURROUNDING) for piece in _SEPARATORS.split(answer)]


TurnRows = list[sqlite3.Row]


def found_passages(database: Database, collection: str, names: Iterable[str]) -> list[str]:
    """Return the distinct passages that runs found in documents of these names, which may be deleted.

    Raises StoreError.
    """
    with database.transaction() as connection:
        return list(dict.fromkeys(_passages(connection, collection, frozenset(names))))


def has_quotations(database: Database, collection: str, names: Iterable[str]) -> bool:
    """Return whether a run found a passage in documents of these names, which may be deleted. Raises StoreError."""
    with database.transaction() as connection:
        return any(True for _ in _passages(connection, collection, frozenset(names)))


def _passages(connection: sqlite3.Connection, collection: str, names: frozenset[str]) -> Iterator[str]:
    """Yield the passages that runs found in the documents.

    Records are read one at a time, because all of them together may not fit into memory. SQLite preselects the records
    that contain one of the names in its JSON form.
    """
    sql = (
        "SELECT record FROM runs WHERE collection = ? "
        "AND EXISTS (SELECT 1 FROM json_each(?) AS name WHERE instr(record, name.value))"
    )
    json_names = [json.dumps(name, ensure_ascii=False) for name in names]
    for row in connection.execute(sql, (collection, json.dumps(json_names))):
        found = json.loads(row["record"]).get("passages", ())
        yield from (one["text"] for one in found if one.get("document") in names)


def remove_quotations(database: Database, documents: QuotedDocuments) -> RemovedQuotations:
    """Remove everything that quotes the documents, all or nothing. Raises StoreError.

    A chat loses the turns that quote them, including hidden versions, and is deleted if no turn is left. A run that had
    such a turn as context is removed as well.
    """
    with database.transaction() as connection:
        quoted, redacted, context_turns = _runs(connection, documents)
        turns = _turns(connection, documents, quoted)
        removed_answers = {(turn["question"], turn["answer"]) for turn in turns}
        quoted |= {run for run, before in context_turns.items() if not removed_answers.isdisjoint(before)}
        _remove(connection, "runs", "id", quoted)
        for run, record in redacted.items():
            connection.execute("UPDATE runs SET record = ? WHERE id = ?", (record, run))
        for turn in turns:
            delete_turn(connection, turn["chat_id"], turn["number"])
        return RemovedQuotations(
            runs=len(quoted),
            redacted=len(redacted.keys() - quoted),
            turns=len(turns),
            chats=_settle_chats(connection, turns, documents),
            labels=_remove(connection, "labels", "id", _labels(connection, documents, quoted)),
            pins=_remove(connection, "pins", "run_id", _pins(connection, documents, quoted)),
            web_answers=_remove(connection, "web_cache", "rowid", _web_answers(connection, documents)),
        )


def _runs(
    connection: sqlite3.Connection, quoting: QuotedDocuments
) -> tuple[set[str], dict[str, str], dict[str, set[tuple[str, str]]]]:
    """Return the ids of the runs to remove, the redacted records of others, and the earlier turns of each run.

    A run that repeats a removed run is removed, too. Runs are read oldest first, so the original precedes its
    repetition.
    """
    quoted: set[str] = set()
    redacted, context_turns = {}, {}
    for row in connection.execute("SELECT id, record FROM runs ORDER BY rowid"):
        run = json.loads(row["record"])
        if run.get("history"):
            context_turns[row["id"]] = {(turn["question"], turn["answer"]) for turn in run["history"]}
        repeats = run.get("replays") in quoted or run.get("forced_from") in quoted
        if not (repeats or quoting.occur_in_run(run)):
            continue
        if repeats or (rest := quoting.redacted_run(run)) is None:
            quoted.add(row["id"])
        else:
            redacted[row["id"]] = json.dumps(rest, ensure_ascii=False, separators=(",", ":"))
    return quoted, redacted, context_turns


def _turns(connection: sqlite3.Connection, quoting: QuotedDocuments, runs: set[str]) -> TurnRows:
    rows = connection.execute("SELECT chat_id, number, question, answer, run_id FROM chat_turns").fetchall()
    return [
        row for row in rows if row["run_id"] in runs or any(map(quoting.occur_in, (row["question"], row["answer"])))
    ]


def _settle_chats(connection: sqlite3.Connection, turns: TurnRows, quoting: QuotedDocuments) -> int:
    """Remove the chats without turns, and return their number; retitle chats that were named after a removed turn."""
    removed = 0
    lost = {chat_title(turn["question"]) for turn in turns}
    for chat in {turn["chat_id"] for turn in turns}:
        first = connection.execute(
            "SELECT question FROM chat_turns WHERE chat_id = ? AND parent IS NULL ORDER BY chosen DESC LIMIT 1", (chat,)
        ).fetchone()
        if first is None:
            removed += connection.execute("DELETE FROM chats WHERE id = ?", (chat,)).rowcount
            continue
        title = connection.execute("SELECT title FROM chats WHERE id = ?", (chat,)).fetchone()["title"]
        if title in lost or quoting.occur_in(title):
            connection.execute("UPDATE chats SET title = ? WHERE id = ?", (chat_title(first["question"]), chat))
    return removed


def _labels(connection: sqlite3.Connection, quoting: QuotedDocuments, runs: set[str]) -> set[int]:
    """Return the ids of the labels to remove; erase the documents' names from the other labels."""
    found = set()
    for row in connection.execute("SELECT * FROM labels").fetchall():
        circumstances = json.loads(row["circumstances"] or "{}")
        names = (row["document"], *circumstances.get("case", {}).get("documents", ()))
        texts = (row["question"], row["text"], row["evidence"], row["circumstances"])
        if row["run_id"] in runs or quoting.occur_in_record(row["collection"], names, texts):
            found.add(row["id"])
        elif any(quoting.is_named(row["collection"], name) for name in circumstances.get("documents", ())):
            circumstances["documents"] = [
                one for one in circumstances["documents"] if not quoting.is_named(row["collection"], one)
            ]
            changed = json.dumps(circumstances, ensure_ascii=False)
            connection.execute("UPDATE labels SET circumstances = ? WHERE id = ?", (changed, row["id"]))
    return found


def _pins(connection: sqlite3.Connection, quoting: QuotedDocuments, runs: set[str]) -> set[str]:
    found = set()
    for row in connection.execute("SELECT * FROM pins"):
        question = json.loads(row["question"])
        texts = (row["question"], question["question"], *question.get("answers", ()))
        if row["run_id"] in runs or quoting.occur_in_record(row["collection"], question.get("documents", ()), texts):
            found.add(row["run_id"])
    return found


def _web_answers(connection: sqlite3.Connection, quoting: QuotedDocuments) -> set[int]:
    rows = connection.execute("SELECT rowid AS number, query, answer FROM web_cache")
    return {row["number"] for row in rows if quoting.occur_in(row["query"]) or quoting.occur_in(row["answer"])}


def _remove(connection: sqlite3.Connection, table: str, column: str, keys: Iterable[object]) -> int:
    sql = f"DELETE FROM {table} WHERE {column} = ?"  # noqa: S608 - our own names
    return sum(connection.execute(sql, (key,)).rowcount for key in keys)
