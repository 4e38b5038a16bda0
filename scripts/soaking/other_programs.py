"""Programs that ask the same documents meanwhile, as the page is used: one over HTTP, and one over MCP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from soaking.process import open_files, threads
from tests.support.api_process import Api, running_api
from tests.support.app_process import resident
from tests.support.mcp_client import McpClient, running_mcp
from tests.support.raw_http import ask


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramHeld:
    """Of `localcrag serve` or `localcrag mcp`. Memory in bytes."""

    memory: int
    open_files: int
    threads: int


@dataclass(frozen=True)
class OtherPrograms:
    """`localcrag serve` and `localcrag mcp`, which live on while the page is started anew."""

    api: Api
    mcp: McpClient

    def ask(self, question: str) -> None:
        """Ask both. Raises RuntimeError for what is no answer."""
        body = {"model": "default", "messages": [{"role": "user", "content": question}]}
        token = {"Authorization": f"Bearer {self.api.token}", "Content_Type": "application/json"}
        told = ask(self.api.address, "/v1/chat/completions", method="POST", body=json.dumps(body).encode(), **token)
        if told.status != 200:
            raise RuntimeError(f"localcrag serve answered {told.status}: {told.text[:500]}")
        result = self.mcp.tool("ask", question=question)
        if result.get("isError"):
            raise RuntimeError(f"localcrag mcp answered: {result['content']}")

    def held(self) -> dict[str, ProgramHeld]:
        """Return what each holds now."""
        numbers = {"serve": self.api.process, "mcp": self.mcp.process.pid}
        return {
            name: ProgramHeld(memory=resident(number), open_files=open_files(number), threads=threads(number))
            for name, number in numbers.items()
        }


@contextmanager
def other_programs(data: Path, **environment: str) -> Iterator[OtherPrograms]:
    """Start both on a data folder that there is."""
    with running_api(data, **environment) as api, running_mcp(data, **environment) as mcp:
        yield OtherPrograms(api, mcp)
