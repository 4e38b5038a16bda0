"""Models that are used as soon as they are there, one or a set; missing ones are downloaded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from localcrag.app.downloads import Downloading, Downloads
from localcrag.records.downloads import Report


class Models(Protocol):
    """The models of the list, as far as getting them needs it."""

    def named(self, name: str) -> Sequence[str]:
        """Return the models of the set of that name; where there is no such set, the name by itself."""
        ...

    def missing(self, name: str) -> Sequence[str]:
        """Return which of these have to be downloaded."""
        ...

    def get(self, name: str, report: Report) -> bool:
        """Download a model, telling how far it is."""
        ...


class WantedModels:
    """Downloads, and what becomes of the models when they are there."""

    def __init__(self, models: Models, use: Callable[[str], object]) -> None:
        """`use` is told the name of a model or of a set once all of it is there."""
        self._models = models
        self._use = use
        self._lock = threading.Lock()
        self._wanted: set[str] = set()
        self._downloads = Downloads(self._get)

    def use(self, name: str) -> None:
        """Use a model or a set: now, or when what is missing of it has been downloaded."""
        missing = self._models.missing(name)
        if not missing:
            self._use(name)
            return
        with self._lock:
            self._wanted.add(name)
        for model in missing:
            self._downloads.start(model)

    def download(self, name: str) -> None:
        """Download a model without using it."""
        self._downloads.start(name)

    def cancel(self, name: str) -> None:
        """Download a model no further; it is used no more when it comes, nor is any set that it is one of."""
        self._take(name, lambda _: True)
        self._downloads.cancel(name)

    def items(self) -> tuple[Downloading, ...]:
        """Return every model that was asked for since the start."""
        return self._downloads.items()

    def follow(self) -> Iterator[tuple[Downloading, ...]]:
        """Yield them now and whenever something has changed, as long as any is on its way."""
        return self._downloads.follow()

    def _get(self, name: str, report: Report) -> bool:
        got = self._models.get(name, report)
        for one in self._take(name, lambda one: not self._models.missing(one)):
            self._use(one)
        return got

    def _take(self, name: str, which: Callable[[str], bool]) -> set[str]:
        """Take what a model is wanted for, by itself or in sets, out of the wanted, and return it."""
        with self._lock:
            taken = {one for one in self._wanted if name in self._models.named(one) and which(one)}
            self._wanted -= taken
        return taken
