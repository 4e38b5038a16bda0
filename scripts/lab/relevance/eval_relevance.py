"""Print the figures of rerankers on labelled questions, compared with the bi-encoder alone.

    .venv/bin/python scripts/lab/relevance/eval_relevance.py DATA_FOLDER --model FOLDER[:FORMAT] [--model ...]
        [--questions 200]

DATA_FOLDER contains squad2.jsonl.gz, nq_oracle.jsonl.gz, fairytaleqa.jsonl.gz and pubmedqa.jsonl.gz (see
lab/relevance/data.py). FORMAT is auto (the format that the app uses on this machine), int8, bf16 or fp32. All models
get the same questions and passages. The folder --work caches scores, so that an interrupted run resumes. The script
prints Markdown; with --card, it replaces the section "Figures" of a model card with it.

calibrate_relevance.py takes its questions from the other end of the shuffled order, so that this script measures on
questions that were not fitted (up to 250 questions there and 200 here; no set has fewer than 1,000).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from localcrag.records.errors import LocalcragError

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.relevance.calibration import strip_relevances
from lab.relevance.data import RANKED, SETS, DataError, Question, pairs_on_same_passage
from lab.relevance.figures import calibrated, decided, paired_separation, ranked, strips_auc
from lab.relevance.metrics import Figure
from lab.relevance.models import EMBEDDER, WORK, Model, load_embedder, texts_to_time
from lab.relevance.report import Measured, put_section, report
from lab.relevance.rows import predict
from lab.relevance.sample import RETRIEVED, Sample, best_rows, passage_rows, rank, refined_strips, strip_rows, take

ROOT = Path(__file__).resolve().parents[3]


def measure(model: Model, samples: Sequence[Sample], same_passage: Sequence[tuple[Question, Question]]) -> Measured:
    """Return a model's figures without its speed. Raises ModelError."""
    scores, calibration = model.scores, model.calibration
    squad2 = samples[0]
    both = [(question.text, squad2.own(question)) for pair in same_passage for question in pair]
    scores.compute(both)
    for sample in samples:
        sample.compute(scores)
    rankings = [rank(sample, scores) for sample in samples]
    relevances = [calibration.passages(ranking.logits, ranking.cosines, ranking.overlaps) for ranking in rankings]
    passages, strips, best = (
        passage_rows(rankings),
        refined_strips(samples, relevances, scores)[0],
        best_rows(rankings, relevances, any_own=False),
    )
    return Measured(
        name=model.name,
        fitted=calibration.fitted,
        thresholds=calibration.thresholds,
        by_logit=ranked(SETS, rankings, [ranking.logits for ranking in rankings]),
        by_relevance=ranked(SETS, rankings, relevances),
        decided=tuple(
            decided(SETS, rankings, relevances, calibration.thresholds, most=most) for most in (RANKED, RETRIEVED)
        ),
        passages=calibrated(SETS, passages, predict(calibration.passage, passages)),
        best_passages=calibrated(SETS, best, best.features[:, 0]),
        strips=calibrated(SETS, strips, strip_relevances(calibration.strip, strips)),
        strips_auc=strips_auc(SETS, strip_rows(samples, scores)),
        strips_alone_auc=strips_auc(SETS, strip_rows(samples, scores, alone=True)),
        answerable=_answerable(model, squad2, same_passage),
        speed=None,
    )


def _answerable(model: Model, sample: Sample, pairs: Sequence[tuple[Question, Question]]) -> Figure | None:
    """Return the AUC of answerable against unanswerable questions about the same passages."""
    if not pairs:
        return None
    yes, no = (
        np.array([model.scores.of(pair[place].text, [sample.own(pair[place])])[0] for pair in pairs])
        for place in (0, 1)
    )
    return paired_separation(yes, no)


def as_json(value: Any) -> Any:
    """Return records as JSON values, with null for NaN and infinity."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, dict):
        return {key: as_json(one) for key, one in value.items()}
    return [as_json(one) for one in value] if isinstance(value, list | tuple) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", action="append", required=True, metavar="FOLDER[:FORMAT]")
    parser.add_argument("--embedder", type=Path, default=EMBEDDER)
    parser.add_argument("--questions", type=int, default=200, help="of each set")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, default=WORK, help="where scores are kept")
    parser.add_argument("--json", type=Path, help="a file for the same figures as JSON")
    parser.add_argument("--card", type=Path, help="a model card whose section Figures is written")
    parser.add_argument("--no-speed", action="store_true", help="do not time the models")
    arguments = parser.parse_args()
    try:
        embedder = load_embedder(arguments.embedder)
        samples = take(arguments.data, embedder, arguments.work, questions=arguments.questions, seed=arguments.seed)
        pairs = pairs_on_same_passage(samples[0].labelled, 2 * arguments.questions, seed=arguments.seed)
        texts = texts_to_time(samples[0].labelled.passages, embedder)
        measured = []
        for named in arguments.model:
            model = Model.named(named, arguments.work)
            figures = measure(model, samples, pairs)
            speed = None if arguments.no_speed else model.speed(samples[0].asked[0].question.text, texts)
            measured.append(dataclasses.replace(figures, speed=speed))
    except (DataError, LocalcragError) as error:
        sys.exit(str(error))
    rankings = [rank(sample, model.scores) for sample in samples]
    baseline = ranked(SETS, rankings, [ranking.cosines for ranking in rankings])
    text = report(SETS, baseline, measured, questions=arguments.questions, seed=arguments.seed)
    print(text, end="")
    if arguments.card:
        card = arguments.card.read_text("utf-8") if arguments.card.exists() else ""
        arguments.card.write_text(put_section(card, text), "utf-8")
    if arguments.json:
        record = {"questions": arguments.questions, "seed": arguments.seed, "bi-encoder": dataclasses.asdict(baseline)}
        record["models"] = [dataclasses.asdict(one) for one in measured]
        arguments.json.write_text(json.dumps(as_json(record), indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
