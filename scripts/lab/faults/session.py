"""A small session of the app without models, which reports each of its steps."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from lab.faults import folder
from lab.faults.children import settings_of
from lab.faults.work import Tell, word_of
from lab.faults.world import kind
from localcrag.app.assembly import Assembly
from localcrag.app.chats import Conversations
from localcrag.documents.ingest import ingest
from localcrag.documents.prepare import ReadingTools, checksum
from localcrag.documents.readers.open_document import open_document
from localcrag.records.errors import LocalcragError, StoreError
from localcrag.records.ingest import IngestEvent, IngestResult, Upload
from tests.support.fakes import FakeEmbedder, FakeLanguageModel, FakeScorer

NAMES = ("kept.md", "gone.md")
GONE = [word_of("gone.md", version) for version in (1, 2)]
"""Words of the document that is deleted on its own."""
INDEX_KWARGS = {"most_recent": 2, "rows_per_write": 4}
"""Settings under which even this small collection gets an index file."""
PARAGRAPHS = 12
QUESTION = "Which ferry waits at the pier?"
OF_ANSWERS = ("chat", "turn", "run", "answer")
"""Kinds of facts that a question creates."""
REMEDY = re.compile(
    r"\b(check|free|choose|try again|start localcrag|add it|delete it|once more|restore|make (room|it)|give it)\b", re.I
)
"""Pattern of the part of a message that says what to do."""


def opened(data: Path) -> Assembly:
    """Open a data folder with stand-ins for the models. Raises LocalcragError."""
    from localcrag.storage.collections.vector_index import ChunkIndex  # noqa: PLC0415 - takes a while to import

    (ChunkIndex.__init__.__kwdefaults__ or {}).update(INDEX_KWARGS)
    assembly = Assembly(settings_of(data))
    assembly.models.share(embedder=FakeEmbedder(), scorer=FakeScorer())
    assembly._made.put(f"llm {assembly.settings.llm}", FakeLanguageModel())
    return assembly


def write_files(files: Path, version: int = 1) -> list[Upload]:
    """Write the documents of the session, with other words in each version, and return them."""
    files.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        word = word_of(name, version)
        text = "\n\n".join(f"Line {one} of {word}: the ferry waits at pier {one}. " * 12 for one in range(PARAGRAPHS))
        (files / name).write_text(f"# About {word}\n\n{text}", "utf-8")
    return [Upload(files / name, name) for name in NAMES]


class Session:
    """The steps in a data folder; if one fails, the next one still runs, as in the web interface."""

    def __init__(self, data: Path, uploads: list[Upload], tell: Tell) -> None:
        self._data, self._uploads, self._tell = data, uploads, tell
        self._assembly: Assembly | None = None
        self._saved: Path | None = None

    def run(self) -> Assembly | None:
        """Run all steps; return the app, or None if it could not be opened."""
        for step in (
            self._open, self._add, self._ask, self._answer, self._delete, self._write_index, self._change,
            self._back_up, self._restore,
        ):  # fmt: skip
            self._step(step)
            if self._assembly is None:
                break
        return self._assembly

    def open(self) -> Assembly | None:
        """Only open the app; return it, or None if it could not be opened."""
        self._step(self._open)
        return self._assembly

    def _step(self, step: Callable[[], None]) -> None:
        name = step.__name__.strip("_")
        try:
            step()
        except LocalcragError as error:
            self._refused(name, str(error))
        except Exception as error:  # noqa: BLE001 - told: a person would see it so
            traceback.print_exc()
            self._tell("unsaid", step=name, error=repr(error)[:500])

    def _refused(self, step: str, message: str) -> None:
        names_it, helps = str(self._data) in message, bool(REMEDY.search(message))
        self._tell("refused", step=step, error=message[:900], names_it=names_it, helps=helps)

    @property
    def _app(self) -> Assembly:
        if self._assembly is None:
            raise StoreError("not open")
        return self._assembly

    def _begin(self, what: str, changes: Mapping[str, str | None], *may_come: str, **more: object) -> None:
        self._tell("begin", kind=what, changes=changes, may_come=may_come, **more)

    def _done(self, changes: Mapping[str, str | None]) -> None:
        self._tell("report", changes=changes)
        self._tell("done")

    def _open(self) -> None:
        self._begin("open", {})
        self._assembly = opened(self._data)
        self._done({})

    def _add(self) -> None:
        told = {f"document default/{one.name}": checksum(one) for one in self._uploads}
        self._begin("add", told)
        for event in self._ingest():
            if isinstance(event, IngestResult):
                if event.error:
                    self._refused("add", str(event.error))
                else:
                    name = f"document default/{event.document}"
                    self._tell("report", changes={name: told[name]})
        self._tell("done")

    def _ingest(self) -> Iterator[IngestEvent]:
        """Add the files as the app does, but read them in this process: a reader process takes a second to start."""
        collections = self._app.collections
        return ingest(
            self._uploads,
            ReadingTools(
                open_file=open_document,
                embedder=FakeEmbedder(),
                find=collections.store("default").find,
                chunk_tokens=settings_of(self._data).chunk_tokens,
                as_file=collections._as_file,
            ),
            shelf=collections.store("default"),
            index=collections.index("default"),
            transaction=collections._home("default").transaction,
        )

    def _ask(self) -> None:
        self._begin("ask", {})
        self._app.search(QUESTION, collection="default")
        self._done({})

    def _answer(self) -> None:
        """Ask a question in a chat; whatever is stored of question, answer and run afterwards must stay."""
        self._begin("answer", {}, *OF_ANSWERS)
        chats = self._app.chats
        try:
            chat = chats.begin("default")
            answering = Conversations(chats, self._app.ask_in_chat).ask(chat.id, QUESTION)
            self._tell("report", changes={f"chat {chat.id}": QUESTION, f"turn {chat.id}/1": QUESTION})
            for _ in answering.job.follow():  # like the web interface, which shows the error that this raises
                pass
        finally:
            self._tell("report", changes=self._answers())
        self._tell("done")

    def _answers(self) -> dict[str, str]:
        try:
            facts = folder.facts_in(self._app.database.rows)
        except StoreError:  # what fails once
            facts = folder.facts_in(self._app.database.rows)
        return {name: value for name, value in facts.items() if kind(name) in OF_ANSWERS}

    def _delete(self) -> None:
        changes = {f"document default/{NAMES[1]}": None}
        there = [one.name for one in self._app.collections.documents("default")]
        if NAMES[1] in there:
            self._begin("delete", changes)
            self._app.collections.delete_document(NAMES[1], "default")
            self._done(changes)

    def _write_index(self) -> None:
        self._begin("index", {})
        index = self._app.collections.index("default")
        index.refresh()
        index.save()
        self._done({})

    def _change(self) -> None:
        changes = {"setting k": "7"}
        self._begin("setting", changes)
        self._app.change(k=7)
        self._done(changes)

    def _back_up(self) -> None:
        # The expected content is read first, so that a fault while reading it is not taken for a fault of the backup.
        holds = folder.digest(folder.facts_in(self._app.database.rows))
        self._begin("backup", {}, "backup")
        path = self._app.storage.back_up().path
        self._done({f"backup {path.name}": holds})
        self._saved = path

    def _restore(self) -> None:
        if self._saved:
            self._begin("restore", {}, copy=f"backup {self._saved.name}")
            self._app.storage.restore(self._saved)
            self._done({})


def look(data: Path, tell: Tell) -> None:
    """Open a data folder as the next start does, and report its content and its problems."""
    assembly = opened(data)
    tell_what_is_there(assembly, data, tell)
    assembly.close()
    tell("ended")


def tell_what_is_there(assembly: Assembly, data: Path, tell: Tell) -> None:
    """Report the facts and the problems; a word of a deleted document must not be found."""
    facts = folder.facts_of(data, assembly.database)
    gone = [] if f"document default/{NAMES[1]}" in facts else GONE
    problems = list(folder.problems_of(assembly, gone)) + list(_usable(assembly))
    tell("looked", facts=facts, problems=[one[:300] for one in problems[:5]])


def _usable(assembly: Assembly) -> Iterator[str]:
    """Yield the problems with searching."""
    documents = assembly.collections.documents("default") if "default" in assembly.collections.names() else []
    if documents and not assembly.search(QUESTION, collection="default").passages:
        yield "the search finds nothing"
