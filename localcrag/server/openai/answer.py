"""Answers as chat completions, whole and in pieces, with citations and how they came about."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NotRequired

# pydantic, which makes schemas of these, takes typing's own from Python 3.12 on.
from typing_extensions import TypedDict

from localcrag.records.events import AnswerPiece, Event, StepStarted
from localcrag.records.run import Run
from localcrag.runs.diagnostics import totals
from localcrag.runs.for_programs import Citation, Details, citations, details


class Served(Details):
    """How the answer came about; `ignored` is what the request asked for and localcrag does not do."""

    ignored: list[str]


class Answer(TypedDict):
    """A message of the assistant."""

    role: Literal["assistant"]
    content: str


class Choice(TypedDict):
    """The one answer there is."""

    index: int
    message: Answer
    finish_reason: Literal["stop"]
    logprobs: None


class Usage(TypedDict):
    """Tokens of the language model, in all steps."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completion(TypedDict):
    """An answer. `citations` are what stands behind [1], [2], … in its text."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    citations: list[Citation]
    localcrag: Served


class Delta(TypedDict, total=False):
    """What a piece adds to the message."""

    role: str
    content: str


class PieceChoice(TypedDict):
    """The part of a piece that is the one answer's."""

    index: int
    delta: Delta
    finish_reason: str | None
    logprobs: None


class Step(TypedDict, total=False):
    """What happens meanwhile: a step that began, or a piece of the draft, which is not verified yet."""

    step: str
    detail: str
    draft: str


class Piece(TypedDict):
    """A piece of a stream."""

    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    choices: list[PieceChoice]
    usage: NotRequired[Usage | None]
    citations: NotRequired[list[Citation]]
    localcrag: NotRequired[Served | Step]


def completion(run: Run, ignored: list[str]) -> Completion:
    """Return a finished run as an answer."""
    return {
        "id": _id(run),
        "object": "chat.completion",
        "created": _created(run),
        "model": run.collection,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": run.answer},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
        "usage": usage(run),
        "citations": citations(run),
        "localcrag": served(run, ignored),
    }


def piece(run: Run, delta: Delta, finish_reason: str | None = None) -> Piece:
    """Return a piece of a stream."""
    return {
        "id": _id(run),
        "object": "chat.completion.chunk",
        "created": _created(run),
        "model": run.collection,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}],
    }


def what_happens(event: Event) -> Step | None:
    """Return an event that a program may want to show while the answer is made."""
    match event:
        case StepStarted(name, detail):
            return {"step": name, "detail": detail}
        case AnswerPiece(text):
            return {"draft": text}
    return None


def last_pieces(run: Run, ignored: list[str], *, with_usage: bool) -> list[Piece]:
    """Return the pieces that a finished run ends a stream with: the answer, what it cites, and its tokens."""
    last = piece(run, {}, "stop")
    last["citations"], last["localcrag"] = citations(run), served(run, ignored)
    pieces = [piece(run, {"content": run.answer}), last]
    if with_usage:
        counted = piece(run, {})
        counted["choices"], counted["usage"] = [], usage(run)
        pieces.append(counted)
    return pieces


def served(run: Run, ignored: list[str]) -> Served:
    """Return how the answer came about, and what was ignored."""
    return {**details(run), "ignored": ignored}


def usage(run: Run) -> Usage:
    """Return the tokens that the language model read and wrote."""
    sums = totals(run)
    read, written = sums.prompt_tokens, sums.completion_tokens
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _id(run: Run) -> str:
    return f"chatcmpl-{run.run_id}"


def _created(run: Run) -> int:
    return int(datetime.fromisoformat(run.created_at).timestamp())
