from __future__ import annotations

from threading import Thread

from localcrag.app.tasks import ObservableList

SECONDS = 60.0


def test_who_follows_hears_of_it_when_another_begins_to() -> None:
    # A tab that others have taken the place of ends by that, also while a file stands still.
    files = ObservableList[int, str]()
    files.put(1, "reading")
    first, second = (files.follow(lambda _: True) for _ in range(2))
    heard = [next(first)]
    waits = Thread(target=lambda: heard.append(next(first)), daemon=True)
    waits.start()
    next(second)
    waits.join(SECONDS)
    assert heard == [("reading",)] * 2
