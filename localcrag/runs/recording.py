"""Recording: fold events into a run, sum up its costs, describe it in words, and write it as JSON."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, assert_never

from pydantic import TypeAdapter

from localcrag.crag.condense import context_turns
from localcrag.crag.context import Context
from localcrag.crag.evaluate import why_not_correct
from localcrag.crag.read_all import wordings
from localcrag.records import events
from localcrag.records.enums import Action, Grade, Origin, ScorerKind
from localcrag.records.errors import QuestionError
from localcrag.records.events import Event, RunFinished
from localcrag.records.passages import GradedPassage
from localcrag.records.protocols import RunLog
from localcrag.records.run import RetrievalAttempt, Run, Turn, WebUse
from localcrag.records.wording import compare_with_thresholds
from localcrag.text.question_form import asks_for_all
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext
from localcrag.text.words import replace_surrogates, shorten


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums of a run. Shares are None if their whole is empty.

    `relevant` counts the passages not graded incorrect, including web passages; `retention` is the share of strips
    kept. `prompt_tokens` and the others are sums over all steps; `answer_prompt_tokens` covers the answer alone, for
    comparison with `plain_prompt_tokens`, the prompt that plain RAG would have sent.
    """

    retrieved: int
    relevant: int
    irrelevant: int
    relevance_ratio: float | None
    web_used: bool
    strips: int
    kept_strips: int
    retention: float | None
    seconds: float
    llm_calls: int
    prompt_tokens: int
    completion_tokens: int
    answer_prompt_tokens: int
    plain_prompt_tokens: int | None
    prompt_share: float | None


def describe_reading(run: Run) -> str:
    """Describe which reading of a possible follow-up was kept, with the relevances; empty for other questions."""
    if not run.readings:
        return ""
    own, joined = sorted(run.readings, key=lambda reading: bool(reading.follows))
    values = {"own": own.relevance, "joined": joined.relevance, "before": shorten(joined.follows)}
    if own.kept:
        return _(
            "read as a separate question: its best passage has relevance %(own).2f, as a follow-up to “%(before)s” "
            "%(joined).2f",
            **values,
        )
    return _(
        "read as a follow-up to “%(before)s”: its best passage has relevance %(joined).2f, as a separate question "
        "%(own).2f",
        **values,
    )


def describe_scope(run: Run) -> str:
    """Describe which documents were searched; empty if the run does not record it."""
    scope = run.scope
    if scope is None or not scope.of:
        return ""
    if scope.restriction:
        found = {"number": scope.documents, "of": scope.of, "which": scope.restriction.in_words()}
        text = _("searched: %(number)s of %(of)s documents (%(which)s)", **found)
    else:
        text = ngettext("searched: %(num)s document", "searched: all %(num)s documents", scope.of)
    if not scope.passages:
        return text
    of = ngettext(
        "%(read)s of %(num)s passage read", "%(read)s of %(num)s passages read", scope.passages, read=scope.read
    )
    return f"{text}; {of}"


def describe_grader(run: Run) -> str:
    """Describe which model graded the passages."""
    if run.scorer is ScorerKind.LLM:
        return _("the language model %(name)s", name=run.models.get("llm", "")).strip()
    return _("the reranker %(name)s", name=run.models.get("relevance", "")).strip()


def describe_shortfall(run: Run) -> str | None:
    """Return why the documents' passages were not enough; None if they were, or if nothing was decided."""
    if run.action in (None, Action.CORRECT):
        return None
    return why_not_correct(
        [passage for passage in run.passages if passage.origin is Origin.LOCAL],
        policy=run.policy,
        thresholds=run.thresholds,
        enough_relevant=float(run.settings.get("relevance_threshold") or 0.0),
    )


def totals(run: Run) -> Totals:
    """Return a run's sums."""
    retrieved, strips = len(run.passages), len(run.strips)
    irrelevant = sum(passage.grade is Grade.INCORRECT for passage in run.passages)
    kept = sum(strip.kept for strip in run.strips)
    sent = sum(step.prompt_tokens for step in run.steps if step.name == "generate")
    return Totals(
        retrieved=retrieved,
        relevant=retrieved - irrelevant,
        irrelevant=irrelevant,
        relevance_ratio=run.relevance_ratio,
        web_used=run.web.used,
        strips=strips,
        kept_strips=kept,
        retention=kept / strips if strips else None,
        seconds=round(sum(step.seconds for step in run.steps), 4),
        llm_calls=sum(step.llm_calls for step in run.steps),
        prompt_tokens=sum(step.prompt_tokens for step in run.steps),
        completion_tokens=sum(step.completion_tokens for step in run.steps),
        answer_prompt_tokens=sent,
        plain_prompt_tokens=run.plain_prompt_tokens,
        prompt_share=sent / run.plain_prompt_tokens if run.plain_prompt_tokens else None,
    )


def describe_totals(sums: Totals) -> list[str]:
    """Return the totals as short statements, for a screen and for a report."""
    parts = [
        ngettext(
            "%(num)s passage retrieved: %(relevant)s relevant, %(irrelevant)s not",
            "%(num)s passages retrieved: %(relevant)s relevant, %(irrelevant)s not",
            sums.retrieved,
            relevant=sums.relevant,
            irrelevant=sums.irrelevant,
        )
    ]
    if sums.retention is not None:
        share = f"{sums.retention:.0%}"
        parts.append(
            _("%(kept)s of %(all)s sentences kept (%(share)s)", kept=sums.kept_strips, all=sums.strips, share=share)
        )
    parts.append(_("web searched") if sums.web_used else _("web not searched"))
    parts.append(
        ngettext(
            "%(num)s model call, %(prompt)s → %(completion)s tokens",
            "%(num)s model calls, %(prompt)s → %(completion)s tokens",
            sums.llm_calls,
            prompt=f"{sums.prompt_tokens:,}",
            completion=f"{sums.completion_tokens:,}",
        )
    )
    plain = f"{sums.plain_prompt_tokens or 0:,}"
    if sums.prompt_share:
        parts.append(
            _(
                "the answer's prompt: %(own)s tokens, %(share)s of plain RAG's %(plain)s",
                own=f"{sums.answer_prompt_tokens:,}",
                share=f"{sums.prompt_share:.0%}",
                plain=plain,
            )
        )
    elif sums.prompt_share is not None:
        parts.append(_("no prompt for an answer; plain RAG's prompt would have had %(plain)s", plain=plain))
    return parts


@dataclass(frozen=True, slots=True)
class UnreadPassages:
    """A run that read only `read` of its `passages`.

    `seconds` is roughly how long reading all would take, None if unknown. `matters`: the question asks for everything,
    which can be in any of the passages.
    """

    read: int
    passages: int
    seconds: float | None
    matters: bool

    @property
    def in_words(self) -> str:
        """The number of passages that the answer is based on, in words: "6 of 214 passages"."""
        return ngettext(
            "This is based on %(read)s of %(num)s passage.",
            "This is based on %(read)s of %(num)s passages.",
            self.passages,
            read=self.read,
        )

    @property
    def cost_in_words(self) -> str:
        """The time that reading all passages takes, in words: "about 20 s"; empty if unknown."""
        if self.seconds is None:
            return ""
        if self.seconds < 90:
            return _("about %(number)s s", number=max(1, round(self.seconds)))
        return _("about %(number)s min", number=round(self.seconds / 60))


def unread_passages(run: Run) -> UnreadPassages | None:
    """Return how much a run left unread; None if it read all passages, or did not answer from passages.

    The result is also None if the run was stopped, or does not record what it read.
    """
    scope = run.scope
    if scope is None or scope.whole or scope.read >= scope.passages or run.computation or run.stopped:
        return None
    seconds = next((step.seconds for step in run.steps if step.name == "evaluate"), None)
    each = seconds / scope.read if seconds is not None and scope.read else None
    question = run.standalone_question
    whole = each * scope.passages * len(wordings(question)) if each is not None else None
    return UnreadPassages(scope.read, scope.passages, whole, asks_for_all(question))


_ADAPTER = TypeAdapter(Run)


def apply(run: Run, event: Event) -> Run:  # noqa: PLR0911, PLR0912  one case per event
    """Return the run after an event."""
    match event:
        case events.RunStarted(started) | events.RunFinished(started):
            return started
        case events.StepStarted(name="generate"):
            return dataclasses.replace(run, answer="")  # An earlier answer was not backed.
        case events.StepStarted() | events.GradePiece() | events.PointPiece() | events.QueryProposed():
            return run
        case events.SearchBegun(query):
            # Sent ahead of the decision: the results are not used unless Searched follows.
            return dataclasses.replace(run, web=WebUse(query=query, discarded=True))
        case events.Retried(cost=cost) | events.Generated(cost=cost):
            changed = run
        case events.Retrieved(cost=cost, scope=scope):
            changed = dataclasses.replace(run, scope=scope)
        case events.Condensed(standalone_question, cost, readings):
            by_itself = any(reading.kept and not reading.follows for reading in readings)
            # A question of its own needs no history.
            history = () if by_itself else run.history
            changed = dataclasses.replace(
                run, standalone_question=standalone_question, readings=readings, history=history
            )
        case events.Evaluated(passages, cost, read):
            searched = run.scope and dataclasses.replace(run.scope, read=run.scope.read + read)
            changed = dataclasses.replace(_set_passages(run, passages), scope=searched)
        case events.Decided(query, action, policy, rule, cost):
            attempts = (*run.attempts, RetrievalAttempt(query, action, rule, len(run.passages), run.max_relevance))
            changed = dataclasses.replace(run, action=action, policy=policy, rule=rule, attempts=attempts)
        case events.Computed(cost=cost) | events.LookedUp(cost=cost):
            changed = dataclasses.replace(
                run, action=Action.CORRECT, rule=event.rule, strips=event.strips, evidence=event.evidence,
                sources=event.sources, computation=event.computation if isinstance(event, events.Computed) else None,
            )  # fmt: skip
            changed = _set_passages(changed, run.passages + event.passages)
        case events.Searched(web, passages, cost):
            changed = dataclasses.replace(_set_passages(run, run.passages + passages), web=web)
        case events.Refined(strips, evidence, sources, cost):
            changed = dataclasses.replace(run, strips=strips, evidence=evidence, sources=sources)
        case events.Reconciled(conflicts, evidence, cost):
            changed = dataclasses.replace(run, conflicts=conflicts, evidence=evidence)
        case events.AnswerPiece(text):
            return dataclasses.replace(run, answer=run.answer + text)
        case events.PlainPromptCounted(tokens):
            return dataclasses.replace(run, plain_prompt_tokens=tokens)
        case events.Verified(support, cost):
            changed = dataclasses.replace(run, support=support)
        case events.Answered(answer, abstained, uncertain):
            return dataclasses.replace(run, answer=answer, abstained=abstained, uncertain=uncertain)
        case events.Warned(message):
            return dataclasses.replace(run, warnings=(*run.warnings, message))
        case _:
            assert_never(event)
    return dataclasses.replace(changed, steps=(*changed.steps, cost))


def _set_passages(run: Run, passages: tuple[GradedPassage, ...]) -> Run:
    relevances = [passage.relevance for passage in passages]
    best, relevant = max(relevances, default=None), sum(relevance >= run.thresholds.lower for relevance in relevances)
    ratio = relevant / len(relevances) if relevances else None
    return dataclasses.replace(run, passages=passages, max_relevance=best, relevance_ratio=ratio)


def to_json(run: Run) -> dict[str, Any]:
    """Return the run as `ask --json` prints it: the stored run, its totals, and the reason of each grade."""
    document: dict[str, Any] = _ADAPTER.dump_python(run, mode="json")
    for passage, written in zip(run.passages, document["passages"], strict=True):
        written["grade_reason"] = compare_with_thresholds(passage.relevance, run.thresholds)
    return {**document, "totals": dataclasses.asdict(totals(run))}


def dump(run: Run) -> bytes:
    """Return the run in its stored form; `read` is the inverse."""
    return _ADAPTER.dump_json(run)


def read(data: str | bytes) -> Run:
    """Return a stored run. Raises pydantic.ValidationError if the data is not a run."""
    return _ADAPTER.validate_json(data)


class Recording(Iterator[Event]):
    """An iterator that answers a question, one event per step; `run` is the run so far.

    This is the only place that folds events into a run: all interfaces and the store read it here. The run is stored
    after the flow's last event; then RunFinished follows. If the recording is closed earlier, it stops the language
    model, and stores the run so far, marked as stopped. Raises the errors of the flow, and StoreError.
    """

    def __init__(self, run: Run, flow: Generator[Event, None, None], log: RunLog) -> None:
        """Start with `run`, the run before its first event."""
        self._run = run
        self._recorded = self._record(flow, log)

    @property
    def run(self) -> Run:
        """The run after the newest event."""
        return self._run

    def __next__(self) -> Event:
        return next(self._recorded)

    def close(self) -> None:
        """Stop early, as the class describes; no-op after the last event."""
        self._recorded.close()

    def _record(self, flow: Generator[Event, None, None], log: RunLog) -> Generator[Event, None, None]:
        try:
            with closing(flow):
                for event in flow:
                    self._run = apply(self._run, event)
                    yield event
        except (GeneratorExit, KeyboardInterrupt):
            self._run = dataclasses.replace(self._run, stopped=True)
            log.save(self._run)
            raise
        log.save(self._run)
        yield RunFinished(self._run)


LONGEST_QUESTION = 4000
"""Maximum number of characters; a longer text is not a question, and the scorer would not see its end."""
SELECTION_FIELDS = (
    "standalone_question", "action", "rule", "attempts", "scorer", "thresholds", "passages", "max_relevance",
    "relevance_ratio", "web", "history", "readings", "scope",
)  # fmt: skip
"""Fields that a run from a selection copies from the run that found the passages."""


def validated_question(question: str) -> str:
    """Return a question in the form in which it is asked. Raises QuestionError if it is empty or too long."""
    question = replace_surrogates(question).strip()
    if not question:
        raise QuestionError("The question is empty. Write a question.")
    if len(question) > LONGEST_QUESTION:
        raise QuestionError(
            f"The question has {len(question):,} characters; at most {LONGEST_QUESTION:,} are allowed. Put long texts "
            "into the collection as a document, and ask about them."
        )
    return question


def new_run(question: str, context: Context, history: Sequence[Turn] = (), replays: str | None = None) -> Run:
    """Return the run of a question before its first step. Raises QuestionError if it is empty or too long."""
    question = validated_question(question)
    now = datetime.now(UTC)
    parts, settings = context.parts, context.settings
    return Run(
        # Ids sort by time; the random part distinguishes two questions of the same second.
        run_id=f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
        created_at=now.isoformat(timespec="seconds"),
        collection=settings.collection,
        question=question,
        standalone_question=question,
        preset=settings.preset,
        policy=settings.policy,
        scorer=settings.scorer,
        thresholds=context.thresholds,
        models={"embedder": parts.embedder.name, "relevance": parts.scorer.name, "llm": parts.llm.name},
        settings=settings.run_values(),
        history=context_turns(question, history, turns=settings.history_turns),
        replays=replays,
    )


def new_selection_run(before: Run, context: Context) -> Run:
    """Return a new run for the question of `before`, with everything that run found."""
    found = {name: getattr(before, name) for name in SELECTION_FIELDS}
    return dataclasses.replace(new_run(before.question, context), forced_from=before.run_id, **found)
