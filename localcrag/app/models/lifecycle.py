"""Model life cycle: load on first use, unload when idle, stand in for missing models, free memory.

A loaded model is wrapped so that it can be unloaded at any time between two calls; its next call loads it again. A
model that cannot be loaded is replaced by an object that raises the loading error whenever it is called. After
unloading, the functions at the top return the freed memory to the operating system.
"""

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
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Generic, NoReturn, TypeVar

from localcrag.app.models.library import ModelLibrary
from localcrag.app.shared_state import CurrentSettings, LazyCache
from localcrag.app.tasks import PeriodicTask
from localcrag.crag.grading import ScoreCache
from localcrag.models.encoders import read_calibration
from localcrag.records.errors import GenerationError, ModelError
from localcrag.records.models import ModelRole, is_served
from localcrag.records.protocols import Decoding, Embedder, LanguageModel, Scorer, TokenStream, Vectors
from localcrag.records.run import Message
from localcrag.records.thresholds import UNCALIBRATED, FittedCalibration
from localcrag.text.sentences import Span
from localcrag.text.translation import gettext as _


def freeze_objects() -> None:
    """Exclude all objects that exist now from later garbage collections: libraries, and models that stay loaded.

    To find unreachable cycles, Python inspects every object every five minutes: 650,000 objects take 0.2 to 0.3 s,
    during which no other thread runs. Until then each question leaves a sixth of a MiB behind, and free memory between
    live objects is never returned. Collecting only newer objects takes 2 ms. (Measured on Linux, one core.)
    """
    gc.collect()
    gc.freeze()


def free_memory(*, unloaded: bool = False) -> None:
    """Return free memory to the system; if the process has settled, collect unreachable cycles first.

    With `unloaded`, collect all of them, including frozen objects.
    """
    settled = gc.get_freeze_count() > 0
    if unloaded:
        # Models that were loaded before `freeze_objects` are frozen; unloaded ones must be collected as well.
        gc.unfreeze()
    if unloaded or settled:
        gc.collect()
    if unloaded and settled:
        gc.freeze()
    trim_heap()


def trim_heap() -> None:
    """Ask the C library to return its free pages to the system, if it can. It takes a few milliseconds.

    Only glibc (malloc_trim) retains so much: freed blocks between blocks in use. Arrays of varying sizes leave more of
    them with each question.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # Other C libraries, such as musl, do not have this call.
            ctypes.CDLL(None).malloc_trim(0)


Model = TypeVar("Model")


class UnloadableModel(Generic[Model]):
    """A model that can be unloaded. It is loaded on construction, and again by the first call after unloading.

    `uses` is the number of calls so far.
    """

    def __init__(self, load: Callable[[], Model]) -> None:
        """Load the model. Raises the errors of `load`; so does any later call that has to load the model again."""
        self._load = load
        self._loading = threading.Lock()
        self._users = 0
        self.uses = 0
        self._model: Model | None = load()

    @property
    def is_unloaded(self) -> bool:
        """Whether the model is unloaded, so that its next call loads it."""
        return self._model is None

    def unload(self) -> bool:
        """Unload the model unless a call is using it. Return whether it is unloaded now."""
        with self._loading:
            if not self._users:
                self._model = None
            return self._model is None

    @contextmanager
    def loaded(self) -> Iterator[Model]:
        """Yield the loaded model, and keep it loaded until the block ends. Raises ModelError."""
        with self._loading:
            if self._model is None:
                self._model = self._load()
            model = self._model
            self._users += 1
            self.uses += 1
        try:
            yield model
        finally:
            with self._loading:
                self._users -= 1

    @property
    def is_busy(self) -> bool:
        """Whether a call is using the model."""
        return self._users > 0


class UnloadableEmbedder(UnloadableModel[Embedder]):
    """An embedding model whose name and sizes are known even while it is unloaded."""

    def __init__(self, load: Callable[[], Embedder]) -> None:
        super().__init__(load)
        with self.loaded() as model:
            self.name, self.dimension, self.max_tokens = model.name, model.dimension, model.max_tokens

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of document texts, shape (len(texts), dimension)."""
        with self.loaded() as model:
            return model.embed(texts)

    def embed_questions(self, questions: Sequence[str]) -> Vectors:
        """Return the vectors of search queries, shape (len(questions), dimension)."""
        with self.loaded() as model:
            return model.embed_questions(questions)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the length of each text in the model's tokens, without special tokens."""
        with self.loaded() as model:
            return model.count_tokens(texts)


class UnloadableScorer(UnloadableModel[Scorer]):
    """A reranker whose name and calibration are known even while it is unloaded."""

    def __init__(self, load: Callable[[], Scorer]) -> None:
        super().__init__(load)
        with self.loaded() as model:
            self.name: str = model.name
            self.calibration: FittedCalibration = model.calibration

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        """Return one raw logit per text, shape (len(texts),). Raises ModelError."""
        with self.loaded() as model:
            return model.logits(question, texts)

    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> list[Vectors]:
        """Return, for each text, one raw logit per strip. Raises ModelError."""
        with self.loaded() as model:
            return model.strip_logits(question, texts, strips)


class UnloadableLanguageModel(UnloadableModel[LanguageModel]):
    """A language model whose name, context window, threads and GPU layers are known even while it is unloaded."""

    def __init__(self, load: Callable[[], LanguageModel]) -> None:
        super().__init__(load)
        with self.loaded() as model:
            self.name, self.context_tokens = model.name, model.context_tokens
            self.threads: int = getattr(model, "threads", 0)
            self.gpu_layers: int = getattr(model, "gpu_layers", 0)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the length of the prompt built from the messages, in tokens."""
        with self.loaded() as model:
            return model.count_tokens(messages)

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> TokenStream:
        """Start an answer. The model counts as in use until the stream is exhausted, closed or collected.

        Raises GenerationError.
        """
        with ExitStack() as stack:
            written = stack.enter_context(self.loaded()).stream(messages, decoding)
            # The stream outlives this method, so it takes over the duty to end the use of the model.
            return _Stream(written, stack.pop_all().close)


class _Stream:
    """An answer in progress that releases the model when it ends."""

    def __init__(self, written: TokenStream, end: Callable[[], None]) -> None:
        self.usage, self._written = written.usage, written
        # Runs exactly once: when the stream ends, or when it is garbage-collected unfinished.
        self._end = weakref.finalize(self, end)

    def __iter__(self) -> Iterator[str]:
        yield from self._written
        self._end()

    def close(self) -> None:
        self._written.close()
        self._end()


class _MissingModel:
    def __init__(self, name: str, error: ModelError) -> None:
        self.name, self._error = name, error


class MissingLanguageModel(_MissingModel):
    """Stand-in for a language model that could not be loaded: each call raises GenerationError with the reason."""

    context_tokens = 0

    def count_tokens(self, messages: Sequence[Message]) -> NoReturn:
        raise GenerationError(str(self._error)) from self._error

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> NoReturn:
        raise GenerationError(str(self._error)) from self._error


class MissingScorer(_MissingModel):
    """Stand-in for a reranker that could not be loaded: each call raises the ModelError of the failed load."""

    # It is marked as fitted, so that the run reports only the missing model, not a missing calibration: nothing is
    # scored.
    calibration: FittedCalibration = dataclasses.replace(UNCALIBRATED, fitted=True)

    def logits(self, question: str, texts: Sequence[str]) -> NoReturn:
        raise self._error

    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> NoReturn:
        raise self._error


AnyModel = TypeVar("AnyModel", Embedder, Scorer, LanguageModel)


class LoadedModels:
    """The embedding model, the reranker and the language model that the current settings name."""

    def __init__(self, settings: CurrentSettings, library: ModelLibrary, made: LazyCache) -> None:
        self._settings, self._library, self._made = settings, library, made
        # This includes replaced models for as long as a question still refers to them.
        self._unloadable: weakref.WeakSet[UnloadableModel[Any]] = weakref.WeakSet()

    @property
    def embedder(self) -> Embedder:
        """The embedding model (bi-encoder) of the settings. Raises ModelError."""
        return self.embedder_named(self._settings.now.embedder)

    def embedder_named(self, name: str) -> Embedder:
        """Return an embedding model: the one in the settings, or the one that a collection was indexed with.

        Raises ModelError.
        """
        key = "embedder" if name == self._settings.now.embedder else f"embedder {name}"
        return self._made.get(key, lambda: self._load_embedder(name))

    def has_embedder(self, name: str) -> bool:
        """Return whether an embedding model is loaded or its files are present. Loads nothing."""
        with suppress(ModelError):
            return bool(self._made.peek(f"embedder {name}") or self._library.path(name, ModelRole.EMBEDDER))
        return False

    @property
    def scorer(self) -> Scorer:
        """The reranker (cross-encoder) of the settings. Raises ModelError."""
        return self._made.get("scorer", self._load_scorer)

    @property
    def served_scale(self) -> str:
        """The scale of the scores from the reranker on a server, in one word. Raises ServerError."""
        # Loading the reranker stores its scale in the cache.
        _ = self.scorer
        return str(self._made.peek("scale"))

    @property
    def llm(self) -> LanguageModel:
        """The language model of the settings. Raises ModelError."""
        return self.language_model(self._settings.now.llm)

    def language_model(self, name: str) -> LanguageModel:
        """Return a language model, replacing the loaded one, because memory rarely fits two. Raises ModelError."""
        if is_served(name):
            # A model on a server takes no memory here, so the loaded one can stay.
            served: LanguageModel = self._made.get(f"served {name}", lambda: self._library.servers.language_model(name))
            return served
        return self._made.get(f"llm {name}", lambda: self._load_llm(name), alone=True)

    def use(self, name: str) -> None:
        """Use a listed model from now on.

        Checks the model before anything changes. Raises ModelError and SettingsError.
        """
        role = self._library.role(name) or next(one.role for one in self._library.models() if one.name == name)
        # A language model is loaded right away, so that a broken file is reported before the settings change.
        if role is ModelRole.LLM and not is_served(name):
            self.language_model(name)
        self._library.choose(name, role)

    def use_set(self, name: str) -> None:
        """Use the models of a listed set from now on. Raises ModelError and SettingsError."""
        self._library.choose_all(self._library.named(name))

    def share(self, *, embedder: Embedder, scorer: Scorer) -> None:
        """Use these models instead of loading any."""
        self._made.put("embedder", embedder)
        self._made.put("scorer", scorer)

    def uses(self) -> int:
        """Return a counter that grows with each call of a model loaded in this process."""
        return sum(one.uses for one in [*self._unloadable])

    def is_busy(self) -> bool:
        """Return whether a call is using one of the models."""
        return any(one.is_busy for one in [*self._unloadable])

    def any_unloaded(self) -> bool:
        """Return whether any model is unloaded, so that the next question has to wait for it."""
        return any(one.is_unloaded for one in [*self._unloadable])

    def unload(self) -> bool:
        """Unload all models that are loaded and not in use. Return whether there were any."""
        went = [one.unload() for one in [*self._unloadable] if not one.is_unloaded]
        return any(went)

    @staticmethod
    def reloaded(model: AnyModel) -> AnyModel:
        """Return the given model, reloaded if it was unloaded. Raises ModelError."""
        resting = model.scorer if isinstance(model, ScoreCache) else model
        if isinstance(resting, UnloadableModel):
            with resting.loaded():
                pass
        return model

    def clear_scores(self) -> None:
        """Discard all cached reranker scores."""
        scorer = self._made.peek("scorer")
        if isinstance(scorer, ScoreCache):
            self._made.put("scorer", scorer.emptied())

    def describe_hardware(self) -> str:
        """Describe the hardware that the language model runs on, as far as it is known. Loads nothing."""
        settings = self._settings.now
        if is_served(settings.llm):
            return _("the language model runs on its server")
        made, cores = self._made.peek(f"llm {settings.llm}"), os.cpu_count() or 1
        if made and made.is_unloaded:
            return _("unloaded while idle; the next question reloads it")
        threads = made.threads if made else settings.threads or cores
        graphics = _("all layers on the GPU") if getattr(made, "gpu_layers", 0) else _("no GPU used")
        return _(
            "%(threads)s threads on %(cores)s cores, %(graphics)s", threads=threads, cores=cores, graphics=graphics
        )

    # Import these libraries late: they take seconds, and commands that need no model must not wait for them.

    def _load_embedder(self, name: str) -> Embedder:
        path = self._library.path(name, ModelRole.EMBEDDER)
        from localcrag.models.encoders import BiEncoder  # noqa: PLC0415

        embedder = UnloadableEmbedder(lambda: BiEncoder(name, path))
        self._unloadable.add(embedder)
        return embedder

    def _load_scorer(self) -> Scorer:
        settings = self._settings.now
        if is_served(settings.relevance):
            served = self._library.servers.scorer(settings.relevance)
            self._made.put("scale", served.scale.value)
            return ScoreCache(served)
        path, cache = self._library.path(settings.relevance, ModelRole.RELEVANCE), settings.data_dir / "cache"
        words = self._library.vocabulary_folder(settings.relevance)
        from localcrag.models.reranker_format import load_fastest, with_shared_vocabulary  # noqa: PLC0415

        calibration = read_calibration(path, settings.embedder)
        # The reranker's file has no token embeddings; complete it with those of the embedding model.
        if words:
            path = with_shared_vocabulary(path, words, cache)
        wanted, threads = settings.relevance_format, settings.threads

        def loaded() -> Scorer:
            scorer = load_fastest(settings.relevance, path, wanted=wanted, threads=threads, cache=cache)
            scorer.calibration = calibration
            return scorer

        resting = UnloadableScorer(loaded)
        self._unloadable.add(resting)
        return ScoreCache(resting)

    def _load_llm(self, name: str) -> LanguageModel:
        settings = self._settings.now
        path = self._library.path(name, ModelRole.LLM)
        from localcrag.models.llm import LlamaCpp  # noqa: PLC0415

        threads, window = settings.threads, settings.context_tokens
        cache, adapter = settings.data_dir / "cache", self._library.adapter(name)
        resting = UnloadableLanguageModel(
            lambda: LlamaCpp(name, path, context_tokens=window, threads=threads, cache=cache, adapter=adapter)
        )
        self._unloadable.add(resting)
        return resting


CHECK_SECONDS = 20.0
"""Seconds between two checks; models stay loaded at most this much longer than the settings specify."""


class IdleModelUnloader(PeriodicTask):
    """A background thread that unloads the models once they have been idle for long enough."""

    def __init__(
        self, models: LoadedModels, settings: CurrentSettings, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Count the models as just used. `clock` returns seconds."""
        self._models, self._settings, self._clock = models, settings, clock
        super().__init__(self.unload_if_idle, CHECK_SECONDS, "idle models")
        self._used, self._since = models.uses(), clock()

    def unload_if_idle(self) -> bool:
        """Unload the models if they have been idle for long enough. Return whether any was unloaded.

        While models are in use, return the memory freed by their calls to the system; otherwise it would grow for days.
        """
        now, uses = self._clock(), self._models.uses()
        if uses != self._used or self._models.is_busy():
            self._used, self._since = uses, now
            free_memory()
        minutes = self._settings.now.idle_minutes
        if not minutes or now - self._since < minutes * 60 or not self._models.unload():
            return False
        free_memory(unloaded=True)
        return True
