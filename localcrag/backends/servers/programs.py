"""Programs that serve models: how each is told, and what is asked of it in its own way.

Told by what a server says of itself in its list of models (`owned_by`), never by its port.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from localcrag.backends.servers.exchange import Exchange
from localcrag.records.errors import ServerError
from localcrag.records.protocols import JsonSchema
from localcrag.records.run import Message


class Program(StrEnum):
    """What serves a model."""

    LLAMA_SERVER = "llama-server"
    LLAMA_CPP_PYTHON = "llama-cpp-python"
    OLLAMA = "Ollama"
    LM_STUDIO = "LM Studio"
    VLLM = "vLLM"
    ANOTHER = "another server"


_OWNED_BY = {
    "llamacpp": Program.LLAMA_SERVER,
    "me": Program.LLAMA_CPP_PYTHON,
    "library": Program.OLLAMA,
    "organization_owner": Program.LM_STUDIO,
    "vllm": Program.VLLM,
}
OURSELVES = "localcrag"
"""What localcrag's own list of models says: it is no server to be asked."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model that a server names; `window` in tokens, None where the server does not say it."""

    id: str
    program: Program
    window: int | None = None


def listed(exchange: Exchange, *, seconds: float = 10.0) -> tuple[ServedModel, ...]:
    """Return the models that a server names, its own list read. Raises ServerError."""
    answer = exchange.get(exchange.address.below("/models"), seconds=seconds)
    entries = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(entries, list):
        return ()
    named = [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str)]
    return tuple(_served(entry) for entry in named if entry.get("owned_by") != OURSELVES)


def window(exchange: Exchange, model: ServedModel) -> int | None:
    """Return how many tokens a model takes, asked of the server in its own way; None where it does not say."""
    address = exchange.address
    try:
        match model.program:
            case Program.LLAMA_SERVER:
                said = exchange.get(address.beside("/props"))["default_generation_settings"]["n_ctx"]
            case Program.OLLAMA:
                said = _among(exchange.get(address.beside("/api/ps"))["models"], "name", model.id)["context_length"]
            case Program.LM_STUDIO:
                one = _among(exchange.get(address.beside("/api/v0/models"))["data"], "id", model.id)
                said = one["loaded_context_length"]
            case _:
                said = model.window
    except (ServerError, KeyError, TypeError, ValueError, StopIteration):
        said = model.window
    return said if isinstance(said, int) and said > 0 else None


def count_tokens(exchange: Exchange, model: ServedModel, messages: Sequence[Message]) -> int | None:
    """Return the length of a prompt, as the server counts it; None where it does not. Raises ServerError."""
    address, plain = exchange.address, as_json(messages)
    match model.program:
        case Program.LLAMA_SERVER:
            prompt = exchange.post(address.beside("/apply-template"), {"messages": plain})["prompt"]
            counted = exchange.post(address.beside("/tokenize"), {"content": prompt, "add_special": True})["tokens"]
            return len(counted)
        case Program.VLLM:
            counted = exchange.post(address.beside("/tokenize"), {"model": model.id, "messages": plain})
            return int(counted["count"])
        case Program.LLAMA_CPP_PYTHON:
            # It has no door to its templates: most are as long as this one.
            prompt = "".join(f"<|im_start|>{one.role}\n{one.content}<|im_end|>\n" for one in messages)
            url = address.beside("/extras/tokenize/count")
            return int(exchange.post(url, {"input": prompt + "<|im_start|>assistant\n"})["count"])
    return None


def additions(program: Program, schema: JsonSchema | None) -> dict[str, Any]:
    """Return what a request holds beside the usual."""
    added: dict[str, Any] = {}
    if program in (Program.LLAMA_SERVER, Program.VLLM):
        # An answer of a few sentences from evidence: what a model thinks before would use up its tokens.
        added["chat_template_kwargs"] = {"enable_thinking": False}
    if program is Program.LLAMA_CPP_PYTHON:
        added["repeat_penalty"] = 1.0  # Its own is 1.1, which keeps a model from saying what the evidence says.
    if schema is not None and program is Program.LLAMA_CPP_PYTHON:
        added["response_format"] = {"type": "json_object", "schema": schema}
    elif schema is not None:
        form = {"name": "answer", "strict": True, "schema": schema}
        added["response_format"] = {"type": "json_schema", "json_schema": form}
    return added


def as_json(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Return messages as such servers take them."""
    return [{"role": message.role, "content": message.content} for message in messages]


def _served(entry: dict[str, Any]) -> ServedModel:
    program = _OWNED_BY.get(str(entry.get("owned_by")), Program.ANOTHER)
    meta = entry.get("meta") if isinstance(entry.get("meta"), dict) else {}
    said = entry.get("max_model_len") or (meta or {}).get("n_ctx")
    return ServedModel(entry["id"], program, said if isinstance(said, int) else None)


def _among(entries: Any, key: str, value: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry[key] in (value, f"{value}:latest"))
