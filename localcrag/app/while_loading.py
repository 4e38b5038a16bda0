"""What is told while models are loaded to add documents with: how many files there are by then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from localcrag.records.ingest import IngestProgress, Upload
from localcrag.steps.ingest.pace import Counted, Pace

LOOK = 0.2
"""Seconds between two looks at how many files have been found."""


def while_loading(load: Callable[[], object], uploads: Sequence[Upload] | Counted) -> Iterator[IngestProgress]:
    """Load in a thread of its own; yield how many files are to be added, and again as they are found, until it is done.

    What `load` raises is left to whoever asks for what was to be loaded.
    """
    count = Pace(uploads).count
    loading = threading.Thread(target=_quietly, args=[load], name="load", daemon=True)
    loading.start()
    while loading.is_alive():
        now = count()
        yield IngestProgress("", 0, now.files, "loading", now.files, None, None, more=not now.all)
        loading.join(LOOK)


def _quietly(load: Callable[[], object]) -> None:
    with suppress(Exception):  # It is asked for again at once, and raised there.
        load()
