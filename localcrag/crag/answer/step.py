"""The steps `generate` and `verify`: write and check an answer from the evidence, or quote sources."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum

from localcrag.crag import reconcile
from localcrag.crag.answer import generate as prompts
from localcrag.crag.answer import quotations, verify
from localcrag.crag.answer.generate import Certainty, GenerationTask
from localcrag.crag.answer.quotations import Quotation
from localcrag.crag.context import NO_ANSWER, AskedQuestion, Context, Flow
from localcrag.crag.refine.refine import QUOTED_SHARE, Refinement, best_strips
from localcrag.crag.refine.strips import count_words, has_rows_or_items
from localcrag.records.enums import Skill, Strictness
from localcrag.records.errors import GenerationError, ModelError
from localcrag.records.events import Answered, AnswerPiece, Generated, StepStarted, Verified, Warned
from localcrag.records.passages import Evidence
from localcrag.records.protocols import Decoding
from localcrag.records.run import Support
from localcrag.records.wording import NEARER_WORDS, SOURCE_WORDS
from localcrag.text.blocks import BlockKind
from localcrag.text.question_form import asks_yes_or_no
from localcrag.text.translation import gettext as _
from localcrag.text.translation import gettext_noop
from localcrag.text.words import overlap, shorten

WRITING = gettext_noop("writing the answer")
WRITING_AGAIN = gettext_noop("rewriting the answer from the best sentences alone")
LEFT_OUT = gettext_noop(
    "%(number)s pieces of evidence did not fit into the language model's context window and were left out."
)


class Outcome(Enum):
    """Result of writing an answer."""

    WRITTEN = "what the evidence backs of what the model wrote, or all of it where nothing verifies"
    IN_THEIR_WORDS = "the evidence answers, and says more than the model does"
    SILENT = "the evidence does not say it"
    DOUBTFUL = "it is uncertain whether the evidence says it"
    NO_TIME = "the time budget is used up"
    NOT_WRITTEN = "the model failed"
    NO_EVIDENCE = "there is nothing to answer from"


@dataclass(frozen=True, slots=True)
class _Draft:
    """An answer before its wording: the outcome, the model's text, and sources' words to show below it."""

    outcome: Outcome
    answer: str = ""
    below: str = ""


def generate_and_verify(task: GenerationTask, context: Context) -> Flow[None]:
    """Yield the answer's pieces, how far it is backed, and Answered.

    If nothing in the answer is backed, the model writes it once more from the best strips alone. If that fails too, the
    sources' own words replace it if the evidence is sure to answer, beginning with the lines that answer best;
    otherwise the answer is that the documents do not say it.

    A small language model reads the best strips alone. The sources' words are shown below its answer if the answer
    leaves something out. They replace the answer if the model finds none, if the answer is not fully backed, or if it
    is a sentence about a list. A small model is not asked at all if the question asks for a list, or if the evidence
    may not answer.

    Below the answer of a larger model come the lists that it repeats only in part, and sentences that are more to the
    point. If the evidence may not answer, only fully backed sentences are shown, with the likeliest passages below.
    """
    draft = yield from _draft(task, context)
    text, below = draft.answer, draft.below
    if draft.outcome is not Outcome.WRITTEN:
        text, below = _worded(draft.outcome, task, context)
    uncertain = task.certainty is Certainty.DOUBTFUL and draft.outcome not in ABSTAINS
    if draft.outcome not in {*ABSTAINS, Outcome.DOUBTFUL} and _shows_likeliest(task):
        text += f"\n\n{_worded(Outcome.DOUBTFUL, task, context)[0]}"
    if draft.outcome is not Outcome.NO_EVIDENCE:  # Its text says more about the web than the note does.
        text += quotations.web_note(task.web)
    # Add notes on the sources: that they disagree, or how old they are.
    question, sources = task.asked.standalone, task.refinement.sources
    text = reconcile.add_source_notes(text, question, task.conflicts, task.evidence, sources)
    # The sources' words come last, because the page folds them away.
    text = "\n\n".join(part for part in (text, below) if part)
    yield Answered(text, draft.outcome in ABSTAINS, uncertain)


def _shows_likeliest(task: GenerationTask) -> bool:
    """Return whether the likeliest passages are shown in full below an answer.

    They are if the evidence may not answer, and no contradiction quotes them already.
    """
    return task.certainty is Certainty.DOUBTFUL and not reconcile.quoted_evidence(task.conflicts)


def _unreported(task: GenerationTask, context: Context) -> list[Quotation]:
    """Return the quotations that no contradiction quotes already."""
    return quotations.select_quotations(task, context, without=reconcile.quoted_evidence(task.conflicts))


def _source_words(shown: Sequence[Quotation], task: GenerationTask, context: Context) -> str:
    """Return the quotations as Markdown; if there are none, those that a contradiction quotes, or all evidence."""
    shown = shown or quotations.select_quotations(task, context) or quotations.all_quotations(task, context)
    return quotations.render(shown, task.refinement.sources)


def _lead_and_source_words(task: GenerationTask, context: Context) -> tuple[str, str]:
    """Return the lines that answer best, and the pieces that they come from, to be shown below.

    The pieces alone are shown if they are short, or have the form that the question asks for.
    """
    shown, lines = _unreported(task, context), list[Quotation]()
    words = sum(count_words(one.piece.text) for one in shown)
    rows = any(fragment.kind is BlockKind.ROW for one in shown for fragment in one.fragments)
    if (rows or words > quotations.LEAD_WORDS) and not quotations.has_asked_form(shown[0], task.asked.standalone):
        reported = reconcile.quoted_evidence(task.conflicts)
        lines = [one for one in quotations.lead_lines(task, context) if one.piece.n not in reported]
    quoted = f"{_(SOURCE_WORDS)}\n\n{_source_words(shown, task, context)}"
    return (quotations.render_lines(lines), quoted) if lines else (quoted, "")


_BEFORE_SOURCE_WORDS = {
    Outcome.NO_TIME: gettext_noop("There was no time left to write an answer. These are the sources for it:"),
    Outcome.NOT_WRITTEN: gettext_noop("The language model could not write an answer. These are the sources for it:"),
}
"""Sentence before the sources' own words, which are all of the answer."""
_BEFORE_NEAREST = {
    Outcome.SILENT: (
        gettext_noop("Your documents do not say this outright. What comes nearest:"),
        gettext_noop("Neither your documents nor the web results say this outright. What comes nearest:"),
    ),
    Outcome.DOUBTFUL: (
        gettext_noop("It is not certain that your documents answer this. What comes nearest:"),
        gettext_noop("It is not certain that your documents or the web results answer this. What comes nearest:"),
    ),
}
"""Sentence before the nearest passages: without and with web results."""


def _worded(outcome: Outcome, task: GenerationTask, context: Context) -> tuple[str, str]:
    """Return the answer for an outcome in which the model's text is not shown, and sources' words to show below it."""
    if outcome is Outcome.NO_EVIDENCE:
        return quotations.no_answer(task, context), ""
    if outcome in _BEFORE_NEAREST:
        intro = _(_BEFORE_NEAREST[outcome][bool(task.web.results)])
        return f"{intro}\n\n{quotations.render_task_nearest(task, context)}", ""
    if outcome in _BEFORE_SOURCE_WORDS:
        return f"{_(_BEFORE_SOURCE_WORDS[outcome])}\n\n{_source_words(_unreported(task, context), task, context)}", ""
    return _lead_and_source_words(task, context)


ABSTAINS = frozenset({Outcome.SILENT, Outcome.NO_TIME, Outcome.NOT_WRITTEN, Outcome.NO_EVIDENCE})
"""Outcomes without an answer."""


def evidence_to_read(skills: Collection[Skill], refinement: Refinement) -> tuple[Evidence, ...]:
    """Return the evidence that a language model answers from; for a small model, the best strips.

    They contain the answer nearly as often as all evidence does (docs/lab/evaluation.md), and a small model finds it
    there more often. A list or table is read as a whole piece, because a single row means nothing.
    """
    if Skill.ALONE in skills:
        return refinement.evidence
    whole = {piece.n: piece for piece in refinement.evidence if has_rows_or_items(piece.text)}
    best = best_strips(refinement.strips, refinement.evidence, share=QUOTED_SHARE)
    return tuple(dict.fromkeys(whole.get(piece.n, piece) for piece in best)) or refinement.evidence


def _draft(task: GenerationTask, context: Context) -> Flow[_Draft]:
    """Have the answer written, once or twice, and return the draft."""
    if known := _outcome_without_llm(task, context):
        return _Draft(known)
    supports: tuple[Support, ...] = ()
    for doing, pieces in _attempts(task, context):
        if context.budget.spent(NO_ANSWER):
            if doing is WRITING_AGAIN:
                break
            why = context.budget.exhaustion_reason
            yield Warned(_("The evidence is quoted instead of an answer: %(why)s.", why=why))
            return _Draft(Outcome.NO_TIME)
        yield StepStarted("generate", _(doing))
        made = yield from _attempt(task, pieces, context)
        if isinstance(made, _Draft):
            return made
        supports = made
        if verify.is_answer(supports):
            break
    yield from _removal_warnings(supports)
    if verify.is_answer(supports):
        return _with_source_words(supports, task, context)
    if task.certainty is not Certainty.SURE:
        return _Draft(_outcome_without_answer(task))
    return _Draft(Outcome.IN_THEIR_WORDS)


def _outcome_without_llm(task: GenerationTask, context: Context) -> Outcome | None:
    """Return the outcome if the model is not needed; None if it has to be asked."""
    if not task.evidence:
        return Outcome.NO_EVIDENCE
    if task.certainty is Certainty.DOUBTFUL and not context.asks_llm_if_ambiguous:
        return Outcome.DOUBTFUL
    return Outcome.IN_THEIR_WORDS if quotations.evidence_is_answer(task, context) else None


def _attempts(task: GenerationTask, context: Context) -> list[tuple[str, tuple[Evidence, ...]]]:
    """Return the attempts that the model may make, in order, each with the evidence that it reads."""
    best = best_strips(task.refinement.strips, task.evidence)
    # Without refinement there are no best strips: plain RAG reads everything that was found.
    to_read = evidence_to_read(context.parts.skills, task.refinement) if context.steps.refine else task.evidence
    # If a small model is unsure, the sources' words are better than its second attempt.
    once = best == to_read or _prefers_sources(task, context)
    return [(WRITING, to_read)] if once else [(WRITING, to_read), (WRITING_AGAIN, best)]


def _prefers_sources(task: GenerationTask, context: Context) -> bool:
    """Return whether the sources' own words are better than any model text that is not fully backed."""
    return context.steps.verify and Skill.ALONE not in context.parts.skills and task.certainty is Certainty.SURE


def _attempt(task: GenerationTask, pieces: Sequence[Evidence], context: Context) -> Flow[_Draft | tuple[Support, ...]]:
    """Have the answer written from `pieces`; return its support, or a draft if it is not verified."""
    try:
        written = yield from _write(task.asked, pieces, context)
    except GenerationError as error:
        yield Warned(_("The answer could not be written: %(error)s", error=error))
        return _Draft(Outcome.NOT_WRITTEN)
    if prompts.is_no_answer(written):
        return _Draft(_silent_outcome(written, task, context))
    if not context.steps.verify:
        return _Draft(Outcome.WRITTEN, written)
    return (yield from _verify(prompts.without_no_answer(written), pieces, task, context))


def _write(asked: AskedQuestion, evidence: Sequence[Evidence], context: Context) -> Flow[str]:
    """Yield the pieces of an answer, then Generated, and return it. Raises GenerationError."""
    llm, settings = context.parts.llm, context.settings
    clock = context.clock("generate")
    room, whole = llm.context_tokens - settings.answer_tokens, Skill.ALONE in context.parts.skills
    messages, left_out = prompts.fitting_prompt(asked, evidence, room=room, count_tokens=llm.count_tokens, whole=whole)
    if left_out:
        yield Warned(_(LEFT_OUT, number=left_out))
    written = ""
    decoding = Decoding(settings.answer_tokens, temperature=settings.temperature)
    for piece in clock.stream(llm, messages, decoding):
        written += piece
        yield AnswerPiece(piece)
        if context.budget.spent(1.0):
            yield Warned(_("The language model was stopped: %(why)s.", why=context.budget.exhaustion_reason))
            written = prompts.cut_to_sentences(written)
            break
    yield Generated(clock.cost())
    return verify.remove_unknown_addresses(written, evidence)


def _verify(
    written: str, pieces: Sequence[Evidence], task: GenerationTask, context: Context
) -> Flow[tuple[Support, ...]]:
    """Yield Verified, and return the support of each sentence."""
    clock = context.clock("verify")
    strictness, sources = context.settings.strictness, task.refinement.sources
    # If the evidence may not answer, a sentence that it backs only in part is a guess about a guess.
    if strictness is Strictness.BALANCED and (_prefers_sources(task, context) or _shows_likeliest(task)):
        strictness = Strictness.STRICT
    supports = verify.verify(written, pieces, task.asked.standalone, strictness, sources)
    yield Verified(supports, clock.cost())
    return supports


def _removal_warnings(supports: Sequence[Support]) -> Flow[None]:
    if taken_out := [support for support in supports if not support.shown]:
        why = "; ".join(dict.fromkeys(support.why for support in taken_out))
        text = shorten(" ".join(support.sentence for support in taken_out))
        yield Warned(_("Removed, because the evidence does not support it (%(why)s): “%(text)s”", why=why, text=text))


def _silent_outcome(written: str, task: GenerationTask, context: Context) -> Outcome:
    """Return the outcome for a model that found no answer, or had no time for one.

    A model misses an answer more often than the reranker sees one that does not exist (docs/lab/evaluation.md). If the
    reranker is sure, it decides.
    """
    if context.budget.spent(1.0) and not written:
        return Outcome.NO_TIME
    if task.certainty is Certainty.SURE and context.steps.verify:
        return Outcome.IN_THEIR_WORDS
    return _outcome_without_answer(task)


def _outcome_without_answer(task: GenerationTask) -> Outcome:
    """Return the outcome if the model gave no answer and the evidence may not contain one.

    This is doubt, not a denial: the model alone hardly shows whether evidence answers (docs/lab/evaluation.md).
    """
    return Outcome.DOUBTFUL if task.certainty is Certainty.DOUBTFUL else Outcome.SILENT


def _with_source_words(supports: Sequence[Support], task: GenerationTask, context: Context) -> _Draft:
    """Return a backed answer, with the sources' words below it if it is not enough alone."""
    answer, question = verify.compose(supports), task.asked.standalone
    shown = [support for support in supports if support.shown]
    text = " ".join(support.sentence for support in shown)
    above = text if _prefers_sources(task, context) else ""
    below = quotations.select_quotations(task, context, reconcile.quoted_evidence(task.conflicts), above)
    alone = Skill.ALONE in context.parts.skills
    backed = all(support.supported for support in shown)
    if _shows_likeliest(task):
        left_out = []
    elif not backed:
        left_out = below
    elif alone:
        cited = {n for support in shown for n in support.citations}
        left_out = quotations.missing_lists([one for one in below if one.piece.n in cited], text, question)
    else:
        left_out = [one for one in below if not verify.says_all(text, one.body, question)]
    sources = task.refinement.sources
    if _prefers_sources(task, context) and (
        quotations.is_copied_list(text)
        or not _rests_on_lead(text, task, context)
        or (left_out and (quotations.beats_any_sentence(below, question) or _misses(text, task, context)))
    ):
        return _Draft(Outcome.IN_THEIR_WORDS)
    if alone and backed and below and _misses(text, task, context):
        return _Draft(Outcome.WRITTEN, answer, f"{_(NEARER_WORDS)}\n\n{quotations.render(below, sources)}")
    if left_out:
        return _Draft(Outcome.WRITTEN, answer, f"{_(SOURCE_WORDS)}\n\n{quotations.render(left_out, sources)}")
    return _Draft(Outcome.WRITTEN, answer)


LEAD_OVERLAP = 0.6
"""Share of the words of a small model's answer that the best line has if the answer rests on it."""


def _rests_on_lead(text: str, task: GenerationTask, context: Context) -> bool:
    """Return whether a small model's answer says what the best line says, and not what another one does.

    If several things are asked for, it has to say what all the best lines say. Of 67 such answers to questions about
    real documents, none was right where the best two lines were not.
    """
    lines = quotations.lead_lines(task, context)
    # With the header of a row, whose words a sentence about the row uses.
    words = [" ".join(one.text for one in line.fragments) for line in lines]
    question = task.asked.standalone
    if (
        quotations.asks_several(question)
        and not asks_yes_or_no(question)
        and overlap(" ".join(words), text) < LEAD_OVERLAP
    ):
        return False
    return not lines or overlap(text, words[0]) >= LEAD_OVERLAP


def _misses(text: str, task: GenerationTask, context: Context) -> bool:
    """Return whether an answer misses the point, compared with the best strip."""
    best = task.best_quotations
    try:
        return bool(best) and verify.misses_the_point(text, best[0].text, task.asked.standalone, context.parts.scorer)
    except ModelError:
        return False  # Without the reranker no strip is the best; its failure has been reported already.
