"""Downloads for whoever looks: how far they are, why one failed, cancelled before the next piece."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import cast

import pytest

from localcrag.app.models.library import ModelInstaller, ModelLibrary
from localcrag.app.tasks import TaskState
from localcrag.records.errors import DownloadFailed
from localcrag.records.models import DownloadPhase, DownloadProgress, Report

SECONDS = 30.0


def progress(done: int) -> DownloadProgress:
    return DownloadProgress(
        model="big", file="big.gguf", phase=DownloadPhase.TRANSFER, done=done, total=9, bytes_per_second=None,
        seconds_left=None,
    )  # fmt: skip


class Shelf:
    """Models that `get` downloads. Not real: it stores nothing."""

    def __init__(self, get: Callable[[str, Report], bool]) -> None:
        self.get = get


def installer_of(get: Callable[[str, Report], bool]) -> ModelInstaller:
    return ModelInstaller(cast(ModelLibrary, Shelf(get)), lambda name: pytest.fail(f"{name} was used"))


def test_how_far_it_is_is_told_until_it_is_done() -> None:
    asked: list[str] = []

    def get(name: str, report: Report) -> bool:
        asked.append(name)
        report(progress(3))
        report(progress(9))
        return True

    installer = installer_of(get)
    installer.download("big")
    seen = [one for items in installer.downloads.follow() for one in items]
    assert seen[-1].state is TaskState.DONE
    assert asked == ["big"]


def test_it_is_not_begun_twice_and_ends_at_the_next_piece_when_cancelled() -> None:
    begun, go, ended = threading.Semaphore(0), threading.Event(), threading.Event()

    def get(name: str, report: Report) -> bool:
        try:
            report(progress(1))
            begun.release()
            assert go.wait(SECONDS)
            report(progress(2))
            pytest.fail("went on after it was cancelled")
        finally:
            ended.set()
        return True

    installer = installer_of(get)
    installer.download("big")
    assert begun.acquire(timeout=SECONDS)
    installer.download("big")
    installer.cancel("big")
    go.set()
    assert ended.wait(SECONDS)
    assert not begun.acquire(blocking=False)
    assert [one.state for one in installer.downloads.items()] == [TaskState.CANCELLED]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (DownloadFailed("The hub does not answer. Try again."), "The hub does not answer. Try again."),
        (ZeroDivisionError("odd"), "big was not downloaded: ZeroDivisionError: odd. The terminal says more."),
    ],
)
def test_a_failure_says_why_and_it_can_be_tried_again(
    fault: Exception, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    faults = [fault]

    def get(name: str, report: Report) -> bool:
        if faults:
            raise faults.pop()
        return True

    installer = installer_of(get)
    installer.download("big")
    (failed,) = list(installer.downloads.follow())[-1]
    assert (failed.state, failed.error) == (TaskState.FAILED, said)
    assert ("ZeroDivisionError" in capsys.readouterr().err) is isinstance(fault, ZeroDivisionError)
    installer.download("big")
    assert list(installer.downloads.follow())[-1][0].state is TaskState.DONE
