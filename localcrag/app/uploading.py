"""A file that is being added, or what else is done behind the files, and how far it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from localcrag.app.background import Task, TaskState
from localcrag.app.what_is_said_of_files import first_of
from localcrag.records.ingest import IngestProgress, IngestResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Uploading(Task):
    """A file and how far it is; `result` says what became of one that is done.

    A `copy` is removed when it is done or dismissed; `original` and `refused` are as in Upload. One that
    `recognises` is no file, but all scans of a collection, and `results` says what became of each document. One that is
    a `folder` stands for all files in it, too many for a row each; one that `follows` brings the bound folder of that
    number in step. One that is `locked` can be added with its password.
    """

    id: int
    collection: str
    path: Path
    copy: bool = True
    original: bool = False
    refused: str | None = None
    recognises: bool = False
    folder: bool = False
    follows: int | None = None
    progress: IngestProgress | None = None
    result: IngestResult | None = None
    results: tuple[IngestResult, ...] = ()
    locked: bool = False

    @property
    def later(self) -> bool:
        """Files go before folders that are followed, whose documents questions find already."""
        return self.follows is not None

    @property
    def is_file(self) -> bool:
        """Whether somebody gave it to be added."""
        return not (self.recognises or self.follows is not None)

    @property
    def lane(self) -> str:
        """Text recognition takes long, and nothing waits for it."""
        return "scans" if self.recognises else ""

    @property
    def key(self) -> int:
        """Its number: several files may have one name."""
        return self.id


def is_in_as_a_whole(one: Uploading) -> bool:
    """Return whether a file is in, and nothing is to be said of it."""
    told = [one.result] if one.result else one.results
    return one.state is TaskState.DONE and not any(result.warnings for result in told)


def at_its_end(one: Uploading, own: Sequence[IngestResult], within: Sequence[IngestResult]) -> Uploading:
    """Return a file at its end: what became of itself, and of the files within it."""
    failed = first_of([result.error for result in within if result.error])
    if error := next((result.error for result in own if result.error), None):
        locked = any(result.locked for result in own)
        said = "\n".join([error, *failed])
        return dataclasses.replace(one, state=TaskState.FAILED, progress=None, error=said, locked=locked)
    result = dataclasses.replace(own[0], warnings=(*own[0].warnings, *failed))
    return dataclasses.replace(one, state=TaskState.DONE, progress=None, result=result)
