"""`localcrag mcp` as a process of its own: asked by the official SDK's client, and by ten lines that are nobody's."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters, stdio_client
from mcp.client import Client
from mcp.types import CallToolResult, Tool

from tests.support.command_line import as_json, localcrag
from tests.support.first_start import started_before
from tests.support.mcp_client import McpClient, command, running_mcp

pytestmark = pytest.mark.process

QUESTION = "How long is the warranty on a bicycle?"
TEXT = "# Sales handbook\n\nThe warranty on a bicycle is seven years. Tyres are not part of it.\n"
READING = ["ask", "search", "list_documents", "get_passage"]
ENVIRONMENT = {"LOCALCRAG_WEB": "ask", "LOCALCRAG_SEARXNG_URL": "http://127.0.0.1:9"}
"""A search server that nobody can be asked about: where a query would have to be allowed, none may leave."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mcp")
    (folder / "handbook.md").write_text(TEXT, "utf-8")
    as_json(localcrag(folder / "data", "ingest", str(folder / "handbook.md"), "--json"))
    return started_before(folder / "data")


@dataclass
class Session:
    """What the SDK's client was told."""

    tools: list[Tool] = field(default_factory=list)
    answer: CallToolResult | None = None
    found: CallToolResult | None = None
    passage: CallToolResult | None = None
    unanswered: CallToolResult | None = None
    steps: list[str] = field(default_factory=list)


async def asked_by_the_sdk(data: Path) -> Session:
    told = Session()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.steps.append(str(message))

    parameters = StdioServerParameters(command=sys.executable, args=command(data), env={**os.environ, **ENVIRONMENT})
    async with Client(stdio_client(parameters)) as client:
        told.tools = (await client.list_tools()).tools
        told.answer = await client.call_tool("ask", {"question": QUESTION}, progress_callback=on_progress)
        told.found = await client.call_tool("search", {"query": QUESTION, "only": {"documents": ["hand*"]}})
        best = dict(told.found.structured_content or {})["passages"][0]["id"]
        told.passage = await client.call_tool("get_passage", {"passage": best})
        told.unanswered = await client.call_tool("ask", {"question": "Who painted the Mona Lisa?"})
    return told


@pytest.fixture(scope="module")
def told(data: Path) -> Session:
    return asyncio.run(asked_by_the_sdk(data))


def text(result: CallToolResult | None) -> str:
    assert result is not None
    return "\n".join(getattr(one, "text", "") for one in result.content)


def structured(result: CallToolResult | None) -> dict[str, Any]:
    assert result is not None
    assert not result.is_error
    return dict(result.structured_content or {})


def test_all_tools_only_read(told: Session) -> None:
    assert [one.name for one in told.tools] == READING
    assert all(one.annotations and one.annotations.read_only_hint for one in told.tools)
    assert all(one.output_schema for one in told.tools)


def test_an_answer_is_text_for_the_model_and_data_for_the_program(told: Session) -> None:
    answered = structured(told.answer)
    assert "seven years [1]" in answered["answer"]
    assert (answered["action"], answered["citations"][0]["document"]) == ("CORRECT", "handbook.md")
    assert answered["passages"][0]["relevance"] > answered["thresholds"]["upper"]
    assert "[1] handbook.md: “" in text(told.answer)
    assert "CORRECT: best passage" in text(told.answer)
    assert told.steps[0] == "searching the documents"


def test_passages_are_found_and_read(told: Session) -> None:
    best = structured(told.found)["passages"][0]
    assert (best["document"], best["grade"]) == ("handbook.md", "correct")
    assert f"{best['id']}, relevance 0." in text(told.found)
    assert "Tyres are not part of it." in structured(told.passage)["text"]


def test_nothing_leaves_where_nobody_can_consent(told: Session) -> None:
    web = structured(told.unanswered)["web"]
    assert (web["used"], web["not_asked"]) == (False, "it needs your consent, and there was nobody to ask")
    assert "it needs your consent" in text(told.unanswered)


@pytest.fixture(scope="module")
def foreign(data: Path) -> Iterator[McpClient]:
    with running_mcp(data, "--allow-ingest") as client:
        yield client


def test_documents_are_added_only_where_that_is_allowed(foreign: McpClient, tmp_path: Path) -> None:
    tools = {one["name"]: one["annotations"] for one in foreign.call("tools/list")["tools"]}
    assert list(tools) == [*READING, "add_documents"]
    assert tools["add_documents"]["readOnlyHint"] is False
    (tmp_path / "ferry.md").write_text("The ferry to Brackwater leaves at 7:45 every morning.", "utf-8")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing of one")
    added = foreign.tool("add_documents", paths=[str(tmp_path / "ferry.md"), str(tmp_path / "broken.pdf")])
    done = {one["document"]: one for one in added["structuredContent"]["documents"]}
    assert (done["ferry.md"]["status"], done["ferry.md"]["error"]) == ("added", None)
    assert "broken.pdf" in done["broken.pdf"]["error"]
    listed = foreign.tool("list_documents")["structuredContent"]
    assert [one["name"] for one in listed["documents"]] == ["ferry.md", "handbook.md"]
    answer = foreign.tool("ask", question="When does the ferry to Brackwater leave?", only={"documents": ["ferry.md"]})
    assert "7:45" in answer["structuredContent"]["answer"]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("ask", {"question": " "}, "The question is empty. Write a question."),
        (
            "ask",
            {"question": "x", "collection": "none"},
            "There is no collection “none”. Available collections: “default”.",
        ),
        ("ask", {"question": "x", "only": {"tags": ["none"]}}, "No document fits"),
        ("get_passage", {"passage": "chunk-999999"}, "There is no passage “chunk-999999” here"),
        ("add_documents", {"paths": ["ferry.md"]}, "“ferry.md” is not an absolute path"),
    ],
)
def test_errors_are_results_in_plain_words(
    foreign: McpClient, tool: str, arguments: dict[str, object], said: str
) -> None:
    result = foreign.tool(tool, **arguments)
    assert result["isError"]
    assert result["content"][0]["text"].startswith(said)


def test_one_collection_can_be_all_there_is(data: Path) -> None:
    done = localcrag(data, "mcp", "--collection", "none")
    assert done.returncode == 1
    assert "There is no collection “none”" in done.stderr
    assert done.stdout == ""
