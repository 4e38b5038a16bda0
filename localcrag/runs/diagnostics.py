"""Totals of a run, and its cost next to plain RAG's, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass

from localcrag.records.enums import Grade, ScorerKind
from localcrag.records.run import Run
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext
from localcrag.text.words import shorten


@dataclass(frozen=True, slots=True)
class Totals:
    """A run's sums. Shares are None where there is nothing to have a share of.

    `relevant` are the passages not graded incorrect, the web's among them; `retention` is the share of strips kept.
    `prompt_tokens` and the others are all steps' together; `answer_prompt_tokens` are those of the answer alone, to be
    compared with `plain_prompt_tokens`, the prompt that plain RAG would have sent.
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


def reading_in_words(run: Run) -> str:
    """Return which reading of a doubtful question was kept, and by what; empty for other questions."""
    if not run.readings:
        return ""
    own, joined = sorted(run.readings, key=lambda reading: bool(reading.follows))
    values = {"own": own.relevance, "joined": joined.relevance, "before": shorten(joined.follows)}
    if own.kept:
        return _(
            "read as a question of its own: its best passage has relevance %(own).2f, as a follow-up to “%(before)s” "
            "%(joined).2f",
            **values,
        )
    return _(
        "read as a follow-up to “%(before)s”: its best passage has relevance %(joined).2f, as a question of its own "
        "%(own).2f",
        **values,
    )


def scope_in_words(run: Run) -> str:
    """Return which documents were searched; empty for a run that does not say it."""
    scope = run.scope
    if scope is None or not scope.of:
        return ""
    if scope.restriction:
        found = {"number": scope.documents, "of": scope.of, "which": scope.restriction.in_words()}
        said = _("searched: %(number)s of %(of)s documents (%(which)s)", **found)
    else:
        said = ngettext("searched: %(num)s document", "searched: all %(num)s documents", scope.of)
    if not scope.passages:
        return said
    of = ngettext(
        "%(read)s of %(num)s passage read", "%(read)s of %(num)s passages read", scope.passages, read=scope.read
    )
    return f"{said}; {of}"


def graded_by(run: Run) -> str:
    """Return what graded the passages, in words."""
    if run.scorer is ScorerKind.LLM:
        return _("the language model %(name)s", name=run.models.get("llm", "")).strip()
    return _("the cross-encoder %(name)s", name=run.models.get("relevance", "")).strip()


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


def totals_in_words(sums: Totals) -> list[str]:
    """Return the totals as short statements, for a screen and for a report."""
    said = [
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
        said.append(
            _("%(kept)s of %(all)s strips kept (%(share)s)", kept=sums.kept_strips, all=sums.strips, share=share)
        )
    said.append(_("web asked") if sums.web_used else _("web not asked"))
    said.append(
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
        said.append(
            _(
                "the answer's prompt: %(own)s tokens, %(share)s of plain RAG's %(plain)s",
                own=f"{sums.answer_prompt_tokens:,}",
                share=f"{sums.prompt_share:.0%}",
                plain=plain,
            )
        )
    elif sums.prompt_share is not None:
        said.append(_("no prompt for an answer; plain RAG's would have had %(plain)s", plain=plain))
    return said
