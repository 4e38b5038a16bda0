"""A relevance model behind a server with a rerank endpoint: Cohere's and Jina's form, or TEI's.

The first is what llama-server, Infinity and vLLM speak as well. Results come sorted, and are put back by their index.
A server's numbers are raw logits or finished probabilities, and nothing in an answer says which: it is found out by
asking for known texts, before any other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import numpy as np

from localcrag.backends.servers import failures
from localcrag.backends.servers.address import ServerAddress
from localcrag.backends.servers.exchange import SILENCE_SECONDS, Exchange
from localcrag.records.errors import ServerError, ServerNotRunning
from localcrag.records.protocols import Calibration, Vectors
from localcrag.steps.evaluate.calibration import UNCALIBRATED
from localcrag.text.span import Span

MOST_AT_ONCE = 32
"""Texts of one request; TEI takes no more unless told so (max_client_batch_size)."""
CLIP = 1e-6
"""Probabilities beyond are all as sure: a finished 1.0 has no logit."""
QUESTION = "How many days may a borrowed boat be kept?"
TEXTS = (
    "The bakery on the corner opens at six and sells rye bread until noon.",
    "Borrowed boats lie at the northern jetty and are painted blue.",
    "Photosynthesis turns light into sugar in the leaves of plants.",
    "A borrowed boat may be kept for nine days; then it has to be returned to the jetty.",
)
"""What a server is asked first. The last one answers, and nobody's documents are in it."""


class Form(StrEnum):
    """How a server wants to be asked. DOCUMENTS: Cohere's and Jina's form; TEXTS: TEI's."""

    DOCUMENTS = "documents"
    TEXTS = "texts"


class Scale(StrEnum):
    """What a server's numbers are. ASKED_RAW: raw logits, because it is asked for them (`raw_scores`)."""

    ASKED_RAW = "raw, as asked for"
    RAW = "raw"
    FINISHED = "probabilities"


class ServerScorer:
    """A relevance model that a server runs. May be used by several threads."""

    calibration: Calibration = UNCALIBRATED

    def __init__(self, exchange: Exchange) -> None:
        """Find out how the server wants to be asked and what its numbers are. Raises ServerError."""
        self._exchange = exchange
        self.name = exchange.address.name
        self.form, first = self._find_form()
        self.scale = self._find_scale(first)

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        """Return one logit per text, shape (len(texts),). Raises ServerError."""
        found: list[float] = []
        for start in range(0, len(texts), MOST_AT_ONCE):
            found += self._scores(question, texts[start : start + MOST_AT_ONCE])
        scores = np.array(found, dtype=np.float64)
        if self.scale is Scale.FINISHED:
            clipped = np.clip(scores, CLIP, 1.0 - CLIP)
            scores = np.log(clipped / (1.0 - clipped))
        return scores.astype(np.float32)

    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> list[Vectors]:
        """Return for each text one logit per strip of it, each scored by itself. Raises ServerError."""
        logits = self.logits(question, [strip.text for spans in strips for strip in spans])
        ends = np.cumsum([len(spans) for spans in strips])
        return [logits[end - len(spans) : end] for end, spans in zip(ends, strips, strict=True)]

    def _scores(self, question: str, texts: Sequence[str]) -> list[float]:
        return self._ask(self.form, question, texts, raw=True if self.scale is Scale.ASKED_RAW else None)

    def _find_form(self) -> tuple[Form, list[float]]:
        refused: ServerError | None = None
        for form in Form:
            try:
                return form, self._ask(form, QUESTION, TEXTS)
            except ServerNotRunning:
                raise
            except ServerError as error:
                refused = refused or error
        raise refused or failures.unreadable(self._exchange.address)

    def _find_scale(self, first: Sequence[float]) -> Scale:
        try:
            raw, finished = (self._ask(self.form, QUESTION, TEXTS, raw=asked) for asked in (True, False))
        except ServerNotRunning:
            raise
        except ServerError:
            raw = finished = list(first)  # It does not know that it may be asked.
        scores = raw if raw != finished else first
        if max(scores) != scores[-1] or min(scores) == max(scores):
            raise ServerError(
                f"The server {self._exchange.address} does not tell texts that answer a question from others: it put "
                "another one before the one that does. Check that it runs a reranker."
            )
        if raw != finished:
            return Scale.ASKED_RAW
        return Scale.FINISHED if all(0.0 <= score <= 1.0 for score in first) else Scale.RAW

    def _ask(self, form: Form, question: str, texts: Sequence[str], *, raw: bool | None = None) -> list[float]:
        body: dict[str, Any] = {"query": question, form.value: list(texts)}
        if self._exchange.address.model:
            body["model"] = self._exchange.address.model
        body |= {"truncate": True} if form is Form.TEXTS else {"top_n": len(texts), "return_documents": False}
        if raw is not None:
            body["raw_scores"] = raw
        answer = self._exchange.post(str(self._exchange.address), body, seconds=SILENCE_SECONDS)
        return _by_index(answer, len(texts), self._exchange.address)


def _by_index(answer: Any, count: int, address: ServerAddress) -> list[float]:
    """Return the scores in the order in which the texts were given. Raises ServerError unless each has one."""
    results: Any = answer.get("results", answer.get("data")) if isinstance(answer, dict) else answer
    scores: dict[int, float] = {}
    try:
        for result in results:
            score = result["relevance_score"] if "relevance_score" in result else result["score"]
            scores[int(result["index"])] = float(score)
    except (TypeError, KeyError, ValueError) as error:
        raise failures.unreadable(address) from error
    if sorted(scores) != list(range(count)) or not all(map(math.isfinite, scores.values())):
        raise failures.unreadable(address)
    return [scores[place] for place in range(count)]
