"""Requests to a model server over HTTP, and errors that a user can act on.

- The first functions turn HTTP statuses and httpx's exceptions into errors. No message contains a key or a question.
- `Exchange` sends requests to one server, and `StreamedLines` reads a streamed answer in a thread.
- The last functions hide the differences between server programs: list the models, get the context window, count
  tokens, and add options to a request.
"""

from __future__ import annotations

import json
import queue
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import httpx

from localcrag.models.server_address import ServerAddress, outside_private_network
from localcrag.privacy import guard
from localcrag.privacy.addresses import causes, is_private, trusted_certificates
from localcrag.privacy.egress_log import Purpose
from localcrag.records.errors import EgressRefused, ServerError, ServerNotRunning, ServerPathMissing
from localcrag.records.protocols import JsonSchema
from localcrag.records.run import Message

MAX_QUOTED = 300
"""Most characters that are quoted from a server's own error message."""
_TOO_LONG = re.compile(
    r"context[_ ](?:length|size|window)|exceed_context|maximum context|too (?:long|large) (?:for|to)|"
    r"too large to process|larger than the .{0,20}batch size",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(r"model.{0,200}?(?:not (?:found|exist|loaded)|does not exist|not available)", re.IGNORECASE)


def status_error(status: int, text: str, address: ServerAddress) -> ServerError:
    """Return the error for an unsuccessful HTTP status; `text` is the server's own message."""
    if status in (401, 403):
        return ServerError(
            f"The model server {address} wants a key (status {status}), and the one it got, if any, was not right. "
            f"Give it with `localcrag models key {address}`, or on the page in Settings › Models."
        )
    if _TOO_LONG.search(text):
        return prompt_too_long(address, text)
    if _NO_MODEL.search(text):
        return model_missing(address)
    kind: type[ServerError] = ServerError
    what, then = "failed", "Look into its own window or log for the reason, and start it anew."
    if status in (404, 405, 501):
        kind, what, text = ServerPathMissing, "has no such service", ""
        then = "Check the address: for most servers it ends in /v1, and for a reranker in /rerank."
    elif status in (429, 503):
        kind, what = ServerNotRunning, "is busy, or still loading its model"
        then = "Wait a moment and ask again."
    elif 300 <= status < 400:
        what, text = "sends on to another address, and localcrag did not go there", ""
        then = "Give the address at which the models themselves answer."
    return kind(f"The model server {address} {what} (status {status}){_quoted(text)}. {then}")


def prompt_too_long(address: ServerAddress, text: str = "") -> ServerError:
    """Return the error for a prompt that is too long for the server's context window."""
    return ServerError(
        f"The question with its evidence is too long for the window of the model at {address}{_quoted(text)}. Start "
        "the server with a larger one, or lower context_tokens or evidence_tokens in the settings."
    )


def model_missing(address: ServerAddress, there: tuple[str, ...] = ()) -> ServerError:
    """Return the error for a model that the server does not have; `there` names the models that it has."""
    has = f" It has: {', '.join(there[:8])}." if there else ""
    named = f"no model “{address.model}”" if address.model else "no model"
    return ServerError(
        f"The server {address} has {named}.{has} Load it there, or choose another with `localcrag models list`."
    )


def request_failed(error: httpx.HTTPError | UnicodeError, address: ServerAddress, seconds: float) -> ServerError:
    """Return the error for a request that was not completed; `seconds` is its time limit."""
    match error:
        case httpx.ConnectTimeout():
            return ServerNotRunning(
                f"The model server {address} could not be reached. Check that its computer is switched on and that no "
                "firewall is between."
            )
        case httpx.TimeoutException():
            return ServerError(
                f"The model server {address} said nothing for {seconds:g} seconds, and was no longer waited for. Look "
                "whether it is still at work; a smaller model answers sooner."
            )
        case httpx.ConnectError():
            return _no_connection(error, address)
        case httpx.NetworkError() | httpx.RemoteProtocolError():
            return connection_lost(address)
    return ServerError(
        f"The answer of the model server {address} could not be read ({error}). Check that the address leads to a "
        "server of models and not to another program."
    )


def connection_lost(address: ServerAddress) -> ServerError:
    """Return the error for a server that ended the connection in the middle of its answer."""
    return ServerNotRunning(
        f"The model server {address} broke off in the midst of its answer: it was stopped, or it failed. Start it "
        "again, look into its log, and ask again."
    )


def invalid_answer(address: ServerAddress) -> ServerError:
    """Return the error for an answer that does not have the form of a model server's answer."""
    return ServerError(
        f"{address} answered, but not as a server of models does. Check that the address leads to one and not to "
        "another program."
    )


def error_message(body: str) -> str:
    """Return the server's error message from the body of an answer or an event of a stream; "" if it has none."""
    try:
        found: Any = json.loads(body)
    except ValueError:
        return body if "<" not in body else ""  # HTML, from a proxy for example, does not help the user.
    while isinstance(found, dict):
        found = next((found[name] for name in ("error", "message", "detail") if found.get(name)), "")
    return str(found)


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f": {line[:MAX_QUOTED].rstrip('. ')}" if line else ""


def _no_connection(error: httpx.ConnectError, address: ServerAddress) -> ServerError:
    below = causes(error)
    if any(isinstance(cause, socket.gaierror) for cause in below):
        return ServerNotRunning(
            f"No model server answers at {address}: the name “{address.url.host}” is not known on your network. Check "
            "its spelling, and that this computer is connected."
        )
    if any(isinstance(cause, EgressRefused) for cause in below):
        return ServerError(outside_private_network(address))
    if any(isinstance(cause, ssl.SSLError) for cause in below):
        return ServerNotRunning(
            f"No secure connection to {address} could be made ({error}). If the server's address begins with http://, "
            "write it so; else install the certificate of your network's authority on this computer."
        )
    return ServerNotRunning(
        f"No model server is running at {address}: nothing accepts connections there. Start it, or correct the address."
    )


CONNECT_SECONDS = 5.0
"""Seconds to wait for a connection."""
QUICK_SECONDS = 10.0
"""Seconds to wait for an answer that the server gives without running a model."""
SILENCE_SECONDS = 300.0
"""Seconds to wait for a model, because loading it, or reading a long prompt on a slow CPU, takes minutes without
output."""
POLL_SECONDS = 0.5
"""Seconds without output after which the reader of a stream gets control, to check whether it is still wanted."""
MAX_CHARACTERS = 20_000_000
"""Most characters in one streamed answer; no language model writes a longer one."""


class Exchange:
    """An HTTP client for one server: its address, its API key if it needs one, and the purpose of the requests."""

    def __init__(self, address: ServerAddress, purpose: Purpose, key: str | None = None) -> None:
        self.address = address
        self._purpose = purpose
        headers = {"User-Agent": "localcrag", "Accept-Encoding": "identity"}
        self._client = httpx.Client(
            headers=headers | ({"Authorization": f"Bearer {key}"} if key else {}),
            verify=trusted_certificates() if address.url.scheme == "https" else False,
            trust_env=False,
            follow_redirects=False,
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    def ask(self, url: str, body: object = None, *, seconds: float = QUICK_SECONDS) -> Any:
        """Return the JSON at a URL of the server; with `body`, send that as JSON. Raises ServerError."""
        try:
            with allow_connection(self.address, self._purpose):
                response = self._client.send(self._request(url, body, seconds))
        except (httpx.HTTPError, UnicodeError) as error:
            raise request_failed(error, self.address, seconds) from error
        if not response.is_success:
            raise status_error(response.status_code, error_message(response.text), self.address)
        try:
            return json.loads(response.content)
        except ValueError as error:
            raise invalid_answer(self.address) from error

    def lines(self, url: str, body: object) -> StreamedLines:
        """Send a request for a stream at once, and return its lines."""
        return StreamedLines(self._client, self._request(url, body, SILENCE_SECONDS), self.address, self._purpose)

    def _request(self, url: str, body: object, seconds: float) -> httpx.Request:
        timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
        if body is None:
            return self._client.build_request("GET", url, timeout=timeout)
        # In ASCII, a lone surrogate from undecodable bytes is escaped; in UTF-8, it could not be encoded.
        content, headers = json.dumps(body).encode("ascii"), {"Content-Type": "application/json"}
        return self._client.build_request("POST", url, content=content, headers=headers, timeout=timeout)


class StreamedLines:
    """Lines of a streamed answer, read in a thread; yields None if no line came for POLL_SECONDS seconds."""

    def __init__(self, client: httpx.Client, request: httpx.Request, address: ServerAddress, purpose: Purpose) -> None:
        self._client, self._request, self._address, self._purpose = client, request, address, purpose
        self._queue: queue.SimpleQueue[str | ServerError | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._socket: socket.socket | None = None
        request.extensions["trace"] = self._trace
        threading.Thread(target=self._run, name="model server", daemon=True).start()

    def __iter__(self) -> Iterator[str | None]:
        """Yield the lines, and None now and then while no line arrives. Raises ServerError."""
        while True:
            try:
                come = self._queue.get(timeout=POLL_SECONDS)
            except queue.Empty:
                yield None
                continue
            if come is None:
                return
            if isinstance(come, ServerError):
                raise come
            yield come

    def end(self) -> None:
        """End the connection at once, also in the middle of a read. The server's model then stops, too."""
        self._ended.set()
        # Shutting the socket down wakes the thread that is blocked in reading from it.
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            self._socket = info["return_value"].get_extra_info("socket")
        # end() may have been called before there was a socket to shut down.
        if self._ended.is_set():
            self.end()

    def _run(self) -> None:
        try:
            with allow_connection(self._address, self._purpose):
                response = self._client.send(self._request, stream=True)
            try:
                self._read(response)
            finally:
                response.close()
        except ServerError as error:
            self._queue.put(error)
        except (httpx.HTTPError, UnicodeError) as error:
            self._queue.put(None if self._ended.is_set() else request_failed(error, self._address, SILENCE_SECONDS))
        finally:
            self._queue.put(None)

    def _read(self, response: httpx.Response) -> None:
        if not response.is_success:
            response.read()
            raise status_error(response.status_code, error_message(response.text), self._address)
        size = 0
        for line in response.iter_lines():
            size += len(line)
            if self._ended.is_set():
                return
            if size > MAX_CHARACTERS:
                raise invalid_answer(self._address)
            self._queue.put(line)


def allow_connection(address: ServerAddress, purpose: Purpose) -> AbstractContextManager[guard.EgressPermit]:
    """Let this thread connect to the server, if the IP addresses behind its name are private when it connects."""
    return guard.allow_egress(purpose, address.place, judge=is_private)


class Program(StrEnum):
    """The program that serves a model."""

    LLAMA_SERVER = "llama-server"
    LLAMA_CPP_PYTHON = "llama-cpp-python"
    OLLAMA = "Ollama"
    LM_STUDIO = "LM Studio"
    VLLM = "vLLM"
    OTHER_PROGRAM = "another server"


_OWNED_BY = {
    "llamacpp": Program.LLAMA_SERVER,
    "me": Program.LLAMA_CPP_PYTHON,
    "library": Program.OLLAMA,
    "organization_owner": Program.LM_STUDIO,
    "vllm": Program.VLLM,
}
OWN_OWNER = "localcrag"
"""Owner in the model list of localcrag's own server, which must not be used as a model server."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model in a server's list; `window` is its context window in tokens, None if the list does not contain it."""

    id: str
    program: Program
    window: int | None = None


def list_models(exchange: Exchange, *, seconds: float = 10.0) -> tuple[ServedModel, ...]:
    """Return the models in the server's list, except localcrag's own. Raises ServerError."""
    answer = exchange.ask(f"{exchange.address}/models", seconds=seconds)
    entries = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(entries, list):
        return ()
    named = [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
    return tuple(_parse_model(entry) for entry in named if entry.get("owned_by") != OWN_OWNER)


def context_window(exchange: Exchange, model: ServedModel) -> int | None:
    """Return a model's context window in tokens, from each program's own API; None if the server does not report it."""
    try:
        match model.program:
            case Program.LLAMA_SERVER:
                window = exchange.ask(exchange.address.sibling("/props"))["default_generation_settings"]["n_ctx"]
            case Program.OLLAMA:
                window = _find_entry(exchange, "/api/ps", "models", "name", model)["context_length"]
            case Program.LM_STUDIO:
                window = _find_entry(exchange, "/api/v0/models", "data", "id", model)["loaded_context_length"]
            case _:
                window = model.window
    except (ServerError, KeyError, TypeError, ValueError, StopIteration):
        window = model.window
    return window if isinstance(window, int) and window > 0 else None


def count_tokens(exchange: Exchange, model: ServedModel, messages: Sequence[Message]) -> int | None:
    """Return the length of a prompt in tokens, counted by the server; None if it cannot count. Raises ServerError."""
    address, plain = exchange.address, as_json(messages)
    match model.program:
        case Program.LLAMA_SERVER:
            prompt = exchange.ask(address.sibling("/apply-template"), {"messages": plain})["prompt"]
            counted = exchange.ask(address.sibling("/tokenize"), {"content": prompt, "add_special": True})["tokens"]
            return len(counted)
        case Program.VLLM:
            counted = exchange.ask(address.sibling("/tokenize"), {"model": model.id, "messages": plain})
            return int(counted["count"])
        case Program.LLAMA_CPP_PYTHON:
            # The API does not expose the chat template. Most templates are as long as ChatML's, so this one is used.
            prompt = "".join(f"<|im_start|>{one.role}\n{one.content}<|im_end|>\n" for one in messages)
            url = address.sibling("/extras/tokenize/count")
            return int(exchange.ask(url, {"input": prompt + "<|im_start|>assistant\n"})["count"])
    return None


def extra_options(program: Program, schema: JsonSchema | None) -> dict[str, Any]:
    """Return the options that a request to this program needs in addition to the usual ones."""
    added: dict[str, Any] = {}
    if program in (Program.LLAMA_SERVER, Program.VLLM):
        # An answer is a few sentences long, and reasoning before it would use up its tokens.
        added["chat_template_kwargs"] = {"enable_thinking": False}
    if program is Program.LLAMA_CPP_PYTHON:
        added["repeat_penalty"] = 1.0  # The default, 1.1, discourages a model from repeating the words of the evidence.
    if schema is not None and program is Program.LLAMA_CPP_PYTHON:
        added["response_format"] = {"type": "json_object", "schema": schema}
    elif schema is not None:
        form = {"name": "answer", "strict": True, "schema": schema}
        added["response_format"] = {"type": "json_schema", "json_schema": form}
    return added


def as_json(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Return the messages in the form of the API."""
    return [{"role": message.role, "content": message.content} for message in messages]


def _parse_model(entry: dict[str, Any]) -> ServedModel:
    program = _OWNED_BY.get(str(entry.get("owned_by")), Program.OTHER_PROGRAM)
    meta = entry.get("meta") if isinstance(entry.get("meta"), dict) else {}
    window = entry.get("max_model_len") or (meta or {}).get("n_ctx")
    return ServedModel(entry["id"], program, window if isinstance(window, int) else None)


def _find_entry(exchange: Exchange, path: str, field: str, key: str, model: ServedModel) -> dict[str, Any]:
    """Return the entry for a model in the list that a server returns in a field."""
    entries = exchange.ask(exchange.address.sibling(path))[field]
    return next(entry for entry in entries if entry[key] in (model.id, f"{model.id}:latest"))
