"""Metrics of an evaluation: each measures one question's run, or returns None if it does not apply.

A text contains an accepted answer by SQuAD's rules (Rajpurkar et al. 2016, section 6.1). METRICS at the end lists all
metrics with their definitions and sources.
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


def answer_match(question: Question, run: Run) -> float | None:
    """Return whether the answer contains an accepted answer.

    Quotations in an abstention or an uncertain answer do not count.
    """
    return any_contains_answer(question, [answer_text(run)] if run.answered else [])


def exact_match(question: Question, run: Run) -> float | None:
    """Return whether the answer is exactly an accepted answer."""
    if not question.answers:
        return None
    return float(run.answered and normalised(answer_text(run)) in {normalised(answer) for answer in question.answers})


def token_f1(question: Question, run: Run) -> float | None:
    """Return the F1 (harmonic mean of precision and recall) of the answer's words and the best accepted answer."""
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


def any_contains_answer(question: Question, texts: Iterable[str]) -> float | None:
    """Return whether one of the texts contains an accepted answer."""
    return float(any(contains_answer(text, question.answers) for text in texts)) if question.answers else None


def abstention_precision(question: Question, run: Run) -> float | None:
    """Return whether an abstention was right, because neither the documents nor the web answer the question."""
    return None if run.answered else float(question.held_by is AnswerLocation.NOWHERE)


def invention(question: Question, run: Run) -> float | None:
    """Return whether an unanswerable question was answered."""
    return float(run.answered) if question.held_by is AnswerLocation.NOWHERE else None


def unmarked_invention(question: Question, run: Run) -> float | None:
    """Return whether an unanswerable question was answered with a sentence that nothing marks as doubtful."""
    if question.held_by is not AnswerLocation.NOWHERE:
        return None
    in_full = [support for support in run.support if support.shown and support.backing is Backing.SUPPORTED]
    return float(run.answered and (bool(in_full) or not run.support))


def action_right(question: Question, run: Run) -> float | None:
    """Return whether CORRECT was chosen exactly if the documents contain the answer."""
    if run.action is None:
        return None
    return float((run.action is Action.CORRECT) == (question.held_by is AnswerLocation.DOCUMENTS))


def action_of_retrieved(question: Question, run: Run) -> float | None:
    """Return whether CORRECT was chosen exactly if a retrieved passage contains the answer."""
    if run.action is None or (question.held_by is AnswerLocation.DOCUMENTS and not question.documents):
        return None
    there = question.held_by is AnswerLocation.DOCUMENTS and any(
        passage.document in question.documents and contains_answer(passage.text, question.answers)
        for passage in local(run)
    )
    return float((run.action is Action.CORRECT) == there)


def action_not_opposite(question: Question, run: Run) -> float | None:
    """Return whether the action was not the opposite of the right one; AMBIGUOUS, which uses both sources, never is."""
    if run.action is None:
        return None
    opposite = Action.INCORRECT if question.held_by is AnswerLocation.DOCUMENTS else Action.CORRECT
    return float(run.action is not opposite)


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


def _strips(question: Question, run: Run) -> list[tuple[bool, bool]]:
    """Return for each strip whether it was kept, and whether it contains an accepted answer; empty without scores."""
    if not question.answers or not is_scored(run.passages):
        return []
    return [(strip.kept, contains_answer(strip.text, question.answers)) for strip in run.strips]


def strip_precision(question: Question, run: Run) -> float | None:
    """Return the share of kept strips that contain an accepted answer; None if no strip contains one."""
    strips = _strips(question, run)
    return _share([good for kept, good in strips if kept]) if any(good for _, good in strips) else None


def strip_recall(question: Question, run: Run) -> float | None:
    """Return the share of the strips with an accepted answer that were kept."""
    return _share([kept for kept, good in _strips(question, run) if good])


def support(_question: Question, run: Run) -> float | None:
    """Return the share of the answer's sentences that evidence fully backs; None if the answer only quotes."""
    return _share([backing is Backing.SUPPORTED for _, backing in _judged(run)])


def cited(_question: Question, run: Run) -> float | None:
    """Return the share of the answer's sentences with an existing citation that backs them, at least partly."""
    return _share([any(_backs(run, sentence, n) for n in citations(sentence)) for sentence, _ in _judged(run)])


def citation_precision(_question: Question, run: Run) -> float | None:
    """Return the share of the answer's citations whose evidence alone backs their sentence, at least partly."""
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


def total_cost(run: Run, kind: str) -> float:
    """Return a cost summed over the steps: `llm_calls`, `prompt_tokens` or `completion_tokens`."""
    return float(sum(getattr(step, kind) for step in run.steps))


Measure = Callable[[Question, Run], float | None]
SQUAD = "SQuAD's evaluation (Rajpurkar et al. 2016, section 6.1)"
SQUAD2 = "questions that cannot be answered as in SQuAD 2.0 (Rajpurkar et al. 2018)"
CRAG = "CRAG (arXiv 2401.15884)"
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
    better: Better = Better.HIGHER
    source: str = "localcrag"


METRICS: tuple[Metric, ...] = (
    Metric(
        "answer_match", "answer match",
        "An accepted string is in the answer. Of questions with an answer; an abstention is none, nor is an uncertain "
        "answer, whatever they quote.",
        answer_match, source=f"{SQUAD}'s normalisation; containment as in {CRAG}, section 5.1 (PopQA)",
    ),
    Metric("exact_match", "exact match", "The answer is an accepted string.", exact_match, source=SQUAD),
    Metric(
        "token_f1", "token F1",
        "Harmonic mean of precision and recall of the answer's words against the best accepted string.",
        token_f1, source=SQUAD,
    ),
    Metric(
        "in_passages", "answer in passages", "An accepted string is in a passage, of documents or web.",
        lambda question, run: any_contains_answer(question, [passage.text for passage in run.passages]),
    ),
    Metric(
        "in_evidence", "answer in evidence", "An accepted string is in what the language model was given.",
        lambda question, run: any_contains_answer(question, [piece.text for piece in run.evidence]),
    ),
    Metric(
        "abstention_precision", "abstention precision",
        "Of abstentions and uncertain answers, those on questions that neither documents nor web answer.",
        abstention_precision, source=SQUAD2,
    ),
    Metric(
        "invention", "invention rate",
        "Of questions that neither documents nor web answer, those that were answered all the same, not as uncertain.",
        invention, Better.LOWER, source=SQUAD2,
    ),
    Metric(
        "unmarked_invention", "unmarked invention rate",
        "Of the same questions, those answered in the model's words with a sentence that nothing marks as doubtful.",
        unmarked_invention, Better.LOWER,
    ),
    Metric(
        "uncertain", "uncertain answers",
        "Questions for which the likeliest passages were shown, and said to be uncertain.",
        lambda question, run: float(run.uncertain), Better.NEITHER,
    ),
    Metric(
        "action_right", "action accuracy", "CORRECT was decided just where the documents hold the answer.",
        action_right, source=f"{CRAG}, section 5.5: the evaluator's accuracy, over a whole question",
    ),
    Metric(
        "action_of_retrieved", "action accuracy, of what was retrieved",
        "CORRECT was decided just where a retrieved passage of a named document holds an accepted string.",
        action_of_retrieved, source=f"{CRAG}, section 5.5",
    ),
    Metric(
        "action_not_opposite", "action not the opposite",
        "Not INCORRECT where the documents hold the answer, not CORRECT where they do not.",
        action_not_opposite,
    ),
    Metric(
        "hit_document", "hit@k, by document", "A retrieved passage is of a document that holds the answer.",
        lambda question, run: _hit(_document_flags(question, run)),
        source="hit rate at k (BEIR, Thakur et al. 2021)",
    ),
    Metric(
        "mrr_document", "MRR, by document", "1 / rank of the first such passage, 0 without one.",
        lambda question, run: _reciprocal_rank(_document_flags(question, run)),
        source="mean reciprocal rank (Voorhees 1999)",
    ),
    Metric(
        "hit_answer", "hit@k, by answer", "A retrieved passage holds an accepted string. Where the documents hold it.",
        lambda question, run: _hit(_answer_flags(question, run)), source="DPR (Karpukhin et al. 2020), top-k accuracy",
    ),
    Metric(
        "mrr_answer", "MRR, by answer", "1 / rank of the first such passage, 0 without one.",
        lambda question, run: _reciprocal_rank(_answer_flags(question, run)),
        source="mean reciprocal rank (Voorhees 1999)",
    ),
    Metric(
        "strip_precision", "strip precision",
        "Of the strips kept, those that hold an accepted string; where a strip holds one.", strip_precision,
    ),
    Metric(
        "strip_recall", "strip recall", "Of the strips that hold an accepted string, those kept.",
        strip_recall,
    ),
    Metric(
        "strip_retention", "strip retention", "Of all strips, those kept.",
        lambda question, run: _share([strip.kept for strip in run.strips]), Better.NEITHER,
    ),
    Metric(
        "support", "support", "Of the model's sentences that were shown, those that evidence backs in full.",
        support, source=ALCE,
    ),
    Metric(
        "cited", "sentences rightly cited",
        "Of the model's sentences that were shown, those with a citation that exists and backs them.",
        cited, source=f"citation recall of {ALCE}",
    ),
    Metric(
        "citation_precision", "citation precision", "Of the citations shown, those that back their sentence.",
        citation_precision, source=ALCE,
    ),
    Metric(
        "web_rate", "fallback rate", "Questions for which the web was asked.",
        lambda question, run: float(run.web.used), Better.NEITHER,
    ),
    Metric(
        "seconds", "seconds", "From the question to the whole answer: all steps.",
        lambda question, run: sum(step.seconds for step in run.steps), Better.LOWER,
    ),
    Metric(
        "llm_calls", "model calls", "Calls of the language model.",
        lambda question, run: total_cost(run, "llm_calls"), Better.LOWER,
    ),
    Metric(
        "prompt_tokens", "prompt tokens", "Tokens that the language model read, all calls together.",
        lambda question, run: total_cost(run, "prompt_tokens"), Better.LOWER,
    ),
    Metric(
        "completion_tokens", "written tokens", "Tokens that the language model wrote, all calls together.",
        lambda question, run: total_cost(run, "completion_tokens"), Better.LOWER,
    ),
)  # fmt: skip
BY_NAME = {metric.name: metric for metric in METRICS}
