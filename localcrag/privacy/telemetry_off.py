"""Telemetry off: switches for dependencies, set before they are imported.

`localcrag.guard` calls `silence` as it installs the egress guard. The packages whose modules import such dependencies
call it, too: a script may use one of them without an app.
"""

from __future__ import annotations

import os

from localcrag.privacy import proxies

SWITCHES = {
    # Usage statistics and version checks.
    "GRADIO_ANALYTICS_ENABLED": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    # ONNX Runtime from 1.29 on; the lock has one before (pyproject.toml).
    "ORT_DISABLE_TELEMETRY": "1",
    # Models load from local paths only; `localcrag models get` downloads by itself, over httpx.
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    # The hub's own transfers are made outside Python, where the guard does not see them (egress_guard.py).
    "HF_HUB_DISABLE_XET": "1",
    # Gradio counts how long the last 10,000 events took, for a page of its own that is closed here, and sums that up at
    # each event anew: 6 to 13 ms.
    "GRADIO_ANALYTICS_MAX_EVENTS": "1",
    "GRADIO_ANALYTICS_CACHE_FREQUENCY": "1000000000",
    # Gradio asks matplotlib, at each event, what it draws on: without this, that looks for a screen, has a program
    # find all fonts, and leaves a list of them in the person's folder.
    "MPLBACKEND": "agg",
    # Progress bars of libraries would land in the middle of ours.
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    # Each worker thread of the tokenizer would otherwise warn after a fork.
    "TOKENIZERS_PARALLELISM": "false",
}
HOSTED = ("SPACE_ID", "SYSTEM")
"""Where Gradio finds these, it takes itself to be on its maker's servers."""


_done: list[str] = []


def silence() -> None:
    """Set the switches, whatever the environment says: privacy is not a preference of the shell.

    A second call does nothing: localcrag sets a variable of Gradio's itself, later on.
    """
    if _done:
        return
    _done.append("silent")
    proxies.take_out()
    # Gradio can be told by the environment to listen to other machines, to share itself, or to serve folders.
    for name in [name for name in os.environ if name.startswith("GRADIO_") or name in HOSTED]:
        del os.environ[name]
    os.environ.update(SWITCHES)
    # Read when GNU's OpenMP is loaded: the threads of llama.cpp and torch wait for each other awake for a moment, then
    # asleep. By default they stay awake for long, and take the cores from each other and from whatever else is busy:
    # beside two other programs an answer then takes twice as long (docs/measurements.md).
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
