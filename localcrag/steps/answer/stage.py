"""The last stages of the flow: an answer from the evidence, verified; a lesser one where there is nothing to trust."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence

from localcrag.records.enums import Skill
from localcrag.records.errors import GenerationError, ModelError
from localcrag.records.events import Answered, AnswerPiece, Event, Generated, StepStarted, Verified, Warned
from localcrag.records.passages import Evidence
from localcrag.records.run import Support, Turn
from localcrag.records.web import WebUse
from localcrag.steps.answer import abstain, generate, links, verify
from localcrag.steps.answer.to_the_point import misses_the_point, says_all
from localcrag.steps.budget import NO_ANSWER
from localcrag.steps.context import Context
from localcrag.steps.refine.refine import QUOTED_SHARE, Refinement, best_strips
from localcrag.text.translation import gettext as _
from localcrag.text.translation import later
from localcrag.text.words import shorten

WRITING, AGAIN = later("writing the answer"), later("writing it again, from the best sentences alone")


def write_answer(
    question: str,
    standalone: str,
    refinement: Refinement,
    context: Context,
    *,
    history: Sequence[Turn],
    web: WebUse,
    sure: bool | None,
    quoted: frozenset[int] = frozenset(),
) -> Generator[Event, None, None]:
    """Yield the answer's pieces, how far it is backed, and Answered.

    Where nothing of it is backed it is written once more, from the best strips alone; then the best strips are quoted
    if the evidence is `sure` to answer (None: nobody knows), else the documents do not say it. They are also quoted
    beside an answer that is only partly backed or misses the point, but for those that are `quoted` anyway, with a
    contradiction.

    A small language model reads the best strips alone. Those that its answer leaves something of are quoted beside it,
    and all of them in its place where it finds none in evidence that is sure to answer. Of other evidence it is not
    asked at all.
    """
    evidence = refinement.evidence
    best = best_strips(refinement.strips, evidence)
    to_quote = best_strips(refinement.strips, evidence, share=QUOTED_SHARE)
    # Without refinement there are no best strips: plain RAG reads all that was found.
    to_read = read_by(context.parts.skills, refinement) if context.steps.refine else evidence
    if sure is False and not context.answers_ambiguous:
        yield Answered(abstain.uncertain(evidence, web), abstained=True)
        return
    supports: tuple[Support, ...] = ()
    attempts = [(WRITING, to_read)] if best == to_read else [(WRITING, to_read), (AGAIN, best)]
    for doing, pieces in attempts:
        if context.budget.spent(NO_ANSWER):
            if doing is WRITING:
                yield Warned(
                    _("The evidence is quoted in place of an answer: %(why)s.", why=context.budget.running_out)
                )
                yield Answered(abstain.no_time(to_quote), abstained=True)
                return
            break
        yield StepStarted("generate", _(doing))
        try:
            written = yield from _generate(question, standalone, pieces, context, history=history)
        except GenerationError as error:
            yield Warned(_("The answer could not be written: %(error)s", error=error))
            yield Answered(abstain.quoted(to_quote), abstained=True)
            return
        if generate.says_nothing(written):
            yield _silent(written, to_quote, evidence, context, web=web, sure=sure)
            return
        if not context.steps.verify:
            yield Answered(written, abstained=False)
            return
        clock = context.clock("verify")
        supports = verify.verify(written, pieces, standalone, context.settings.strictness, refinement.sources)
        yield Verified(supports, clock.cost())
        if verify.is_answer(supports):
            break
    if taken_out := [support for support in supports if not support.shown]:
        why = "; ".join(dict.fromkeys(support.why for support in taken_out))
        text = shorten(" ".join(support.sentence for support in taken_out))
        yield Warned(_("Taken out, since the evidence does not back it (%(why)s): “%(text)s”", why=why, text=text))
    if verify.is_answer(supports):
        answer = verify.compose(supports)
        beside = [piece for piece in to_quote if piece.n not in quoted]
        answer += _quoted_beside(supports, beside, standalone, context)
        yield Answered(answer + abstain.web_note(web), abstained=False)
    elif sure:
        yield Answered(abstain.not_backed(to_quote) + abstain.web_note(web), abstained=False)
    else:
        yield Answered(abstain.evidence_silent(evidence, web), abstained=True)


def read_by(skills: Collection[Skill], refinement: Refinement) -> tuple[Evidence, ...]:
    """Return the evidence that a language model answers from: of a small one the best strips.

    They hold the answer nearly as often as all of it (docs/evaluation.md), and it finds it there more often.
    """
    if Skill.ALONE in skills:
        return refinement.evidence
    return best_strips(refinement.strips, refinement.evidence, share=QUOTED_SHARE) or refinement.evidence


def _silent(
    written: str,
    to_quote: Sequence[Evidence],
    evidence: Sequence[Evidence],
    context: Context,
    *,
    web: WebUse,
    sure: bool | None,
) -> Answered:
    """Return what is said when the model found no answer, or had no time for one.

    A small model misses an answer more often than the relevance model sees one that is not there
    (docs/evaluation.md): where that is `sure`, it is what counts.
    """
    if context.budget.spent(1.0) and not written:
        return Answered(abstain.no_time(to_quote), abstained=True)
    if to_quote and sure and context.steps.verify and Skill.ALONE not in context.parts.skills:
        return Answered(abstain.in_their_words(to_quote) + abstain.web_note(web), abstained=False)
    return Answered(abstain.evidence_silent(evidence, web), abstained=True)


def _quoted_beside(supports: Sequence[Support], best: Sequence[Evidence], question: str, context: Context) -> str:
    """Return what stands below an answer that does not do alone: the best strips, quoted.

    That is one that is not backed in full, one of a small model that leaves something of them out, and one that misses
    the point.
    """
    if not best:
        return ""
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


def _generate(
    question: str, standalone: str, evidence: Sequence[Evidence], context: Context, *, history: Sequence[Turn]
) -> Generator[Event, None, str]:
    """Yield the pieces of an answer, then Generated, and return it. Raises GenerationError."""
    llm, settings = context.parts.llm, context.settings
    clock = context.clock("generate")
    messages, left_out = generate.fitting_prompt(
        question,
        standalone,
        evidence,
        history,
        room=llm.context_tokens - settings.answer_tokens,
        count_tokens=llm.count_tokens,
    )
    if left_out:
        yield Warned(
            _("%(number)s pieces of evidence did not fit into the language model's window: left out.", number=left_out)
        )
    written = ""
    for piece in clock.stream(llm, messages, settings.answer_tokens, temperature=settings.temperature):
        written += piece
        yield AnswerPiece(piece)
        if context.budget.spent(1.0):
            yield Warned(_("The language model was stopped: %(why)s.", why=context.budget.running_out))
            written = generate.whole_sentences(written)
            break
    yield Generated(clock.cost())
    return links.only_known(written, evidence)
