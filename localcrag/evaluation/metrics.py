"""Metrics of an evaluation: each measures one question's run, or returns None if it does not apply.

A text contains an accepted answer by SQuAD's rules (Rajpurkar et al. 2016, section 6.1). METRICS lists all metrics
with their definitions, which are the docstrings of the functions, and their sources.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Annotated

from pydantic import Field

from localcrag.crag.answer import verify
from localcrag.crag.grading import is_scored
from localcrag.records.enums import Action, Backing, Origin, Strictness
from localcrag.records.evaluation_set import AnswerLocation, Question
from localcrag.records.passages import Evidence, GradedPassage, Source, citations, without_citations
from localcrag.records.run import Run

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = re.compile(r"[^\w\s]")


def normalised(text: str) -> str:
    """Return the words of a text in lower case, without punctuation and articles, separated by single spaces."""
    return " ".join(_ARTICLES.sub(" ", _PUNCTUATION.sub("", text.lower())).split())


def contains_answer(text: str, answers: Sequence[str]) -> bool:
    """Return whether a text contains one of the answers, as whole words.

    An answer that is empty after normalisation never counts.
    """
    padded = f" {normalised(text)} "
    return any(f" {answer} " in padded for answer in map(normalised, answers) if answer)


Measure = Callable[[Question, Run], float | None]
SQUAD = "SQuAD's evaluation (Rajpurkar et al. 2016, section 6.1)"
SQUAD2 = "questions that cannot be answered as in SQuAD 2.0 (Rajpurkar et al. 2018)"
CRAG = "CRAG (arXiv 2401.15884)"
BEIR = "hit rate at k (BEIR, Thakur et al. 2021)"
MRR = "mean reciprocal rank (Voorhees 1999)"
DPR = "DPR (Karpukhin et al. 2020), top-k accuracy"
ALCE = "ALCE (Gao et al. 2023), with localcrag's comparison of words (verify.py) as the judge of entailment"


class Better(StrEnum):
    """The direction in which a figure should change."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: `definition` tells what is measured over which questions, `source` who defined it."""

    name: str
    title: str
    definition: str
    measure: Annotated[Measure, Field(exclude=True)]
    better: Better
    source: str


METRICS: list[Metric] = []
"""All metrics, in the order of the reports."""


def metric(title: str, better: Better = Better.HIGHER, source: str = "localcrag") -> Callable[[Measure], Measure]:
    """Add a measure to METRICS, under its own name; its docstring is the definition that reports show."""

    def add(measure: Measure) -> Measure:
        definition = " ".join((measure.__doc__ or "").split())
        METRICS.append(Metric(measure.__name__, title, definition, measure, better, source))
        return measure

    return add


@metric("answer match", source=f"{SQUAD}'s normalisation; containment as in {CRAG}, section 5.1 (PopQA)")
def answer_match(question: Question, run: Run) -> float | None:
    """An accepted string is in the answer.

    Of questions with an answer; an abstention is none, nor is an uncertain answer, whatever they quote.
    """
    return any_contains_answer(question, [answer_text(run)] if run.answered else [])


@metric("exact match", source=SQUAD)
def exact_match(question: Question, run: Run) -> float | None:
    """The answer is an accepted string."""
    accepted = {normalised(answer) for answer in question.answers}
    return float(run.answered and normalised(answer_text(run)) in accepted) if accepted else None


@metric("token F1", source=SQUAD)
def token_f1(question: Question, run: Run) -> float | None:
    """Harmonic mean of precision and recall of the answer's words against the best accepted string."""
    if not question.answers:
        return None
    return max(_f1(answer_text(run), answer) for answer in question.answers) if run.answered else 0.0


def answer_text(run: Run) -> str:
    """Return the answer without its citations."""
    return without_citations(run.answer)


def _f1(text: str, answer: str) -> float:
    message, accepted = normalised(text).split(), normalised(answer).split()
    common = sum((Counter(message) & Counter(accepted)).values())
    return 2 * common / (len(message) + len(accepted)) if common else 0.0


@metric("answer in passages")
def in_passages(question: Question, run: Run) -> float | None:
    """An accepted string is in a passage, of documents or web."""
    return any_contains_answer(question, [passage.text for passage in run.passages])


@metric("answer in evidence")
def in_evidence(question: Question, run: Run) -> float | None:
    """An accepted string is in what the language model was given."""
    return any_contains_answer(question, [piece.text for piece in run.evidence])


def any_contains_answer(question: Question, texts: Iterable[str]) -> float | None:
    """Return whether one of the texts contains an accepted answer."""
    return float(any(contains_answer(text, question.answers) for text in texts)) if question.answers else None


@metric("abstention precision", source=SQUAD2)
def abstention_precision(question: Question, run: Run) -> float | None:
    """Of abstentions and uncertain answers, those on questions that neither documents nor web answer."""
    return None if run.answered else float(question.held_by is AnswerLocation.NOWHERE)


@metric("invention rate", Better.LOWER, SQUAD2)
def invention(question: Question, run: Run) -> float | None:
    """Of questions that neither documents nor web answer, those that were answered all the same, not as uncertain."""
    return float(run.answered) if question.held_by is AnswerLocation.NOWHERE else None


@metric("unmarked invention rate", Better.LOWER)
def unmarked_invention(question: Question, run: Run) -> float | None:
    """Of the same questions, those answered in the model's words with a sentence that nothing marks as doubtful."""
    if question.held_by is not AnswerLocation.NOWHERE:
        return None
    in_full = [support for support in run.support if support.shown and support.backing is Backing.SUPPORTED]
    return float(run.answered and (bool(in_full) or not run.support))


@metric("uncertain answers", Better.NEITHER)
def uncertain(_question: Question, run: Run) -> float | None:
    """Questions for which the likeliest passages were shown, and said to be uncertain."""
    return float(run.uncertain)


@metric("action accuracy", source=f"{CRAG}, section 5.5: the evaluator's accuracy, over a whole question")
def action_right(question: Question, run: Run) -> float | None:
    """CORRECT was decided just where the documents hold the answer."""
    if run.action is None:
        return None
    return float((run.action is Action.CORRECT) == (question.held_by is AnswerLocation.DOCUMENTS))


@metric("action accuracy, of what was retrieved", source=f"{CRAG}, section 5.5")
def action_of_retrieved(question: Question, run: Run) -> float | None:
    """CORRECT was decided just where a retrieved passage of a named document holds an accepted string."""
    if run.action is None or (question.held_by is AnswerLocation.DOCUMENTS and not question.documents):
        return None
    there = question.held_by is AnswerLocation.DOCUMENTS and any(
        passage.document in question.documents and contains_answer(passage.text, question.answers)
        for passage in local(run)
    )
    return float((run.action is Action.CORRECT) == there)


@metric("action not the opposite")
def action_not_opposite(question: Question, run: Run) -> float | None:
    """Not INCORRECT where the documents hold the answer, not CORRECT where they do not."""
    if run.action is None:
        return None
    opposite = Action.INCORRECT if question.held_by is AnswerLocation.DOCUMENTS else Action.CORRECT
    return float(run.action is not opposite)


@metric("hit@k, by document", source=BEIR)
def hit_document(question: Question, run: Run) -> float | None:
    """A retrieved passage is of a document that holds the answer."""
    return _hit(_document_flags(question, run))


@metric("MRR, by document", source=MRR)
def mrr_document(question: Question, run: Run) -> float | None:
    """1 / rank of the first such passage, 0 without one."""
    return _reciprocal_rank(_document_flags(question, run))


@metric("hit@k, by answer", source=DPR)
def hit_answer(question: Question, run: Run) -> float | None:
    """A retrieved passage holds an accepted string. Where the documents hold it."""
    return _hit(_answer_flags(question, run))


@metric("MRR, by answer", source=MRR)
def mrr_answer(question: Question, run: Run) -> float | None:
    """1 / rank of the first such passage, 0 without one."""
    return _reciprocal_rank(_answer_flags(question, run))


def local(run: Run) -> list[GradedPassage]:
    """Return the passages of the documents, in the order of retrieval, or by relevance after a second search."""
    return [passage for passage in run.passages if passage.origin is Origin.LOCAL]


def _document_flags(question: Question, run: Run) -> list[bool] | None:
    """Return for each passage of the documents whether it is from one that the question names; None without names."""
    if not question.documents:
        return None
    return [passage.document in question.documents for passage in local(run)]


def _answer_flags(question: Question, run: Run) -> list[bool] | None:
    """Return for each passage of the documents whether it contains an answer; None if the documents hold none."""
    if question.held_by is not AnswerLocation.DOCUMENTS:
        return None
    return [contains_answer(passage.text, question.answers) for passage in local(run)]


def _hit(found: list[bool] | None) -> float | None:
    return None if found is None else float(any(found))


def _reciprocal_rank(found: list[bool] | None) -> float | None:
    if found is None:
        return None
    return 1.0 / (found.index(True) + 1) if True in found else 0.0


def _share(outcomes: Sequence[bool]) -> float | None:
    return sum(outcomes) / len(outcomes) if outcomes else None


@metric("strip precision")
def strip_precision(question: Question, run: Run) -> float | None:
    """Of the strips kept, those that hold an accepted string; where a strip holds one."""
    strips = _strips(question, run)
    return _share([good for kept, good in strips if kept]) if any(good for _, good in strips) else None


@metric("strip recall")
def strip_recall(question: Question, run: Run) -> float | None:
    """Of the strips that hold an accepted string, those kept."""
    return _share([kept for kept, good in _strips(question, run) if good])


@metric("strip retention", Better.NEITHER)
def strip_retention(_question: Question, run: Run) -> float | None:
    """Of all strips, those kept."""
    return _share([strip.kept for strip in run.strips])


def _strips(question: Question, run: Run) -> list[tuple[bool, bool]]:
    """Return for each strip whether it was kept, and whether it contains an accepted answer; empty without scores."""
    if not question.answers or not is_scored(run.passages):
        return []
    return [(strip.kept, contains_answer(strip.text, question.answers)) for strip in run.strips]


@metric("support", source=ALCE)
def support(_question: Question, run: Run) -> float | None:
    """Of the model's sentences that were shown, those that evidence backs in full."""
    return _share([backing is Backing.SUPPORTED for _, backing in _judged(run)])


@metric("sentences rightly cited", source=f"citation recall of {ALCE}")
def cited(_question: Question, run: Run) -> float | None:
    """Of the model's sentences that were shown, those with a citation that exists and backs them."""
    return _share([any(_backs(run, sentence, n) for n in citations(sentence)) for sentence, _ in _judged(run)])


@metric("citation precision", source=ALCE)
def citation_precision(_question: Question, run: Run) -> float | None:
    """Of the citations shown, those that back their sentence."""
    return _share([_backs(run, sentence, n) for sentence, _ in _judged(run) for n in citations(sentence)])


def _judged(run: Run) -> list[tuple[str, Backing]]:
    """Return the answer's sentences with their citations, and how far the evidence as a whole backs each.

    Only sentences by the language model count: quotations that the app adds are the evidence itself.
    """
    if not (run.answered and run.evidence):
        return []
    if run.support:
        return [
            (support.sentence + "".join(f"[{n}]" for n in support.citations), support.backing)
            for support in run.support
            if support.shown
        ]
    return list(_verify_again(run.answer, run.evidence, run.standalone_question, run.sources))


@lru_cache(maxsize=4096)  # Three metrics need it, each for all runs of a configuration.
def _verify_again(
    answer: str, evidence: tuple[Evidence, ...], question: str, sources: tuple[Source, ...]
) -> tuple[tuple[str, Backing], ...]:
    judged = verify.verify(answer, evidence, question, Strictness.LENIENT, sources)
    own = (span.text for span in verify.claims(answer))
    return tuple((text, support.backing) for text, support in zip(own, judged, strict=True))


def _backs(run: Run, sentence: str, n: int) -> bool:
    pieces: list[Evidence] = [piece for piece in run.evidence if piece.n == n]
    judged = verify.verify(sentence, pieces, run.standalone_question, Strictness.LENIENT, run.sources)
    return bool(pieces) and all(support.backing is not Backing.NOT for support in judged)


@metric("fallback rate", Better.NEITHER)
def web_rate(_question: Question, run: Run) -> float | None:
    """Questions for which the web was asked."""
    return float(run.web.used)


@metric("seconds", Better.LOWER)
def seconds(_question: Question, run: Run) -> float | None:
    """From the question to the whole answer: all steps."""
    return total_cost(run, "seconds")


@metric("model calls", Better.LOWER)
def llm_calls(_question: Question, run: Run) -> float | None:
    """Calls of the language model."""
    return total_cost(run, "llm_calls")


@metric("prompt tokens", Better.LOWER)
def prompt_tokens(_question: Question, run: Run) -> float | None:
    """Tokens that the language model read, all calls together."""
    return total_cost(run, "prompt_tokens")


@metric("written tokens", Better.LOWER)
def completion_tokens(_question: Question, run: Run) -> float | None:
    """Tokens that the language model wrote, all calls together."""
    return total_cost(run, "completion_tokens")


def total_cost(run: Run, kind: str) -> float:
    """Return a cost summed over the steps: `seconds`, `llm_calls`, `prompt_tokens` or `completion_tokens`."""
    return float(sum(getattr(step, kind) for step in run.steps))


BY_NAME = {one.name: one for one in METRICS}
