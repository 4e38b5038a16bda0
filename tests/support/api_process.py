"""The API for other programs as a real process."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.app_process import free_port, served
from tests.support.first_start import started_before
from tests.support.forks import start


@dataclass(frozen=True)
class Api:
    """Where it is, the token it takes, and its process's number."""

    address: str
    token: str
    data: Path
    log: Path
    process: int


@contextmanager
def running_api(data: Path, *options: str, **environment: str) -> Iterator[Api]:
    """Start `localcrag serve`, wait until it answers, and stop it with Ctrl-C, as a person does."""
    port, log = free_port(), started_before(data) / "serve.log"
    command = ["-m", "localcrag", "serve", "--port", str(port), "--data-dir", str(data), *options]
    with log.open("wb") as output:
        process = start(command, environment, stdout=output.fileno(), stderr=output.fileno())
    address = f"http://127.0.0.1:{port}"
    try:
        served(f"{address}/openapi.json", process, log)
        yield Api(address, (data / "api-token").read_text("ascii").strip(), data, log, process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
