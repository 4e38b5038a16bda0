"""Run the app in a temporary data folder: add documents as files, and ask questions as the app does."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from localcrag import pipeline
from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.crag.context import EVERY_STEP, Steps
from localcrag.records.enums import WebMode
from localcrag.records.errors import DocumentError, GenerationError
from localcrag.records.events import Event, Refined, Retrieved
from localcrag.records.ingest import IngestResult
from localcrag.records.passages import Passage
from localcrag.records.protocols import Decoding
from localcrag.records.run import Message, Run
from localcrag.settings import load, with_changes

PLAIN = Steps(evaluate=False, refine=False, verify=False)
"""Steps of plain RAG."""


class _Nowhere:
    """A run log that discards runs, since the caller keeps them."""

    def save(self, run: Run) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class NeverAsked:
    """A placeholder for the language model in a flow that ends before it is called."""

    name: str
    context_tokens: int = 4096

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the number of words, since there is no tokenizer."""
        return sum(len(message.content.split()) for message in messages)

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> NoReturn:
        raise GenerationError("No language model was to be asked.")


class Bench:
    """One app. With `silent`, it uses no language model: a question ends with its evidence, without an answer."""

    def __init__(self, assembly: Assembly, *, silent: bool) -> None:
        self._assembly, self.silent = assembly, silent

    @property
    def llm(self) -> str | None:
        """Return the name of the language model, None if `silent`."""
        return None if self.silent else self._assembly.settings.llm

    def add(self, paths: Iterable[Path], collection: str) -> None:
        """Add files to a collection. Raises DocumentError if one cannot be read."""
        events = self._assembly.ingest(uploads_from(list(paths)), collection)
        if failed := [event.error for event in events if isinstance(event, IngestResult) and event.error]:
            raise DocumentError("\n".join(failed))

    def warm_up(self) -> None:
        """Load all models, so that the first question is not slower than the others."""
        self._assembly.warm_up()

    def ask(
        self, question: str, collection: str, steps: Steps = EVERY_STEP, asked_on: date | None = None
    ) -> tuple[Run, float]:
        """Return the run of a question, asked today or as on another day, and the seconds that it took."""
        began = time.perf_counter()
        run, _ = self._until(Refined if self.silent else None, question, collection, steps, asked_on)
        return run, time.perf_counter() - began

    def retrieved(self, question: str, collection: str) -> tuple[Passage, ...]:
        """Return the passages of retrieval alone, without grading."""
        _, event = self._until(Retrieved, question, collection, EVERY_STEP)
        return event.passages if isinstance(event, Retrieved) else ()

    def tokens(self, texts: Iterable[str]) -> int:
        """Return the length of texts in tokens of the embedding model."""
        return sum(self._assembly.models.embedder.count_tokens([*texts]))

    def _until(
        self, last: type[Event] | None, question: str, collection: str, steps: Steps, asked_on: date | None = None
    ) -> tuple[Run, Event | None]:
        """Ask a question until the first event of type `last`, or to its end; return the run, and the event if any."""
        assembly = self._assembly
        settings = assembly.collection_settings.applied_to(with_changes(assembly.settings, collection=collection))
        # A separate run log disables the cache of scores, so that seconds can be compared.
        parts = assembly.parts(settings, runs=_Nowhere())
        if asked_on:
            parts = replace(parts, today=lambda: asked_on)
        if self.silent:
            parts = replace(parts, llm=NeverAsked(settings.llm))
        with closing(pipeline.answer(question, parts=parts, settings=settings, steps=steps)) as recording:
            for event in recording:
                if last is not None and isinstance(event, last):
                    return recording.run, event
        return recording.run, None


@contextmanager
def opened(settings: Mapping[str, str], *, silent: bool) -> Iterator[Bench]:
    """Open an app with these settings in an empty temporary data folder; it never searches the web.

    Raises SettingsError and ModelError.
    """
    with TemporaryDirectory(prefix="eval-everyday-") as folder:
        chosen = load(**{"web": WebMode.NEVER, **settings, "data_dir": Path(folder)})
        with closing(Assembly(chosen)) as assembly:
            yield Bench(assembly, silent=silent)
