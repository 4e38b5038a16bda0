"""The index of stems, by which documents in other languages are searched, and what these are."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from localcrag.backends.store import chunk_changes
from localcrag.backends.store.database import Database
from localcrag.text.language_of import MOST_CHARACTERS, language_of
from localcrag.text.lexicon.stems import STEMMED, stems

UNKNOWN = ""
"""Of a document whose text does not tell its language."""


def language_in(texts: Iterable[str]) -> str:
    """Return the language of a document's chunks, UNKNOWN where they do not tell it."""
    beginning = ""
    for text in texts:
        beginning += f"{text}\n"
        if len(beginning) >= MOST_CHARACTERS:
            break
    return language_of(beginning) or UNKNOWN


def put(connection: sqlite3.Connection, document: int) -> None:
    """Find the language of a document from its chunks, and index their stems, in place of what was indexed before."""
    rows = connection.execute("SELECT text FROM chunks WHERE document_id = ? ORDER BY id", (document,))
    language = language_in(row["text"] for row in rows)
    stemmed = language in STEMMED
    connection.execute("INSERT OR REPLACE INTO document_languages VALUES (?, ?, ?)", (document, language, stemmed))
    if not stemmed:
        return
    chunks = connection.execute("SELECT id, text, front FROM chunks WHERE document_id = ?", (document,)).fetchall()
    for row in chunks:
        indexed = " ".join(stems(f"{row['front']}\n{row['text']}", language))
        connection.execute("INSERT OR REPLACE INTO chunks_fts_stems (rowid, stems) VALUES (?, ?)", (row["id"], indexed))


class Languages:
    """The languages of a collection's documents: counted anew when its chunks have changed."""

    def __init__(self, database: Database, collection: int) -> None:
        self._database, self._collection = database, collection
        self._counted: tuple[chunk_changes.State, dict[str, int]] | None = None

    def __call__(self) -> dict[str, int]:
        """Return how many documents are in each language, as `language_of` says it, of those that tell it.

        Raises StoreError.
        """
        state, counted = chunk_changes.state(self._database), self._counted
        if counted is None or counted[0] != state:
            sql = (
                "SELECT l.language, count(*) AS number FROM document_languages l JOIN documents d "
                "ON d.id = l.document_id WHERE d.collection_id = ? AND l.language != '' GROUP BY l.language"
            )
            rows = self._database.rows(sql, self._collection)
            self._counted = counted = state, {row["language"]: row["number"] for row in rows}
        return counted[1]


def stemmed_languages(database: Database, collection: int) -> list[str]:
    """Return the languages of the documents that are searched by stems, each once. Raises StoreError."""
    sql = (
        "SELECT DISTINCT l.language FROM document_languages l JOIN documents d ON d.id = l.document_id "
        "WHERE d.collection_id = ? AND l.stemmed"
    )
    return [row["language"] for row in database.rows(sql, collection)]


def all_stems(text: str, codes: Iterable[str]) -> list[str]:
    """Return the stems of a text in these languages, each once."""
    return list(dict.fromkeys(stem for code in codes for stem in stems(text, code)))


def phrases(text: str, codes: Iterable[str]) -> str:
    """Return the query for all stems of a text in their order, in any of these languages; empty without a word."""
    found = dict.fromkeys(" ".join(stems(text, code)) for code in codes)
    return " OR ".join(f'"{phrase}"' for phrase in found if phrase)
