"""Models that are being downloaded, each in a thread of its own, for whoever looks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from localcrag.app.background import BackgroundList, Task, TaskState, Tell
from localcrag.records.downloads import DownloadProgress, Report

Get = Callable[[str, Report], bool]
"""Downloads a model, telling how far it is."""
AT_ONCE = 8
"""Downloads at a time: more than anybody begins, on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloading(Task):
    """A model and how far it is."""

    progress: DownloadProgress | None = None


class Downloads:
    """The downloads of all tabs. What has come of one that was cancelled is kept: it goes on there."""

    def __init__(self, get: Get) -> None:
        self._get = get
        self._models = BackgroundList(self._download, "{name} was not downloaded", at_once=AT_ONCE)

    def start(self, name: str) -> None:
        """Download a model, unless that is being done."""
        self._models.start(Downloading(name=name))

    def cancel(self, name: str) -> None:
        """Download a model no further."""
        self._models.cancel([name])

    def items(self) -> tuple[Downloading, ...]:
        """Return every model that was asked for since the start."""
        return self._models.items()

    def follow(self) -> Iterator[tuple[Downloading, ...]]:
        """Yield them now and whenever something has changed, as long as any is on its way."""
        return self._models.follow()

    def _download(self, one: Downloading, tell: Tell[Downloading]) -> Downloading:
        self._get(one.name, lambda progress: tell(dataclasses.replace(one, progress=progress)))
        return dataclasses.replace(one, state=TaskState.DONE)
