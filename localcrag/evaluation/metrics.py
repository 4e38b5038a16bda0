"""The figures of an evaluation: name, definition, source and measure of each.

Every figure is a mean over the questions that it applies to (measures.py). A precision is therefore a mean over what
was done (0 or 1 for each abstention, say), a recall one over what should have been done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from localcrag.evaluation import measures
from localcrag.records.run import Run
from localcrag.runs.evaluation_set import Question

Measure = Callable[[Question, Run], float | None]
SQUAD = "SQuAD's evaluation (Rajpurkar et al. 2016, section 6.1)"
SQUAD2 = "questions that cannot be answered as in SQuAD 2.0 (Rajpurkar et al. 2018)"
CRAG = "CRAG (arXiv 2401.15884)"
ALCE = "ALCE (Gao et al. 2023), with localcrag's comparison of words (verify.py) as the judge of entailment"


class Better(StrEnum):
    """Which way a figure should go."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Metric:
    """`definition` says what is measured and of which questions, `source` whose definition it is."""

    name: str
    title: str
    definition: str
    measure: Measure
    better: Better = Better.HIGHER
    source: str = "localcrag"


METRICS: tuple[Metric, ...] = (
    Metric(
        "answer_match", "answer match",
        "An accepted string is in the answer. Of questions with an answer; an abstention is none, nor is an uncertain "
        "answer, whatever they quote.",
        measures.answer_match, source=f"{SQUAD}'s normalisation; containment as in {CRAG}, section 5.1 (PopQA)",
    ),
    Metric("exact_match", "exact match", "The answer is an accepted string.", measures.exact_match, source=SQUAD),
    Metric(
        "token_f1", "token F1",
        "Harmonic mean of precision and recall of the answer's words against the best accepted string.",
        measures.token_f1, source=SQUAD,
    ),
    Metric(
        "in_passages", "answer in passages", "An accepted string is in a passage, of documents or web.",
        lambda question, run: measures.in_texts(question, [passage.text for passage in run.passages]),
    ),
    Metric(
        "in_evidence", "answer in evidence", "An accepted string is in what the language model was given.",
        lambda question, run: measures.in_texts(question, [piece.text for piece in run.evidence]),
    ),
    Metric(
        "abstention_precision", "abstention precision",
        "Of abstentions and uncertain answers, those on questions that neither documents nor web answer.",
        measures.abstention_precision, source=SQUAD2,
    ),
    Metric(
        "abstention_recall", "abstention recall",
        "Of questions that neither documents nor web answer, those that were abstained from or said to be uncertain.",
        measures.abstention_recall, source=SQUAD2,
    ),
    Metric(
        "invention", "invention rate",
        "Of questions that neither documents nor web answer, those that were answered all the same, not as uncertain.",
        measures.invention, Better.LOWER, source=SQUAD2,
    ),
    Metric(
        "unmarked_invention", "unmarked invention rate",
        "Of the same questions, those answered in the model's words with a sentence that nothing marks as doubtful.",
        measures.unmarked_invention, Better.LOWER,
    ),
    Metric(
        "uncertain", "uncertain answers",
        "Questions for which the likeliest passages were shown, and said to be uncertain.",
        measures.uncertain, Better.NEITHER,
    ),
    Metric(
        "action_right", "action accuracy", "CORRECT was decided just where the documents hold the answer.",
        measures.action_right, source=f"{CRAG}, section 5.5: the evaluator's accuracy, over a whole question",
    ),
    Metric(
        "action_of_retrieved", "action accuracy, of what was retrieved",
        "CORRECT was decided just where a retrieved passage of a named document holds an accepted string.",
        measures.action_of_retrieved, source=f"{CRAG}, section 5.5",
    ),
    Metric(
        "action_not_opposite", "action not the opposite",
        "Not INCORRECT where the documents hold the answer, not CORRECT where they do not.",
        measures.action_not_opposite,
    ),
    Metric(
        "hit_document", "hit@k, by document", "A retrieved passage is of a document that holds the answer.",
        measures.hit_document, source="hit rate at k (BEIR, Thakur et al. 2021)",
    ),
    Metric(
        "mrr_document", "MRR, by document", "1 / rank of the first such passage, 0 without one.",
        measures.mrr_document, source="mean reciprocal rank (Voorhees 1999)",
    ),
    Metric(
        "hit_answer", "hit@k, by answer", "A retrieved passage holds an accepted string. Where the documents hold it.",
        measures.hit_answer, source="DPR (Karpukhin et al. 2020), top-k accuracy",
    ),
    Metric(
        "mrr_answer", "MRR, by answer", "1 / rank of the first such passage, 0 without one.",
        measures.mrr_answer, source="mean reciprocal rank (Voorhees 1999)",
    ),
    Metric(
        "strip_precision", "strip precision",
        "Of the strips kept, those that hold an accepted string; where a strip holds one.", measures.strip_precision,
    ),
    Metric(
        "strip_recall", "strip recall", "Of the strips that hold an accepted string, those kept.",
        measures.strip_recall,
    ),
    Metric(
        "strip_retention", "strip retention", "Of all strips, those kept.", measures.strip_retention, Better.NEITHER,
    ),
    Metric(
        "support", "support", "Of the model's sentences that were shown, those that evidence backs in full.",
        measures.support, source=ALCE,
    ),
    Metric(
        "cited", "sentences rightly cited",
        "Of the model's sentences that were shown, those with a citation that exists and backs them.",
        measures.cited, source=f"citation recall of {ALCE}",
    ),
    Metric(
        "citation_precision", "citation precision", "Of the citations shown, those that back their sentence.",
        measures.citation_precision, source=ALCE,
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
        lambda question, run: measures.cost_of(run, "llm_calls"), Better.LOWER,
    ),
    Metric(
        "prompt_tokens", "prompt tokens", "Tokens that the language model read, all calls together.",
        lambda question, run: measures.cost_of(run, "prompt_tokens"), Better.LOWER,
    ),
    Metric(
        "completion_tokens", "written tokens", "Tokens that the language model wrote, all calls together.",
        lambda question, run: measures.cost_of(run, "completion_tokens"), Better.LOWER,
    ),
)  # fmt: skip
BY_NAME = {metric.name: metric for metric in METRICS}
