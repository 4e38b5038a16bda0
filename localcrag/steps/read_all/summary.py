"""Summaries: the sentences of a document that stand for the rest of it, section by section.

Chosen by their embeddings: a sentence near the mean of its section's passages, and of the document's, says what most of
them say (centroid-based summaries: Radev et al. 2004, with the embeddings of Rossiello et al. 2017). A small language
model would invent; a larger one writes its summary from these sentences.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from localcrag.records.enums import Action, Policy, Skill
from localcrag.records.events import Answered, Decided, Evaluated, Event, Refined, Retrieved, StepStarted, Warned
from localcrag.records.passages import GradedPassage, Strip
from localcrag.records.restriction import Restriction, SearchScope
from localcrag.records.run import StepCost
from localcrag.records.web import WebUse
from localcrag.steps.answer import own_words
from localcrag.steps.answer.stage import generate_and_verify
from localcrag.steps.answer.task import Task
from localcrag.steps.asked import Asked
from localcrag.steps.context import Context
from localcrag.steps.evaluate.evaluate import unscored
from localcrag.steps.read_all import named
from localcrag.steps.read_all.central import central_sentences, sections
from localcrag.steps.refine.refine import Refinement, recompose
from localcrag.steps.retrieve.retrieve import passages_of
from localcrag.steps.screen import prompt_injection
from localcrag.steps.screen.stage import screen
from localcrag.text.question_form import to_summarise
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext

SENTENCES = 12
"""Of a summary, shared out among the documents."""
MOST_DOCUMENTS = 24
"""Of one summary, a sentence each: more are a list that nobody reads."""
READ_OF_A_SECTION = 4
"""Passages of a section whose sentences are looked at: those nearest to what all of it says."""


def summarise(asked: Asked, context: Context) -> Generator[Event, None, bool]:
    """Answer a request for a summary of whole documents; return whether it was one. Raises ModelError, StoreError."""
    words = to_summarise(asked.question)
    meant = named.documents_meant(words, context) if words is not None else ()
    if not meant:
        return False
    clock = context.clock("summarise")
    yield StepStarted("summarise", _("choosing the sentences that say most"))
    documents = sorted(meant, key=lambda document: -document.characters)[:MOST_DOCUMENTS]
    if len(documents) < len(meant):
        yield Warned(
            _("Of %(number)s documents the longest %(most)s are summarised. Choose which with “Ask only these”, or "
              "--document.", number=len(meant), most=MOST_DOCUMENTS)
        )  # fmt: skip
    passages, strips, read = _chosen(asked, [document.id for document in meant if document in documents], context)
    if not strips:
        return False  # Nothing but short lines: what is asked can be answered as any question is.
    yield Retrieved((), StepCost("retrieve", 0.0), _scope(meant, documents, words, read, context))
    yield Evaluated(passages, StepCost("evaluate", 0.0))
    rule = _("a summary: sentences that stand for all %(number)s passages", number=read)
    yield Decided(asked.question, Action.CORRECT, Policy.MAX, rule, StepCost("decide", 0.0))
    yield from screen(passages, context.parts.rules)
    refinement = Refinement(strips, *recompose(prompt_injection.screened(passages, context.parts.rules), strips))
    yield Refined(refinement.strips, refinement.evidence, refinement.sources, clock.cost())
    task = Task(asked, refinement, (), passages, passages, WebUse())
    if Skill.ALONE in context.parts.skills:
        yield from generate_and_verify(task, context)
        return True
    said = ngettext(
        "What %(num)s passage says most, in its own words:",
        "What %(num)s passages say most, in their own words:",
        read,
    )
    shown = own_words.written(own_words.all_of_it(task, context), refinement.sources)
    yield Answered(f"{said}\n\n{shown}", abstained=False)
    return True


def _scope(
    meant: Sequence[named.Named], documents: Sequence[named.Named], words: frozenset[str] | None, read: int,
    context: Context,
) -> SearchScope:  # fmt: skip
    scope = replace(context.scope, passages=read, read=read, whole=True, documents=len(documents))
    if words or len(documents) < len(meant):
        return replace(scope, restriction=Restriction(documents=tuple(sorted(one.name for one in documents))))
    return scope


def _chosen(
    asked: Asked, documents: Sequence[int], context: Context
) -> tuple[tuple[GradedPassage, ...], tuple[Strip, ...], int]:
    """Return the passages with sentences of the summary, their sentences, and how many passages there are."""
    parts, read = context.parts, 0
    (vector,) = parts.embedder.embed_questions([asked.question])
    each = max(1, SENTENCES // len(documents))
    kept: list[GradedPassage] = []
    strips: list[Strip] = []
    for document in documents:
        ids = parts.store.chunk_ids({document})
        read += len(ids)
        for section, most in sections(ids, parts.store, each, READ_OF_A_SECTION):
            found = passages_of(section.nearest, asked.question, vector, parts.store)
            graded = unscored(prompt_injection.screened(found, parts.rules), thresholds=context.thresholds)
            own = central_sentences(graded, section, most, parts.embedder)
            strips += own
            cited = {strip.passage for strip in own if strip.kept}
            as_found = prompt_injection.as_they_came(graded, found)
            kept += [passage for passage in as_found if passage.id in cited]
    there = {passage.id for passage in kept}
    return tuple(kept), tuple(strip for strip in strips if strip.passage in there), read
