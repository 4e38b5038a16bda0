"""Collections embedded anew, for whoever looks: how far they are, and why one failed."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from localcrag.app.collections.open_collections import ReindexingTasks
from localcrag.app.tasks import TaskState
from localcrag.records.errors import UnknownCollection

SECONDS = 30.0


def test_how_far_it_is_is_told_until_it_is_done() -> None:
    go = threading.Event()

    def reindex(collection: str) -> Iterator[tuple[int, int]]:
        yield 0, 3
        assert go.wait(SECONDS)
        yield 3, 3

    made = ReindexingTasks(reindex)
    made.reindex("notes")
    made.reindex("notes")  # It is under way.
    seen = made.follow()
    while next(seen)[0].total is None:
        pass
    go.set()
    *_, (last,) = seen
    assert (last.name, last.done, last.total, last.state, last.error) == ("notes", 3, 3, TaskState.DONE, None)


def test_what_is_wrong_is_kept_and_it_can_be_tried_again() -> None:
    tried: list[str] = []

    def reindex(collection: str) -> Iterator[tuple[int, int]]:
        tried.append(collection)
        yield 0, 1
        raise UnknownCollection(f"There is no collection “{collection}”.") if len(tried) < 2 else ValueError("odd")

    made = ReindexingTasks(reindex)
    made.reindex("notes")
    *_, (last,) = made.follow()
    assert last.error == "There is no collection “notes”."
    made.reindex("notes")
    *_, (last,) = made.follow()
    assert last.error == "“notes” was not embedded: ValueError: odd. The terminal says more."
