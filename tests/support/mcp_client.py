"""A client of `localcrag mcp` that is nobody's: lines of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.first_start import started_before


@dataclass
class McpClient:
    """Talks with a process; `number` is that of its last call."""

    process: subprocess.Popen[str]
    number: int = 0

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        self.number += 1
        self.tell(method, id=self.number, params=parameters)
        assert self.process.stdout
        # Every line is the protocol's: what else a library prints would be no JSON, and end the test.
        told = next(one for one in map(json.loads, self.process.stdout) if one.get("id") == self.number)
        return dict(told["result"])

    def tool(self, name: str, **arguments: object) -> dict[str, Any]:
        return self.call("tools/call", name=name, arguments=arguments)

    def tell(self, method: str, **more: object) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, **more}) + "\n")
        self.process.stdin.flush()


def command(data: Path, *options: str) -> list[str]:
    """Return what Python is given to be `localcrag mcp`."""
    return ["-m", "localcrag", "mcp", "--data-dir", str(data), *options]


@contextmanager
def running_mcp(data: Path, *options: str, **environment: str) -> Iterator[McpClient]:
    """Start `localcrag mcp`, introduce the client, and end it as programs do: nothing more comes in."""
    made = [sys.executable, *command(started_before(data), *options)]
    with subprocess.Popen(
        made, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
    ) as process:
        client = McpClient(process)
        who = {"name": "nobody", "version": "1"}
        begun = client.call("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=who)
        assert begun["serverInfo"]["name"] == "localcrag"
        client.tell("notifications/initialized")
        yield client
        assert process.stdin
        process.stdin.close()
        assert process.stdout
        assert process.stdout.read() == ""
    assert process.returncode == 0
