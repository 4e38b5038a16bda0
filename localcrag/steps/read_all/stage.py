"""The step `read all`: every passage is looked at, not only those that a search finds.

An ordinary answer rests on the passages found for it. "List all", "how many" and "every" ask for more than they can
say: so a person can have all passages scored, which takes as long as there are many. A summary is of all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass, replace

from localcrag.records.enums import Action, Grade, Policy, StripMode, StripReason
from localcrag.records.errors import ModelError
from localcrag.records.events import Answered, Decided, Evaluated, Event, Refined, Retrieved, StepStarted, Warned
from localcrag.records.passages import GradedPassage, Strip
from localcrag.records.protocols import Vectors
from localcrag.records.run import StepCost
from localcrag.records.web import WebUse
from localcrag.steps.answer.task import Task
from localcrag.steps.asked import Asked
from localcrag.steps.budget import NO_STRIPS
from localcrag.steps.clock import Clock
from localcrag.steps.context import EVERY_STEP, Context
from localcrag.steps.evaluate import decide as policies
from localcrag.steps.evaluate.evaluate import best
from localcrag.steps.evaluate.stage import grade
from localcrag.steps.read_all import summary
from localcrag.steps.read_all.wording import all_that_answers, none_answers
from localcrag.steps.refine.refine import Refinement, recompose
from localcrag.steps.refine.stage import strips_and_evidence, strips_of
from localcrag.steps.refine.strips import split_into_strips
from localcrag.steps.retrieve.retrieve import passages_of
from localcrag.steps.screen import prompt_injection
from localcrag.steps.screen.stage import screen
from localcrag.text.question_form import topic_of
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext
from localcrag.text.words import content_words

BATCH = 8
"""Passages between two words of how far it is, two chances to stop, and two for another question to go first."""
MOST = 100
"""Passages that are kept of all that are relevant: more are no answer, and no page shows them."""


@dataclass(frozen=True, slots=True)
class _Found:
    """What a pass came to, in reading order: the relevant passages, others with the words, and the nearest of all.

    `strips` are those of the relevant ones, `read` is how many were looked at.
    """

    relevant: tuple[GradedPassage, ...]
    strips: tuple[Strip, ...]
    worded: tuple[GradedPassage, ...]
    nearest: tuple[GradedPassage, ...]
    read: int


def read_all(asked: Asked, context: Context) -> Generator[Event, None, bool]:
    """Answer from all passages where that is wished, or a summary is; return whether it was.

    Nothing is yielded for other questions but a warning where the relevance model fails. Raises StoreError.
    """
    if context.steps != EVERY_STEP:
        return False
    if (yield from summary.summarise(asked, context)):
        return True
    if not context.read_all:
        return False
    clock = context.clock("evaluate")
    try:
        found = yield from _read(asked.standalone, context, clock)
    except ModelError as error:
        yield Warned(_("The documents could not be read through: %(error)s", error=error))
        return False
    yield from _answer(asked, found, context, clock)
    return True


def wordings(question: str) -> tuple[str, ...]:
    """Return what all passages are scored for: of “list all deadlines”, which none answers, “deadlines”, twice."""
    topic = topic_of(question)
    return (topic, f"What are the {topic}?") if topic else (question,)


def _read(question: str, context: Context, clock: Clock) -> Generator[Event, None, _Found]:
    """Score all passages, and say how far it is. Raises ModelError and StoreError."""
    ids = context.parts.store.chunk_ids(context.within)
    vectors = context.parts.embedder.embed_questions(wordings(question))
    relevant: list[GradedPassage] = []
    strips: list[Strip] = []
    worded: list[GradedPassage] = []
    nearest: tuple[GradedPassage, ...] = ()
    read = 0
    for at in range(0, len(ids), BATCH):
        if context.budget.spent(NO_STRIPS):
            yield Warned(
                _("Only %(done)s of %(all)s passages were read: %(why)s.", done=read, all=len(ids),
                  why=context.budget.running_out)
            )  # fmt: skip
            break
        said = _progress(at, len(ids), clock.cost().seconds)
        with clock.paused():  # For as long as another question goes first.
            yield StepStarted("evaluate", said)
        graded = yield from _graded(question, ids[at : at + BATCH], vectors, context, clock)
        now = [passage for passage in graded if passage.grade is not Grade.INCORRECT]
        relevant += now
        # Now that they have just been read: the model keeps its last readings, and all at the end would take as long
        # again, with nobody let in between.
        strips += strips_of(wordings(question)[-1], now, context)
        worded += [passage for passage in graded if passage.grade is Grade.INCORRECT and passage.overlap == 1.0]
        nearest = best((*nearest, *graded), context.settings.k)
        read += len(graded)
    number = len(relevant) + len(worded)
    if number > MOST:
        yield Warned(
            _("%(number)s passages are relevant, or have its words; what follows is of %(most)s of them. Ask for less, "
              "or ask fewer documents.", number=number, most=MOST)
        )  # fmt: skip
    kept = _most_relevant(relevant, MOST)
    ids_kept = {passage.id for passage in kept}
    of_kept = tuple(strip for strip in strips if strip.passage in ids_kept)
    return _Found(kept, of_kept, _most_relevant(worded, MOST - len(kept)), nearest, read)


def _graded(
    question: str, ids: Sequence[int], vectors: Vectors, context: Context, clock: Clock
) -> Generator[Event, None, list[GradedPassage]]:
    """Return passages, each graded by the wording that fits it best. Raises ModelError and StoreError."""
    graded: dict[str, GradedPassage] = {}
    for wording, vector in zip(wordings(question), vectors, strict=True):
        found = passages_of(ids, wording, vector, context.parts.store)
        for passage in (yield from grade(wording, found, context, clock)):
            before = graded.get(passage.id, passage)
            graded[passage.id] = max(before, passage, key=lambda either: either.relevance)
    return list(graded.values())


def _most_relevant(passages: Sequence[GradedPassage], most: int) -> tuple[GradedPassage, ...]:
    """Return the most relevant passages, as many as that, in the order given."""
    order = sorted(range(len(passages)), key=lambda at: -passages[at].relevance)[:most]
    return tuple(passages[at] for at in sorted(order))


def _progress(done: int, number: int, seconds: float) -> str:
    """Return how far the pass is, in words, with the time that is left once that can be told."""
    if not done:
        return ngettext("reading %(num)s passage", "reading all %(num)s passages", number)
    left = max(1, round(seconds / done * (number - done)))
    return _("reading: %(done)s of %(all)s passages, about %(left)s s left", done=done, all=number, left=left)


def _answer(asked: Asked, found: _Found, context: Context, clock: Clock) -> Generator[Event, None, None]:
    """Yield what was found, decided and kept, and the answer: the sources' own lines, all of them."""
    question = asked.standalone
    scope = replace(context.scope, read=found.read, whole=True)
    yield Retrieved((), StepCost("retrieve", 0.0), scope)
    kept = (*found.relevant, *found.worded)
    judged = kept or found.nearest
    yield Evaluated(judged, clock.cost())
    action, why = policies.decide(judged, policy=Policy.MAX, thresholds=context.thresholds, enough_relevant=0.0)
    rule = _("all passages read, %(number)s of %(all)s relevant; %(why)s", number=len(found.relevant),
             all=found.read, why=why)  # fmt: skip
    yield Decided(question, action, Policy.MAX, rule, StepCost("decide", 0.0))
    yield from screen(judged, context.parts.rules)
    if not kept:
        yield Answered(none_answers(question, found.nearest, context, scope), abstained=True)
        return
    refinement = yield from _refined(question, found, context)
    task = Task(asked, refinement, (), kept, kept, WebUse())
    yield Answered(all_that_answers(task, context, scope), abstained=False, uncertain=action is not Action.CORRECT)


def _refined(question: str, found: _Found, context: Context) -> Generator[Event, None, Refinement]:
    """Yield Refined, and return strips and evidence: of relevant passages what answers, of others what has words."""
    clock, rules = context.clock("refine"), context.parts.rules
    with clock.paused():
        yield StepStarted("refine", _("keeping the sentences that matter"))
    relevant, worded = (prompt_injection.screened(some, rules) for some in (found.relevant, found.worded))
    strips: tuple[Strip, ...] = ()
    if relevant:
        made = yield from strips_and_evidence(wordings(question)[-1], relevant, context, clock, found.strips)
        strips = made.strips
    words = content_words(topic_of(question) or question)
    strips += tuple(strip for passage in worded for strip in _with_words(passage, words))
    evidence, sources = recompose((*relevant, *worded), strips)
    said = prompt_injection.with_left_out(strips, (*found.relevant, *found.worded), rules)
    yield Refined(said, evidence, sources, clock.cost())
    return Refinement(strips, evidence, sources)


def _with_words(passage: GradedPassage, words: Collection[str]) -> list[Strip]:
    """Return the strips of a passage, kept where they have one of the words; all, where its headings have them."""
    cut = split_into_strips(passage.text, StripMode.SENTENCE, window_words=0)
    has = [bool(content_words(span.text).intersection(words)) for span in cut]
    return [
        Strip(
            passage.id, span.start, span.end, span.text, passage.logit, passage.relevance, kept,
            StripReason.HAS_WORDS if kept else StripReason.BELOW,
        )
        for span, kept in zip(cut, has if any(has) else [True] * len(cut), strict=True)
    ]  # fmt: skip
