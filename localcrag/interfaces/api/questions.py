"""Questions from other programs: each runs in a separate thread, but only one is answered at a time."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field

from localcrag.app.assembly import Assembly
from localcrag.app.chats import AnswerProgress, AnswerQueue, ModelTurn, run_when_model_is_free
from localcrag.app.tasks import Job
from localcrag.records.enums import Preset
from localcrag.records.errors import GenerationError, UnknownCollection
from localcrag.records.events import RunFinished
from localcrag.records.restriction import EVERYWHERE, Restriction
from localcrag.records.run import Run, Turn
from localcrag.runs.recording import Recording
from localcrag.settings import with_changes


class DocumentFilter(BaseModel):
    """Which documents to use; an omitted field restricts nothing."""

    model_config = ConfigDict(extra="forbid")

    documents: list[str] = Field(default=[], description="names; * matches anything")
    folders: list[str] = []
    tags: list[str] = []
    kinds: list[str] = Field(default=[], description="kinds of documents: PDF, Word, Excel, E-mail, …")
    since: str | None = Field(default=None, description="only documents from this day on: 2024-01-31, 2024-01 or 2024")
    until: str | None = Field(default=None, description="only documents up to this day")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiQuestion:
    """A program's question, with the collection, the previous turns, and settings that differ from the app's."""

    question: str
    collection: str
    history: tuple[Turn, ...] = ()
    preset: Preset | None = None
    restriction: Restriction = EVERYWHERE
    read_all: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)


class Questions:
    """Answers questions from programs, over all collections or over `only` one."""

    def __init__(self, assembly: Assembly, only: str | None = None) -> None:
        """Check that the collection `only` exists, if one is named. Raises UnknownCollection."""
        self.assembly, self._only = assembly, only
        self._models = AnswerQueue()
        if only:
            assembly.collections.require(only)

    @property
    def busy(self) -> bool:
        """Whether a question is being answered."""
        return self._models.busy

    def collections(self) -> list[str]:
        """Return the names of the collections that programs may query."""
        return [self._only] if self._only else self.assembly.collections.offered()

    def require(self, collection: str | None) -> str:
        """Return the collection's name; if none is given, the only or the default one. Raises UnknownCollection."""
        name = collection or self._only or self.assembly.settings.collection
        there = self.collections()
        if name not in there:
            names = ", ".join(f"“{one}”" for one in there)
            raise UnknownCollection(f"There is no collection “{name}”. Available collections: {names}.")
        return name

    async def ask(self, asked: ApiQuestion) -> AsyncGenerator[AnswerProgress, None]:
        """Yield the events of a question; closing this generator, or cancelling its task, stops the question.

        Nobody can consent to a web query here. If consent is needed, nothing is sent, and the run reports that. Raises
        the errors of Assembly.ask.
        """
        stopping = threading.Event()
        models = ModelTurn(self._models, stopping, long=asked.read_all)
        start, any_unloaded = partial(self._start, asked), self.assembly.models.any_unloaded
        job = Job(lambda: run_when_model_is_free(start, models, any_unloaded), name="answer of a program")
        batches = job.follow()
        try:
            # Waiting for events blocks, so it runs in a thread, which is abandoned if the task is cancelled.
            while batch := await to_thread.run_sync(next, batches, (), abandon_on_cancel=True):
                for one in batch:
                    yield one
        finally:
            stopping.set()
            job.stop()

    async def answer(self, asked: ApiQuestion) -> Run:
        """Answer a question and return its run; see `ask`."""
        async with aclosing(self.ask(asked)) as happened:
            async for one in happened:
                if isinstance(one.event, RunFinished):
                    return one.event.run
        raise GenerationError("The question was stopped before it was answered. Ask it again.")

    def _start(self, asked: ApiQuestion) -> Recording:
        settings = with_changes(self.assembly.settings, collection=asked.collection, **asked.settings)
        return self.assembly.ask(
            asked.question, history=asked.history, settings=settings, preset=asked.preset,
            restriction=asked.restriction, read_all=asked.read_all,
        )  # fmt: skip
