"""Many tabs, uploads and calls, slow and huge ones: all are answered or refused in a sentence, nothing is lost."""

from __future__ import annotations

import asyncio
import json
import re
import resource
import select
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import gradio
import pytest

from localcrag.interfaces.api.middleware import MAX_BODY
from localcrag.interfaces.page.server.guards import UPLOADS_PER_MINUTE
from tests.support.app_process import process_at, resident, running_app
from tests.support.page_driver import wait_until
from tests.support.raw_http import ask, config, exchange, opened, read, said, stream

pytestmark = pytest.mark.process

CALLS, TABS, UPLOADS, SLOW = 1_000, 50, 500, 100
MOST_USED = 3_000_000_000
"""Bytes of memory that the app may use under all of this, half of it for models."""
CHEAP, FOLLOWS = "status_line", "follow"
"""Events of the page: one that reads what left this computer, one that goes on as long as files are taken in."""
JSON = "application/json"
KEPT = 2_000_000
"""Bytes that are kept of the beginning and of the end of an answer: an event stream can be long."""


class Loaded(NamedTuple):
    address: str
    data: Path
    process: int

    def events(self) -> list[dict[str, Any]]:
        """Return the events of the page, as Gradio knows them."""
        return list(config(self.address)["dependencies"])

    def call(self, name: str, session: str, *data: object) -> dict[str, object]:
        """Return what the page sends for an event, by the beginning of its handler's name and what it is given."""
        found = [one for one in self.events() if one["api_name"].startswith(name) and len(one["inputs"]) == len(data)]
        return {"data": data, "fn_index": found[0]["id"], "session_hash": session}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    data = tmp_path_factory.mktemp("load")
    with running_app(data) as address:
        yield Loaded(address, data, process_at(address))
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(autouse=True)
def _bounded(loaded: Loaded) -> Iterator[None]:
    yield
    assert ask(loaded.address).status == 200
    assert resident(loaded.process) < MOST_USED


def posted(address: str, target: str, body: bytes, kind: str) -> bytes:
    head = f"POST {target} HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\nConnection: close\r\n"
    return f"{head}Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def at_once(address: str, requests: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """Send all requests at the same time, each over a connection of its own; return statuses and bodies."""

    async def one(request: bytes) -> tuple[int, bytes]:
        reader, writer = await asyncio.open_connection(urlsplit(address).hostname, urlsplit(address).port)
        writer.write(request)
        await writer.drain()
        answer = await reader.read(KEPT)
        while piece := await reader.read(KEPT):
            answer += piece
            if len(answer) > 4 * KEPT:
                answer = answer[:KEPT] + answer[-KEPT:]
        writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), body

    async def together() -> list[tuple[int, bytes]]:
        return await asyncio.gather(*(one(request) for request in requests))

    return asyncio.run(asyncio.wait_for(together(), 240))


def outcomes(loaded: Loaded, session: str) -> dict[str, bool]:
    """Return what became of all events of a session, by their ids: whether each came to a good end."""
    answer = stream(loaded.address, f"/gradio_api/queue/data?session_hash={session}")
    messages = [json.loads(line[5:]) for line in answer.text.splitlines() if line.startswith("data:")]
    return {one["event_id"]: one["success"] for one in messages if one["msg"] == "process_completed"}


def test_1000_calls_at_once_are_answered_or_refused_and_none_is_lost(loaded: Loaded) -> None:
    call = json.dumps(loaded.call(CHEAP, "calls")).encode()
    answers = at_once(loaded.address, [posted(loaded.address, "/gradio_api/queue/join", call, JSON)] * CALLS)
    statuses = Counter(status for status, _ in answers)
    assert set(statuses) <= {200, 503}
    assert statuses[200] > CALLS / 2
    accepted = {json.loads(body)["event_id"] for status, body in answers if status == 200}
    assert outcomes(loaded, "calls") == dict.fromkeys(accepted, True)


def test_50_tabs_are_all_served(loaded: Loaded) -> None:
    at_first = [one for one in loaded.events() if "load" in {name for _, name in one["targets"]}]
    for number in range(TABS):
        assert ask(loaded.address).status == 200
        for event in at_first:
            data = ["default"] * len(event["inputs"])
            call = {"data": data, "fn_index": event["id"], "session_hash": f"tab{number}"}
            assert said(loaded.address, call).status == 200
    for number in range(TABS):
        assert list(outcomes(loaded, f"tab{number}").values()) == [True] * len(at_first)


def test_500_uploads_at_once_all_go_in(loaded: Loaded) -> None:
    texts = {f"note-{number:03}.txt": f"Note {number}: the ferry has berth {number % 40}." for number in range(UPLOADS)}
    requests = []
    for name, text in texts.items():
        head = f'--b\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\nContent-Type: text/plain'
        body = f"{head}\r\n\r\n{text}\r\n--b--\r\n".encode()
        requests.append(posted(loaded.address, "/gradio_api/upload", body, "multipart/form-data; boundary=b"))
    answers = at_once(loaded.address, requests)
    assert Counter(status for status, _ in answers) == {200: UPLOADS}
    paths = [json.loads(body)[0] for _, body in answers]
    assert {Path(path).name: Path(path).read_text() for path in paths} == texts
    files = [{"path": path, "orig_name": Path(path).name, "meta": {"_type": "gradio.FileData"}} for path in paths]
    assert said(loaded.address, loaded.call("add", "uploads", files, "default")).status == 200
    assert list(outcomes(loaded, "uploads").values()) == [True]
    # As many tabs as follow what goes in each keep a thread of the server's.
    tabs = [f"follows{number}" for number in range(TABS)]
    for tab in tabs:
        assert said(loaded.address, loaded.call(FOLLOWS, tab, "default")).status == 200
    assert said(loaded.address, loaded.call(CHEAP, "beside")).status == 200
    assert list(outcomes(loaded, "beside").values()) == [True]
    host = urlsplit(loaded.address).netloc
    heads = [f"GET /gradio_api/queue/data?session_hash={tab} HTTP/1.1\r\nHost: {host}\r\n" for tab in tabs]
    ends = at_once(loaded.address, [f"{head}Connection: close\r\n\r\n".encode() for head in heads])
    assert [body for status, body in ends if status != 200 or b"process_completed" not in body] == []

    def names() -> set[str]:
        with closing(sqlite3.connect(f"file:{loaded.data}/localcrag.sqlite3?mode=ro", uri=True)) as database:
            return {name for (name,) in database.execute("SELECT name FROM documents")}

    wait_until(lambda: len(names()) == UPLOADS)
    assert names() == set(texts)
    wait_until(lambda: not [path for path in paths if Path(path).exists()])


def test_a_question_of_100_mb_is_refused_in_a_sentence(loaded: Loaded) -> None:
    question = json.dumps({"data": ["x" * 100_000_000], "fn_index": 1, "session_hash": "huge"}).encode()
    answer = said(loaded.address, question)
    assert answer.status == 413
    assert "more than localcrag takes at once" in json.loads(answer.body)["detail"]
    in_pieces = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in [b" " * 1_000_000] * 100) + b"0\r\n\r\n"
    head = f"POST /gradio_api/queue/join HTTP/1.1\r\nHost: {urlsplit(loaded.address).netloc}\r\n"
    undeclared = exchange(loaded.address, f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + in_pieces)
    assert undeclared.status == 413


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[" * (MAX_BODY // 2), b"\xff\xfe", b'{"data": NaN', b"null", b"[]", b'"x"', b'{"fn_index": "x"}'],
    ids=["empty", "torn", "deep", "bytes", "nan", "null", "list", "text", "wrong"],
)
def test_what_is_no_call_is_refused(loaded: Loaded, body: bytes) -> None:
    assert said(loaded.address, body).status in {400, 422}


def test_slow_clients_are_given_up_and_hold_nobody_up(loaded: Loaded) -> None:
    host = urlsplit(loaded.address).netloc
    head = f"POST /gradio_api/queue/join HTTP/1.1\r\nHost: {host}\r\nContent-Length: 1000\r\n\r\n".encode()
    with ExitStack() as stack:
        slow = [stack.enter_context(closing(opened(loaded.address))) for _ in range(SLOW)]
        halting = [stack.enter_context(closing(opened(loaded.address))) for _ in range(SLOW)]
        for connection in slow:
            connection.sendall(head)
        for connection in halting:
            connection.sendall(b"GET / HTT")
        assert ask(loaded.address).status == 200
        assert said(loaded.address, loaded.call(CHEAP, "quick")).status == 200
        assert list(outcomes(loaded, "quick").values()) == [True]
        first = slow[0]
        while not select.select([first], [], [], 1)[0]:
            first.sendall(b" ")
        answers = [read(connection) for connection in slow]
        assert {answer.status for answer in answers} == {408}
        assert "too slowly" in answers[0].text


def test_clients_that_read_a_byte_at_a_time_hold_nobody_up_and_get_everything(loaded: Loaded) -> None:
    assets = Path(gradio.__file__).parent / "templates/frontend/assets"
    largest = max(assets.iterdir(), key=lambda one: one.stat().st_size)
    host = urlsplit(loaded.address).netloc
    # If what they have not read yet were kept in memory, it would be more than is allowed (_bounded).
    readers = MOST_USED // largest.stat().st_size
    with ExitStack() as stack:
        slow = [stack.enter_context(closing(opened(loaded.address, room=4096))) for _ in range(readers)]
        for connection in slow:
            connection.sendall(f"GET /assets/{largest.name} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        came = [b""] * readers
        for turn in range(20):
            came = [some + connection.recv(1) for some, connection in zip(came, slow, strict=True)]
            call = f"beside{turn}"
            assert said(loaded.address, loaded.call(CHEAP, call)).status == 200
            assert list(outcomes(loaded, call).values()) == [True]
        assert all(some.startswith(b"HTTP/1.1 200 OK\r\n") for some in came)
        rest = came[0]
        while not rest.endswith(largest.read_bytes()[-100:]):
            rest += slow[0].recv(1_000_000)
        assert rest.partition(b"\r\n\r\n")[2] == largest.read_bytes()
        assert resident(loaded.process) < MOST_USED


def test_more_uploads_within_a_minute_than_a_person_makes_are_refused_with_when_to_come_again(loaded: Loaded) -> None:
    body = b'--b\r\nContent-Disposition: form-data; name="files"; filename="note.txt"\r\n\r\nA note.\r\n--b--\r\n'
    upload = posted(loaded.address, "/gradio_api/upload", body, "multipart/form-data; boundary=b")
    answers = at_once(loaded.address, [upload] * (UPLOADS_PER_MINUTE + TABS))
    assert {status for status, _ in answers} <= {200, 429}  # those of the tests before count as well
    refused = [json.loads(body)["detail"] for status, body in answers if status == 429]
    assert len(refused) >= TABS
    assert re.fullmatch(r"More than 600 uploads .* Drop the files again in \d\d? s\.", refused[0])
