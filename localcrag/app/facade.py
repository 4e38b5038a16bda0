"""Start-up: settings, the language, and a data folder that only this user can read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from localcrag.privacy import egress_log, log_file, private_folder
from localcrag.privacy.guard import guard
from localcrag.records.errors import IngestError
from localcrag.settings import Settings, load
from localcrag.storage.schema import DATABASE_NAME, check_data_folder
from localcrag.text import translation

if TYPE_CHECKING:
    from localcrag.app.assembly import Assembly
    from localcrag.records.enums import Preset
    from localcrag.records.ingest import IngestResult
    from localcrag.records.passages import GradedPassage
    from localcrag.records.protocols import Consent
    from localcrag.records.restriction import Restriction
    from localcrag.records.run import Run, Turn
    from localcrag.runs.recording import Recording


def begin(**settings: Any) -> Settings:
    """Return the settings in force; those given that are None do not count. Raises SettingsError and StoreError.

    A data folder of before 0.1.0 is refused here, before anything is written to it. From then on the process is
    guarded, messages are in their language, the data folder is this user's alone, and what leaves is noted in it.
    """
    guard()
    loaded = load(**settings)
    translation.choose(loaded.language)
    check_data_folder(loaded.data_dir / DATABASE_NAME)
    private_folder.keep_private(loaded.data_dir)
    egress_log.keep_in(loaded.data_dir)
    log_file.keep_in(loaded.data_dir)
    return loaded


class Localcrag:
    """Your documents, and answers from them. Close it when you are done, or use it in a `with`.

    Everything is kept where the app keeps it, and the page shows the same documents; `data_dir` names another place.
    Every error is a LocalcragError whose text says what happened and what to do.

    In these examples `app` is `Localcrag(folder / "data", web="never")`, and `folder` holds `handbook.md`:

    >>> app.ask(" ")
    Traceback (most recent call last):
    localcrag.records.errors.QuestionError: The question is empty. Write one.
    """

    def __init__(self, data_dir: str | Path | None = None, **settings: Any) -> None:
        """Open the data folder. `settings` go by their names: `Localcrag(collection="manuals", web="never", k=4)`.

        They win over environment variables and the settings file, and are not stored. Models are loaded when they are
        first needed. From the first one on the process is guarded; see `localcrag.guard`. Raises SettingsError,
        ModelError and StoreError.
        """
        from localcrag.privacy.guard import guard  # noqa: PLC0415

        # Before the imports below: the libraries read the switches for telemetry when they are imported.
        guard()
        # Here, and not above: they take a second to import, and `import localcrag` must not wait for them.
        from localcrag.app.assembly import Assembly  # noqa: PLC0415

        self._assembly: Assembly = Assembly(begin(data_dir=data_dir, **settings))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def add(self, *paths: str | Path) -> list[IngestResult]:
        """Add files, or all files of folders, to the collection, and return what became of each.

        A file whose content is there already is left alone. If a path is missing or a file cannot be read, the others
        are added first; then IngestError is raised, with the results of the files that are in (`added`) and of those
        that are not (`failed`). Raises UnreadableDocument for an empty folder, before anything is added, ModelError and
        StoreError.

        >>> [one.document for one in app.add(folder / "handbook.md")]
        ['handbook.md']
        >>> (again,) = app.add(folder / "handbook.md")
        >>> print(again.status)
        unchanged

        >>> from localcrag import IngestError
        >>> try:
        ...     app.add(folder / "handbook.md", folder / "missing.pdf")
        ... except IngestError as error:
        ...     print([one.document for one in error.added], [one.document for one in error.failed])
        ['handbook.md'] ['missing.pdf']
        """
        from localcrag.app.uploads import uploads_from, with_warnings  # noqa: PLC0415
        from localcrag.records.ingest import IngestResult  # noqa: PLC0415

        events = self._assembly.ingest(uploads_from([Path(path) for path in paths]))
        results = [event for event in events if isinstance(event, IngestResult)]
        results = with_warnings(results, self._assembly.collections.opened.unwritten.values())
        if failed := [one for one in results if one.error]:
            raise IngestError([one for one in results if not one.error], failed)
        return results

    def documents(self) -> list[str]:
        """Return the names of the collection's documents. Raises StoreError.

        >>> app.documents()
        ['handbook.md']
        """
        return [document.name for document in self._assembly.collections.documents()]

    def tag(self, name: str, *tags: str) -> None:
        """Give a document tags, or all of a folder, now and later, whose name ends with “/”. Raises StoreError.

        >>> app.tag("handbook.md", "sales")
        """
        self._assembly.collections.tags.change([name], put=tags)

    def ask(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        preset: Preset | None = None,
        consent: Consent | None = None,
        within: Restriction | None = None,
        read_all: bool = False,
    ) -> Run:
        """Answer a question; see `stream`. The run has the answer, the action, the sources and every step.

        >>> run = app.ask("How long is the warranty on a bicycle?")
        >>> print(run.action, [source.document for source in run.sources])
        CORRECT ['handbook.md']
        >>> "seven years [1]" in run.answer
        True

        Documents can be chosen, and a follow-up is read with the turns before it:

        >>> from localcrag import Restriction, Turn
        >>> app.tag("handbook.md", "sales")
        >>> before = [Turn(run.question, run.answer)]
        >>> later = app.ask("And are tyres part of it?", history=before, within=Restriction(tags=("sales",)))
        >>> later.scope.documents
        1

        In a notebook, a run shows itself: the answer, what it cites, action and why, passages with their relevance.
        """
        with closing(
            self.stream(question, history=history, preset=preset, consent=consent, within=within, read_all=read_all)
        ) as recording:
            for _ in recording:
                pass
        return recording.run

    def stream(
        self,
        question: str,
        *,
        history: Sequence[Turn] = (),
        preset: Preset | None = None,
        consent: Consent | None = None,
        within: Restriction | None = None,
        read_all: bool = False,
    ) -> Recording:
        """Answer a question, one event a step as you iterate: AnswerPiece as the answer is written, for instance.

        `history` are the turns of the conversation before it. `consent` is called with the query that would leave for
        your SearXNG, where the web mode is “ask”, and returns what may be sent, or None; without it nothing is. The
        recording has the `run` as it is so far, and `close` stops it. `within` names the documents that are asked:
        `Restriction(tags=("contract",), since="2024")`; with `read_all` every passage of theirs is looked at, not only
        those that are found: for “list all”, at the price of time. Raises QuestionError, UnknownCollection,
        ModelError and StoreError.

        >>> from localcrag import AnswerPiece
        >>> recording = app.stream("How long is the warranty on a bicycle?")
        >>> written = [event.text for event in recording if isinstance(event, AnswerPiece)]
        >>> len(written) > 1
        True
        >>> recording.run.answered  # what is verified may differ from what was written
        True
        """
        from localcrag.records.restriction import EVERYWHERE  # noqa: PLC0415

        return self._assembly.ask(
            question, history=history, preset=preset, consent=consent, restriction=within or EVERYWHERE,
            read_all=read_all,
        )  # fmt: skip

    def search(self, question: str, *, most: int = 6, within: Restriction | None = None) -> tuple[GradedPassage, ...]:
        """Return the passages that help with a question, most relevant first, at `most` so many, without an answer.

        For programs that answer themselves. Raises QuestionError, SettingsError, ModelError and StoreError.

        >>> best = app.search("How long is the warranty on a bicycle?")[0]
        >>> print(best.document, best.grade, best.relevance > 0.5)
        handbook.md correct True
        """
        from localcrag.records.restriction import EVERYWHERE  # noqa: PLC0415

        return self._assembly.search(question, most=most, restriction=within or EVERYWHERE).passages

    def close(self) -> None:
        """Close the database, and end the processes that read files."""
        self._assembly.close()
