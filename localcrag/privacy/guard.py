"""The guard: keeps what happens in this process on this computer, from the moment that an app begins."""

from __future__ import annotations

import os
import threading

from localcrag.privacy import egress_guard, telemetry_off

_first = threading.Lock()
_done: list[str] = []


def guard() -> None:
    """Block this process's connections to other computers, except those that localcrag's settings allow.

    Also switches off the telemetry of the libraries that localcrag uses, so call it before you import them.
    `Localcrag()`, each command, the page and the servers call it themselves; a second call does nothing. It holds until
    the process ends, for every library in it, and for the worker processes that it starts.
    """
    with _first:
        if _done:
            return
        _done.append("guarded")
        os.environ[egress_guard.GUARDED] = "1"
        telemetry_off.silence()
        egress_guard.install()
