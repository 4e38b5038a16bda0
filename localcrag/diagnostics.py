"""What a run came to: its totals, and its cost next to plain RAG's, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass

from localcrag.datatypes import Grade, Run


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
    passages = f"{sums.retrieved} passage{'' if sums.retrieved == 1 else 's'}"
    said = [f"{passages} retrieved: {sums.relevant} relevant, {sums.irrelevant} not"]
    if sums.retention is not None:
        said.append(f"{sums.kept_strips} of {sums.strips} strips kept ({sums.retention:.0%})")
    said.append("web asked" if sums.web_used else "web not asked")
    calls = f"{sums.llm_calls} model call{'' if sums.llm_calls == 1 else 's'}"
    said.append(f"{calls}, {sums.prompt_tokens:,} → {sums.completion_tokens:,} tokens")
    if sums.prompt_share is not None:
        own = f"the answer's prompt: {sums.answer_prompt_tokens:,} tokens, {sums.prompt_share:.0%} of plain RAG's"
        none = "no prompt for an answer; plain RAG's would have had"
        said.append(f"{own if sums.prompt_share else none} {sums.plain_prompt_tokens:,}")
    return said
