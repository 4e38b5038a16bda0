"""Servers of models for tests: a real language model and scores of words behind HTTP, spoken to as each program is.

One process, one model that is loaded already: what is tested is localcrag's side of the wire.
"""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from localcrag.models.llm import LlamaCpp
from localcrag.privacy.addresses import format_address
from localcrag.records.protocols import Decoding
from localcrag.records.run import Message

MODEL = "tiny"
Score = Callable[[str, str], float]


def overlap(question: str, text: str) -> float:
    """Return how many words two texts have in common: a score for want of a model."""
    first, second = ({word.strip(".,:;?!").lower() for word in one.split()} for one in (question, text))
    return float(len(first & second))


@dataclass
class ModelServer:
    """What a server is, does wrong, and saw."""

    llm: LlamaCpp | None = None
    owned_by: str = "llamacpp"
    models: Sequence[str] = (MODEL,)
    key: str = ""
    usage: bool = True
    breaks_off_after: int | None = None
    """Pieces, after which the connection is cut."""
    endless: bool = False
    """Answers without a model, and goes on until the client leaves."""
    refuses: tuple[int, str] | None = None
    """Status and body of every answer to a question."""
    rerank: str = ""
    """"documents", "texts", or "" for none."""
    score: Score = overlap
    knows_raw: bool = False
    finished: Callable[[float], float] = lambda score: score
    url: str = ""
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)
    """Set when a client left in the midst of an answer, and the model was stopped."""


@contextmanager
def serving(server: ModelServer, *, host: str = "127.0.0.1") -> Iterator[str]:
    """Run a server and give its address."""

    class Handler(_Handler):
        of = server

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        daemon_threads = True

    http = Server((host, 0), Handler)
    thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    server.url = f"http://{format_address(host, http.server_address[1])}"
    try:
        yield server.url
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    of: ModelServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_arguments: Any) -> None:
        pass

    def do_GET(self) -> None:
        if not self._may_pass():
            return
        if self.path == "/v1/models" and (self.of.llm or self.of.rerank or self.of.endless):
            named = [{"id": name, "object": "model", "owned_by": self.of.owned_by} for name in self.of.models]
            self._json(200, {"object": "list", "data": named})
        elif self.path == "/props" and self.of.owned_by == "llamacpp" and self.of.llm:
            self._json(200, {"default_generation_settings": {"n_ctx": self.of.llm.context_tokens}})
        else:
            self._json(404, {"error": {"message": "not found"}})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.of.asked.append((self.path, body))
        if not self._may_pass():
            return
        if self.of.refuses:
            status, said = self.of.refuses
            self._send(status, said.encode(), "application/json")
        elif self.path == "/v1/chat/completions" and self.of.endless:
            self._chat_without_end()
        elif self.path == "/v1/chat/completions" and self.of.llm:
            self._chat(body, self.of.llm)
        elif self.path == "/apply-template" and self.of.llm:
            self._json(200, {"prompt": json.dumps(body["messages"])})
        elif self.path == "/tokenize" and self.of.llm:
            messages = body.get("messages") or json.loads(body["content"])
            count = self.of.llm.count_tokens([Message(one["role"], one["content"]) for one in messages])
            self._json(200, {"tokens": [0] * count, "count": count})
        elif self.path in ("/rerank", "/v1/rerank") and self.of.rerank in body:
            self._rerank(body)
        else:
            self._json(404, {"error": {"message": "not found"}})

    def _may_pass(self) -> bool:
        if self.of.key and self.headers.get("Authorization") != f"Bearer {self.of.key}":
            self._json(401, {"error": {"message": "Invalid API Key"}})
            return False
        return True

    def _chat(self, body: dict[str, Any], llm: LlamaCpp) -> None:
        schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
        decoding = Decoding(body["max_tokens"], tuple(body.get("stop", ())), schema, body["temperature"])
        stream = llm.stream([Message(one["role"], one["content"]) for one in body["messages"]], decoding)
        self._begin_stream()
        try:
            for number, piece in enumerate(stream):
                if number == self.of.breaks_off_after:
                    self.connection.close()
                    self.close_connection = True
                    return
                self._event({"choices": [{"delta": {"content": piece}, "finish_reason": None}]})
            self._event({"choices": [{"delta": {}, "finish_reason": "stop"}]})
            if self.of.usage:
                used = {
                    "prompt_tokens": stream.usage.prompt_tokens,
                    "completion_tokens": stream.usage.completion_tokens,
                }
                self._event({"choices": [], "usage": used})
            self._chunk(b"data: [DONE]\n\n")
            self._chunk(b"")
        except OSError:
            self.close_connection = True
            self.of.stopped.set()
        finally:
            stream.close()

    def _chat_without_end(self) -> None:
        self._begin_stream()
        try:
            # What can be read from the connection now is its end. The pause keeps the text short.
            while not select.select([self.connection], [], [], 0.05)[0]:
                self._event({"choices": [{"delta": {"content": "and on "}, "finish_reason": None}]})
        except OSError:
            pass
        self.close_connection = True
        self.of.stopped.set()

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _rerank(self, body: dict[str, Any]) -> None:
        texts = body[self.of.rerank]
        scores = [self.of.score(body["query"], text) for text in texts]
        if not (self.of.knows_raw and body.get("raw_scores")):
            scores = [self.of.finished(score) for score in scores]
        order = sorted(range(len(texts)), key=lambda place: -scores[place])
        if self.of.rerank == "texts":
            self._json(200, [{"index": place, "score": scores[place]} for place in order])
        else:
            results = [{"index": place, "relevance_score": scores[place]} for place in order]
            self._json(200, {"model": body.get("model"), "results": results})

    def _event(self, event: object) -> None:
        self._chunk(f"data: {json.dumps(event)}\n\n".encode())

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _json(self, status: int, content: object) -> None:
        self._send(status, json.dumps(content).encode(), "application/json")

    def _send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
