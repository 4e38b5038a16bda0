"""Models that run on a server: language models and rerankers.

`ServerLanguageModel` streams answers from /v1/chat/completions of an OpenAI-compatible server. `ServerScorer` asks a
server's /rerank for relevance scores.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Generator, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any

import numpy as np
from cachetools import LRUCache

from localcrag.models import server_exchange
from localcrag.models.answer_stream import AnswerStream
from localcrag.models.server_address import ServerAddress
from localcrag.models.server_exchange import SILENCE_SECONDS, Exchange
from localcrag.records.errors import GenerationError, ServerError, ServerNotRunning
from localcrag.records.protocols import Decoding, TokenUsage, Vectors
from localcrag.records.run import Message
from localcrag.records.thresholds import UNCALIBRATED, FittedCalibration
from localcrag.text.sentences import Span

BYTES_PER_TOKEN = 3.0
"""Bytes per token for estimates, chosen low to be safe: in most vocabularies, a token has about four and a half
bytes in English and three and a half in German. A letter of another script has two or three bytes and is rarely less
than half a token."""
TOKENS_PER_MESSAGE = 8
"""Tokens that a chat template adds to each message: ChatML's and Llama 3's add five to seven."""
CACHED_COUNTS = 64
"""Prompts whose token count is cached."""
_REASONING_TAGS = ("<think>", "</think>")
"""Tags around the reasoning that some models write before the answer."""


class ServerLanguageModel:
    """A language model that a server runs. It writes one stream at a time; a second stream waits."""

    def __init__(self, exchange: Exchange, context_tokens: int) -> None:
        """Find the model on the server. Raises ServerError.

        `context_tokens` is used if the server does not report the context window. An address without a model name
        means the only model of the server.
        """
        there = server_exchange.list_models(exchange)
        address = exchange.address
        wanted = address.model
        found = [one for one in there if one.id in (wanted, f"{wanted}:latest")] if wanted else list(there)
        if len(found) != 1:
            raise server_exchange.model_missing(address, tuple(one.id for one in there))
        self._model = found[0]
        self._exchange = exchange
        self.name = address.with_model(wanted or self._model.id).name
        window = server_exchange.context_window(exchange, self._model)
        self.context_tokens = window or context_tokens
        self.says_window = window is not None
        # To count tokens, a prompt is sent only to a server on this computer.
        self.counts = address.here
        self._counted: LRUCache[tuple[Message, ...], int] = LRUCache(CACHED_COUNTS)
        self._turn = threading.Lock()

    @property
    def program(self) -> str:
        """Return the name of the program that serves the model."""
        return self._model.program.value

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the length of the prompt in tokens: the server's count if `counts` is true, otherwise an estimate.

        The length is estimated if the server cannot count, or if it is on another computer.
        """
        key = tuple(messages)
        if (known := self._counted.get(key)) is not None:
            return known
        counted = None
        if self.counts:
            with suppress(ServerError, KeyError, TypeError, ValueError):
                counted = server_exchange.count_tokens(self._exchange, self._model, messages)
        if counted is None:
            self.counts = False
            counted = estimate(messages)
        self._counted[key] = counted
        return counted

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> AnswerStream:
        """Start an answer. Raises GenerationError if the prompt is too long for the context window."""
        tokens = self.count_tokens(messages)
        if tokens + 1 >= self.context_tokens:
            about = "" if self.counts else "about "
            raise GenerationError(
                f"The prompt has {about}{tokens} tokens, the context window of the language model at "
                f"{self._exchange.address} has {self.context_tokens}. Ask a shorter question, or start the server "
                "with a larger one" + ("." if self.says_window else " and raise context_tokens in the settings.")
            )
        body: dict[str, Any] = {
            "model": self._model.id,
            "messages": server_exchange.as_json(messages),
            "max_tokens": decoding.max_tokens,
            "temperature": decoding.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if decoding.stop:
            body["stop"] = list(decoding.stop)
        body |= server_exchange.extra_options(self._model.program, decoding.schema)
        usage, stopped = TokenUsage(tokens, estimated=not self.counts), threading.Event()
        return AnswerStream(usage, _write(self._exchange, body, self._turn, usage, stopped), stopped.set)


def _write(
    exchange: Exchange, body: dict[str, Any], turn: threading.Lock, usage: TokenUsage, stopped: threading.Event
) -> Generator[str, None, None]:
    """Yield pieces of text as they arrive, and an empty piece now and then while nothing arrives.

    The empty pieces let the caller check whether the answer is still wanted. Raises GenerationError.
    """
    with turn:
        if body["max_tokens"] < 1 or stopped.is_set():
            return
        lines = exchange.lines(f"{exchange.address}/chat/completions", body)
        message = _StreamParser(exchange, usage)
        try:
            for line in lines:
                if stopped.is_set():
                    return
                text = message.parse(line) if line else ""
                if text or line is None or message.thinks:
                    yield text
                if message.ended:
                    return
            if not stopped.is_set():
                message.end()
        except ServerError as error:
            raise GenerationError(str(error)) from error
        finally:
            lines.end()


class _StreamParser:
    """Parser of the events of one stream: collects the text, counts tokens, and removes the model's reasoning."""

    def __init__(self, exchange: Exchange, usage: TokenUsage) -> None:
        self._address, self._usage = exchange.address, usage
        self._finished = self._usage_reported = self._begun = False
        self._held = ""
        self.ended = self.thinks = False

    def parse(self, line: str) -> str:
        """Return the answer text in a line of the stream, or "". Raises ServerError if the line reports an error."""
        field, _, data = line.partition(":")
        if field != "data":
            return ""
        if data.strip() == "[DONE]":
            self.ended = True
            self._check()
            return self._held if not self.thinks else ""
        try:
            event: Any = json.loads(data)
        except ValueError as error:
            raise server_exchange.invalid_answer(self._address) from error
        if not isinstance(event, dict):
            raise server_exchange.invalid_answer(self._address)
        if event.get("error"):
            raise server_exchange.status_error(500, server_exchange.error_message(data), self._address)
        self._count(event.get("usage"))
        choices = event.get("choices") or [{}]
        self._finished |= bool(choices[0].get("finish_reason"))
        text = (choices[0].get("delta") or {}).get("content") or ""
        if text and not self._usage_reported:
            # Until the server reports a count, each event counts as one token.
            self._usage.completion_tokens += 1
        return self._strip_reasoning(text)

    def end(self) -> None:
        """Handle the end of the connection. Raises ServerError if the answer was not complete."""
        self._check()
        if not self._finished:
            raise server_exchange.connection_lost(self._address)

    def _count(self, usage: Any) -> None:
        if isinstance(usage, dict) and isinstance(usage.get("completion_tokens"), int):
            self._usage.prompt_tokens = int(usage.get("prompt_tokens") or self._usage.prompt_tokens)
            self._usage.completion_tokens = usage["completion_tokens"]
            self._usage.estimated, self._usage_reported = False, True

    def _strip_reasoning(self, text: str) -> str:
        """Return a piece of text without the reasoning between <think> and </think> before the answer."""
        if self._begun:
            return text
        # Text is held back until it is clear whether it begins with the opening tag, which may come in pieces.
        self._held += text
        opening, closing = _REASONING_TAGS
        start = self._held.lstrip()
        self.thinks = start.startswith(opening)
        if self.thinks:
            _, closed, after = start.partition(closing)
            if not closed:
                return ""
            self._held, self.thinks = after.lstrip(), False
            return ""
        if opening.startswith(start):
            return ""  # The text so far is empty or the beginning of the tag.
        self._begun = True
        held, self._held = self._held, ""
        return held

    def _check(self) -> None:
        if self.thinks:
            raise ServerError(
                f"The model at {self._address} used up its tokens for thinking before it answered. Switch its "
                "thinking off in the server, choose a model without, or raise answer_tokens in the settings."
            )


def estimate(messages: Sequence[Message]) -> int:
    """Estimate the number of tokens in a prompt, erring on the high side."""
    size = sum(len(message.content.encode("utf-8", "replace")) for message in messages)
    return int(size / BYTES_PER_TOKEN) + TOKENS_PER_MESSAGE * (len(messages) + 1)


TEXTS_PER_REQUEST = 32
"""Texts in one request; TEI's default limit (max_client_batch_size)."""
CLIP = 1e-6
"""Distance from 0 and 1 to which probabilities are clipped, because exactly 1.0 has no finite logit."""
QUESTION = "How many days may a borrowed boat be kept?"
TEXTS = (
    "The bakery on the corner opens at six and sells rye bread until noon.",
    "Borrowed boats lie at the northern jetty and are painted blue.",
    "Photosynthesis turns light into sugar in the leaves of plants.",
    "A borrowed boat may be kept for nine days; then it has to be returned to the jetty.",
)
"""Texts of the test request that localcrag first sends to a server. Only the last one answers QUESTION; none is a
user's document."""


class RequestForm(StrEnum):
    """Form of the request that a server expects. DOCUMENTS: Cohere's and Jina's; TEXTS: TEI's."""

    DOCUMENTS = "documents"
    TEXTS = "texts"


class Scale(StrEnum):
    """Meaning of a server's scores.

    REQUESTED_RAW: logits, because the request asks for them (`raw_scores`). RAW: logits. PROBABILITIES: probabilities.
    """

    REQUESTED_RAW = "raw, as asked for"
    RAW = "raw"
    PROBABILITIES = "probabilities"


class ServerScorer:
    """A reranker that a server runs. It can be used by several threads."""

    calibration: FittedCalibration = UNCALIBRATED

    def __init__(self, exchange: Exchange) -> None:
        """Send test requests to find the form of request and the kind of scores of the server. Raises ServerError."""
        self._exchange = exchange
        self.name = exchange.address.name
        self.form, first = self._find_form()
        self.scale = self._find_scale(first)

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        """Return one logit per text, shape (len(texts),). Raises ServerError."""
        found: list[float] = []
        raw = True if self.scale is Scale.REQUESTED_RAW else None
        for start in range(0, len(texts), TEXTS_PER_REQUEST):
            found += self._ask(self.form, question, texts[start : start + TEXTS_PER_REQUEST], raw=raw)
        scores = np.array(found, dtype=np.float64)
        if self.scale is Scale.PROBABILITIES:
            clipped = np.clip(scores, CLIP, 1.0 - CLIP)
            scores = np.log(clipped / (1.0 - clipped))
        return scores.astype(np.float32)

    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> list[Vectors]:
        """Return for each text one logit per strip; every strip is scored alone. Raises ServerError."""
        logits = self.logits(question, [strip.text for spans in strips for strip in spans])
        ends = np.cumsum([len(spans) for spans in strips])
        return [logits[end - len(spans) : end] for end, spans in zip(ends, strips, strict=True)]

    def _find_form(self) -> tuple[RequestForm, list[float]]:
        refused: ServerError | None = None
        for form in RequestForm:
            try:
                return form, self._ask(form, QUESTION, TEXTS)
            except ServerNotRunning:
                raise
            except ServerError as error:
                refused = refused or error
        raise refused or server_exchange.invalid_answer(self._exchange.address)

    def _find_scale(self, first: Sequence[float]) -> Scale:
        try:
            raw, finished = (self._ask(self.form, QUESTION, TEXTS, raw=asked) for asked in (True, False))
        except ServerNotRunning:
            raise
        except ServerError:
            raw = finished = list(first)  # The server rejects requests with raw_scores.
        scores = raw if raw != finished else first
        if max(scores) != scores[-1] or min(scores) == max(scores):
            raise ServerError(
                f"The server {self._exchange.address} ranked an unrelated text "
                "above the one that answers the question. Check that it runs a reranker."
            )
        if raw != finished:
            return Scale.REQUESTED_RAW
        return Scale.PROBABILITIES if all(0.0 <= score <= 1.0 for score in first) else Scale.RAW

    def _ask(self, form: RequestForm, question: str, texts: Sequence[str], *, raw: bool | None = None) -> list[float]:
        body: dict[str, Any] = {"query": question, form.value: list(texts)}
        if self._exchange.address.model:
            body["model"] = self._exchange.address.model
        body |= {"truncate": True} if form is RequestForm.TEXTS else {"top_n": len(texts), "return_documents": False}
        if raw is not None:
            body["raw_scores"] = raw
        answer = self._exchange.ask(str(self._exchange.address), body, seconds=SILENCE_SECONDS)
        return _parse_scores(answer, len(texts), self._exchange.address)


def _parse_scores(answer: Any, count: int, address: ServerAddress) -> list[float]:
    """Return the scores in the order of the texts in the request. Raises ServerError unless each text has a score."""
    results: Any = answer.get("results", answer.get("data")) if isinstance(answer, dict) else answer
    scores: dict[int, float] = {}
    try:
        for result in results:
            score = result["relevance_score"] if "relevance_score" in result else result["score"]
            scores[int(result["index"])] = float(score)
    except (TypeError, KeyError, ValueError) as error:
        raise server_exchange.invalid_answer(address) from error
    if sorted(scores) != list(range(count)) or not all(map(math.isfinite, scores.values())):
        raise server_exchange.invalid_answer(address)
    return [scores[place] for place in range(count)]
