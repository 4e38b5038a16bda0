"""The steps `generate` and `verify`: an answer from the evidence, checked, or quotations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass
from enum import Enum

from localcrag.records.enums import Grade, Origin, Skill
from localcrag.records.errors import GenerationError, ModelError
from localcrag.records.events import Answered, AnswerPiece, Event, Generated, StepStarted, Verified, Warned
from localcrag.records.passages import Evidence, GradedPassage
from localcrag.records.protocols import Decoding
from localcrag.records.run import Conflict, Support
from localcrag.records.web import WebUse
from localcrag.steps.answer import abstain, links, verify
from localcrag.steps.answer import generate as prompts
from localcrag.steps.answer.to_the_point import misses_the_point, says_all
from localcrag.steps.asked import Asked
from localcrag.steps.budget import NO_ANSWER
from localcrag.steps.context import Context
from localcrag.steps.evaluate.evaluate import is_scored
from localcrag.steps.reconcile import reconcile, source_notes
from localcrag.steps.refine.refine import QUOTED_SHARE, Refinement, best_strips
from localcrag.steps.screen import prompt_injection
from localcrag.text.translation import gettext as _
from localcrag.text.translation import later
from localcrag.text.words import shorten

WRITING, AGAIN = later("writing the answer"), later("writing it again, from the best sentences alone")


class Certainty(Enum):
    """Whether the evidence answers the question, as far as the grades of its passages tell."""

    SURE = "a passage is correct"
    DOUBTFUL = "none is"
    UNKNOWN = "nothing could grade them"


class Outcome(Enum):
    """What writing an answer came to."""

    AS_WRITTEN = "shown as the model wrote it: nothing verifies it"
    BACKED = "what the evidence backs is shown"
    NOT_BACKED = "nothing is backed, and the evidence answers"
    IN_THEIR_WORDS = "the model found nothing, and the evidence answers"
    SILENT = "the evidence does not say it"
    DOUBTFUL = "the evidence is too doubtful for this model"
    NO_TIME = "the time budget is used up"
    NOT_WRITTEN = "the model failed"
    NO_EVIDENCE = "there is nothing to answer from"


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be answered, and from what.

    `used` are the passages that the evidence is of, `found` all that the documents gave. `believed`: a person says that
    the evidence answers the question.
    """

    asked: Asked
    refinement: Refinement
    conflicts: tuple[Conflict, ...]
    used: tuple[GradedPassage, ...]
    found: tuple[GradedPassage, ...]
    web: WebUse
    believed: bool = False

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """All evidence, numbered as it is cited."""
        return self.refinement.evidence

    @property
    def certainty(self) -> Certainty:
        """Of questions that are AMBIGUOUS most have no answer in the documents (docs/evaluation.md)."""
        if not is_scored(self.used):
            return Certainty.UNKNOWN
        correct = any(passage.grade is Grade.CORRECT for passage in self.used)
        return Certainty.SURE if correct or self.believed else Certainty.DOUBTFUL

    @property
    def to_quote(self) -> tuple[Evidence, ...]:
        """The best strips, each by itself, for where quotations take the place of an answer or stand beside it."""
        return best_strips(self.refinement.strips, self.evidence, share=QUOTED_SHARE)


@dataclass(frozen=True, slots=True)
class _Draft:
    """What there is to say something of: the outcome, and the answer where there is one."""

    outcome: Outcome
    answer: str = ""


def generate_and_verify(task: Task, context: Context) -> Generator[Event, None, None]:
    """Yield the answer's pieces, how far it is backed, and Answered.

    Where nothing of it is backed it is written once more, from the best strips alone; then those are quoted if the
    evidence is sure to answer, else the documents do not say it. They are also quoted beside an answer that is only
    partly backed or misses the point, but for those that are quoted anyway, with a contradiction.

    A small language model reads the best strips alone. Those that its answer leaves something of are quoted beside it,
    and all of them in its place where it finds none in evidence that is sure to answer. Of other evidence it is not
    asked at all.
    """
    draft = yield from _draft(task, context)
    text, abstained = _SAID[draft.outcome]
    said = text(task, draft, context)
    # With what must be said of its sources: that they disagree, or how old they are.
    said = source_notes.told(said, task.asked.standalone, task.conflicts, task.evidence, task.refinement.sources)
    yield Answered(said, abstained)


_SAID: dict[Outcome, tuple[Callable[[Task, _Draft, Context], str], bool]] = {
    Outcome.AS_WRITTEN: (lambda _task, draft, _context: draft.answer, False),
    Outcome.BACKED: (lambda task, draft, _context: draft.answer + abstain.web_note(task.web), False),
    Outcome.NOT_BACKED: (
        lambda task, _draft, _context: abstain.not_backed(task.to_quote) + abstain.web_note(task.web),
        False,
    ),
    Outcome.IN_THEIR_WORDS: (
        lambda task, _draft, _context: abstain.in_their_words(task.to_quote) + abstain.web_note(task.web),
        False,
    ),
    Outcome.SILENT: (lambda task, _draft, _context: abstain.evidence_silent(task.evidence, task.web), True),
    Outcome.DOUBTFUL: (lambda task, _draft, _context: abstain.uncertain(task.evidence, task.web), True),
    Outcome.NO_TIME: (lambda task, _draft, _context: abstain.no_time(task.to_quote), True),
    Outcome.NOT_WRITTEN: (lambda task, _draft, _context: abstain.quoted(task.to_quote), True),
    Outcome.NO_EVIDENCE: (lambda task, _draft, context: _nothing_found(task, context), True),
}
"""What is said for each outcome, and whether that abstains from an answer."""


def read_by(skills: Collection[Skill], refinement: Refinement) -> tuple[Evidence, ...]:
    """Return the evidence that a language model answers from: of a small one the best strips.

    They hold the answer nearly as often as all of it (docs/evaluation.md), and it finds it there more often.
    """
    if Skill.ALONE in skills:
        return refinement.evidence
    return best_strips(refinement.strips, refinement.evidence, share=QUOTED_SHARE) or refinement.evidence


def _draft(task: Task, context: Context) -> Generator[Event, None, _Draft]:
    """Have the answer written, once or twice; return what came of it."""
    if not task.evidence:
        return _Draft(Outcome.NO_EVIDENCE)
    if task.certainty is Certainty.DOUBTFUL and not context.answers_ambiguous:
        return _Draft(Outcome.DOUBTFUL)
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
        return _Draft(Outcome.BACKED, verify.compose(supports) + _quoted_beside(supports, task, context))
    return _Draft(Outcome.NOT_BACKED if task.certainty is Certainty.SURE else Outcome.SILENT)


def _attempts(task: Task, context: Context) -> list[tuple[str, tuple[Evidence, ...]]]:
    """Return what the model may be asked to do, one after the other, each with the evidence that it reads."""
    best = best_strips(task.refinement.strips, task.evidence)
    # Without refinement there are no best strips: plain RAG reads all that was found.
    to_read = read_by(context.parts.skills, task.refinement) if context.steps.refine else task.evidence
    return [(WRITING, to_read)] if best == to_read else [(WRITING, to_read), (AGAIN, best)]


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
        return _Draft(Outcome.AS_WRITTEN, written)
    return (yield from _verify(written, pieces, task, context))


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

    A small model misses an answer more often than the relevance model sees one that is not there
    (docs/evaluation.md): where that is sure, it is what counts.
    """
    if context.budget.spent(1.0) and not written:
        return Outcome.NO_TIME
    small = context.steps.verify and Skill.ALONE not in context.parts.skills
    if task.to_quote and task.certainty is Certainty.SURE and small:
        return Outcome.IN_THEIR_WORDS
    return Outcome.SILENT


def _quoted_beside(supports: Sequence[Support], task: Task, context: Context) -> str:
    """Return what stands below an answer that does not do alone: the best strips, quoted.

    That is one that is not backed in full, one of a small model that leaves something of them out, and one that misses
    the point.
    """
    told = reconcile.quoted(task.conflicts)
    best = [piece for piece in task.to_quote if piece.n not in told]
    if not best:
        return ""
    question = task.asked.standalone
    backed = any(support.shown and support.supported for support in supports)
    shown = " ".join(support.sentence for support in supports if support.shown)
    if not backed or Skill.ALONE not in context.parts.skills:
        unsaid = [piece for piece in best if not (backed and says_all(shown, [piece.text], question))]
        return f"\n\n{abstain.in_their_words(unsaid)}" if unsaid else ""
    try:
        missed = misses_the_point(shown, best[0].text, question, context.parts.scorer)
    except ModelError:
        return ""  # Without the relevance model there is no best sentence; that it is missing has been said.
    return f"\n\n{abstain.more_to_the_point(best)}" if missed else ""


def _nothing_found(task: Task, context: Context) -> str:
    local = [passage for passage in task.found if passage.origin is Origin.LOCAL]
    nearest = prompt_injection.screened(local, context.parts.rules)
    return abstain.nothing_found(nearest, task.web, context.settings)
