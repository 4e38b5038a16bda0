"""The Python API: `Localcrag`, and the start-up that every interface shares."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
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
    """Prepare the process and return its settings; arguments that are None are ignored.

    This guards the process, sets the language of messages, makes the data folder private to this user, and keeps the
    connection log in it. For a data folder from before 0.1.0, it raises StoreError before writing anything. Raises
    SettingsError and StoreError.
    """
    guard()
    loaded = load(**settings)
    translation.choose(loaded.language)
    check_data_folder(loaded.data_dir / DATABASE_NAME)
    private_folder.keep_private(loaded.data_dir)
    egress_log.log_to_folder(loaded.data_dir)
    log_file.log_to_file(loaded.data_dir)
    return loaded


class Localcrag:
    """Your documents, and answers from them. Close it when you are done, or use it in a `with` statement.

    It uses the data folder of the app, so the app shows the same documents; `data_dir` selects another folder. Every
    error is a LocalcragError whose text says what happened and what to do.

    In these examples `app` is `Localcrag(folder / "data", web="never")`, and `folder` holds `handbook.md`:

    >>> app.ask(" ")
    Traceback (most recent call last):
    localcrag.records.errors.QuestionError: The question is empty. Write one.
    """

    def __init__(self, data_dir: str | Path | None = None, **settings: Any) -> None:
        """Open the data folder. Settings are passed by name: `Localcrag(collection="manuals", web="never", k=4)`.

        They override environment variables and the settings file, and are not stored. Models are loaded when they are
        first needed. The first instance guards the process; see `localcrag.guard`. Raises SettingsError, ModelError
        and StoreError.
        """
        # This goes before the import below, because the libraries read their telemetry switches when imported.
        guard()
        # Imported here because it takes a second, and `import localcrag` must not wait for that.
        from localcrag.app.assembly import Assembly  # noqa: PLC0415

        self._assembly: Assembly = Assembly(begin(data_dir=data_dir, **settings))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, *paths: str | Path) -> list[IngestResult]:
        """Add files, or all files of folders, to the collection, and return the result of each.

        A file whose content is already in the collection is skipped. If a path is missing or a file cannot be read, the
        other files are added first; then IngestError is raised, with the results of the files that were added (`added`)
        and those that were not (`failed`). Raises UnreadableDocument for an empty folder, before anything is added,
        ModelError and StoreError.

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
        results = with_warnings(results, self._assembly.collections.opened.index_errors.values())
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
        """Add tags to a document, or, if the name ends with “/”, to all documents of a folder, now and later.

        Raises StoreError.

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
        """Answer a question; see `stream`. The run contains the answer, the action, the sources and every step.

        >>> run = app.ask("How long is the warranty on a bicycle?")
        >>> print(run.action, [source.document for source in run.sources])
        CORRECT ['handbook.md']
        >>> "seven years [1]" in run.answer
        True

        You can restrict the documents, and pass earlier turns so that a follow-up question is understood:

        >>> from localcrag import Restriction, Turn
        >>> app.tag("handbook.md", "sales")
        >>> before = [Turn(run.question, run.answer)]
        >>> later = app.ask("And are tyres part of it?", history=before, within=Restriction(tags=("sales",)))
        >>> later.scope.documents
        1

        In a notebook, a run displays the answer, its citations, the action with the reason, and the graded passages.
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
        """Answer a question as a stream of events; AnswerPiece events, for instance, carry the answer as it is written.

        `history` contains the earlier turns of the conversation. If the web mode is “ask”, `consent` is called with the
        query for your SearXNG, and returns the query to send, or None; without `consent` nothing is sent. The recording
        has the `run` so far, and its `close` stops the answer. `within` restricts the documents, for instance
        `Restriction(tags=("contract",), since="2024")`. With `read_all`, every passage of these documents is read
        instead of the best matches only: right for “list all”, but slow. Raises QuestionError, UnknownCollection,
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
        """Return the passages that help with a question, most relevant first, at most `most`, without an answer.

        This is for programs that write the answer themselves. Raises QuestionError, SettingsError, ModelError and
        StoreError.

        >>> best = app.search("How long is the warranty on a bicycle?")[0]
        >>> print(best.document, best.grade, best.relevance > 0.5)
        handbook.md correct True
        """
        from localcrag.records.restriction import EVERYWHERE  # noqa: PLC0415

        return self._assembly.search(question, most=most, restriction=within or EVERYWHERE).passages

    def close(self) -> None:
        """Close the database and end the reader processes."""
        self._assembly.close()
