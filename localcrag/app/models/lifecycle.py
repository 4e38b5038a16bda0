"""Memory that this process has let go of, given back to the system."""

from __future__ import annotations

import ctypes
import dataclasses
import gc
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Generic, NoReturn, TypeVar

from localcrag.app.models.library import ModelLibrary
from localcrag.app.shared_state import LazyCache, SettingsInUse
from localcrag.app.tasks import RegularLooks
from localcrag.crag.grading import ScoreCache
from localcrag.models.encoders import read_calibration
from localcrag.records.errors import GenerationError, ModelError
from localcrag.records.models import ModelRole, behind_server
from localcrag.records.protocols import Calibration, Decoding, Embedder, LanguageModel, Scorer, TokenStream, Vectors
from localcrag.records.run import Message
from localcrag.records.thresholds import UNCALIBRATED
from localcrag.text.sentences import Span
from localcrag.text.translation import gettext as _


def settle() -> None:
    """Have later collections of circles leave out all objects that are there now: libraries, and models that stay.

    To find circles that nobody holds, Python looks at all objects: at 650,000 for 0.2 to 0.3 s, in which nothing else
    goes on, and so once in five minutes. Until then each question leaves a sixth of a MiB; and what is free between
    pieces that stay is never given back. Of what came since, a collection takes 2 ms. (Linux, one core, by hand.)
    """
    gc.collect()
    gc.freeze()


def tidy() -> None:
    """Return to the system what is free, and before, where the process has settled, what only circles hold."""
    if _settled():
        gc.collect()
    trim()


def give_back() -> None:
    """Collect what only circles of objects hold, models that were let go among them, and return what is free then."""
    settled = _settled()
    gc.unfreeze()
    gc.collect()
    if settled:
        gc.freeze()
    trim()


def _settled() -> bool:
    return gc.get_freeze_count() > 0


def trim() -> None:
    """Have the C library return the pages that are free in it, where it can; some milliseconds, nobody need wait.

    Only glibc (malloc_trim) keeps that many: freed pieces between others that are in use. Arrays of ever other sizes
    make more of them with each question.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # Another C library, without this call.
            ctypes.CDLL(None).malloc_trim(0)


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


class MissingLanguageModel:
    """Raises GenerationError, with what loading said, whenever it is asked."""

    context_tokens = 0

    def __init__(self, name: str, error: ModelError) -> None:
        self.name = name
        self._error = error

    def count_tokens(self, messages: Sequence[Message]) -> NoReturn:
        raise GenerationError(str(self._error)) from self._error

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> NoReturn:
        raise GenerationError(str(self._error)) from self._error


class MissingScorer:
    """Raises ModelError, as loading did, whenever it is asked."""

    # Nothing is scored, so no score lacks a calibration: that the model is missing is what the run says.
    calibration: Calibration = dataclasses.replace(UNCALIBRATED, fitted=True)

    def __init__(self, name: str, error: ModelError) -> None:
        self.name = name
        self._error = error

    def logits(self, question: str, texts: Sequence[str]) -> NoReturn:
        raise self._error

    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> NoReturn:
        raise self._error


AnyModel = TypeVar("AnyModel", Embedder, Scorer, LanguageModel)


class LoadedModels:
    """The embedder, the relevance model and the language model of the settings in use."""

    def __init__(self, settings: SettingsInUse, library: ModelLibrary, made: LazyCache) -> None:
        self._settings, self._library, self._made = settings, library, made
        # Also those that were replaced, as long as a question holds them.
        self._resting: weakref.WeakSet[Resting[Any]] = weakref.WeakSet()

    @property
    def embedder(self) -> Embedder:
        """The bi-encoder. Raises ModelError."""
        return self.embedder_named(self._settings.now.embedder)

    def embedder_named(self, name: str) -> Embedder:
        """Return an embedder, the one in use or that of a collection of before. Raises ModelError."""
        if name == self._settings.now.embedder:
            return self._made.get("embedder", lambda: self._load_embedder(name))
        return self._made.get(f"embedder {name}", lambda: self._load_embedder(name))

    def has_embedder(self, name: str) -> bool:
        """Return whether an embedder is loaded or its files are there. Loads nothing."""
        if self._made.peek(f"embedder {name}") is not None:
            return True
        try:
            self._library.path(name, ModelRole.EMBEDDER)
        except ModelError:
            return False
        return True

    @property
    def scorer(self) -> Scorer:
        """The cross-encoder: the relevance model, or reranker. Raises ModelError."""
        return self._made.get("scorer", self._load_scorer)

    @property
    def served_scale(self) -> str:
        """What the numbers of the relevance model behind a server are, in a word. Raises ServerError."""
        _ = self.scorer
        return str(self._made.peek("scale"))

    @property
    def llm(self) -> LanguageModel:
        """The language model of the settings. Raises ModelError."""
        return self.language_model(self._settings.now.llm)

    def language_model(self, name: str) -> LanguageModel:
        """Return a language model, in the place of another one: there is seldom room for two. Raises ModelError."""
        if behind_server(name):
            # Beside one that is loaded: it takes no room.
            served: LanguageModel = self._made.get(f"served {name}", lambda: self._library.servers.language_model(name))
            return served
        return self._made.get(f"llm {name}", lambda: self._load_llm(name), alone=True)

    def use(self, name: str) -> None:
        """Use one of the models that are listed from now on.

        What is wrong with it is said before anything is changed. Raises ModelError and SettingsError.
        """
        role = self._library.role(name)
        if role is None:
            role = next(model.role for model in self._library.models() if model.name == name)
        if role is ModelRole.LLM and not behind_server(name):
            self.language_model(name)
        self._library.choose(name, role)

    def use_set(self, name: str) -> None:
        """Use the models of a set of the list from now on. Raises ModelError and SettingsError."""
        self._library.choose_all(self._library.named(name))

    def share(self, *, embedder: Embedder, scorer: Scorer) -> None:
        """Work with these instead of loading any."""
        self._made.put("embedder", embedder)
        self._made.put("scorer", scorer)

    def uses(self) -> int:
        """Return a number that grows with each call of a model that this process has loaded."""
        return sum(one.uses for one in [*self._resting])

    def in_use(self) -> bool:
        """Return whether a call is at work with one of them."""
        return any(one.in_use for one in [*self._resting])

    def are_away(self) -> bool:
        """Return whether any is put away, so that the next question has to wait for it."""
        return any(one.put_away for one in [*self._resting])

    def put_away(self) -> bool:
        """Let go of those that are loaded and not at work; return whether there were any."""
        went = [one.rest() for one in [*self._resting] if not one.put_away]
        return any(went)

    @staticmethod
    def awake(model: AnyModel) -> AnyModel:
        """Return a model of these, loaded again if it was put away. Raises ModelError."""
        resting = model.scorer if isinstance(model, ScoreCache) else model
        if isinstance(resting, Resting):
            resting.wake()
        return model

    def forget_scores(self) -> None:
        """Forget what the relevance model said of any text."""
        scorer = self._made.peek("scorer")
        if isinstance(scorer, ScoreCache):
            self._made.put("scorer", scorer.emptied())

    def computes_on(self) -> str:
        """Return what the language model computes on, in words, as far as it is loaded. Loads nothing."""
        settings = self._settings.now
        if behind_server(settings.llm):
            return _("the language model computes where its server is")
        made = self._made.peek(f"llm {settings.llm}")
        cores = os.cpu_count() or 1
        threads = made.threads if made else settings.threads or cores
        layers = getattr(made, "gpu_layers", 0)
        graphics = _("all layers on the graphics card") if layers else _("no graphics card used")
        if made and made.put_away:
            return _("put away while nobody asks, and loaded with the next question")
        return _(
            "%(threads)s threads on %(cores)s cores, %(graphics)s", threads=threads, cores=cores, graphics=graphics
        )

    # The libraries behind these take seconds to import: commands that need no model must not wait for them.

    def _load_embedder(self, name: str) -> Embedder:
        path = self._library.path(name, ModelRole.EMBEDDER)
        from localcrag.models.encoders import BiEncoder  # noqa: PLC0415

        embedder = RestingEmbedder(lambda: BiEncoder(name, path))
        self._resting.add(embedder)
        return embedder

    def _load_scorer(self) -> Scorer:
        settings = self._settings.now
        if behind_server(settings.relevance):
            served = self._library.servers.scorer(settings.relevance)
            self._made.put("scale", served.scale.value)
            return ScoreCache(served)
        path, cache = self._library.path(settings.relevance, ModelRole.RELEVANCE), settings.data_dir / "cache"
        words = self._library.words(settings.relevance)
        from localcrag.models.reranker_format import load_fastest, whole_model  # noqa: PLC0415

        calibration = read_calibration(path, settings.embedder)
        if words:
            path = whole_model(path, words, cache)
        wanted, threads = settings.relevance_format, settings.threads

        def loaded() -> Scorer:
            scorer = load_fastest(settings.relevance, path, wanted=wanted, threads=threads, cache=cache)
            scorer.calibration = calibration
            return scorer

        resting = RestingScorer(loaded)
        self._resting.add(resting)
        return ScoreCache(resting)

    def _load_llm(self, name: str) -> LanguageModel:
        settings = self._settings.now
        path = self._library.path(name, ModelRole.LLM)
        from localcrag.models.llm import LlamaCpp  # noqa: PLC0415

        adapter = self._library.adapter(name)
        resting = RestingLanguageModel(
            lambda: LlamaCpp(
                name,
                path,
                context_tokens=settings.context_tokens,
                threads=settings.threads,
                cache=settings.data_dir / "cache",
                adapter=adapter,
            )
        )
        self._resting.add(resting)
        return resting


BETWEEN_LOOKS = 20.0
"""Seconds between two looks, so that models stay at most so much longer than was set."""


class IdleModels(RegularLooks):
    """Looks now and then whether the models are used, and puts them away when they have not been for long enough."""

    def __init__(
        self, models: LoadedModels, settings: SettingsInUse, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` gives seconds; models count as used now."""
        self._models, self._settings, self._clock = models, settings, clock
        super().__init__(self.look, BETWEEN_LOOKS, "idle models")
        self._used, self._since = models.uses(), clock()

    def look(self) -> bool:
        """Put the models away if it is time; return whether any went.

        As long as they are used, what their calls have left free goes back to the system: else it grows for days.
        """
        now, uses = self._clock(), self._models.uses()
        if uses != self._used or self._models.in_use():
            self._used, self._since = uses, now
            tidy()
        minutes = self._settings.now.idle_minutes
        if not minutes or now - self._since < minutes * 60 or not self._models.put_away():
            return False
        give_back()
        return True
