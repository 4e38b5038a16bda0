"""Delete and erase documents, overwrite deleted words, and search the data folder for residue.

Deleting removes a document. Erasing ("forget") also removes everything that quotes it, and then searches all files for
byte patterns that only this document contained. The patterns are phrases of its text, pieces of its file, and pieces of
its vectors.
"""

from __future__ import annotations

import heapq
import json
import re
import shutil
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from localcrag.app.collections.collections import Collections
from localcrag.app.collections.locator import existing_documents
from localcrag.app.shared_state import CurrentSettings
from localcrag.app.tasks import PeriodicTask
from localcrag.records.documents import (
    ErasureReport,
    ResidueLocation,
    ResidueReport,
    ResidueSignature,
    ScannedPage,
    StoredDocument,
)
from localcrag.records.errors import StoreError, UnknownDocument
from localcrag.records.evaluation_set import RUNS
from localcrag.storage.collections import full_text
from localcrag.storage.collections.engines import quantised
from localcrag.storage.database import Database
from localcrag.storage.protocol import CollectionBackend
from localcrag.storage.quotations import QuotedDocuments, found_passages, has_quotations, remove_quotations
from localcrag.storage.residue import search as table_traces
from localcrag.storage.residue.search import search
from localcrag.text.words import shorten

WORDS = 5
"""Number of words in a phrase; five words in a row rarely occur twice by chance."""
MIN_CHARACTERS = 12
LONGEST_PHRASE = 120
"""Maximum characters of a phrase; a longer one would more often span two pages of the database file."""
SECTIONS, CANDIDATES_PER_SECTION = 40, 3
"""Number of sections that a text is divided into, and number of phrases tried in each.

One phrase per section is kept, so that any fragment of the text is noticed. Several are tried, because other documents
may contain the first one.
"""
_TOKEN = re.compile(r"\S+")
_PLAIN = re.compile(r'[^\x00-\x1f\x7f"\\\ud800-\udfff\ufffd]+')
"""Characters that JSON and SQLite store without escaping."""


def phrases(text: str, others: Iterable[str]) -> list[str]:
    """Return phrases that only this text contains, in order: the rarest one of each section."""
    count = Counter(_TOKEN.findall(text))
    found = list(_candidates(text))
    size = max(1, -(-len(found) // SECTIONS))

    def commonness(phrase: str) -> float:
        """Return how often the words of a phrase, on average, occur in the text."""
        return statistics.fmean(count[word] for word in phrase.split())

    chosen: list[list[str]] = []
    for at in range(0, len(found), size):
        some = dict.fromkeys(found[at : at + size])
        chosen.append(heapq.nsmallest(CANDIDATES_PER_SECTION, some, key=commonness))
    known = {one for some in chosen for one in some}
    for other in others:
        known -= {one for one in known if one in other}
    return list(dict.fromkeys(one for some in chosen for one in [c for c in some if c in known][:1]))


def encoded_forms(phrase: str) -> tuple[bytes, ...]:
    """Return the byte forms that a phrase may be stored in: UTF-8, UTF-16 of both byte orders, ASCII JSON."""
    made = [phrase.encode(), phrase.encode("utf-16-le"), phrase.encode("utf-16-be"), json.dumps(phrase)[1:-1].encode()]
    return tuple(dict.fromkeys(made))


def _candidates(text: str) -> Iterator[str]:
    """Yield all runs of WORDS words within a line; pieces with fewer words are yielded whole."""
    for line in text.splitlines():
        for piece in _PLAIN.findall(line):
            tokens = list(_TOKEN.finditer(piece))
            # A piece with fewer words pairs its first token with its last.
            for first, last in zip(tokens, tokens[WORDS - 1 :] or tokens[-1:], strict=False):
                phrase = piece[first.start() : last.end()]
                if len(phrase) >= MIN_CHARACTERS:
                    yield phrase[:LONGEST_PHRASE]


Documents = set[tuple[str, str]]
"""Documents, each as its collection and name."""
PIECES, PIECE_BYTES = 8, 48
"""Number of pieces of the original file to search for, and bytes of each."""
MIN_DISTINCT_BYTES = 24
"""Minimum number of different bytes in a piece; runs of zeros and font tables occur in many files."""
VECTOR_COUNT = 3
"""Number of chunks whose vectors are searched for."""
VECTOR_BYTES = 64
"""Bytes of a vector to search for; a whole vector would more often span two pages of the database."""


@dataclass(frozen=True, slots=True)
class DocumentFingerprints:
    """The documents to erase, including attachments, and everything to recognise them by.

    `asked` are the requested documents that exist, `names` adds their attachments. `copies` are documents with the same
    content in other collections or under other names. The `marks` are searched for in all files.
    """

    asked: tuple[str, ...]
    names: tuple[str, ...]
    texts: tuple[str, ...]
    phrases: tuple[str, ...]
    marks: tuple[ResidueSignature, ...]
    copies: tuple[tuple[str, str], ...]


def fingerprint_documents(
    database: Database, home: CollectionBackend, names: Sequence[str], quoted: Sequence[str] = ()
) -> DocumentFingerprints:
    """Collect everything that identifies documents, before they are deleted. Raises StoreError.

    `quoted` are texts that quote other documents, which are already deleted.
    """
    there = {one.name for one in home.documents()}
    asked = tuple(name for name in dict.fromkeys(names) if name in there)
    within = sorted(name for name in there if any(name.startswith(f"{one}/") for one in asked))
    # An attachment is deleted together with its e-mail, so it is not requested separately.
    asked = tuple(name for name in asked if name not in within)
    chosen = tuple(dict.fromkeys((*asked, *within)))
    documents = list(existing_documents(home, chosen))
    texts = (*(text for one in documents for text in (one.text, *_recognised_texts(one))), *quoted)
    own = {(home.name, name) for name in chosen}
    distinctive = tuple(phrases("\n".join(texts), _other_texts(database, home, own)))
    return DocumentFingerprints(
        asked=asked,
        names=chosen,
        texts=texts,
        phrases=distinctive,
        marks=tuple(_residue_signatures(database, documents, distinctive, own)),
        copies=tuple(copy for one in documents for copy in _copies(database, one, own)),
    )


def _residue_signatures(
    database: Database, documents: Sequence[StoredDocument], distinctive: Sequence[str], own: Documents
) -> Iterator[ResidueSignature]:
    """Yield the residue signatures of the documents; `distinctive` are phrases that no other document contains."""
    for phrase in distinctive:
        yield ResidueSignature(f"“{shorten(phrase, 60)}”", encoded_forms(phrase))
    for piece in (piece for one in documents for piece in _pieces(database, one, own)):
        yield ResidueSignature("a piece of its file", (piece,))
    for one in documents:
        chunks = [chunk for chunk in one.chunks if any(phrase in chunk.chunk.text for phrase in distinctive)]
        for vector in (chunk.vector for chunk in chunks[:VECTOR_COUNT]):
            # Take a piece from the middle of the vector, aligned to a 4-byte float, and the code of the vector index.
            middle = len(vector) // 2 // 4 * 4
            code = quantised(np.frombuffer(vector, "<f4")[None])[0].tobytes()
            yield ResidueSignature("a vector of its text", (vector[middle : middle + VECTOR_BYTES], code))


def _recognised_texts(document: StoredDocument) -> Iterator[str]:
    """Yield the recognised text of each page, which may not be in the document's text yet."""
    for scan in document.scans:
        if scan.read:
            yield "\n".join(line.text for line in ScannedPage.of(json.loads(scan.read)).lines)


def _other_texts(database: Database, home: CollectionBackend, own: Documents) -> Iterator[str]:
    """Yield the texts of all other documents, one at a time."""
    for number in _other_documents(database, own):
        yield from (row["text"] for row in database.rows("SELECT text FROM documents WHERE id = ?", number))
    if home.server:
        yield from (text for name, text in home.texts().items() if (home.name, name) not in own)


def _pieces(database: Database, document: StoredDocument, own: Documents) -> Iterator[bytes]:
    """Yield pieces of a document's original file that occur in no other original."""
    if not document.original:
        return
    file, others = document.original, _other_documents(database, own)
    for at in np.linspace(0, max(0, len(file) - PIECE_BYTES), PIECES).astype(int).tolist():
        piece = file[at : at + PIECE_BYTES]
        if len(set(piece)) < MIN_DISTINCT_BYTES:
            continue
        having = database.rows("SELECT document_id FROM originals WHERE instr(data, ?)", piece)
        if others.keys().isdisjoint(row["document_id"] for row in having):
            yield piece


def _other_documents(database: Database, own: Documents) -> dict[int, tuple[str, str]]:
    """Return all other documents on this computer by id, each as its collection and name."""
    sql = "SELECT d.id, d.name, k.name AS collection FROM documents d JOIN collections k ON k.id = d.collection_id"
    found = {row["id"]: (row["collection"], row["name"]) for row in database.rows(sql)}
    return {number: document for number, document in found.items() if document not in own}


def _copies(database: Database, document: StoredDocument, own: Documents) -> list[tuple[str, str]]:
    """Return the other documents on this computer with the same content, by name and collection."""
    rows = database.rows(
        "SELECT d.name, k.name AS collection FROM documents d JOIN collections k ON k.id = d.collection_id "
        "WHERE d.sha256 = ? ORDER BY k.name, d.name",
        document.sha256,
    )
    return [(row["name"], row["collection"]) for row in rows if (row["collection"], row["name"]) not in own]


CHECK_SECONDS = 2.0
"""Seconds between two checks for words to overwrite."""
STEP_PAUSE_SECONDS = 0.02
"""Seconds of pause between two steps, about as long as a step takes."""
LONGEST_WAIT = 600.0
"""Seconds during which running imports postpone overwriting, because each of them leaves further words."""
PAUSE_FACTOR = 50
"""Pause after overwriting, as a multiple of its duration: so it takes at most 2 % of a core."""
READER_WAIT_SECONDS = 0.2
"""Seconds that a background attempt waits for a process that is reading; the next check tries again."""


class SecureDeletion(PeriodicTask):
    """Background thread that overwrites deleted words in a database. Unfinished work is recorded and resumed."""

    def __init__(
        self,
        database: Database,
        *,
        asked: Callable[[], bool] = lambda: False,
        working: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare the thread; it pauses while `asked` is true and waits while `working` is. `clock` returns seconds."""
        self._database, self._asked, self._working, self._clock = database, asked, working, clock
        super().__init__(self.overwrite_if_due, CHECK_SECONDS, "overwriting")
        self._since: float | None = None
        self._not_before = -float("inf")

    def overwrite_if_due(self) -> bool:
        """Overwrite the deleted words if it is time; return whether that happened. Raises StoreError."""
        now = self._clock()
        if not full_text.has_pending_words(self._database):
            self._since = None
            return False
        self._since = now if self._since is None else self._since
        if now < self._not_before or self._asked() or (self._working() and now - self._since < LONGEST_WAIT):
            return False
        try:
            full_text.overwrite_deleted_words(self._database, between_steps=self._pause, patience=READER_WAIT_SECONDS)
        except _Closing:
            return False
        finally:
            done = self._clock()
            self._not_before, self._since = done + PAUSE_FACTOR * (done - now), None
        return True

    def _pause(self) -> None:
        """Pause between two steps, and for as long as a question is being answered."""
        while not self.closing.wait(STEP_PAUSE_SECONDS):
            if not self._asked():
                return
        raise _Closing


class _Closing(Exception):
    """Raised between two steps when the app is being closed."""


def finish_overwriting(database: Database) -> str | None:
    """Overwrite the remaining words. Return the reason if that failed; the work then stays recorded."""
    try:
        if full_text.has_pending_words(database):
            full_text.overwrite_deleted_words(database, patience=READER_WAIT_SECONDS)
    except StoreError as error:
        return str(error)
    return None


QUOTING_FOLDERS = ("evaluations", "cache/calibrate")
"""Folders in the data folder with one subfolder per evaluation or set, which may quote documents."""
BACKUPS = "backups"


class DocumentDeletion:
    """Deletion and erasure of documents; `forget` clears the app's caches about them."""

    def __init__(
        self,
        settings: CurrentSettings,
        database: Database,
        collections: Collections,
        models_dir: Path,
        forget: Callable[[], None],
    ) -> None:
        self._settings, self._database, self._collections = settings, database, collections
        self._models_dir, self._forget = models_dir, forget

    def delete(self, names: Sequence[str], collection: str | None = None) -> int:
        """Remove documents, given any of their names, and their attachments; return the number of attachments.

        Quotations in runs, chats, labels and pins stay, but the tables, full-text indexes and write-ahead log no longer
        contain the documents. Raises UnknownCollection, UnknownDocument and StoreError.
        """
        try:
            own = self._collections.document_names.own_names(names, collection)
            return sum(self._collections.delete_document(name, collection) for name in own)
        finally:
            full_text.overwrite_deleted_words(self._database)

    def delete_collection(self, name: str) -> None:
        """Remove a collection with its documents, as `delete` does. Raises UnknownCollection and StoreError."""
        self._collections.delete(name)
        full_text.overwrite_deleted_words(self._database)

    def forget(self, names: Sequence[str], collection: str | None = None) -> ErasureReport:
        """Remove documents, their attachments and everything that quotes them; search the data folder for residue.

        Any of their names is accepted. If the documents are already deleted, their quotations are removed. Raises
        UnknownDocument if a name belongs to no document and is not quoted, UnknownCollection and StoreError.
        """
        collection = self._settings.collection(collection)
        home = self._collections.homes.locate(collection)
        names = self._collections.document_names.own_names(names, collection)
        there = home.existing(names)
        gone = [name for name in names if name not in there]
        # Collect the signatures first: after the deletion, there is nothing left to recognise residue by.
        looked = fingerprint_documents(self._database, home, names, self._quoted(collection, gone) if gone else ())
        for name in looked.asked:
            self._collections.delete_document(name, collection)
        quoting = self._quoting(collection, names, looked)
        removed = remove_quotations(self._database, quoting)
        removed = replace(removed, folders=tuple(self._remove_folders(quoting, looked.marks)))
        self._forget()
        self.overwrite(collection)
        found = self._searched(looked.marks)
        server = self._collections.homes.on_server(collection)
        left = server.tables_containing(looked.marks) if server else []
        return ErasureReport(
            documents=looked.names,
            removed=removed,
            searched=replace(found, places=(*found.places, *left)),
            copies=looked.copies,
            backups=tuple(sorted({one.file for one in found.places if one.file.startswith(f"{BACKUPS}/")})),
        )

    def is_quoted(self, names: Sequence[str], collection: str | None = None) -> bool:
        """Return whether a run found a passage in one of these documents, deleted or not. Raises StoreError."""
        return has_quotations(self._database, self._settings.collection(collection), names)

    def overwrite(self, collection: str | None = None) -> None:
        """Remove all deleted data from the database files and from the vector index of a collection.

        The files are rewritten, which takes a while and the same amount of free disk space. For a collection in
        PostgreSQL, its tables are rewritten. Raises UnknownCollection and StoreError.
        """
        name = self._settings.collection(collection)
        self._collections.index(name).rebuild()
        full_text.overwrite_deleted_words(self._database, vacuum=True)
        if server := self._collections.homes.on_server(name):
            server.vacuum()

    def overwrite_all(self) -> None:
        """Remove all deleted data from the database files and from all vector indexes. Raises StoreError."""
        to_reindex = self._collections.embedders.to_reindex()
        for name in self._collections.names():
            # A collection that waits for re-indexing will get a new index file anyway, and its model may be missing.
            if name not in to_reindex:
                self._collections.index(name).rebuild()
        full_text.overwrite_deleted_words(self._database, vacuum=True)

    def verify(self, wanted: str, collection: str | None = None) -> ResidueReport:
        """Search the data folder for residue of a document, or for the given words if it is not a document.

        Changes nothing. Raises UnknownCollection and StoreError.
        """
        home = self._collections.homes.locate(self._settings.collection(collection))
        (document,) = self._collections.document_names.own_names([wanted], collection)
        if home.existing([document]):
            return self._searched(fingerprint_documents(self._database, home, [document]).marks)
        return self._searched([ResidueSignature(f"“{wanted}”", encoded_forms(wanted))])

    def _quoted(self, collection: str, names: Sequence[str]) -> list[str]:
        """Return all quotations of deleted documents. Raises UnknownDocument if there are none."""
        texts = found_passages(self._database, collection, names)
        if not texts:
            raise UnknownDocument(
                f"The collection “{collection}” has no document “{names[0]}”, and no run found anything in one. "
                f"localcrag documents --collection {collection} lists what it has; to search for words that it had: "
                "localcrag forget --verify WORDS"
            )
        return texts

    def _quoting(self, collection: str, names: Sequence[str], looked: DocumentFingerprints) -> QuotedDocuments:
        gone = frozenset((*names, *looked.names))
        others = frozenset(_other_documents(self._database, {(collection, name) for name in gone}).values())
        return QuotedDocuments(collection, gone, looked.texts, looked.phrases, others)

    def _remove_folders(self, quoting: QuotedDocuments, marks: Sequence[ResidueSignature]) -> Iterator[str]:
        """Remove the evaluation folders that contain parts of the documents, and yield their names."""
        for parent in (self._settings.now.data_dir / name for name in QUOTING_FOLDERS):
            if not parent.is_dir():
                continue
            held = {place.file.split("/", maxsplit=1)[0] for place in search(parent, marks).places}
            for folder in sorted(parent.iterdir()):
                if folder.name in held or _quotes(folder / RUNS, quoting):
                    shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
                    yield folder.relative_to(self._settings.now.data_dir).as_posix()

    def _searched(self, marks: Sequence[ResidueSignature]) -> ResidueReport:
        """Search all tables, and all files of the data folder except models."""
        found = search(self._settings.now.data_dir, marks, [self._models_dir])
        tables: list[ResidueLocation] = table_traces.tables_containing(self._database, marks)
        return replace(found, places=(*tables, *found.places))


def _quotes(runs: Path, quoting: QuotedDocuments) -> bool:
    """Return whether an evaluation has a run that quotes the documents."""
    if not runs.is_file():
        return False
    return any(_quotes_in_line(line, quoting) for line in runs.read_bytes().split(b"\n"))


def _quotes_in_line(line: bytes, quoting: QuotedDocuments) -> bool:
    # Each line is a run as JSON. The last line may be torn if a process was killed, so it is searched as text.
    try:
        run = json.loads(line)["run"]
    except (ValueError, KeyError, TypeError):
        return quoting.occur_in(line.decode("utf-8", "replace"))
    return quoting.occur_in_run(run, by_name=False)
