"""The step `reconcile`: conflicts between documents and web, and the evidence that is left."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator

from localcrag.records.events import Event, Reconciled, StepStarted
from localcrag.records.run import Conflict
from localcrag.steps.context import Context
from localcrag.steps.reconcile import reconcile as sides
from localcrag.steps.refine.refine import Refinement
from localcrag.text.translation import gettext as _


def reconcile(
    refinement: Refinement, context: Context
) -> Generator[Event, None, tuple[Refinement, tuple[Conflict, ...]]]:
    """Yield Reconciled where there is evidence of both sides; return what is left of it, and the contradictions."""
    if not sides.has_both_sides(refinement.evidence, refinement.sources):
        return refinement, ()
    yield StepStarted("reconcile", _("comparing your documents with the web"))
    clock = context.clock("reconcile")
    result = yield from sides.reconcile(
        refinement.evidence,
        refinement.sources,
        refinement.strips,
        embedder=context.parts.embedder,
        llm=context.parts.llm,
        judge=context.settings.conflict_judge,
        rule=context.settings.conflict_rule,
        clock=clock,
    )
    yield Reconciled(result.conflicts, result.evidence, clock.cost())
    strips = sides.strips_of(result.evidence, refinement)
    return dataclasses.replace(refinement, strips=strips, evidence=result.evidence), result.conflicts
