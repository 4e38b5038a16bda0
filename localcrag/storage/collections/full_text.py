"""Keyword search by BM25, the index of stems, the list of chunk changes, and purging of deleted words.

SQLite overwrites deleted rows (`secure_delete`), but their words survive in two places. The full-text indexes keep the
words of deleted chunks, marked as deleted, until their segments are merged into one. The write-ahead log (`-wal`) has
old versions of pages. A merge reads and writes the whole index, however much was deleted, so merging after many
deletions costs no more than after one. It runs in steps, each in its own transaction, so that others can read and write
in between. If the process is killed, the table `words_to_overwrite`, which triggers of the schema count up, shows that
work is left.

FTS5 can overwrite words as they are deleted (`secure-delete`, from SQLite 3.42 on). It then marks the table, so that no
SQLite before 3.42 may read or write it until the table is rebuilt; Debian 12 has 3.40.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence, Set
from itertools import accumulate
from typing import Generic, TypeVar

from localcrag.storage.database import BUSY_TIMEOUT, FULL_TEXT, Database
from localcrag.text.lexicon import TOKENIZED_LANGUAGES, stems
from localcrag.text.words import MOST_CHARACTERS, detect_text_language, is_function_word

Changes = tuple[set[int], set[int]]
"""Ids of added chunks, which may include older ones, and ids of removed chunks."""
State = tuple[int, int]
"""Number of the newest change, and the highest id of any chunk. Both only grow: a chunk that was added later has a
higher id, and a removal or move (recorded by triggers in schema.py) has a higher change number."""
CHANGES_KEPT = 100_000
"""Number of changes to keep; an index that missed more of them reads all ids."""


def current_state(database: Database) -> State:
    """Return the current state, which differs for different sets of chunks. Raises StoreError."""
    newest, highest = database.rows(
        "SELECT (SELECT coalesce(max(number), 0) FROM chunk_changes), (SELECT coalesce(max(id), 0) FROM chunks)"
    )[0]
    return newest, highest


T = TypeVar("T")


class CachedValue(Generic[T]):
    """A value that depends on the chunks, computed again only after they have changed: every question shows it."""

    def __init__(self, database: Database, compute: Callable[[], T]) -> None:
        self._database, self._compute = database, compute
        self._known: tuple[State, T] | None = None

    def __call__(self) -> T:
        """Return the value. Raises StoreError."""
        now = current_state(self._database)
        if self._known is None or self._known[0] != now:
            self._known = now, self._compute()
        return self._known[1]


def changes_since(database: Database, collection: int, before: State) -> Changes | None:
    """Return the changes of a collection since a state, or None if they are unknown. Raises StoreError.

    They are unknown if the state is too old, or belongs to a database that this one has replaced.
    """
    number, highest = before
    newest, oldest = database.rows("SELECT max(number), min(number) FROM chunk_changes")[0]
    if (newest or 0) < number or (oldest or 0) > number + 1:
        return None
    changed = "SELECT chunk_id FROM chunk_changes WHERE number > ?2 AND collection_id = ?1"
    existing = "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id WHERE d.collection_id = ?1 AND c.id"
    added = set(database.column(f"{existing} > ?2", collection, highest))
    added |= set(database.column(f"{existing} IN ({changed})", collection, number))
    return added, set(database.column(changed, collection, number)) - added


def detect_language(texts: Iterable[str]) -> str:
    """Return the language of a document's chunks, or "" if they do not reveal it."""
    beginning = ""
    for text in texts:
        beginning += f"{text}\n"
        if len(beginning) >= MOST_CHARACTERS:
            break
    return detect_text_language(beginning) or ""


def index_stems(connection: sqlite3.Connection, document: int) -> None:
    """Detect a document's language from its chunks, and index their stems in place of earlier ones."""
    rows = connection.execute("SELECT text FROM chunks WHERE document_id = ? ORDER BY id", (document,))
    language = detect_language(row["text"] for row in rows)
    stemmed = language in TOKENIZED_LANGUAGES
    connection.execute("INSERT OR REPLACE INTO document_languages VALUES (?, ?, ?)", (document, language, stemmed))
    if not stemmed:
        return
    chunks = connection.execute("SELECT id, text, front FROM chunks WHERE document_id = ?", (document,)).fetchall()
    for row in chunks:
        indexed = " ".join(stems(f"{row['front']}\n{row['text']}", language))
        connection.execute("INSERT OR REPLACE INTO chunks_fts_stems (rowid, stems) VALUES (?, ?)", (row["id"], indexed))


def stemmed_languages(database: Database, collection: int) -> list[str]:
    """Return the distinct languages of the documents that are searched by stems. Raises StoreError."""
    sql = (
        "SELECT DISTINCT l.language FROM document_languages l JOIN documents d ON d.id = l.document_id "
        "WHERE d.collection_id = ? AND l.stemmed"
    )
    return database.column(sql, collection)


def stem_phrases(text: str, codes: Iterable[str]) -> str:
    """Return the query for a text's stems as a phrase, in any of these languages; "" if there are no words."""
    found = dict.fromkeys(" ".join(stems(text, code)) for code in codes)
    return " OR ".join(f'"{phrase}"' for phrase in found if phrase)


MOST_CHUNKS = 2000
"""Maximum number of chunks with a word. A more frequent word does not tell documents apart, and its look-up is slow."""
MOST_SCORED = 5_000
"""Maximum number of chunks to score for a question, as far as its words allow: each costs some µs, relevant or not. In
59,000 paragraphs, the right one was found as often as when all chunks with any of the words were scored
(docs/lab/measurements.md)."""
MOST_RANKED = 20_000
"""Maximum number of chunks with a frequent word for the word to count in the ranking, if rarer words select the chunks.
For each question, SQLite goes through all chunks with the word to weigh it. In 59,000 paragraphs, the right one was
found as often with this limit."""
FEW_DOCUMENTS = 2_000
"""Maximum number of documents to start a search from: they then have fewer chunks than the words."""
CHUNKS_PER_LOOKUP = 100
"""Chunks whose documents are looked up per query, best chunks first."""
_WORD = re.compile(r"\w+")


def keyword_search(
    database: Database, collection: int, question: str, k: int, within: Collection[int] | None = None
) -> list[int]:
    """Return up to `k` chunk ids by BM25 (FTS5's, k1 = 1.2, b = 0.75), best first, of the documents `within`.

    Documents in languages of `TOKENIZED_LANGUAGES` are searched by the stems of the question in these languages. If
    more than MOST_SCORED chunks contain words of the question, only chunks with its rare words are scored.
    """
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(question)))
    if not words:
        return []
    codes = stemmed_languages(database, collection)
    found_stems = dict.fromkeys(stem for code in codes for stem in stems(question, code))
    query, stemmed = _query(database, "chunks_fts", words), _query(database, "chunks_fts_stems", found_stems)
    if found_stems:
        found = _matches("c.id, bm25({0}) AS score", stemmed, within)
        sql = f"SELECT id FROM ({found}) ORDER BY score, id LIMIT {int(k)}"  # noqa: S608 - a number and our own SQL
        values = (collection, query, stemmed) if stemmed else (collection, query)
        return database.column(sql, *values, chosen=fast_container(within))
    ranked = "SELECT rowid AS id FROM chunks_fts WHERE chunks_fts MATCH ?{0} ORDER BY bm25(chunks_fts), rowid LIMIT {1}"
    if within is None and _is_alone(database, collection):
        # No other collection has documents, so every chunk belongs to this one.
        return database.column(ranked.format("", int(k)), query)
    if within is not None and len(within) <= FEW_DOCUMENTS:
        sql = "SELECT id FROM chunks WHERE document_id IN (SELECT value FROM json_each(?))"
        allowed = frozenset(_ids(database, sql, json.dumps(list(within))))
        best = _ids(database, ranked.format(" AND chosen(rowid)", -1), query, chosen=allowed)
    else:
        best = _ids(database, ranked.format("", -1), query)
    return _first_in_collection(database, collection, best, k, within)


def _ids(database: Database, sql: str, *values: object, chosen: Container[int] = ()) -> list[int]:
    """Return the ids that a query finds, in its order."""
    # As a single row, because creating thousands of row objects would start Python's garbage collector.
    array = database.value(f"SELECT json_group_array(id) FROM ({sql})", *values, chosen=chosen)  # noqa: S608 - our own SQL
    numbers: list[int] = json.loads(array)
    return numbers


def _first_in_collection(
    database: Database, collection: int, chunks: Sequence[int], k: int, within: Collection[int] | None
) -> list[int]:
    """Return the first `k` of these chunks that belong to the collection and to the documents `within`."""
    chosen = "" if within is None else " AND chosen(c.document_id)"
    first: list[int] = []
    for at in range(0, len(chunks), CHUNKS_PER_LOOKUP):
        some = chunks[at : at + CHUNKS_PER_LOOKUP]
        # CROSS JOIN keeps SQLite from changing the order of the tables: it looks up these few chunks first.
        sql = (
            f"SELECT c.id FROM chunks c CROSS JOIN documents d ON d.id = c.document_id{chosen} "  # noqa: S608
            f"WHERE c.id IN ({', '.join('?' * len(some))}) AND d.collection_id = ?"
        )
        there = set(database.column(sql, *some, collection, chosen=fast_container(within)))
        first += [one for one in some if one in there]
        if len(first) >= k:
            break
    return first[:k]


def fast_container(within: Collection[int] | None) -> Container[int]:
    """Return ids as a container whose membership test is fast."""
    return within if isinstance(within, (Set, dict)) else frozenset(within or ())


def _query(database: Database, index: str, words: Collection[str]) -> str:
    """Return the FTS5 query for chunks that contain any of these words.

    If too many chunks would match, the query requires a rare word, or all the frequent ones, and ranks by all of them.
    The words are quoted, so that FTS5 does not interpret parts of a question as query syntax.
    """
    content_words = [word for word in words if not is_function_word(word)]
    frequency = {word: _count(database, index, f'"{word}"') for word in content_words}
    for word in words:
        # The frequency of a function word is not needed if the other words already match too many chunks.
        if word not in frequency and (sum(frequency.values()) <= MOST_SCORED or not any(frequency.values())):
            frequency[word] = _count(database, index, f'"{word}"')
    if len(frequency) == len(words) and sum(frequency.values()) <= MOST_SCORED:
        return _any(words)
    known = sorted((word for word in frequency if frequency[word]), key=frequency.__getitem__)
    content_words = [word for word in known if word in content_words] or known[:1]
    rare = rarest(content_words, frequency, MOST_SCORED)
    frequent = content_words[len(rare) :]
    if rare:
        # A word in very many chunks is as uninformative as a function word.
        frequent = [word for word in frequent if _count(database, index, f'"{word}"', MOST_RANKED) <= MOST_RANKED]
    together = " AND ".join(f'"{word}"' for word in frequent)
    if not rare or not together:
        return _any(rare) or together
    ranked = _any([*rare, *frequent])
    if _count(database, index, together) <= MOST_SCORED:
        return f"({_any(rare)} OR ({together})) AND ({ranked})"
    return f"({_any(rare)}) AND ({ranked})"


def rarest(words: Sequence[str], frequency: Mapping[str, int], most: int) -> list[str]:
    """Return the first of these words, sorted by frequency, whose frequencies add up to no more than `most`."""
    sums = accumulate(frequency[word] for word in words)
    return [word for word, total in zip(words, sums, strict=True) if total <= most]


def _any(words: Collection[str]) -> str:
    return " OR ".join(f'"{word}"' for word in words)


def _count(database: Database, index: str, query: str, most: int | None = None) -> int:
    """Return the number of chunks that a query finds, but at most one more than `most` (default: MOST_SCORED)."""
    limit = (MOST_SCORED if most is None else most) + 1
    sql = f"SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH ? LIMIT {limit})"  # noqa: S608
    return int(database.value(sql, query))


def _is_alone(database: Database, collection: int) -> bool:
    """Return whether no other collection has documents."""
    sql = "SELECT 1 FROM documents WHERE collection_id < ?1 UNION ALL SELECT 1 FROM documents WHERE collection_id > ?1"
    return not database.rows(f"{sql} LIMIT 1", collection)


def documents_containing(database: Database, collection: int, word: str) -> frozenset[int] | None:
    """Return the ids of the documents that contain a word, or None if more than MOST_CHUNKS chunks contain it."""
    phrase = " ".join(_WORD.findall(word))
    if not phrase:
        return frozenset()
    stems = stem_phrases(word, stemmed_languages(database, collection))
    found = _matches("c.document_id", stems)
    sql = f"SELECT document_id AS id, count(*) AS chunks FROM ({found} LIMIT {MOST_CHUNKS + 1}) GROUP BY id"  # noqa: S608
    rows = database.rows(sql, collection, f'"{phrase}"', *([stems] if stems else []))
    return None if sum(row["chunks"] for row in rows) > MOST_CHUNKS else frozenset(row["id"] for row in rows)


def _matches(columns: str, stems: str, within: Collection[int] | None = None) -> str:
    """Return the SQL for chunks that match value 2 and, if there are `stems`, for stemmed chunks that match value 3.

    Value 1 is the collection; the documents `within` are passed as `chosen`. {0} in `columns` stands for the index that
    the chunk is found in.
    """
    among = "" if within is None else " AND chosen(c.document_id)"

    def found(index: str, value: int) -> str:
        return (
            f"SELECT {columns.format(index)} FROM {index} JOIN chunks c ON c.id = {index}.rowid{among} "  # noqa: S608
            f"JOIN documents d ON d.id = c.document_id WHERE {index} MATCH ?{value} AND d.collection_id = ?1"
        )

    by_words = found("chunks_fts", 2)
    if not stems:
        return by_words
    stemmed = "SELECT document_id FROM document_languages WHERE stemmed"
    return f"{by_words} AND d.id NOT IN ({stemmed}) UNION ALL {found('chunks_fts_stems', 3)}"


PAGES_PER_STEP = 200
"""Full-text pages to write per step. A step takes 20 to 50 ms of one core. With more pages, questions wait longer; with
fewer, the whole merge takes longer."""
MOST_STEPS_FACTOR = 2
"""Multiple of the expected number of steps after which a single step merges the rest. If others keep writing, each of
their transactions adds a segment, and the merge starts over."""


def _let_others_run() -> None:
    """Sleep briefly, so that waiting threads get the database before this thread takes its lock again."""
    time.sleep(0.001)


def has_pending_words(database: Database) -> bool:
    """Return whether words of deleted rows still have to be overwritten. Raises StoreError."""
    return bool(database.rows("SELECT 1 FROM words_to_overwrite WHERE deleted > overwritten"))


def overwrite_deleted_words(
    database: Database,
    *,
    vacuum: bool = False,
    between_steps: Callable[[], None] = _let_others_run,
    patience: float = BUSY_TIMEOUT,
) -> None:
    """Remove the words of everything that was deleted from the database's files. Raises StoreError.

    With `vacuum`, the file is also rewritten without free pages and gaps within pages. `between_steps` is called
    between two steps. It may wait; if it raises an exception, the work stops and remains to be done. `patience` is the
    number of seconds to wait for a process that is reading.
    """
    deleted = database.value("SELECT deleted FROM words_to_overwrite")
    merge_segments(database, between_steps)
    database.empty_log(vacuum=vacuum, patience=patience)
    # A backup with a lower count of deletions may have replaced the database since the count was read.
    database.run("UPDATE words_to_overwrite SET overwritten = max(overwritten, min(deleted, ?))", deleted)


def merge_segments(database: Database, between_steps: Callable[[], None] = _let_others_run) -> None:
    """Remove the words of deleted chunks from the full-text indexes, but not from the write-ahead log.

    Raises StoreError.
    """
    for index in FULL_TEXT:
        pages = database.value(f"SELECT count(*) FROM {index}_idx")  # noqa: S608 - our own table name
        for _ in range(10 + MOST_STEPS_FACTOR * pages // PAGES_PER_STEP):
            if not _step(database, index):
                break
            between_steps()
        else:
            database.run(f"INSERT INTO {index} ({index}) VALUES ('optimize')")  # noqa: S608 - as above


def _step(database: Database, index: str) -> bool:
    """Merge a few pages; return whether there was anything to merge (https://sqlite.org/fts5.html, 6.9)."""
    with database.transaction() as connection:
        before = connection.total_changes
        # A negative number merges all segments, as 'optimize' does, not only the segments of one level.
        connection.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('merge', {-PAGES_PER_STEP})")  # noqa: S608 - as above
        # The merge command itself counts as one change.
        return connection.total_changes - before > 1
