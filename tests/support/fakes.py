"""Stand-ins for models and servers: deterministic, instant, and honest to the protocols (tests marked `contract`)."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress

import numpy as np

from localcrag.records.errors import GenerationError, SearchError
from localcrag.records.passages import Thresholds
from localcrag.records.protocols import Decoding, JsonSchema, TokenUsage, Vectors
from localcrag.records.run import Message, Run, WebAnswer
from localcrag.records.thresholds import FittedCalibration, Logistic
from localcrag.text.sentences import Span
from localcrag.text.words import content_words

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
            for word in content_words(" ".join(text.split()[: self.max_tokens])) or {""}:
                vectors[row, hashlib.sha256(word.encode()).digest()[0] % self.dimension] += 1.0
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    def embed_questions(self, questions: Sequence[str]) -> Vectors:
        return self.embed(questions)

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

    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> list[Vectors]:
        flat = self.logits(question, [span.text for spans in strips for span in spans])
        return np.split(flat, np.cumsum([len(spans) for spans in strips])[:-1]) if strips else []


class FakeStream:
    def __init__(self, written: Generator[str, None, None], prompt_tokens: int, stopped: threading.Event) -> None:
        self.usage = TokenUsage(prompt_tokens)
        self._written, self._stopped = written, stopped

    def __iter__(self) -> Iterator[str]:
        for piece in self._written:
            self.usage.completion_tokens += 1
            yield piece

    @property
    def closed(self) -> bool:
        return self._stopped.is_set()

    def close(self) -> None:
        self._stopped.set()
        with suppress(ValueError):  # Another thread is in it.
            self._written.close()


def _say(
    pieces: Sequence[str], error: str | None, turn: threading.Lock, stopped: threading.Event
) -> Generator[str, None, None]:
    with turn:
        for piece in pieces:
            if stopped.is_set():
                return
            yield piece
        if error:
            raise GenerationError(error)


class FakeLanguageModel:
    """Says what it was told to say, one word a piece; `fails` makes every stream break off at its end.

    What it says under a schema has to fit it already; a test that tells it other things has a model that is broken.
    """

    name = "fake-llm"
    context_tokens = 2000

    def __init__(self, *answers: str, fails: str | None = None) -> None:
        self._answers = list(answers)
        self._fails = fails
        self._turn = threading.Lock()
        self.prompts: list[list[Message]] = []
        self.streams: list[FakeStream] = []
        self.schemas: list[JsonSchema | None] = []
        self.temperatures: list[float] = []

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return sum(len(message.content.split()) for message in messages)

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> FakeStream:
        prompt_tokens = self.count_tokens(messages)
        if prompt_tokens + 1 >= self.context_tokens:
            raise GenerationError(f"The prompt has {prompt_tokens} tokens, the window {self.context_tokens}.")
        self.prompts.append(list(messages))
        self.schemas.append(decoding.schema)
        self.temperatures.append(decoding.temperature)
        answer = self._answers.pop(0) if self._answers else ""
        for end in decoding.stop:
            answer = answer.split(end)[0]
        pieces = re.findall(r"\S+\s*", answer)[: decoding.max_tokens]
        stopped = threading.Event()
        stream = FakeStream(_say(pieces, self._fails, self._turn, stopped), prompt_tokens, stopped)
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
        self.runs = [*(other for other in self.runs if other.run_id != run.run_id), run]
