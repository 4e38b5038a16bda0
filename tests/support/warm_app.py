"""A process that has imported what the app imports, and starts the app by forking: most of a start is its imports.

    python -m tests.support.warm_app

Each line that it reads is a start as JSON; for each it writes a line with the number of the process. It ends with its
input. The app is app.py as ever, in a process, session and environment of its own; only its modules were read before.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import signal
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.support import ROOT

IMPORTED = (
    "localcrag.ui.server.launch",
    "localcrag.backends.models.bi_encoder",
    "localcrag.backends.models.cross_encoder",
    "localcrag.backends.models.llama_cpp",
    "localcrag.backends.models.relevance_format",
    "localcrag.backends.store.hnsw",
    "sentence_transformers",
)
"""What the app imports, or has imported by the time its models are loaded."""


def main() -> None:
    for name in IMPORTED:
        import_module(name)
    # A fork has the thread alone that forks.
    assert len(list(Path("/proc/self/task").iterdir())) == 1
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # Who has ended is gone.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            _become(json.loads(line))
        print(process, flush=True)


def _become(start: dict[str, Any]) -> None:
    """Be the app, as if it had been started by itself."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = os.open(start["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for taken, given in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(taken, given)
    os.environ.clear()
    os.environ.update(start["environment"])
    sys.argv = [str(ROOT / "app.py"), *start["arguments"]]
    status = 1
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:  # noqa: BLE001 - as Python says it at the end of a program
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # The loop that it was forked from is the other process's.


if __name__ == "__main__":
    main()
