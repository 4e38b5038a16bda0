"""What the system tells of changes in folders, by watchfiles."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import watchfiles

TOGETHER_MS, LOOKS_MS = 1_600, 200
"""Milliseconds for which changes are gathered at most, and after which it is looked for others that came meanwhile.
watchfiles' own 50 for the second would wake a processor twenty times a second, day and night."""


def changed_paths(folders: Sequence[Path], stop: threading.Event, tick: float) -> Iterator[frozenset[Path]]:
    """Yield the paths that changed in these folders and below, an empty set every `tick` seconds without any.

    Ends with `stop`, and where the system watches no more: a folder is gone, or there is more to watch than it lets us
    (Linux: fs.inotify.max_user_watches). Network drives tell nothing of what other computers change.
    """
    try:
        for changes in watchfiles.watch(
            *folders,
            watch_filter=None,
            debounce=TOGETHER_MS,
            step=LOOKS_MS,
            stop_event=stop,
            rust_timeout=round(tick * 1000),
            yield_on_timeout=True,
            raise_interrupt=False,
            ignore_permission_denied=True,
        ):
            yield frozenset(Path(path) for _, path in changes)
    except (OSError, RuntimeError):
        return
