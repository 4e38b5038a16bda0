"""The flow: one generator, readable top to bottom, that yields one event per step.

It knows the steps and their order, and what each outside part is called; no file, server or model library. Every step
says what it cost. A step that fails degrades the run, which says so (`Warned`), and never ends it in a stack trace.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime

from localcrag import (
    abstain,
    ask_web,
    condense,
    generate,
    grade_by_llm,
    links,
    planted,
    presets,
    reconcile,
    record,
    refine_by_llm,
    retry,
    search,
    verify,
)
from localcrag.clock import Clock
from localcrag.datatypes import (
    Action,
    Conflict,
    Evidence,
    Grade,
    GradedPassage,
    Message,
    Passage,
    RefinerKind,
    Run,
    ScorerKind,
    Support,
    Thresholds,
    Turn,
    WebUse,
)
from localcrag.decide import decide, usable
from localcrag.errors import GenerationError, QuestionError
from localcrag.evaluate import evaluate
from localcrag.events import (
    Answered,
    AnswerPiece,
    Condensed,
    Decided,
    Evaluated,
    Event,
    Generated,
    PlainPromptCounted,
    Reconciled,
    Refined,
    Retried,
    Retrieved,
    RunFinished,
    RunStarted,
    Searched,
    StepStarted,
    Verified,
    Warned,
)
from localcrag.planted_rules import RULES, Rule
from localcrag.protocols import (
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
from localcrag.refine import Refinement, Rules, best_strips, refine
from localcrag.retrieve import retrieve
from localcrag.settings import Settings
from localcrag.words import shorten, valid

LONGEST_QUESTION = 4000
"""Characters; beyond it a text is not a question, and the scorer would not see its end."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the flow works with; localcrag/assemble.py makes it."""

    embedder: Embedder
    scorer: Scorer
    llm: LanguageModel
    index: VectorIndex
    store: ChunkStore
    web: WebSearch | None
    runs: RunLog
    judgements: grade_by_llm.Judgements = field(default_factory=dict)
    rules: tuple[Rule, ...] = RULES
    web_cache: WebCache | None = None
    rate_limit: RateLimit | None = None

    def for_web(self, consent: Consent | None, settings: Settings) -> ask_web.WebParts | None:
        """Return what a web search works with; None when the web may not be asked."""
        if self.web is None or not settings.web_allowed:
            return None
        return ask_web.WebParts(self.web, consent, self.web_cache, self.rate_limit)


def answer(
    question: str,
    *,
    parts: Parts,
    settings: Settings,
    history: Sequence[Turn] = (),
    consent: Consent | None = None,
    replays: str | None = None,
) -> Generator[Event, None, None]:
    """Answer `question` and yield what happens; the last event is RunFinished, with the run as it was stored.

    Where the web mode is `ask`, `consent` is called with the query that would leave, right after QueryProposed.
    `replays` is the id of the stored run that this one repeats.
    Closing the generator stops the language model; the run is then stored as far as it came, marked as stopped.
    Raises QuestionError before the first event, StoreError when the database fails.
    """
    question = valid(question).strip()
    if not question:
        raise QuestionError("The question is empty. Write one.")
    if len(question) > LONGEST_QUESTION:
        raise QuestionError(
            f"The question has {len(question):,} characters; {LONGEST_QUESTION:,} are the most. Put long texts into "
            "the collection as a document, and ask about them."
        )
    thresholds = settings.thresholds(_own_thresholds(parts, settings))
    leans_on = condense.leans_on(question, history, turns=settings.history_turns)
    run = _new_run(question, parts, settings, thresholds, history=leans_on, replays=replays)
    try:
        flow = _flow(run, parts=parts, settings=settings, thresholds=thresholds, consent=consent)
        with closing(flow) as events:
            for event in events:
                run = record.apply(run, event)
                yield event
    except (GeneratorExit, KeyboardInterrupt):
        parts.runs.save(dataclasses.replace(run, stopped=True))
        raise
    parts.runs.save(run)
    yield RunFinished(run)


def _flow(
    run: Run, *, parts: Parts, settings: Settings, thresholds: Thresholds, consent: Consent | None
) -> Generator[Event, None, None]:
    question, leans_on = run.question, planted.screened_turns(run.history, parts.rules)
    yield RunStarted(run)
    if not parts.scorer.calibration.fitted:
        yield Warned(
            f"The relevance model {parts.scorer.name} has no calibration: its scores are a plain sigmoid, and the "
            "thresholds were not made for them."
        )
    if settings.scorer is ScorerKind.LLM:
        yield Warned(
            f"The passages are graded by the language model {parts.llm.name}. How sure it says it is has not been "
            "calibrated, and the thresholds were not made for it."
        )

    standalone = question
    if leans_on:
        yield StepStarted("condense", "reading the question with the conversation before it")
        standalone = yield from _condense(question, leans_on, parts.llm)

    yield StepStarted("retrieve", "looking through the documents")
    clock = Clock("retrieve")
    found = _retrieve(standalone, standalone, parts, settings)
    yield Retrieved(found, clock.cost())

    ahead = None
    if for_web := parts.for_web(consent, settings):
        ahead = yield from ask_web.begin(standalone, for_web, settings)

    yield StepStarted("evaluate", f"scoring {len(found)} passages")
    clock = Clock("evaluate")
    local = yield from _evaluate(standalone, found, parts, settings=settings, thresholds=thresholds, clock=clock)
    yield Evaluated(local, clock.cost())

    action = yield from _decide(standalone, local, settings, thresholds)

    if action is not Action.CORRECT and local and settings.retry:
        yield StepStarted("retry", "looking again, in other words")
        local, action = yield from _retry(
            standalone, local, action, parts=parts, settings=settings, thresholds=thresholds
        )

    used: tuple[GradedPassage, ...] = () if action is Action.INCORRECT else local
    web = WebUse()
    if action is not Action.CORRECT and for_web:
        searched = yield from _search(standalone, parts, for_web, ahead, settings=settings, thresholds=thresholds)
        used, web = used + searched.passages, searched.web

    for message in planted.warnings(dict.fromkeys((*local, *used)), parts.rules):
        yield Warned(message)
    used = usable(used, policy=settings.policy, thresholds=thresholds)
    refinement = Refinement((), (), ())
    if used:
        yield StepStarted("refine", "keeping the sentences that matter")
        clock = Clock("refine")
        screened = planted.screened(used, parts.rules)
        refinement = yield from _refine(
            standalone, screened, parts, settings=settings, thresholds=thresholds, clock=clock
        )
        strips = planted.with_left_out(refinement.strips, used, parts.rules)
        yield Refined(strips, refinement.evidence, refinement.sources, clock.cost())

    conflicts: tuple[Conflict, ...] = ()
    if reconcile.has_both_sides(refinement.evidence, refinement.sources):
        yield StepStarted("reconcile", "comparing your documents with the web")
        refinement, conflicts = yield from _reconcile(refinement, parts, settings)

    yield from _count_plain_prompt(generate.plain_prompt(question, standalone, found, leans_on), parts.llm)
    if not refinement.evidence:
        yield Answered(abstain.nothing_found(planted.screened(local, parts.rules), web, settings), abstained=True)
        return
    written = _answer(
        question,
        standalone,
        refinement,
        history=leans_on,
        web=web,
        correct=any(passage.grade is Grade.CORRECT for passage in used),
        llm=parts.llm,
        settings=settings,
    )
    yield from _with_what_sources_call_for(written, standalone, refinement, conflicts)


def _condense(question: str, history: Sequence[Turn], llm: LanguageModel) -> Generator[Event, None, str]:
    """Yield Condensed, and return the question that stands alone."""
    clock = Clock("condense")
    standalone = condense.by_rule(question, history)
    if standalone is None:
        written = ""
        try:
            written = clock.complete(llm, condense.prompt(question, history), condense.MAX_TOKENS)
        except GenerationError as error:
            yield Warned(f"The follow-up was not rewritten: {error}")
        standalone = condense.accept(written, question, history)
    yield Condensed(standalone, clock.cost())
    return standalone


def _retrieve(query: str, question: str, parts: Parts, settings: Settings) -> tuple[Passage, ...]:
    return retrieve(
        query,
        question,
        k=settings.k,
        candidates=settings.candidates,
        embedder=parts.embedder,
        index=parts.index,
        store=parts.store,
    )


def _decide(
    query: str, passages: Sequence[GradedPassage], settings: Settings, thresholds: Thresholds
) -> Generator[Event, None, Action]:
    """Yield Decided, and return the action."""
    clock = Clock("decide")
    action, rule = decide(
        passages, policy=settings.policy, thresholds=thresholds, enough_relevant=settings.relevance_threshold
    )
    yield Decided(query, action, settings.policy, rule, clock.cost())
    return action


def _retry(
    standalone: str,
    known: tuple[GradedPassage, ...],
    action: Action,
    *,
    parts: Parts,
    settings: Settings,
    thresholds: Thresholds,
) -> Generator[Event, None, tuple[tuple[GradedPassage, ...], Action]]:
    """Look through the documents once more, and return the better passages of both attempts with their action."""
    clock = Clock("retry")
    written = ""
    try:
        written = clock.complete(parts.llm, retry.prompt(standalone), retry.MAX_TOKENS, stop=("\n",))
    except GenerationError as error:
        yield Warned(f"The question was not put in other words: {error}")
    query = retry.accept(written, standalone)
    found = retry.new_passages(_retrieve(query, standalone, parts, settings), known)
    yield Retried(query, found, clock.cost())
    if not found:
        return known, action

    yield StepStarted("evaluate", f"scoring {len(found)} more passages")
    clock = Clock("evaluate")
    more = yield from _evaluate(standalone, found, parts, settings=settings, thresholds=thresholds, clock=clock)
    both = retry.best(known + more, settings.k)
    yield Evaluated(both, clock.cost())
    return both, (yield from _decide(query, both, settings, thresholds))


def _evaluate(
    question: str,
    passages: Sequence[Passage],
    parts: Parts,
    *,
    settings: Settings,
    thresholds: Thresholds,
    clock: Clock,
) -> Generator[Event, None, tuple[GradedPassage, ...]]:
    """Return the passages, graded by the scorer that the settings name; what it costs is on the clock.

    A sentence that reads like an instruction to the model is not graded with its passage.
    """
    screened = planted.screened(passages, parts.rules)
    if settings.scorer is ScorerKind.CROSS_ENCODER:
        graded = evaluate(question, screened, scorer=parts.scorer, thresholds=thresholds)
    else:
        graded = yield from grade_by_llm.grade(
            question,
            screened,
            llm=parts.llm,
            fallback=parts.scorer,
            thresholds=thresholds,
            known=parts.judgements,
            clock=clock,
        )
    return planted.as_they_came(graded, passages)


def _search(
    standalone: str,
    parts: Parts,
    for_web: ask_web.WebParts,
    ahead: ask_web.Ahead | None,
    *,
    settings: Settings,
    thresholds: Thresholds,
) -> Generator[Event, None, Searched]:
    """Yield Searched, and return it."""
    clock = Clock("search")
    if ahead:
        web = yield from ask_web.collect(ahead)
    else:
        query = yield from _query(standalone, parts.llm, clock)
        web = yield from ask_web.ask(query, for_web, settings, clock)
    passages = search.to_passages(standalone, web.results, embedder=parts.embedder)
    graded = yield from _evaluate(standalone, passages, parts, settings=settings, thresholds=thresholds, clock=clock)
    searched = Searched(web, graded, clock.cost())
    yield searched
    return searched


def _refine(
    question: str,
    passages: Sequence[GradedPassage],
    parts: Parts,
    *,
    settings: Settings,
    thresholds: Thresholds,
    clock: Clock,
) -> Generator[Event, None, Refinement]:
    """Return strips and evidence, picked by what the settings name."""
    rules = Rules(
        threshold=thresholds.strip,
        lowest=presets.lowest_strip(_own_thresholds(parts, settings)),
        most=settings.most_strips,
        tokens=settings.evidence_tokens,
        retention=settings.minimum_retention,
        mode=settings.strip_mode,
        window_words=settings.window_words,
    )
    count_tokens = parts.embedder.count_tokens
    if settings.refiner is RefinerKind.STRIPS:
        return refine(question, passages, scorer=parts.scorer, rules=rules, count_tokens=count_tokens)
    return (
        yield from refine_by_llm.extract(
            question,
            passages,
            llm=parts.llm,
            scorer=parts.scorer,
            rules=rules,
            count_tokens=count_tokens,
            clock=clock,
        )
    )


def _query(standalone: str, llm: LanguageModel, clock: Clock) -> Generator[Event, None, str]:
    """Return the question as a query for a search engine."""
    yield StepStarted("search", "writing a web query")
    written = ""
    try:
        written = clock.complete(llm, search.prompt(standalone), search.MAX_TOKENS, stop=("\n",))
    except GenerationError as error:
        yield Warned(f"The question was not rewritten for the web search: {error}")
    return search.accept(written, standalone)


def _reconcile(
    refinement: Refinement, parts: Parts, settings: Settings
) -> Generator[Event, None, tuple[Refinement, tuple[Conflict, ...]]]:
    """Yield Reconciled, and return the refinement with the strips and evidence that are left, and the conflicts."""
    clock = Clock("reconcile")
    result = yield from reconcile.reconcile(
        refinement.evidence,
        refinement.sources,
        embedder=parts.embedder,
        llm=parts.llm,
        judge=settings.conflict_judge,
        rule=settings.conflict_rule,
        clock=clock,
    )
    yield Reconciled(result.conflicts, result.evidence, clock.cost())
    left = dataclasses.replace(
        refinement, strips=reconcile.strips_of(result.evidence, refinement), evidence=result.evidence
    )
    return left, result.conflicts


def _with_what_sources_call_for(
    events: Generator[Event, None, None], question: str, refinement: Refinement, conflicts: Sequence[Conflict]
) -> Generator[Event, None, None]:
    """Pass on the events; the answer gets what must be said of its sources: that they disagree, or how old they are."""
    with closing(events):
        for event in events:
            if isinstance(event, Answered):
                text = reconcile.told(event.answer, question, conflicts, refinement.evidence, refinement.sources)
                yield dataclasses.replace(event, answer=text)
            else:
                yield event


def _generate(
    question: str,
    standalone: str,
    evidence: Sequence[Evidence],
    *,
    history: Sequence[Turn],
    llm: LanguageModel,
    settings: Settings,
) -> Generator[Event, None, str]:
    """Yield the pieces of an answer, then Generated, and return it. Raises GenerationError."""
    clock = Clock("generate")
    messages, left_out = generate.fitting_prompt(
        question,
        standalone,
        evidence,
        history,
        room=llm.context_tokens - settings.answer_tokens,
        count_tokens=llm.count_tokens,
    )
    if left_out:
        yield Warned(f"{left_out} pieces of evidence did not fit into the language model's window: left out.")
    written = ""
    for piece in clock.stream(llm, messages, settings.answer_tokens):
        written += piece
        yield AnswerPiece(piece)
    yield Generated(clock.cost())
    return links.only_known(written, evidence)


def _answer(
    question: str,
    standalone: str,
    refinement: Refinement,
    *,
    history: Sequence[Turn],
    web: WebUse,
    correct: bool,
    llm: LanguageModel,
    settings: Settings,
) -> Generator[Event, None, None]:
    """Write, verify, once more with the best strips alone where nothing of it is backed, and yield Answered."""
    evidence = refinement.evidence
    best = best_strips(refinement.strips, evidence)
    supports: tuple[Support, ...] = ()
    for attempt in (evidence, best):
        if attempt is best and best == evidence:
            break
        yield StepStarted(
            "generate",
            "writing the answer" if attempt is evidence else "writing it again, from the best sentences alone",
        )
        try:
            written = yield from _generate(question, standalone, attempt, history=history, llm=llm, settings=settings)
        except GenerationError as error:
            yield Warned(f"The answer could not be written: {error}")
            yield Answered(abstain.quoted(evidence), abstained=True)
            return
        if generate.says_nothing(written):
            yield Answered(abstain.evidence_silent(evidence, web), abstained=True)
            return
        clock = Clock("verify")
        supports = verify.verify(written, attempt, standalone, settings.strictness)
        yield Verified(supports, clock.cost())
        if verify.is_answer(supports):
            break
    if taken_out := [support for support in supports if not support.shown]:
        why = "; ".join(dict.fromkeys(support.why for support in taken_out))
        text = shorten(" ".join(support.sentence for support in taken_out))
        yield Warned(f"Taken out, since the evidence does not back it ({why}): “{text}”")
    if verify.is_answer(supports):
        answer = verify.compose(supports)
        if not any(support.shown and support.supported for support in supports):
            answer += f"\n\n{abstain.in_their_words(best)}"
        yield Answered(answer + abstain.web_note(web), abstained=False)
    elif correct:
        yield Answered(abstain.not_backed(best) + abstain.web_note(web), abstained=False)
    else:
        yield Answered(abstain.evidence_silent(evidence, web), abstained=True)


def _count_plain_prompt(messages: Sequence[Message], llm: LanguageModel) -> Generator[Event, None, None]:
    """Yield PlainPromptCounted."""
    try:
        tokens = llm.count_tokens(messages)
    except GenerationError as error:
        yield Warned(f"What plain RAG would have cost could not be counted: {error}")
    else:
        yield PlainPromptCounted(tokens)


def _own_thresholds(parts: Parts, settings: Settings) -> Thresholds:
    """Return the thresholds of whatever grades the passages; the strips are the cross-encoder's in any case."""
    own = parts.scorer.calibration.thresholds
    if settings.scorer is ScorerKind.CROSS_ENCODER:
        return own
    return grade_by_llm.own_thresholds(own)


def _new_run(
    question: str,
    parts: Parts,
    settings: Settings,
    thresholds: Thresholds,
    *,
    history: tuple[Turn, ...],
    replays: str | None,
) -> Run:
    now = datetime.now(UTC)
    return Run(
        # Sorts by time; the random part keeps two questions of one second apart.
        run_id=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
        created_at=now.isoformat(timespec="seconds"),
        collection=settings.collection,
        question=question,
        standalone_question=question,
        preset=settings.preset,
        policy=settings.policy,
        scorer=settings.scorer,
        thresholds=thresholds,
        models={"embedder": parts.embedder.name, "relevance": parts.scorer.name, "llm": parts.llm.name},
        settings=settings.of_a_run(),
        history=history,
        replays=replays,
    )
