"""The API for other programs as a real process."""

from __future__ import annotations

import signal
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from tests.support.app_process import START_LIMIT, free_port
from tests.support.first_start import started_before
from tests.support.forks import Fork, start


@dataclass(frozen=True)
class Api:
    """Where it is, and the token it takes."""

    address: str
    token: str
    data: Path
    log: Path


@contextmanager
def running_api(data: Path, *options: str, **environment: str) -> Iterator[Api]:
    """Start `localcrag serve`, wait until it answers, and stop it with Ctrl-C, as a person does."""
    port, log = free_port(), started_before(data) / "serve.log"
    command = ["-m", "localcrag", "serve", "--port", str(port), "--data-dir", str(data), *options]
    with log.open("wb") as output:
        process = start(command, environment, stdout=output.fileno(), stderr=output.fileno())
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(f"{address}/openapi.json", process, log)
        yield Api(address, (data / "api-token").read_text("ascii").strip(), data, log)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)


def _wait(address: str, process: Popen[bytes] | Fork, log: Path) -> None:
    deadline = time.monotonic() + START_LIMIT
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(f"The API did not start:\n{log.read_text('utf-8', 'replace')}")
