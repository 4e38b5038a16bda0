"""Delete and forget documents, overwrite deleted words, and search the data folder for residue."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from localcrag.app.collections.collections import Collections
from localcrag.app.collections.locator import Home
from localcrag.app.shared_state import SettingsInUse
from localcrag.app.tasks import RegularLooks
from localcrag.records.documents import Forgotten, Mark, Place, ScannedPage, Searched, StoredChunk, StoredDocument
from localcrag.records.errors import StoreError, UnknownDocument
from localcrag.records.evaluation_set import RUNS
from localcrag.storage.collections import full_text
from localcrag.storage.collections.engines import coded
from localcrag.storage.database import Database
from localcrag.storage.postgres import schema
from localcrag.storage.postgres.collection import PostgresHome
from localcrag.storage.quotations import Quoting, are_quoted, passages_of, remove_quotations
from localcrag.storage.residue import search as table_traces
from localcrag.storage.residue.search import search
from localcrag.text.words import shorten

WORDS = 5
"""Of a phrase: of five words in a row hardly any occur twice by chance."""
LEAST_CHARACTERS = 12
LONGEST_PHRASE = 120
"""Characters: a longer one would more often lie across two pages of a database's file."""
SECTIONS, EACH = 40, 3
"""Parts of a text that phrases are taken from, so that any piece of it is noticed, and how many are looked at of each:
others may have some of them, too."""
_TOKEN = re.compile(r"\S+")
_PLAIN = re.compile(r'[^\x00-\x1f\x7f"\\\ud800-\udfff\ufffd]+')
"""What JSON and SQLite write as it is."""


def phrases(text: str, others: Iterable[str]) -> list[str]:
    """Return phrases of a text that none of the other texts has, the rarest of each part of it, in their order."""
    count = Counter(_TOKEN.findall(text))
    found = list(_candidates(text))
    size = max(1, -(-len(found) // SECTIONS))
    chosen: list[list[str]] = []
    for at in range(0, len(found), size):
        some = dict.fromkeys(found[at : at + size])
        chosen.append(sorted(some, key=lambda one: sum(count[word] for word in one.split()) / len(one.split()))[:EACH])
    known = {one for some in chosen for one in some}
    for other in others:
        known -= {one for one in known if one in other}
    return list(dict.fromkeys(one for some in chosen for one in [c for c in some if c in known][:1]))


def forms(phrase: str) -> tuple[bytes, ...]:
    """Return the bytes that a phrase may be stored as: UTF-8, UTF-16 either way, and JSON in ASCII."""
    made = [phrase.encode(), phrase.encode("utf-16-le"), phrase.encode("utf-16-be"), json.dumps(phrase)[1:-1].encode()]
    return tuple(dict.fromkeys(made))


def _candidates(text: str) -> Iterator[str]:
    """Yield runs of words within a line, and pieces of a line without words."""
    for line in text.splitlines():
        for piece in _PLAIN.findall(line):
            tokens = list(_TOKEN.finditer(piece))
            for first, last in zip(tokens, tokens[WORDS - 1 :], strict=False):
                yield from _fitting(piece[first.start() : last.end()])
            if 0 < len(tokens) < WORDS:
                yield from _fitting(piece[tokens[0].start() : tokens[-1].end()])


def _fitting(words: str) -> Iterator[str]:
    if len(words) >= LEAST_CHARACTERS:
        yield words[:LONGEST_PHRASE]


Documents = set[tuple[str, str]]
"""By collection and name."""
PIECES, PIECE = 8, 48
"""Of a file that is kept, so many pieces of so many bytes are looked for."""
LEAST_DIFFERENT = 24
"""Different bytes in a piece: one of zeros, or of a font's table, is in many files."""
VECTORS = 3
"""Of chunks that are looked for by their vectors."""
VECTOR_BYTES = 64
"""Of a vector in the database: a whole one lies more often across two pages."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What there is of the documents that were asked for, with their attachments: names, texts, phrases, files, chunks.

    `asked` are those asked for that are there; `copies` have the same content in other collections or under other
    names.
    """

    asked: tuple[str, ...]
    names: tuple[str, ...]
    texts: tuple[str, ...]
    phrases: tuple[str, ...]
    pieces: tuple[bytes, ...]
    vectors: tuple[bytes, ...]
    copies: tuple[tuple[str, str], ...]


def look_at(database: Database, home: Home, names: Sequence[str], quoted: Sequence[str] = ()) -> Looked:
    """Return what there is of documents of a collection, before they are deleted. Raises StoreError.

    `quoted` is what is known of others that are gone.
    """
    there = {one.name for one in home.documents()}
    asked = tuple(name for name in dict.fromkeys(names) if name in there)
    within = sorted(name for name in there if any(name.startswith(f"{one}/") for one in asked))
    # An attachment goes with its letter.
    asked = tuple(name for name in asked if name not in within)
    chosen = tuple(dict.fromkeys((*asked, *within)))
    documents = list(_stored(home, chosen))
    texts = (*(text for one in documents for text in (one.text, *_scanned(one))), *quoted)
    own = {(home.name, name) for name in chosen}
    said = tuple(phrases("\n".join(texts), _others(database, home, own)))
    return Looked(
        asked=asked,
        names=chosen,
        texts=texts,
        phrases=said,
        pieces=tuple(piece for one in documents for piece in _pieces(database, one, own)),
        vectors=tuple(chunk.vector for one in documents for chunk in _telling(one, said)),
        copies=tuple(copy for one in documents for copy in _copies(database, one, own)),
    )


def marks_of(looked: Looked) -> list[Mark]:
    """Return what the documents are looked for by."""
    marks = [Mark(f"“{shorten(phrase, 60)}”", forms(phrase)) for phrase in looked.phrases]
    marks += [Mark("a piece of its file", (piece,)) for piece in looked.pieces]
    for vector in looked.vectors:
        middle = len(vector) // 2 // 4 * 4
        code = coded(np.frombuffer(vector, "<f4")[None])[0].tobytes()
        marks.append(Mark("a vector of its text", (vector[middle : middle + VECTOR_BYTES], code)))
    return marks


def _stored(home: Home, names: Sequence[str]) -> Iterator[StoredDocument]:
    for name in names:
        try:
            yield home.stored(name)
        except UnknownDocument:
            continue  # Deleted meanwhile.


def _scanned(document: StoredDocument) -> Iterator[str]:
    """Yield what text recognition read on each page, which may not be in the text yet."""
    for scan in document.scans:
        if scan.read:
            yield "\n".join(line.text for line in ScannedPage.of(json.loads(scan.read)).lines)


def _others(database: Database, home: Home, own: Documents) -> Iterator[str]:
    """Yield the texts of all documents but these, one after the other."""
    for number in _others_here(database, own):
        yield from (row["text"] for row in database.rows("SELECT text FROM documents WHERE id = ?", number))
    if isinstance(home, PostgresHome):
        yield from (text for name, text in home.texts().items() if (home.name, name) not in own)


def _pieces(database: Database, document: StoredDocument, own: Documents) -> Iterator[bytes]:
    """Yield pieces of a document's file that no other kept file has."""
    if not document.original:
        return
    file, others = document.original, _others_here(database, own)
    for at in np.linspace(0, max(0, len(file) - PIECE), PIECES).astype(int).tolist():
        piece = file[at : at + PIECE]
        if len(set(piece)) < LEAST_DIFFERENT:
            continue
        having = database.rows("SELECT document_id FROM originals WHERE instr(data, ?)", piece)
        if others.isdisjoint(row["document_id"] for row in having):
            yield piece


def _others_here(database: Database, own: Documents) -> set[int]:
    """Return the ids of all documents on this computer but these."""
    sql = "SELECT d.id, d.name, k.name AS collection FROM documents d JOIN collections k ON k.id = d.collection_id"
    return {row["id"] for row in database.rows(sql) if (row["collection"], row["name"]) not in own}


def _telling(document: StoredDocument, said: Sequence[str]) -> list[StoredChunk]:
    """Return a few of a document's chunks whose text no other document has."""
    return [chunk for chunk in document.chunks if any(one in chunk.chunk.text for one in said)][:VECTORS]


def _copies(database: Database, document: StoredDocument, own: Documents) -> list[tuple[str, str]]:
    """Return the documents of the same content elsewhere on this computer, by name and collection."""
    rows = database.rows(
        "SELECT d.name, k.name AS collection FROM documents d JOIN collections k ON k.id = d.collection_id "
        "WHERE d.sha256 = ? ORDER BY k.name, d.name",
        document.sha256,
    )
    return [(row["name"], row["collection"]) for row in rows if (row["collection"], row["name"]) not in own]


BETWEEN_LOOKS = 2.0
"""Seconds between two looks whether there is anything to overwrite."""
BETWEEN_STEPS = 0.02
"""Seconds between two steps: about as long as one takes."""
LONGEST_WAIT = 600.0
"""Seconds that files which are being added are waited for: each would leave words again."""
RESTS = 50
"""Times as long as it took, that it is left alone then: 2 % of a core at most, however often files change."""
PATIENCE = 0.2
"""Seconds that a process which reads is waited for in the background: the next look tries again."""


class Overwriting(RegularLooks):
    """The words of one database that are to be overwritten; what is left when it closes is noted in the database."""

    def __init__(
        self,
        database: Database,
        *,
        asked: Callable[[], bool] = lambda: False,
        working: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Rest while a question is `asked`, and begin when nobody is `working` at files; `clock` gives seconds."""
        self._database, self._asked, self._working, self._clock = database, asked, working, clock
        super().__init__(self.look, BETWEEN_LOOKS, "overwriting")
        self._since: float | None = None
        self._not_before = -float("inf")

    def look(self) -> bool:
        """Overwrite what there is if it is time, and return whether that was done. Raises StoreError."""
        now = self._clock()
        if not full_text.are_left(self._database):
            self._since = None
            return False
        self._since = now if self._since is None else self._since
        if now < self._not_before or self._asked() or (self._working() and now - self._since < LONGEST_WAIT):
            return False
        try:
            full_text.overwrite(self._database, go_on=self._go_on, patience=PATIENCE)
        except _Closing:
            return False
        finally:
            done = self._clock()
            self._not_before, self._since = done + RESTS * (done - now), None
        return True

    def _go_on(self) -> None:
        """Let others have the database, and a question that is asked be answered."""
        while not self.closing.wait(BETWEEN_STEPS):
            if not self._asked():
                return
        raise _Closing


class _Closing(Exception):
    """The app is being closed."""


def finish(database: Database) -> str | None:
    """Overwrite what is left, and return why that could not be done, where it could not: it stays noted then."""
    try:
        if full_text.are_left(database):
            full_text.overwrite(database, patience=PATIENCE)
    except StoreError as error:
        return str(error)
    return None


QUOTING_FOLDERS = ("evaluations", "cache/calibrate")
"""Folders of the data folder whose folders, one an evaluation or set each, may hold what a document says."""
BACKUPS = "backups"


class Forgetting:
    """What becomes of deleted documents; `forget` has the app forget what it made of them."""

    def __init__(
        self,
        settings: SettingsInUse,
        database: Database,
        collections: Collections,
        models_dir: Path,
        forget: Callable[[], None],
    ) -> None:
        self._settings, self._database, self._collections = settings, database, collections
        self._models_dir, self._forget = models_dir, forget

    def delete(self, names: Sequence[str], collection: str | None = None) -> int:
        """Remove documents, by any of their names, with their attachments; return how many of these there were.

        What runs, chats, labels and pins quote of them stays; no table, full-text index or log of writes has them any
        more. Raises UnknownCollection, UnknownDocument and StoreError.
        """
        try:
            own = self._collections.named.own(names, collection)
            return sum(self._collections.delete_document(name, collection) for name in own)
        finally:
            full_text.overwrite(self._database)

    def delete_collection(self, name: str) -> None:
        """Remove a collection with its documents, as `delete` does. Raises UnknownCollection and StoreError."""
        self._collections.delete(name)
        full_text.overwrite(self._database)

    def forget(self, names: Sequence[str], collection: str | None = None) -> Forgotten:
        """Remove documents, with their attachments and all that quotes them, and search the data folder for the rest.

        Any of their names will do. They may be deleted already: then what quoted them is removed. Raises
        UnknownDocument where nothing of that name was there or is quoted, UnknownCollection and StoreError.
        """
        collection = self._settings.collection(collection)
        home = self._collections.homes.of(collection)
        names = self._collections.named.own(names, collection)
        there = home.names.there(names)
        gone = [name for name in names if name not in there]
        looked = look_at(self._database, home, names, self._quoted(collection, gone) if gone else ())
        marks = marks_of(looked)
        for name in looked.asked:
            self._collections.delete_document(name, collection)
        removed = remove_quotations(self._database, self._quoting(collection, names, looked))
        removed = replace(removed, folders=tuple(self._remove_folders(self._quoting(collection, names, looked), marks)))
        self._forget()
        self.overwrite(collection)
        found = self._searched(marks)
        left = schema.tables_with(home.database, marks) if isinstance(home, PostgresHome) else []
        return Forgotten(
            documents=looked.names,
            removed=removed,
            searched=replace(found, places=(*found.places, *left)),
            copies=looked.copies,
            backups=tuple(sorted({one.file for one in found.places if one.file.startswith(f"{BACKUPS}/")})),
        )

    def is_quoted(self, names: Sequence[str], collection: str | None = None) -> bool:
        """Return whether a run found something in one of these documents, which may be gone. Raises StoreError."""
        return are_quoted(self._database, self._settings.collection(collection), names)

    def overwrite(self, collection: str | None = None) -> None:
        """Have nothing of what was deleted be in the files of the database and of a collection's vector index.

        The files are written anew, which takes a while and as much room again. Of a collection in a PostgreSQL server,
        its tables are. Raises UnknownCollection and StoreError.
        """
        name = self._settings.collection(collection)
        self._collections.index(name).make_anew()
        full_text.overwrite(self._database, whole=True)
        home = self._collections.homes.of(name)
        if isinstance(home, PostgresHome):
            home.vacuum()

    def overwrite_all(self) -> None:
        """Do so for all collections. Raises StoreError."""
        to_embed = self._collections.embedders.to_embed()
        for name in self._collections.names():
            if name not in to_embed:
                self._collections.index(name).make_anew()
        full_text.overwrite(self._database, whole=True)

    def verify(self, wanted: str, collection: str | None = None) -> Searched:
        """Search the data folder for what a document says that no other does; for these words, where it is no document.

        Changes nothing. Raises UnknownCollection and StoreError.
        """
        home = self._collections.homes.of(self._settings.collection(collection))
        (document,) = self._collections.named.own([wanted], collection)
        if home.names.there([document]):
            return self._searched(marks_of(look_at(self._database, home, [document])))
        return self._searched([Mark(f"“{wanted}”", forms(wanted))])

    def _quoted(self, collection: str, names: Sequence[str]) -> list[str]:
        """Return what is quoted of documents that are gone. Raises UnknownDocument."""
        texts = passages_of(self._database, collection, names)
        if not texts:
            raise UnknownDocument(
                f"The collection “{collection}” has no document “{names[0]}”, and no run found anything in one. "
                f"localcrag documents --collection {collection} lists what it has; to search for words that it had: "
                "localcrag forget --verify WORDS"
            )
        return texts

    def _quoting(self, collection: str, names: Sequence[str], looked: Looked) -> Quoting:
        there = self._database.rows(
            "SELECT k.name AS collection, d.name FROM documents d JOIN collections k ON k.id = d.collection_id"
        )
        gone = frozenset((*names, *looked.names))
        others = {(row["collection"], row["name"]) for row in there} - {(collection, name) for name in gone}
        return Quoting(collection, gone, looked.texts, looked.phrases, frozenset(others))

    def _remove_folders(self, quoting: Quoting, marks: Sequence[Mark]) -> Iterator[str]:
        """Remove the folders that have something of the documents, and yield their names."""
        for parent in (self._settings.now.data_dir / name for name in QUOTING_FOLDERS):
            if not parent.is_dir():
                continue
            held = {place.file.split("/", maxsplit=1)[0] for place in search(parent, marks).places}
            for folder in sorted(parent.iterdir()):
                if folder.name in held or _quotes(folder / RUNS, quoting):
                    shutil.rmtree(folder) if folder.is_dir() else folder.unlink()
                    yield folder.relative_to(self._settings.now.data_dir).as_posix()

    def _searched(self, marks: Sequence[Mark]) -> Searched:
        """Search all files of the data folder but models, and all tables."""
        found = search(self._settings.now.data_dir, marks, [self._models_dir])
        tables: list[Place] = table_traces.tables_with(self._database, marks)
        return replace(found, places=(*tables, *found.places))


def _quotes(runs: Path, quoting: Quoting) -> bool:
    """Return whether an evaluation has a run that quotes the documents; a torn last line counts as well."""
    if not runs.is_file():
        return False
    for line in runs.read_bytes().split(b"\n"):
        try:
            run = json.loads(line)["run"]
        except (ValueError, KeyError, TypeError):
            if quoting.in_text(line.decode("utf-8", "replace")):
                return True
            continue
        if quoting.in_run(run, by_name=False):
            return True
    return False
