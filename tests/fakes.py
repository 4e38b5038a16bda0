"""Stand-ins for models and servers: deterministic, instant, and honest to the protocols (tests/contracts)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from localcrag.calibration import FittedCalibration, Logistic
from localcrag.datatypes import Message, Run, Thresholds, WebAnswer
from localcrag.errors import GenerationError, SearchError
from localcrag.protocols import Vectors
from localcrag.words import content_words

CALIBRATION = FittedCalibration(
    passage=Logistic(logit=1.0, bias=0.0), strip=Logistic(logit=1.0, bias=0.0), thresholds=Thresholds(0.7, 0.3, 0.5)
)


class FakeEmbedder:
    """Texts that share words are near each other: a hashed bag of content words."""

    name = "fake-embedder"
    dimension = 64
    max_tokens = 254

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in content_words(text) or {""}:
                vectors[row, hashlib.sha256(word.encode()).digest()[0] % self.dimension] += 1.0
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


class FakeScorer:
    """The logit grows with the share of the question's content words that a text holds: -4 for none, 4 for all."""

    name = "fake-scorer"

    def __init__(self, calibration: FittedCalibration = CALIBRATION) -> None:
        self.calibration = calibration
        self.calls: list[tuple[str, tuple[str, ...]]] = []

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        self.calls.append((question, tuple(texts)))
        asked = content_words(question)
        shares = [len(asked & content_words(text)) / max(1, len(asked)) for text in texts]
        return np.array([8.0 * share - 4.0 for share in shares], dtype=np.float32)


class FakeStream:
    def __init__(self, pieces: Sequence[str], prompt_tokens: int, error: str | None) -> None:
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = 0
        self.closed = False
        self._pieces, self._error = pieces, error

    def __iter__(self) -> Iterator[str]:
        for piece in self._pieces:
            self.completion_tokens += 1
            yield piece
        if self._error:
            raise GenerationError(self._error)

    def close(self) -> None:
        self.closed = True


class FakeLanguageModel:
    """Says what it was told to say, one word a piece; `fails` makes every stream break off at its end."""

    name = "fake-llm"
    context_tokens = 2000

    def __init__(self, *answers: str, fails: str | None = None) -> None:
        self._answers = list(answers)
        self._fails = fails
        self.prompts: list[list[Message]] = []
        self.streams: list[FakeStream] = []

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return sum(len(message.content.split()) for message in messages)

    def stream(self, messages: Sequence[Message], *, max_tokens: int, stop: Sequence[str] = ()) -> FakeStream:
        self.prompts.append(list(messages))
        answer = self._answers.pop(0) if self._answers else ""
        pieces = [word + " " for word in answer.split(" ")][:max_tokens]
        stream = FakeStream(pieces, self.count_tokens(messages), self._fails)
        self.streams.append(stream)
        return stream


class FakeWeb:
    """Gives the same results, or the same error, to every query."""

    def __init__(self, answer: WebAnswer | SearchError) -> None:
        self._answer = answer
        self.queries: list[str] = []

    def wording(self, query: str) -> str:
        return query

    def search(self, query: str) -> WebAnswer:
        self.queries.append(query)
        if isinstance(self._answer, SearchError):
            raise self._answer
        return self._answer


class FakeRunLog:
    def __init__(self) -> None:
        self.runs: list[Run] = []

    def save(self, run: Run) -> None:
        self.runs.append(run)
