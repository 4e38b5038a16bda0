"""Fit a reranker's calibration on labelled questions, and write MODEL_FOLDER/calibration.json.

    .venv/bin/python scripts/lab/relevance/calibrate_relevance.py DATA_FOLDER --model FOLDER[:FORMAT] [--questions 250]

DATA_FOLDER, FORMAT and --work are those of eval_relevance.py, but the questions are others. The calibration for
passages is fitted to what the app scores: the passages of the whole set that are nearest to the question, as many as
the app retrieves. For every second question, its own passage is removed, so that the documents do not contain the
answer. Only the own passage counts as relevant. Others with an accepted answer string are left out, since most of them
do not answer. The calibration for strips is fitted to the sentences of the own passage, since a strip's relevance is
its own probability times that of its passage. Each set has the same weight.

The script takes the form with the lowest log loss on held-out questions (cross-validated). It also measures two forms
that it never takes: isotonic regression, which made no difference beyond its standard error (relevance-v0, 60 questions
a set: 0.1323 ± 0.0025 against 0.1295 of the logistic form), and strips that are scored alone.

Thresholds are chosen by the criteria in localcrag/evaluation/calibration.py.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from localcrag.evaluation.calibration import ThresholdStep, choose, sweep_lower, sweep_strip
from localcrag.models.encoders import CALIBRATION_FILE
from localcrag.records.errors import LocalcragError
from localcrag.records.passages import Thresholds
from localcrag.records.thresholds import FittedCalibration

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.relevance.calibration import DEFAULTS, FOLDS, HeldOut, best_form, held_out, strip_relevances, sweep_upper
from lab.relevance.data import SETS, DataError
from lab.relevance.models import EMBEDDER, WORK, Model, load_embedder
from lab.relevance.report import put_section, table
from lab.relevance.rows import LogisticForm, Rows, calibration_error, fit
from lab.relevance.sample import Sample, best_rows, passage_rows, rank, refined_strips, strip_rows, take

ROOT = Path(__file__).resolve().parents[3]


PASSAGES = {
    "temperature": LogisticForm((0,), bias=False),
    "logit": LogisticForm((0,)),
    "logit and cosine": LogisticForm((0, 1)),
    "logit, cosine and overlap": LogisticForm((0, 1, 2)),
}
STRIPS = {"temperature": LogisticForm((0,), bias=False), "logit": LogisticForm((0,))}


def calibrate(samples: Sequence[Sample], model: Model) -> tuple[FittedCalibration, str]:
    """Return the calibration and how it was found, as the section `Calibration` of a model card.

    Raises ModelError, and ValueError if the model's logits do not rise with relevance.
    """
    for sample in samples:
        sample.compute(model.scores)
    rankings = [rank(sample, model.scores) for sample in samples]
    passages, strips = passage_rows(rankings), strip_rows(samples, model.scores)
    alone = strip_rows(samples, model.scores, alone=True)
    of_passages, of_strips = held_out(passages, PASSAGES), held_out(strips, STRIPS)
    passage = fit(passages, PASSAGES[best_form(of_passages, PASSAGES).name])
    strip = fit(strips, STRIPS[best_form(of_strips, STRIPS).name])

    relevances = [passage.probabilities(ranking.logits, ranking.cosines, ranking.overlaps) for ranking in rankings]
    best = best_rows(rankings, relevances, any_own=True)
    uppers, lowers = (sweep(best.features[:, 0], best.marks, best.weights) for sweep in (sweep_upper, sweep_lower))
    refined, of_own = refined_strips(samples, relevances, model.scores)
    in_own = refined.only(of_own)
    own = np.unique(np.stack([in_own.sets, in_own.questions]), axis=1, return_inverse=True)[1]
    cuts = sweep_strip(strip_relevances(strip, in_own), in_own.marks, own, in_own.weights)
    upper = choose(uppers, DEFAULTS.upper)
    thresholds = Thresholds(
        upper=upper, lower=min(choose(lowers, DEFAULTS.lower), upper), strip=choose(cuts, DEFAULTS.strip)
    )
    calibration = FittedCalibration(passage, strip, thresholds)
    fitted_to = (
        f"Fitted to {len(passages.marks)} passages of {len(rankings[0].own)} questions a set and {len(strips.marks)} "
        f"strips. Log loss (nats) and calibration errors are of held-out questions ({FOLDS} folds):"
    )
    return calibration, "\n\n".join(
        [
            "## Calibration",
            fitted_to,
            _forms("passages", passages, of_passages),
            _forms("strips, in their passage", strips, of_strips),
            _forms("strips, each by itself", alone, held_out(alone, STRIPS)),
            f"Thresholds: upper {thresholds.upper:g}, lower {thresholds.lower:g}, strip {thresholds.strip:g}.",
            _sweeps(uppers, lowers, cuts, thresholds),
        ]
    ) + "\n"


def _forms(of: str, rows: Rows, results: Sequence[HeldOut]) -> str:
    numbers = np.unique(rows.sets)
    lines = []
    for one in results:
        errors = [
            calibration_error(one.probabilities[rows.sets == number], rows.marks[rows.sets == number])
            for number in numbers
        ]
        whole = calibration_error(one.probabilities, rows.marks, rows.weights)
        lines.append(
            [one.name, f"{one.log_loss:.4f}", f"{one.worse_by:.4f} ± {one.error:.4f}"]
            + [f"{error:.3f}" for error in (*errors, whole)]
        )
    header = [of, "log loss", "above the best", *(f"calibration error, {SETS[number]}" for number in numbers), "all"]
    return table(header, lines)


def _sweeps(
    uppers: Sequence[ThresholdStep], lowers: Sequence[ThresholdStep], cuts: Sequence[ThresholdStep], chosen: Thresholds
) -> str:
    """Return every fifth step of each sweep, and the chosen ones, as text."""
    taken = {chosen.upper, chosen.lower, chosen.strip}
    header = ["threshold", "upper: action right", "CORRECT right", "lower: INCORRECT without answer", "with answer"]
    lines = []
    for upper, lower, cut in zip(uppers, lowers, cuts, strict=True):
        if upper.threshold in taken or round(upper.threshold * 100) % 5 == 0:
            values = [
                value
                for step in (upper, lower, cut)
                for value in (f"{step.objective:.3f}", f"{step.constraint:.3f}" + ("" if step.admissible else " ✗"))
            ]
            lines.append([f"{upper.threshold:.2f}", *values])
    return table([*header, "strip: dropped", "answer lost"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", required=True, metavar="FOLDER[:FORMAT]")
    parser.add_argument("--embedder", type=Path, default=EMBEDDER)
    parser.add_argument("--questions", type=int, default=250, help="of each set")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, default=WORK, help="where scores are kept")
    parser.add_argument("--card", type=Path, help="a model card whose section Calibration is written")
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    model = Model.named(arguments.model, arguments.work)
    try:
        samples = take(
            arguments.data,
            load_embedder(arguments.embedder),
            arguments.work,
            questions=arguments.questions,
            seed=arguments.seed,
            last=True,
        )
        calibration, text = calibrate(samples, model)
    except (DataError, LocalcragError) as error:
        sys.exit(str(error))
    except ValueError as error:
        sys.exit(f"{model.name} cannot be calibrated on these questions: {error}.")
    written = json.dumps(dataclasses.asdict(calibration), indent=2) + "\n"
    print(text + "\n" + written, end="")
    if not arguments.dry_run:
        (model.folder / CALIBRATION_FILE).write_text(written, "utf-8")
        if arguments.card:
            card = arguments.card.read_text("utf-8") if arguments.card.exists() else ""
            arguments.card.write_text(put_section(card, text), "utf-8")


if __name__ == "__main__":
    main()
