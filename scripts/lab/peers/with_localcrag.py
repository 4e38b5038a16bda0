"""localcrag, asked in the same way as by its web interface, but without web search."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab.peers.child import Task
from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.records.enums import WebMode
from localcrag.records.events import AnswerPiece, RunFinished
from localcrag.records.run import Run
from localcrag.settings import load


class Program:
    """An app with its default settings, except for those in the task."""

    def __init__(self, task: Task) -> None:
        chosen: dict[str, Any] = {"web": WebMode.NEVER, **dict(task.options), "data_dir": Path(task.data)}
        self._assembly = Assembly(load(**chosen, answer_tokens=task.tokens))
        self._assembly.warm_up()
        self._documents = Path(task.documents)
        self._run: Run | None = None

    def add(self) -> None:
        for _ in self._assembly.ingest(uploads_from([self._documents])):
            pass

    def answer(self, question: str) -> Iterator[str]:
        for event in self._assembly.ask(question):
            if isinstance(event, AnswerPiece):
                yield event.text
            if isinstance(event, RunFinished):
                self._run = event.run

    def shown(self) -> tuple[str | None, bool | None]:
        return (self._run.answer, not self._run.answered) if self._run else (None, None)
