"""Measure localcrag as a program: seconds of a command, of imports, and until the page answers."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path

HELP = ("-m", "localcrag", "--help")
LOOKED_EVERY = 0.05
"""Seconds between two checks whether the page answers."""


def run(arguments: tuple[str, ...], tree: Path, environment: Mapping[str, str]) -> float:
    """Return the seconds of running Python with these arguments in a checkout. Raises CalledProcessError."""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True, cwd=tree,
        env=environment,
    )  # fmt: skip
    return time.perf_counter() - start


def page(tree: Path, environment: Mapping[str, str], data: Path) -> float:
    """Return the seconds until the page of a checkout answers. Raises RuntimeError if its process ends first."""
    port = _free_port()
    start = time.perf_counter()
    server = subprocess.Popen(
        [sys.executable, str(tree / "app.py"), "--no-browser", "--port", str(port)], cwd=tree,
        env={**environment, "LOCALCRAG_DATA_DIR": str(data)}, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while not _answers(port):
            if server.poll() is not None:
                raise RuntimeError(f"{tree / 'app.py'} ended with status {server.returncode} before its page answered.")
            time.sleep(LOOKED_EVERY)
        return time.perf_counter() - start
    finally:
        server.terminate()
        server.wait()


def _free_port() -> int:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return int(some.getsockname()[1])


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
