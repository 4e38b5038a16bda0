"""The context of a question: parts, settings, budget, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime

from cachetools import FIFOCache

from localcrag.records import presets
from localcrag.records.enums import Policy, Rewriter, ScorerKind, Skill, Strictness
from localcrag.records.passages import Judgement, Judgements, Thresholds
from localcrag.records.protocols import (
    ChunkStore,
    Consent,
    Embedder,
    LanguageModel,
    RateLimit,
    RunLog,
    Scorer,
    VectorIndex,
    WebCache,
    WebSearch,
)
from localcrag.records.restriction import SearchScope
from localcrag.records.web import WebAnswer
from localcrag.settings import Settings
from localcrag.steps.budget import Budget
from localcrag.steps.clock import Clock
from localcrag.steps.document_choice import DocumentChoice
from localcrag.steps.other_names import OtherNames, no_others
from localcrag.steps.screen.prompt_injection_rules import RULES
from localcrag.steps.screen.prompt_injection_words import Rule

MOST_JUDGEMENTS = 2_000
"""A few hundred bytes each, and each took a call of the model."""


def no_judgements() -> Judgements:
    """Return room for what a language model says of passages; the oldest goes where there is no more."""
    return FIFOCache[tuple[str, str, str], Judgement](maxsize=MOST_JUDGEMENTS)


@dataclass(frozen=True, slots=True)
class WebParts:
    """What a search works with; without a cache every query is asked anew, without a rate limit at once."""

    web: WebSearch
    consent: Consent | None = None
    cache: WebCache | None = None
    rate_limit: RateLimit | None = None

    def cached(self, query: str) -> WebAnswer | None:
        """Return the answer that `query` got before. Raises StoreError."""
        return self.cache.get(query) if self.cache else None

    def send(self, query: str) -> WebAnswer:
        """Put the query to the search server and keep what it says. Raises SearchError and StoreError."""
        answer = self.web.search(query)
        if self.cache:
            self.cache.put(query, answer)
        return answer


def today_here() -> date:
    """Return the day that it is where this computer is."""
    return datetime.now(UTC).astimezone().date()


@dataclass(frozen=True, slots=True)
class Parts:
    """What is outside of the flow; localcrag/app/ makes it. `rules` are those for prompt injections.

    `skills`: what the language model can be asked for. `today`: the day on which a question is asked. `other_names`:
    what documents are called besides.
    """

    embedder: Embedder
    scorer: Scorer
    llm: LanguageModel
    index: VectorIndex
    store: ChunkStore
    web: WebSearch | None
    runs: RunLog
    judgements: Judgements = field(default_factory=no_judgements)
    rules: tuple[Rule, ...] = RULES
    web_cache: WebCache | None = None
    rate_limit: RateLimit | None = None
    skills: frozenset[Skill] = frozenset(Skill)
    today: Callable[[], date] = today_here
    other_names: OtherNames = no_others


@dataclass(frozen=True, slots=True)
class Steps:
    """Which steps of the flow run: all, but where an evaluation measures what each is worth. None of them: plain RAG.

    Without `evaluate` no passage is scored and no action decided; without `refine` the passages are the evidence,
    whole; without `verify` the answer is shown as it was written.
    """

    evaluate: bool = True
    refine: bool = True
    verify: bool = True


EVERY_STEP = Steps()


@dataclass(frozen=True, slots=True)
class Context:
    """What one question is answered with and under; `choice` are the documents that are searched, if not all.

    `read_all`: every passage of theirs is looked at. Raises SettingsError for thresholds that are out of order.
    """

    parts: Parts
    settings: Settings
    budget: Budget
    consent: Consent | None = None
    steps: Steps = EVERY_STEP
    choice: DocumentChoice | None = None
    read_all: bool = False

    @property
    def within(self) -> frozenset[int] | None:
        """The ids of the documents that are searched; None: all."""
        return self.choice.ids if self.choice else None

    @property
    def scope(self) -> SearchScope:
        """Which documents are searched, and how many passages they have. Raises StoreError."""
        store = self.parts.store
        chosen = self.choice.scope if self.choice else SearchScope(number := store.number_of_documents(), number)
        return replace(chosen, passages=store.number_of_chunks(self.within))

    @property
    def own_thresholds(self) -> Thresholds:
        """Those of whatever grades the passages; the strips are the cross-encoder's in any case."""
        own = self.parts.scorer.calibration.thresholds
        return own if self.settings.scorer is ScorerKind.CROSS_ENCODER else presets.of_uncalibrated_grades(own)

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds in force."""
        return self.settings.thresholds(self.own_thresholds)

    @property
    def retrieved(self) -> int:
        """How many passages are retrieved: more than are kept where they are scored, and that costs little."""
        settings = self.settings
        reranks = self.steps.evaluate and settings.scorer is ScorerKind.CROSS_ENCODER
        return max(settings.k, settings.reranked) if reranks else settings.k

    @property
    def scored_first(self) -> int:
        """How many of them are scored before the others, which are left alone where one of these is CORRECT.

        Then the others cannot change the action, and hold hardly any line that these lack: of those that 123 questions
        need, 0.943 are among the kept ones either way (docs/evaluation.md). Policies that weigh passages against each
        other see all.
        """
        return self.settings.k if self.settings.policy is Policy.MAX else self.retrieved

    @property
    def answers_ambiguous(self) -> bool:
        """Whether the language model is asked where no passage is CORRECT."""
        asked_all_the_same = self.settings.strictness is Strictness.LENIENT or not self.steps.verify
        return Skill.AMBIGUOUS in self.parts.skills or asked_all_the_same

    def rewrites(self, what: Skill) -> bool:
        """Whether the language model rewrites for this; else rules do."""
        chosen = self.settings.rewriter
        return what in self.parts.skills if chosen is Rewriter.AUTO else chosen is Rewriter.LLM

    @property
    def web(self) -> WebParts | None:
        """What a web search works with; None when the web may not be asked."""
        if self.parts.web is None or not self.settings.web_allowed:
            return None
        return WebParts(self.parts.web, self.consent, self.parts.web_cache, self.parts.rate_limit)

    def clock(self, step: str) -> Clock:
        """Return a clock for a step; while it is paused, the time budget is not used up either."""
        return Clock(step, self.budget)
