"""Models that are used when they have come: alone, in a set, or no longer once their download is cancelled."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import cast

import pytest

from localcrag.app.models.library import ModelInstaller, ModelLibrary
from localcrag.records.errors import DownloadFailed
from localcrag.records.models import DownloadPhase, DownloadProgress, Report

SETS = {"multilingual": ("words", "judge")}
SECONDS = 30.0


class Shelf:
    """Models of which each comes when the test lets it, and what was used."""

    def __init__(self, there: set[str]) -> None:
        self.there = there
        self.used: list[str] = []
        self.begun = threading.Semaphore(0)
        self.go = {name: threading.Event() for name in ("words", "judge", "big")}

    def named(self, name: str) -> tuple[str, ...]:
        return SETS.get(name, (name,))

    def missing(self, name: str) -> list[str]:
        return [one for one in self.named(name) if one not in self.there]

    def get(self, name: str, report: Report) -> bool:
        self.begun.release()
        assert self.go[name].wait(SECONDS)
        # A download that was cancelled ends here.
        report(
            DownloadProgress(
                model=name, file=name, phase=DownloadPhase.TRANSFER, done=1, total=2, bytes_per_second=None,
                seconds_left=None,
            )
        )  # fmt: skip
        self.there.add(name)
        return True


@pytest.fixture
def shelf() -> Shelf:
    return Shelf(set())


@pytest.fixture
def wanted(shelf: Shelf) -> Iterator[ModelInstaller]:
    yield ModelInstaller(cast(ModelLibrary, shelf), shelf.used.append)
    for go in shelf.go.values():
        go.set()


def ended(wanted: ModelInstaller) -> None:
    """Wait until nothing is on its way."""
    list(wanted.downloads.follow())


def all_come(shelf: Shelf, wanted: ModelInstaller) -> None:
    """Let every model come, and wait for it."""
    for go in shelf.go.values():
        go.set()
    ended(wanted)


def begun(shelf: Shelf, times: int) -> None:
    for _ in range(times):
        assert shelf.begun.acquire(timeout=SECONDS)


def test_what_is_there_is_used_at_once_and_what_is_only_downloaded_never(shelf: Shelf, wanted: ModelInstaller) -> None:
    shelf.there.update(SETS["multilingual"])
    wanted.use("multilingual")
    assert shelf.used == ["multilingual"]
    wanted.download("big")
    shelf.go["big"].set()
    ended(wanted)
    assert shelf.used == ["multilingual"]


def test_a_set_is_used_once_when_the_last_of_it_has_come(shelf: Shelf, wanted: ModelInstaller) -> None:
    wanted.use("multilingual")
    begun(shelf, 2)
    assert shelf.used == []
    for name in SETS["multilingual"]:
        shelf.go[name].set()
    ended(wanted)
    assert shelf.used == ["multilingual"]


def test_another_models_download_cancelled_leaves_the_set_wanted(shelf: Shelf, wanted: ModelInstaller) -> None:
    wanted.use("multilingual")
    wanted.use("big")
    begun(shelf, 3)
    wanted.cancel("big")
    all_come(shelf, wanted)
    assert shelf.used == ["multilingual"]


def test_one_of_its_models_cancelled_the_set_is_wanted_no_more(shelf: Shelf, wanted: ModelInstaller) -> None:
    wanted.use("multilingual")
    begun(shelf, 2)
    wanted.cancel("judge")
    all_come(shelf, wanted)
    wanted.download("judge")
    ended(wanted)
    assert shelf.there == set(SETS["multilingual"])
    assert shelf.used == []


def test_a_model_that_cannot_be_used_says_so_where_its_download_is_shown(shelf: Shelf) -> None:
    def use(name: str) -> None:
        raise DownloadFailed(f"{name} is not one of these")

    wanted = ModelInstaller(cast(ModelLibrary, shelf), use)
    shelf.go["big"].set()
    wanted.use("big")
    ended(wanted)
    (one,) = wanted.downloads.items()
    assert "big is not one of these" in str(one.error)
