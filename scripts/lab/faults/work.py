"""The work of the app that is killed: what users do, reported when it begins and when it is confirmed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lab.faults import folder
from localcrag.app.assembly import Assembly
from localcrag.documents.prepare import checksum
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import StoreError
from localcrag.records.ingest import IngestResult, Upload
from localcrag.records.run import TurnState
from localcrag.runs.labels import LabelKind

Tell = Callable[..., None]
"""Function that reports a line to the parent process: its kind and its fields."""
SHELVES = ("default", "second")
MOST_DOCUMENTS, MOST_COPIES = 40, 2
"""Most documents in all, and most backups; more would make every check of the folder slower."""
SENTENCES = (
    "The {word} keeps its lamp lit from dusk until the ferry has passed.",
    "Its keeper writes down every ship, and {word} stands on each page.",
    "A new lens was bought for 4,200 euros, and {word} paid half of it.",
    "Visitors come on Sundays between ten and four, when {word} is open.",
)
OTHER = ("Der {word} leuchtet die ganze Nacht, und die Fähre wartet nicht auf ihn.", "Die Bücher liegen im {word}.")
"""Documents in German are searched by another index."""


def word_of(name: str, version: int) -> str:
    """Return a word that no other document has."""
    return f"w{Path(name).stem}v{version}"


class Work:
    """Random activities in one data folder; `files` is the folder of the files to add."""

    def __init__(self, assembly: Assembly, files: Path, seed: int, tell: Tell) -> None:
        self._assembly, self._files, self._tell = assembly, files, tell
        self._chance = random.Random(seed)
        self._version = seed
        self._words_in: dict[str, str] = {}
        files.mkdir(parents=True, exist_ok=True)
        self.kinds: dict[str, Callable[[], None]] = {
            "ingest": self.ingest, "update": self.update, "delete": self.delete, "move": self.move,
            "rename": self.rename, "answer": self.answer, "index": self.write_index, "scan": self.read_scan,
            "backup": self.back_up, "restore": self.restore, "setting": self.change_setting, "tag": self.tag,
            "label": self.label,
        }  # fmt: skip

    def do(self, kind: str) -> None:
        """Run one activity of a kind."""
        self.kinds[kind]()

    def _begin(self, kind: str, changes: Mapping[str, str | None] | None = None, *may_come: str, **more: Any) -> None:
        self._tell("begin", kind=kind, changes=changes or {}, may_come=may_come, **more)

    def _report(self, changes: Mapping[str, str | None]) -> None:
        self._tell("report", changes=changes)

    def _done(self) -> None:
        self._tell("done")

    def ingest(self) -> None:
        """Add a few files, or many small ones."""
        names = [f"d{self._chance.randrange(10_000)}.md" for _ in range(self._chance.choice([1, 3, 12]))]
        self._add("ingest", names, self._chance.choice(SHELVES))

    def update(self) -> None:
        """Add files again that have changed."""
        shelf, names = self._some(3)
        self._add("update", [name for name in names if name.endswith(".md")], shelf)

    def _add(self, kind: str, names: list[str], shelf: str) -> None:
        uploads = [Upload(self._written(name), name) for name in dict.fromkeys(names)]
        told = {f"document {shelf}/{one.name}": checksum(one) for one in uploads}
        self._begin(
            kind, told, words={told[f"document {shelf}/{one.name}"]: self._words_in[one.name] for one in uploads}
        )
        for event in self._assembly.ingest(uploads, shelf):
            if not isinstance(event, IngestResult):
                continue
            if event.status is IngestStatus.FAILED:
                raise StoreError(f"{event.document}: {event.error}")
            name = f"document {shelf}/{event.document}"
            self._report({name: told[name]})
        self._done()
        self._forget_many()

    def _written(self, name: str) -> Path:
        self._version += 1
        word = self._words_in[name] = word_of(name, self._version)
        lines = OTHER if self._chance.random() < 0.3 else SENTENCES
        paragraphs = [" ".join(line.format(word=word) for line in lines)] * self._chance.choice([1, 2, 8])
        path = self._files / name
        path.write_text(f"# About {word}\n\n" + "\n\n".join(paragraphs), "utf-8")
        return path

    def _documents(self) -> list[tuple[str, str]]:
        shelves = self._assembly.collections.names()
        return [(shelf, one.name) for shelf in shelves for one in self._assembly.collections.documents(shelf)]

    def _some(self, most: int) -> tuple[str, list[str]]:
        """Return a random collection, and up to `most` of its documents."""
        there = self._documents()
        if not there:
            return SHELVES[0], []
        shelf = self._chance.choice(there)[0]
        names = [name for place, name in there if place == shelf]
        return shelf, self._chance.sample(names, min(len(names), most))

    def _all_of(self, shelf: str, name: str, other: str | None = None) -> dict[str, str | None]:
        """Return the facts of a document as deleted; those of `other`, a collection and a name, replace them."""
        its_own = f"{shelf}/{name}"
        changes: dict[str, str | None] = {}
        for fact, value in folder.facts_in(self._assembly.database.rows).items():
            what, _, of = fact.partition(" ")
            if what in ("document", "tag", "scan") and (of == its_own or of.startswith(f"{its_own}/")):
                changes[fact] = None
                if other:
                    changes[f"{what} {other}{of.removeprefix(its_own)}"] = value
        return changes

    def _do(self, kind: str, changes: Mapping[str, str | None], action: Callable[[], object]) -> None:
        self._begin(kind, changes)
        action()
        self._done_with(changes)

    def _done_with(self, changes: Mapping[str, str | None]) -> None:
        self._report(changes)
        self._done()

    def delete(self) -> None:
        """Delete a document."""
        shelf, names = self._some(1)
        for name in names:
            changes = self._all_of(shelf, name)
            self._do("delete", changes, partial(self._assembly.collections.delete_document, name, shelf))

    def _forget_many(self) -> None:
        while len(there := self._documents()) > MOST_DOCUMENTS:
            shelf, name = self._chance.choice(there)
            changes = self._all_of(shelf, name)
            self._do(
                "delete", changes,
                partial(self._assembly.collections.delete_document, name, shelf),
            )  # fmt: skip

    def move(self) -> None:
        """Move documents to the other collection."""
        shelf, names = self._some(2)
        target = SHELVES[1 - SHELVES.index(shelf)]
        there = {name for place, name in self._documents() if place == target}
        names = [name for name in names if name not in there]
        changes: dict[str, str | None] = {}
        for name in names:
            changes |= self._all_of(shelf, name, f"{target}/{name}")
        if names:
            self._do("move", changes, lambda: self._assembly.collections.move_documents(names, shelf, target))

    def rename(self) -> None:
        """Rename a document."""
        shelf, names = self._some(1)
        for name in names:
            self._version += 1
            new = f"r{self._version}{Path(name).suffix}"
            changes = self._all_of(shelf, name, f"{shelf}/{new}")
            self._do(
                "rename", changes,
                partial(self._assembly.collections.rename_document, name, new, shelf),
            )  # fmt: skip

    def tag(self) -> None:
        """Tag a document."""
        shelf, names = self._some(1)
        for name in names:
            word = f"t{self._chance.randrange(100)}"
            changes = {f"tag {shelf}/{name}/{word}": word}
            tags = self._assembly.collections.tags
            self._do("tag", changes, partial(tags.change, [name], put=[word], collection=shelf))

    def answer(self) -> None:
        """Ask a question in a chat; the question is reported at once, the answer when it ends."""
        chats = self._assembly.chats
        self._begin("answer", {}, "chat", "turn", "run", "answer")
        chat = chats.begin(self._chance.choice(self._assembly.collections.offered()))
        question = f"What does {self._chance.choice(self._words())} keep?"
        answering = self._conversations().ask(chat.id, question)
        self._report({f"turn {chat.id}/1": question, f"chat {chat.id}": chats.chat(chat.id).title})
        answering.job.wait()
        turn = chats.turns(chat.id)[0]
        if turn.state is not TurnState.ANSWERED:
            raise StoreError(f"A question ended as {turn.state}: {turn.answer}")
        facts = folder.facts_in(self._assembly.database.rows)
        self._report({f"answer {chat.id}/1": turn.run_id, f"run {turn.run_id}": facts[f"run {turn.run_id}"]})
        self._done()

    def _words(self) -> list[str]:
        return ["the lamp", *(Path(name).stem for _, name in self._documents())]

    def _conversations(self) -> Any:
        from localcrag.app.chats import Conversations  # noqa: PLC0415

        return Conversations(self._assembly.chats, self._assembly.ask_in_chat)

    def label(self) -> None:
        """Label an answer as good."""
        runs = self._assembly.runs.newest(5)
        if runs:
            run = self._chance.choice(runs).run_id
            good = bool(self._chance.getrandbits(1))
            learning = self._assembly.learning
            self._do(
                "label", {f"label {run}/answer/": str(int(good))},
                lambda: learning.label(run, LabelKind.ANSWER, good=good),
            )  # fmt: skip

    def change_setting(self) -> None:
        """Change a setting."""
        k = self._chance.randrange(3, 30)
        self._do("setting", {"setting k": str(k)}, lambda: self._assembly.change(k=k))

    def write_index(self) -> None:
        """Remove the index file, and have it rebuilt."""
        for path in (self._assembly.settings.data_dir / "index").glob("collection-*"):
            path.unlink(missing_ok=True)
        self._assembly._made.drop("store", "index")
        self._begin("index")
        for shelf in self._assembly.collections.names():
            index = self._assembly.collections.index(shelf)
            index.refresh()
            index.save()
        self._done()

    def read_scan(self) -> None:
        """Add a scanned page, and recognise its text."""
        from tests.support.scans import make_scan, picture  # noqa: PLC0415

        self._version += 1
        name = f"s{self._version}.pdf"
        path = self._files / name
        make_scan(path, picture([f"Lamp {self._version} burns."], size=(640, 200)))
        document, scan = f"document default/{name}", f"scan default/{name}"
        self._begin("scan", {document: checksum(Upload(path, name)), scan: "waits"})
        for _ in self._assembly.ingest([Upload(path, name)], "default"):
            pass
        self._report({document: checksum(Upload(path, name)), scan: "waits"})
        self._read_waiting()
        self._done()

    def go_on(self) -> None:
        """Continue the text recognition that an earlier process began."""
        if self._assembly.collections.scanned():
            self._begin("scan")
            self._read_waiting()
            self._done()

    def _read_waiting(self) -> None:
        for shelf in self._assembly.collections.scanned():
            waiting = self._assembly.collections.documents(shelf)
            self._tell("begin", kind="scan", changes={f"scan {shelf}/{one.name}": "read" for one in waiting
                                                     if one.waiting}, may_come=())  # fmt: skip
            for event in self._assembly.collections.read_scans(shelf):
                if (status := getattr(event, "status", None)) is IngestStatus.FAILED:
                    raise StoreError(str(event))
                if status:
                    self._report({f"scan {shelf}/{event.document}": "read"})

    def back_up(self) -> None:
        """Make a backup, and delete an old one."""
        copies = self._copies()
        for old in copies[: max(0, len(copies) - MOST_COPIES + 1)]:
            self._do("backup", {f"backup {old.name}": None}, old.unlink)
        self._begin("backup", {}, "backup")
        path = self._assembly.storage.back_up().path
        self._report({f"backup {path.name}": folder.digest(folder.facts_in(self._assembly.database.rows))})
        self._done()

    def restore(self) -> None:
        """Restore a backup."""
        if copies := self._copies():
            copy = self._chance.choice(copies)
            self._begin("restore", {}, copy=f"backup {copy.name}")
            self._assembly.storage.restore(copy)
            self._done()

    def _copies(self) -> list[Path]:
        return sorted(self._assembly.storage.backups.glob("*.sqlite3"))


def without_end(work: Work, first: str, chance: random.Random) -> Iterator[str]:
    """Run activities endlessly, and yield the kind of each before it runs."""
    yield first
    while True:
        yield chance.choice([kind for kind in work.kinds if kind not in ("scan", "restore")])
