"""The steps `generate` and `verify`: an answer from the evidence, checked, or quotations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass
from enum import Enum

from localcrag.crag import reconcile
from localcrag.crag import reconcile as source_notes
from localcrag.crag.answer import generate as prompts
from localcrag.crag.answer import quotations, verify
from localcrag.crag.answer import verify as links
from localcrag.crag.answer.generate import Certainty, Task
from localcrag.crag.answer.verify import misses_the_point
from localcrag.crag.context import NO_ANSWER, Asked, Context
from localcrag.crag.refine.refine import QUOTED_SHARE, Refinement, best_strips
from localcrag.crag.refine.strips import has_rows_or_items
from localcrag.records.enums import Backing, Skill, Strictness
from localcrag.records.errors import GenerationError, ModelError
from localcrag.records.events import Answered, AnswerPiece, Event, Generated, StepStarted, Verified, Warned
from localcrag.records.passages import Evidence
from localcrag.records.protocols import Decoding
from localcrag.records.run import Support
from localcrag.text.translation import gettext as _
from localcrag.text.translation import later
from localcrag.text.words import shorten

WRITING, AGAIN = later("writing the answer"), later("writing it again, from the best sentences alone")


class Outcome(Enum):
    """What writing an answer came to."""

    WRITTEN = "what the evidence backs of what the model wrote, or all of it where nothing verifies"
    NOT_BACKED = "nothing is backed, and the evidence answers"
    IN_THEIR_WORDS = "the evidence answers, and says more than the model does"
    SILENT = "the evidence does not say it"
    DOUBTFUL = "it is uncertain whether the evidence says it"
    NO_TIME = "the time budget is used up"
    NOT_WRITTEN = "the model failed"
    NO_EVIDENCE = "there is nothing to answer from"


@dataclass(frozen=True, slots=True)
class _Draft:
    """What there is to say something of: the outcome, and the answer where there is one."""

    outcome: Outcome
    answer: str = ""


def generate_and_verify(task: Task, context: Context) -> Generator[Event, None, None]:
    """Yield the answer's pieces, how far it is backed, and Answered.

    Where nothing of it is backed it is written once more, from the best strips alone; then the sources' own words take
    its place if the evidence is sure to answer, else the documents do not say it.

    A small language model reads the best strips alone. What the sources say is shown below its answer as far as that
    leaves something out, and in its place where it finds none, is not backed in full, or is a sentence about a list.
    Where a list was asked for it is not asked at all, and neither is it of evidence that is not sure to answer. Below
    the answer of a larger model stand lists that it leaves lines out of, and what is more to the point; where the
    evidence is not sure to answer, it says what that backs in full, and the likeliest passages stand below.
    """
    draft = yield from _draft(task, context)
    said = _SAID[draft.outcome](task, draft, context)
    uncertain = task.certainty is Certainty.DOUBTFUL and draft.outcome not in ABSTAINS
    if draft.outcome not in {*ABSTAINS, Outcome.DOUBTFUL} and _shows_likeliest(task):
        said += f"\n\n{_SAID[Outcome.DOUBTFUL](task, draft, context)}"
    if draft.outcome is not Outcome.NO_EVIDENCE:  # which says more of the web
        said += quotations.web_note(task.web)
    # With what must be said of its sources: that they disagree, or how old they are.
    said = source_notes.told(said, task.asked.standalone, task.conflicts, task.evidence, task.refinement.sources)
    yield Answered(said, draft.outcome in ABSTAINS, uncertain)


def _shows_likeliest(task: Task) -> bool:
    """Whether the likeliest passages stand whole below an answer: it may be none, and no contradiction quotes them."""
    return task.certainty is Certainty.DOUBTFUL and not reconcile.quoted(task.conflicts)


def _laid_out(task: Task, context: Context) -> str:
    told = reconcile.quoted(task.conflicts)
    shown = quotations.to_lay_out(task, context, without=told) or quotations.to_lay_out(task, context)
    shown = shown or quotations.all_of_it(task, context)
    return quotations.written(shown, task.refinement.sources)


_SAID: dict[Outcome, Callable[[Task, _Draft, Context], str]] = {
    Outcome.WRITTEN: lambda task, draft, _context: draft.answer,
    Outcome.NOT_BACKED: lambda task, _, context: quotations.not_backed(_laid_out(task, context)),
    Outcome.IN_THEIR_WORDS: lambda task, _, context: quotations.in_their_words(_laid_out(task, context)),
    Outcome.SILENT: lambda task, _, context: quotations.evidence_silent(
        quotations.likeliest_of(task, context), task.web
    ),
    Outcome.DOUBTFUL: lambda task, _, context: quotations.uncertain(quotations.likeliest_of(task, context), task.web),
    Outcome.NO_TIME: lambda task, _, context: quotations.no_time(_laid_out(task, context)),
    Outcome.NOT_WRITTEN: lambda task, _, context: quotations.quoted(_laid_out(task, context)),
    Outcome.NO_EVIDENCE: lambda task, _, context: quotations.no_answer(task, context),
}
"""What is said for each outcome."""
ABSTAINS = frozenset({Outcome.SILENT, Outcome.NO_TIME, Outcome.NOT_WRITTEN, Outcome.NO_EVIDENCE})
"""The outcomes without an answer."""


def read_by(skills: Collection[Skill], refinement: Refinement) -> tuple[Evidence, ...]:
    """Return the evidence that a language model answers from: of a small one the best strips.

    They hold the answer nearly as often as all of it (docs/evaluation.md), and it finds it there more often. Of a list
    or a table it reads the whole piece: a row by itself says nothing.
    """
    if Skill.ALONE in skills:
        return refinement.evidence
    whole = {piece.n: piece for piece in refinement.evidence if has_rows_or_items(piece.text)}
    best = best_strips(refinement.strips, refinement.evidence, share=QUOTED_SHARE)
    return tuple(dict.fromkeys(whole.get(piece.n, piece) for piece in best)) or refinement.evidence


def _draft(task: Task, context: Context) -> Generator[Event, None, _Draft]:
    """Have the answer written, once or twice; return what came of it."""
    if known := _without_asking(task, context):
        return _Draft(known)
    supports: tuple[Support, ...] = ()
    for doing, pieces in _attempts(task, context):
        if context.budget.spent(NO_ANSWER):
            if doing is AGAIN:
                break
            yield Warned(_("The evidence is quoted in place of an answer: %(why)s.", why=context.budget.running_out))
            return _Draft(Outcome.NO_TIME)
        yield StepStarted("generate", _(doing))
        made = yield from _attempt(task, pieces, context)
        if isinstance(made, _Draft):
            return made
        supports = made
        if verify.is_answer(supports):
            break
    yield from _say_what_was_taken_out(supports)
    if verify.is_answer(supports):
        return _with_own_words(supports, task, context)
    if task.certainty is not Certainty.SURE:
        return _Draft(_without_answer(task))
    partly = any(support.backing is not Backing.NOT for support in supports)
    return _Draft(Outcome.IN_THEIR_WORDS if partly else Outcome.NOT_BACKED)


def _without_asking(task: Task, context: Context) -> Outcome | None:
    """Return what it comes to where the model is not asked."""
    if not task.evidence:
        return Outcome.NO_EVIDENCE
    if task.certainty is Certainty.DOUBTFUL and not context.answers_ambiguous:
        return Outcome.DOUBTFUL
    return Outcome.IN_THEIR_WORDS if quotations.answer_alone(task, context) else None


def _attempts(task: Task, context: Context) -> list[tuple[str, tuple[Evidence, ...]]]:
    """Return what the model may be asked to do, one after the other, each with the evidence that it reads."""
    best = best_strips(task.refinement.strips, task.evidence)
    # Without refinement there are no best strips: plain RAG reads all that was found.
    to_read = read_by(context.parts.skills, task.refinement) if context.steps.refine else task.evidence
    # What a small model is not sure of, the sources say better than its second attempt.
    once = best == to_read or _is_small(task, context)
    return [(WRITING, to_read)] if once else [(WRITING, to_read), (AGAIN, best)]


def _is_small(task: Task, context: Context) -> bool:
    """Whether the sources' own words are better than whatever the model writes that is not backed in full."""
    return context.steps.verify and Skill.ALONE not in context.parts.skills and task.certainty is Certainty.SURE


def _attempt(
    task: Task, pieces: Sequence[Evidence], context: Context
) -> Generator[Event, None, _Draft | tuple[Support, ...]]:
    """Have the answer written from `pieces`; return how far it is backed, or what becomes of it unverified."""
    try:
        written = yield from _write(task.asked, pieces, context)
    except GenerationError as error:
        yield Warned(_("The answer could not be written: %(error)s", error=error))
        return _Draft(Outcome.NOT_WRITTEN)
    if prompts.says_nothing(written):
        return _Draft(_silent(written, task, context))
    if not context.steps.verify:
        return _Draft(Outcome.WRITTEN, written)
    return (yield from _verify(prompts.said(written), pieces, task, context))


def _write(asked: Asked, evidence: Sequence[Evidence], context: Context) -> Generator[Event, None, str]:
    """Yield the pieces of an answer, then Generated, and return it. Raises GenerationError."""
    llm, settings = context.parts.llm, context.settings
    clock = context.clock("generate")
    messages, left_out = prompts.fitting_prompt(
        asked.question,
        asked.standalone,
        evidence,
        asked.history,
        room=llm.context_tokens - settings.answer_tokens,
        count_tokens=llm.count_tokens,
        whole=Skill.ALONE in context.parts.skills,
    )
    if left_out:
        yield Warned(
            _("%(number)s pieces of evidence did not fit into the language model's window: left out.", number=left_out)
        )
    written = ""
    decoding = Decoding(settings.answer_tokens, temperature=settings.temperature)
    for piece in clock.stream(llm, messages, decoding):
        written += piece
        yield AnswerPiece(piece)
        if context.budget.spent(1.0):
            yield Warned(_("The language model was stopped: %(why)s.", why=context.budget.running_out))
            written = prompts.whole_sentences(written)
            break
    yield Generated(clock.cost())
    return links.only_known(written, evidence)


def _verify(
    written: str, pieces: Sequence[Evidence], task: Task, context: Context
) -> Generator[Event, None, tuple[Support, ...]]:
    """Yield Verified, and return how far each sentence is backed."""
    clock = context.clock("verify")
    strictness, sources = context.settings.strictness, task.refinement.sources
    # Where the evidence is not sure to answer, what it backs in part is a guess about a guess.
    if strictness is Strictness.BALANCED and (_is_small(task, context) or _shows_likeliest(task)):
        strictness = Strictness.STRICT
    supports = verify.verify(written, pieces, task.asked.standalone, strictness, sources)
    yield Verified(supports, clock.cost())
    return supports


def _say_what_was_taken_out(supports: Sequence[Support]) -> Generator[Event, None, None]:
    if taken_out := [support for support in supports if not support.shown]:
        why = "; ".join(dict.fromkeys(support.why for support in taken_out))
        text = shorten(" ".join(support.sentence for support in taken_out))
        yield Warned(_("Taken out, since the evidence does not back it (%(why)s): “%(text)s”", why=why, text=text))


def _silent(written: str, task: Task, context: Context) -> Outcome:
    """Return what becomes of it that the model found no answer, or had no time for one.

    A model misses an answer more often than the relevance model sees one that is not there (docs/evaluation.md): where
    that is sure, it is what counts.
    """
    if context.budget.spent(1.0) and not written:
        return Outcome.NO_TIME
    if task.certainty is Certainty.SURE and context.steps.verify:
        return Outcome.IN_THEIR_WORDS
    return _without_answer(task)


def _without_answer(task: Task) -> Outcome:
    """Return what it comes to where the model gave no answer, of evidence that is not sure to hold one.

    That is doubt, and no denial: a model's word alone tells hardly whether evidence answers (docs/evaluation.md).
    """
    return Outcome.DOUBTFUL if task.certainty is Certainty.DOUBTFUL else Outcome.SILENT


def _with_own_words(supports: Sequence[Support], task: Task, context: Context) -> _Draft:
    """Return an answer that is backed, with what the sources say below it where it does not do alone."""
    answer, question = verify.compose(supports), task.asked.standalone
    shown = [support for support in supports if support.shown]
    said = " ".join(support.sentence for support in shown)
    below = quotations.to_lay_out(
        task, context, reconcile.quoted(task.conflicts), said if _is_small(task, context) else ""
    )
    alone = Skill.ALONE in context.parts.skills
    backed = all(support.supported for support in shown)
    if _shows_likeliest(task):
        left_out = []
    elif not backed:
        left_out = below
    elif alone:
        cited = {n for support in shown for n in support.citations}
        left_out = quotations.unlisted([one for one in below if one.piece.n in cited], said, question)
    else:
        left_out = quotations.unsaid(below, said, question)
    sources = task.refinement.sources
    if _is_small(task, context) and (
        quotations.is_no_sentence(said)
        or (left_out and (quotations.is_best(below, question) or _misses(said, task, context)))
    ):
        return _Draft(Outcome.IN_THEIR_WORDS)
    if alone and backed and below and _misses(said, task, context):
        answer += f"\n\n{quotations.more_to_the_point(quotations.written(below, sources))}"
    elif left_out:
        answer += f"\n\n{quotations.in_their_words(quotations.written(left_out, sources))}"
    return _Draft(Outcome.WRITTEN, answer)


def _misses(said: str, task: Task, context: Context) -> bool:
    """Whether an answer misses the point, by the best strip."""
    best = task.to_quote
    try:
        return bool(best) and misses_the_point(said, best[0].text, task.asked.standalone, context.parts.scorer)
    except ModelError:
        return False  # Without the relevance model there is no best sentence; that it is missing has been said.
