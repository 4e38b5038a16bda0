"""Models that are being downloaded, each in a thread of its own, for whoever looks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from localcrag.app import failed
from localcrag.app.observable_list import ObservableList
from localcrag.records.downloads import DownloadProgress, Report

Get = Callable[[str, Report], bool]
"""Downloads a model, telling how far it is."""


class DownloadState(StrEnum):
    """Where a model is on its way."""

    WORKING = "working"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloading:
    """A model and how far it is; `error` says why it failed and what to do."""

    name: str
    state: DownloadState = DownloadState.WORKING
    progress: DownloadProgress | None = None
    error: str | None = None


class _Cancelled(Exception):
    pass


class Downloads:
    """The downloads of all tabs. What has come of one that was cancelled is kept: it goes on there."""

    def __init__(self, get: Get) -> None:
        self._get = get
        self._models: ObservableList[str, Downloading] = ObservableList()

    def start(self, name: str) -> None:
        """Download a model, unless that is being done."""
        with self._models.lock:
            there = self._models.get(name)
            if there and there.state is DownloadState.WORKING:
                return
            self._models.put(name, Downloading(name=name))
        threading.Thread(target=self._work, args=(name,), name=f"download {name}", daemon=True).start()

    def cancel(self, name: str) -> None:
        """Download a model no further."""
        self._change(Downloading(name=name, state=DownloadState.CANCELLED))

    def items(self) -> tuple[Downloading, ...]:
        """Return every model that was asked for since the start."""
        return self._models.items()

    def follow(self) -> Iterator[tuple[Downloading, ...]]:
        """Yield them now and whenever something has changed, as long as any is on its way."""
        return self._models.follow(lambda one: one.state is DownloadState.WORKING)

    def _work(self, name: str) -> None:
        try:
            self._get(name, lambda progress: self._tell(Downloading(name=name, progress=progress)))
            self._tell(Downloading(name=name, state=DownloadState.DONE))
        except _Cancelled:
            pass
        except Exception as error:  # noqa: BLE001 - said on the page
            said = failed.why(error, f"{name} was not downloaded")
            self._change(Downloading(name=name, state=DownloadState.FAILED, error=said))

    def _tell(self, now: Downloading) -> None:
        """Take down how far a model is; ends the download when somebody has cancelled it."""
        if not self._change(now):
            raise _Cancelled

    def _change(self, now: Downloading) -> bool:
        """Put a model that is being downloaded where it is now; return whether it was being downloaded still."""
        return self._models.change(now.name, lambda there: there.state is DownloadState.WORKING, lambda _: now)
