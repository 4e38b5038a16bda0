"""The context of a question: parts, settings, time budget, cost of steps, and the documents to search."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import TypeVar

from cachetools import FIFOCache

from localcrag.crag.screen.rules import RULES, Rule
from localcrag.records import thresholds as presets
from localcrag.records.enums import Rewriter, ScorerKind, Skill, Strictness
from localcrag.records.errors import QuestionError
from localcrag.records.events import Computed, Event, LookedUp, Refined
from localcrag.records.passages import Judgement, Judgements, Thresholds
from localcrag.records.protocols import (
    ChunkStore,
    Consent,
    Decoding,
    Embedder,
    LanguageModel,
    RateLimit,
    RunLog,
    Scorer,
    VectorIndex,
    WebCache,
    WebSearch,
)
from localcrag.records.restriction import Restriction, SearchScope
from localcrag.records.run import Message, StepCost, Turn, WebAnswer
from localcrag.settings import Settings
from localcrag.text.translation import gettext as _

Result = TypeVar("Result")
Flow = Generator[Event, None, Result]
"""A part of the flow: it yields events while it runs, and returns its result."""

FEWER_PASSAGES, NO_SECOND_SEARCH, NO_STRIPS, NO_ANSWER = 0.2, 0.4, 0.6, 0.8
"""Shares of the budget after which a step does less: no more passages are scored; documents and web are not searched
again; whole passages replace strips; the evidence is quoted instead of an answer. Each share leaves time for the
steps after it. On two cores these take a second in all."""


class Budget:
    """A time budget of `seconds` from its creation on; 0 means no limit. `now` returns a time that never decreases."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._now = now
        self._start = now()

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self.seconds > 0

    @property
    def exhaustion_reason(self) -> str:
        """The reason, in words, why something is left out."""
        return _("the time budget of %(seconds)g s (time_budget) is running out", seconds=self.seconds)

    def spent(self, share: float) -> bool:
        """Return whether `share` of the time has passed; False if there is no limit."""
        return self.limited and self._now() - self._start >= share * self.seconds

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out the time inside the block, in which a person is deciding."""
        paused_at = self._now()
        try:
            yield
        finally:
            self._start += self._now() - paused_at


class Clock:
    """Measures the cost of one step, from its creation on."""

    def __init__(self, name: str, budget: Budget | None = None) -> None:
        self._name = name
        self._budget = budget or Budget(0)
        self._start = time.perf_counter()
        self._estimated = False
        self._calls = self._prompt_tokens = self._completion_tokens = 0

    def stream(self, llm: LanguageModel, messages: Sequence[Message], decoding: Decoding) -> Iterator[str]:
        """Yield the text as the model writes it; in any case, stop the model at the end and count its tokens."""
        stream = llm.stream(messages, decoding)
        self._calls += 1
        try:
            yield from stream
        finally:
            stream.close()
            self._prompt_tokens += stream.usage.prompt_tokens
            self._completion_tokens += stream.usage.completion_tokens
            self._estimated |= stream.usage.estimated

    def complete(self, llm: LanguageModel, messages: Sequence[Message], decoding: Decoding) -> str:
        """Return the whole text that the model writes."""
        return "".join(self.stream(llm, messages, decoding))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock and the time budget inside the block, in which a person is deciding."""
        paused_at = time.perf_counter()
        try:
            with self._budget.paused():
                yield
        finally:
            self._start += time.perf_counter() - paused_at

    def cost(self) -> StepCost:
        """Return the cost of the step so far."""
        seconds = time.perf_counter() - self._start
        tokens = self._prompt_tokens, self._completion_tokens
        return StepCost(self._name, round(seconds, 4), self._calls, *tokens, self._estimated)


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question in two forms: `question` is answered, and `standalone` is used to search and to grade.

    `history` has the earlier turns that the question depends on, oldest first; it is empty if the question stands
    alone.
    """

    question: str
    standalone: str
    history: tuple[Turn, ...] = ()


DocumentAliases = Callable[[Sequence[str]], Mapping[str, tuple[str, ...]]]
"""A function that returns the other names of the documents that have any. Raises StoreError."""


def no_aliases(documents: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return an empty mapping: no document has another name."""
    return {}


def add_aliases(events: Flow[None], document_aliases: DocumentAliases) -> Flow[None]:
    """Yield these events, adding all names of the documents to their sources. Raises StoreError."""
    with closing(events):
        for event in events:
            if isinstance(event, Refined | Computed | LookedUp):
                also = document_aliases([one.document for one in event.sources if one.document])
                sources = tuple(replace(one, also=also.get(one.document or "", ())) for one in event.sources)
                yield replace(event, sources=sources)
            else:
                yield event


@dataclass(frozen=True, slots=True)
class DocumentChoice:
    """The documents of a restricted question, by their ids; `missing` names conditions that no document meets."""

    ids: frozenset[int]
    scope: SearchScope
    missing: tuple[str, ...]


def choose_documents(
    restriction: Restriction, store: ChunkStore, document_aliases: DocumentAliases
) -> DocumentChoice | None:
    """Return the documents that a restriction allows, by any of their names; None for an empty restriction.

    Raises QuestionError if it allows no document, and StoreError.
    """
    if not restriction:
        return None
    documents = store.documents()
    also = document_aliases([one.name for one in documents]) if restriction.documents or restriction.folders else {}
    documents = [replace(one, also=also[one.name]) if one.name in also else one for one in documents]
    allowed = [document for document in documents if restriction.allows(document)]
    missing = restriction.without_effect(documents)
    if not allowed:
        why = f": {', '.join(missing)}" if missing else ""
        raise QuestionError(
            f"No document fits “{restriction.in_words()}”{why}. Ask without it, or choose others; "
            "localcrag documents lists names, tags and kinds."
        )
    scope = SearchScope(len(allowed), len(documents), restriction)
    return DocumentChoice(frozenset(document.id for document in allowed), scope, missing)


MAX_JUDGEMENTS = 2_000
"""Maximum number of judgements to keep. Each has a few hundred bytes and took a call of the model."""


def new_judgement_cache() -> Judgements:
    """Return an empty cache of the language model's judgements; when it is full, the oldest is dropped."""
    return FIFOCache[tuple[str, str, str], Judgement](maxsize=MAX_JUDGEMENTS)


@dataclass(frozen=True, slots=True)
class WebParts:
    """Parts for a web search. Without a cache, every query is sent; without a rate limit, it is sent at once."""

    web: WebSearch
    consent: Consent | None = None
    cache: WebCache | None = None
    rate_limit: RateLimit | None = None

    def cached(self, query: str) -> WebAnswer | None:
        """Return the cached answer to `query`, or None. Raises StoreError."""
        return self.cache.get(query) if self.cache else None

    def send(self, query: str) -> WebAnswer:
        """Send the query to the search server and cache its answer. Raises SearchError and StoreError."""
        answer = self.web.search(query)
        if self.cache:
            self.cache.put(query, answer)
        return answer


def local_date() -> date:
    """Return today's date in this computer's time zone."""
    return datetime.now(UTC).astimezone().date()


@dataclass(frozen=True, slots=True)
class Parts:
    """The models, stores and services that the flow uses; localcrag/app/ assembles them.

    `rules` are the rules against prompt injection. `skills` are the tasks that the language model is good enough for.
    `today` returns the day on which a question is asked, `document_aliases` the other names of documents.
    """

    embedder: Embedder
    scorer: Scorer
    llm: LanguageModel
    index: VectorIndex
    store: ChunkStore
    web: WebSearch | None
    runs: RunLog
    judgements: Judgements = field(default_factory=new_judgement_cache)
    rules: tuple[Rule, ...] = RULES
    web_cache: WebCache | None = None
    rate_limit: RateLimit | None = None
    skills: frozenset[Skill] = frozenset(Skill)
    today: Callable[[], date] = local_date
    document_aliases: DocumentAliases = no_aliases


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of the flow to run: all, unless an evaluation measures what each step contributes.

    Without `evaluate`, no passage is scored and no action is decided. Without `refine`, whole passages are the
    evidence. Without `verify`, the answer is shown as written. Without any of them, the flow is plain RAG.
    """

    evaluate: bool = True
    refine: bool = True
    verify: bool = True


EVERY_STEP = Steps()


@dataclass(frozen=True, slots=True)
class Context:
    """Everything that the answer to one question depends on.

    `choice` selects the documents to search, unless all are; `read_all` asks to look at each of their passages. The
    thresholds raise SettingsError if they are out of order.
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
        """Ids of the documents to search, or None for all."""
        return self.choice.ids if self.choice else None

    @property
    def scope(self) -> SearchScope:
        """The documents to search, and their number of passages. Raises StoreError."""
        store = self.parts.store
        chosen = self.choice.scope if self.choice else SearchScope(number := store.number_of_documents(), number)
        return replace(chosen, passages=store.number_of_chunks(self.within))

    @property
    def grader_thresholds(self) -> Thresholds:
        """Thresholds of the model that grades passages; those of strips are always the cross-encoder's."""
        own = self.parts.scorer.calibration.thresholds
        return own if self.settings.scorer is ScorerKind.CROSS_ENCODER else presets.uncalibrated_grade_thresholds(own)

    @property
    def thresholds(self) -> Thresholds:
        """The active thresholds."""
        return self.settings.thresholds(self.grader_thresholds)

    @property
    def retrieved(self) -> int:
        """Number of passages to retrieve: more than are kept, if scoring is cheap."""
        settings = self.settings
        reranks = self.steps.evaluate and settings.scorer is ScorerKind.CROSS_ENCODER
        return max(settings.k, settings.reranked) if reranks else settings.k

    @property
    def asks_llm_if_ambiguous(self) -> bool:
        """Whether to ask the language model although no passage is CORRECT."""
        asked_all_the_same = self.settings.strictness is Strictness.LENIENT or not self.steps.verify
        return Skill.AMBIGUOUS in self.parts.skills or asked_all_the_same

    def rewrites(self, what: Skill) -> bool:
        """Return whether the language model does this kind of rewriting; otherwise rules do it."""
        chosen = self.settings.rewriter
        return what in self.parts.skills if chosen is Rewriter.AUTO else chosen is Rewriter.LLM

    @property
    def web(self) -> WebParts | None:
        """Parts for a web search, or None if the web may not be searched."""
        if self.parts.web is None or not self.settings.web_allowed:
            return None
        return WebParts(self.parts.web, self.consent, self.parts.web_cache, self.parts.rate_limit)

    def clock(self, step: str) -> Clock:
        """Return a clock for a step; pausing it pauses the time budget as well."""
        return Clock(step, self.budget)
