"""Models that are loaded beside what goes on, so that the first question need not wait for them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from localcrag.app.assemble import Assembly
from localcrag.backends.processes.memory import settle
from localcrag.records.errors import LocalcragError


def warm_up_beside(assembly: Assembly, *, closing: Callable[[], bool] = lambda: False) -> threading.Thread:
    """Return the thread that loads the models; it prints what is wrong with them, unless all is `closing` by then."""
    thread = threading.Thread(target=_warm_up, args=(assembly, closing), daemon=True)
    thread.start()
    return thread


def _warm_up(assembly: Assembly, closing: Callable[[], bool]) -> None:
    try:
        assembly.warm_up()
        settle()
    except LocalcragError as error:
        # Whoever asks a question is told again.
        if not closing():
            print(f"localcrag: {error}", file=sys.stderr, flush=True)  # noqa: T201
