"""Programs that ask the same documents while the web interface is in use: one over HTTP, one over MCP."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.soaking.process import open_files, threads
from tests.support.api_process import Api, running_api
from tests.support.app_process import resident
from tests.support.mcp_client import McpClient, running_mcp
from tests.support.raw_http import ask

BEHIND = 30
"""Most queued questions for a program before the script waits: about as many as it answers during a page restart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramHeld:
    """Resources in use by `localcrag serve` or `localcrag mcp`. Memory in bytes."""

    memory: int
    open_files: int
    threads: int


class OtherPrograms:
    """`localcrag serve` and `localcrag mcp`, which keep running while the web interface is restarted."""

    def __init__(self, api: Api, mcp: McpClient) -> None:
        self.api, self.mcp = api, mcp
        self._asked = (_InBackground(self._ask_api), _InBackground(self._ask_mcp))

    def ask(self, over_http: str, over_mcp: str) -> None:
        """Ask both in the background. Raises RuntimeError if an earlier reply was not an answer."""
        for asked, question in zip(self._asked, (over_http, over_mcp), strict=True):
            asked.put(question)

    def finish(self) -> None:
        """Wait for all answers. Raises RuntimeError if a reply was not an answer."""
        for asked in self._asked:
            asked.wait()

    def _ask_api(self, question: str) -> None:
        body = {"model": "default", "messages": [{"role": "user", "content": question}]}
        token = {"Authorization": f"Bearer {self.api.token}", "Content_Type": "application/json"}
        told = ask(self.api.address, "/v1/chat/completions", method="POST", body=json.dumps(body).encode(), **token)
        if told.status != 200:
            raise RuntimeError(f"localcrag serve answered {told.status}: {told.text[:500]}")

    def _ask_mcp(self, question: str) -> None:
        result = self.mcp.tool("ask", question=question)
        if result.get("isError"):
            raise RuntimeError(f"localcrag mcp answered: {result['content']}")

    def held(self) -> dict[str, ProgramHeld]:
        """Return the resources that each uses now."""
        numbers = {"serve": self.api.process, "mcp": self.mcp.process.pid}
        return {
            name: ProgramHeld(memory=resident(number), open_files=open_files(number), threads=threads(number))
            for name, number in numbers.items()
        }


class _InBackground:
    """Sends questions to one program, one after the other, in a thread."""

    def __init__(self, ask: Callable[[str], None]) -> None:
        self._ask, self._thread = ask, ThreadPoolExecutor(1)
        self._answers: deque[Future[None]] = deque()

    def put(self, question: str) -> None:
        self.wait(BEHIND)
        self._answers.append(self._thread.submit(self._ask, question))

    def wait(self, left: int = 0) -> None:
        while len(self._answers) > left:
            self._answers.popleft().result()


@contextmanager
def other_programs(data: Path, **environment: str) -> Iterator[OtherPrograms]:
    """Start both programs on an existing data folder."""
    with running_api(data, **environment) as api, running_mcp(data, **environment) as mcp:
        yield OtherPrograms(api, mcp)
