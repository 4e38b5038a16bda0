"""Models that can be put away: for whoever holds one, its next call loads it again."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from localcrag.records.protocols import Calibration, Decoding, Embedder, LanguageModel, Scorer, TokenStream, Vectors
from localcrag.records.run import Message
from localcrag.text.span import Span

Model = TypeVar("Model")


class Resting(Generic[Model]):
    """A model that is loaded as it is made, and again by the first call after it was put away."""

    def __init__(self, load: Callable[[], Model]) -> None:
        """Load it. Raises what `load` raises; later, whichever call loads it again does."""
        self._load = load
        self._loading = threading.Lock()
        self._users = 0
        self._uses = 0
        self._model: Model | None = load()

    @property
    def uses(self) -> int:
        """How often it was called so far."""
        return self._uses

    @property
    def put_away(self) -> bool:
        """Whether its next call loads it."""
        return self._model is None

    def wake(self) -> None:
        """Load it, unless it is loaded. Raises ModelError."""
        with self.at_work():
            pass

    def rest(self) -> bool:
        """Let go of the model, unless a call is at work with it; return whether it is away now."""
        with self._loading:
            if not self._users:
                self._model = None
            return self._model is None

    @contextmanager
    def at_work(self) -> Iterator[Model]:
        """Yield the model, loaded for as long as this lasts. Raises ModelError."""
        model = self._begin()
        try:
            yield model
        finally:
            self._end()

    @property
    def in_use(self) -> bool:
        """Whether a call is at work with it."""
        return self._users > 0

    @property
    def model(self) -> Model:
        """The model itself, loaded; for tools of developers that hold it as long as they run."""
        with self.at_work() as model:
            return model

    def _begin(self) -> Model:
        with self._loading:
            if self._model is None:
                self._model = self._load()
            self._users += 1
            self._uses += 1
            return self._model

    def _end(self) -> None:
        with self._loading:
            self._users -= 1


class RestingEmbedder(Resting[Embedder]):
    """An embedder; what it is, is known while it is away."""

    def __init__(self, load: Callable[[], Embedder]) -> None:
        super().__init__(load)
        with self.at_work() as model:
            self.name, self.dimension, self.max_tokens = model.name, model.dimension, model.max_tokens

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts to be found, shape (len(texts), dimension)."""
        with self.at_work() as model:
            return model.embed(texts)

    def embed_questions(self, questions: Sequence[str]) -> Vectors:
        """Return the vectors of what is looked for, shape (len(questions), dimension)."""
        with self.at_work() as model:
            return model.embed_questions(questions)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return each text's length in the embedder's tokens, special tokens not counted."""
        with self.at_work() as model:
            return model.count_tokens(texts)


class RestingScorer(Resting[Scorer]):
    """A relevance model; its name and calibration are known while it is away."""

    def __init__(self, load: Callable[[], Scorer]) -> None:
        super().__init__(load)
        with self.at_work() as model:
            self.name: str = model.name
            self.calibration: Calibration = model.calibration

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        """Return one raw logit per text, shape (len(texts),). Raises ModelError."""
        with self.at_work() as model:
            return model.logits(question, texts)

    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> list[Vectors]:
        """Return for each text one raw logit per strip of it. Raises ModelError."""
        with self.at_work() as model:
            return model.strip_logits(question, texts, strips)


class RestingLanguageModel(Resting[LanguageModel]):
    """A language model; what it computes on is known while it is away."""

    def __init__(self, load: Callable[[], LanguageModel]) -> None:
        super().__init__(load)
        with self.at_work() as model:
            self.name, self.context_tokens = model.name, model.context_tokens
            self.threads: int = getattr(model, "threads", 0)
            self.gpu_layers: int = getattr(model, "gpu_layers", 0)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the length of the prompt that the messages make, in tokens."""
        with self.at_work() as model:
            return model.count_tokens(messages)

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> TokenStream:
        """Start an answer; the model is at work until it is written, closed, or let go of. Raises GenerationError."""
        model = self._begin()
        try:
            return _Stream(model.stream(messages, decoding), self._end)
        except BaseException:
            self._end()
            raise


class _Stream:
    """An answer being written, that says when it needs the model no more."""

    def __init__(self, written: TokenStream, end: Callable[[], None]) -> None:
        self.written = written
        self._count()
        # Called once: at the end, or when nobody holds this any more.
        self._end = weakref.finalize(self, end)

    def __iter__(self) -> Iterator[str]:
        for text in self.written:
            self._count()
            yield text
        self._count()
        self._end()

    def close(self) -> None:
        self.written.close()
        self._count()
        self._end()

    def _count(self) -> None:
        self.prompt_tokens, self.completion_tokens = self.written.prompt_tokens, self.written.completion_tokens
        self.estimated = self.written.estimated
