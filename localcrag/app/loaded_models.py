"""Loaded models: embedder, relevance model and language model, each loaded once, when first needed."""

from __future__ import annotations

import os
import weakref
from typing import Any, TypeVar

from localcrag.app.lazy_cache import LazyCache
from localcrag.app.model_library import ModelLibrary
from localcrag.app.resting_models import Resting, RestingEmbedder, RestingLanguageModel, RestingScorer
from localcrag.app.settings_in_use import SettingsInUse
from localcrag.backends.store.calibration_file import read_calibration
from localcrag.records.errors import ModelError
from localcrag.records.models import ModelRole, behind_server
from localcrag.records.protocols import Embedder, LanguageModel, Scorer
from localcrag.steps.evaluate.score_cache import ScoreCache
from localcrag.text.translation import gettext as _

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
        from localcrag.backends.models.bi_encoder import BiEncoder  # noqa: PLC0415

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
        from localcrag.backends.models.relevance_format import load_fastest  # noqa: PLC0415
        from localcrag.backends.models.with_words import whole_model  # noqa: PLC0415

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
        from localcrag.backends.models.llama_cpp import LlamaCpp  # noqa: PLC0415

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
