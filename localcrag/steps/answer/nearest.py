"""What is shown where no answer is given or none is sure: the passages that come nearest."""

from __future__ import annotations

from localcrag.records.enums import Origin
from localcrag.steps.answer import abstain
from localcrag.steps.answer.doubt import likeliest, only_strips
from localcrag.steps.answer.task import Task
from localcrag.steps.context import Context
from localcrag.steps.screen import prompt_injection

NEAR_SHARE = 0.5
"""Of the lower threshold: from where on a passage is near enough to be shown at length although it is incorrect."""


def likeliest_of(task: Task, context: Context) -> str:
    """Return the likeliest of the passages that the evidence is of."""
    passages = prompt_injection.screened(task.used, context.parts.rules)
    strips = task.refinement.strips
    if task.conflicts:  # What lost against the other side is no longer among the strips.
        passages = tuple(left for passage in passages if (left := only_strips(passage, strips)).text.strip())
    return likeliest(passages, strips, task.evidence, question=task.asked.standalone)


def nothing_found(task: Task, context: Context) -> str:
    """Return that nothing answers, with what of the documents comes nearest."""
    local = [passage for passage in task.found if passage.origin is Origin.LOCAL]
    nearest = prompt_injection.screened(local, context.parts.rules)
    near = context.thresholds.lower * NEAR_SHARE
    return abstain.nothing_found(task.asked.standalone, nearest, task.web, context.settings, near)
