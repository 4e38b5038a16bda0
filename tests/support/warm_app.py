"""A process that has imported what the app imports, and starts programs by forking: most of a start is its imports.

    python -m tests.support.warm_app SOCKET

Asked over a socket that it is started with, by forks.py. It ends when nobody can ask any more. A program is app.py or
`-m localcrag` as ever, in a process, session and environment of its own; only its modules were read before.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import runpy
import socket
import sys
import termios
from importlib import import_module
from pathlib import Path
from typing import Any

IMPORTED = (
    "localcrag.interfaces.page.server.launch",
    "localcrag.models.encoders",
    "localcrag.models.reranker",
    "localcrag.models.llm",
    "localcrag.models.reranker_format",
    "localcrag.storage.collections.vector_index",
    "sentence_transformers",
)
"""What the app imports, or has imported by the time its models are loaded."""
LONGEST = 2**20
"""Bytes of a message: the arguments and the environment of a start."""


def main() -> None:
    for name in IMPORTED:
        import_module(name)
    threads = len(list(Path("/proc/self/task").iterdir()))
    assert threads == 1, (
        f"{threads} threads after the imports: a fork has the one alone that forks. scripts/test.py has libraries "
        "begin none (OMP_NUM_THREADS=1, OPENBLAS_NUM_THREADS=1, OMP_THREAD_LIMIT=1, RAYON_NUM_THREADS=1); so does who "
        "calls pytest."
    )
    gc.collect()
    gc.freeze()
    asked = socket.socket(fileno=int(sys.argv[1]))
    while True:
        message, streams, _, _ = socket.recv_fds(asked, LONGEST, 3)
        if not message:
            return
        start = json.loads(message)
        if "ended" in start:
            said = os.waitstatus_to_exitcode(os.waitpid(start["ended"], 0)[1])
        elif (said := os.fork()) == 0:
            asked.close()
            _become(start, streams)
            return
        for stream in streams:
            os.close(stream)
        asked.send(str(said).encode())


def _become(start: dict[str, Any], streams: list[int]) -> None:
    """Be the program, as if it had been started by itself."""
    os.setsid()
    os.umask(start["umask"])
    for at, stream in enumerate(streams):
        os.dup2(stream, at)
        os.close(stream)
    if os.isatty(0):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, f"__{name}__", getattr(sys, name))
    os.environ.clear()
    os.environ.update(start["environment"])
    program, *arguments = start["arguments"]
    if program == "-m":
        sys.argv = arguments
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [program, *arguments]
        runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
