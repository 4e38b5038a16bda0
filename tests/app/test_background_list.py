"""Tasks in threads: a task that was cancelled and begun anew is not the one before."""

from __future__ import annotations

import dataclasses
import threading

from localcrag.app.tasks import BackgroundList, Task, TaskState, UpdateTask
from tests.support.threads import DEADLOCK


def test_a_cancelled_try_does_not_go_on_as_the_next_one() -> None:
    first_told, second_begun, ended = threading.Event(), threading.Event(), threading.Event()
    went_on: list[int] = []

    def work(task: Task, tell: UpdateTask[Task]) -> Task:
        if not first_told.is_set():
            tell(task)
            first_told.set()
            assert second_begun.wait(DEADLOCK)
            try:
                tell(dataclasses.replace(task, error="of the first try"))
                went_on.append(1)
            finally:
                ended.set()
        second_begun.set()
        assert ended.wait(DEADLOCK)
        tell(task)
        went_on.append(2)
        return dataclasses.replace(task, state=TaskState.DONE)

    tasks: BackgroundList[Task] = BackgroundList(work, "{name} was not done", at_once=2)
    tasks.start(Task(name="a"))
    assert first_told.wait(DEADLOCK)
    tasks.cancel(["a"])
    tasks.start(Task(name="a"))
    *_, last = tasks.follow()
    tasks.close()
    assert went_on == [2]
    assert [(one.state, one.error) for one in last] == [(TaskState.DONE, None)]


def test_who_follows_hears_of_it_when_another_begins_to() -> None:
    # A tab that others have taken the place of ends by that, also while a file stands still.
    go_on = threading.Event()

    def work(task: Task, tell: UpdateTask[Task]) -> Task:
        assert go_on.wait(DEADLOCK)
        return dataclasses.replace(task, state=TaskState.DONE)

    tasks: BackgroundList[Task] = BackgroundList(work, "{name} was not done", at_once=1)
    tasks.start(Task(name="reading"))
    first, second = tasks.follow(), tasks.follow()
    for (one,) in first:
        if one.state is TaskState.WORKING:
            break
    heard: list[tuple[Task, ...]] = []
    waits = threading.Thread(target=lambda: heard.append(next(first)), daemon=True)
    waits.start()
    next(second)
    waits.join(DEADLOCK)
    go_on.set()
    assert [[one.name for one in seen] for seen in heard] == [["reading"]]
