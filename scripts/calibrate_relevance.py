"""Fit the relevance model's calibration on labelled data: MODEL_FOLDER/calibration.json, and its figures on stdout.

    .venv/bin/python scripts/calibrate_relevance.py DATA_FOLDER [--model models/relevance-v0] [--questions 250]

DATA_FOLDER holds squad2.jsonl.gz, nq_oracle.jsonl.gz, fairytaleqa.jsonl.gz and pubmedqa.jsonl.gz (one JSON object a
line with `passage`, `question` or `questions`, `answers`). Each question's passages are what the app would score: the
bi-encoder's best ones of the whole set; one is relevant when it is the question's own passage or holds an accepted
answer. Half of the questions are fitted on, the other half gives the printed figures.

Thresholds are chosen on the same questions: `upper` is the lowest at which PRECISION_OF_CORRECT of the questions said
to be CORRECT have their answer among the passages; `lower` the highest that calls at most MISSED_BY_INCORRECT of those
with an answer INCORRECT; `strip` the highest that drops at most MISSED_BY_STRIP of the sentences with an answer.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from localcrag.quiet import silence  # noqa: E402

silence()

from localcrag.backends.bi_encoder import BiEncoder  # noqa: E402
from localcrag.backends.cross_encoder import CALIBRATION_FILE, CrossEncoder  # noqa: E402
from localcrag.calibration import FittedCalibration, Logistic  # noqa: E402
from localcrag.datatypes import Thresholds  # noqa: E402
from localcrag.sentences import split_sentences  # noqa: E402

SETS = ("squad2", "nq_oracle", "fairytaleqa", "pubmedqa")
RETRIEVED = 6
PRECISION_OF_CORRECT = 0.8
MISSED_BY_INCORRECT = 0.1
MISSED_BY_STRIP = 0.2


def load(path: Path) -> tuple[list[str], list[tuple[str, int, list[str]]]]:
    """Return the set's passages, and its answerable questions with passage number and accepted answers."""
    passages: dict[str, int] = {}
    questions: list[tuple[str, int, list[str]]] = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row: dict[str, Any] = json.loads(line)
            number = passages.setdefault(row["passage"], len(passages))
            questions += [
                (asked["question"], number, [answer for answer in asked.get("answers", []) if answer])
                for asked in row.get("questions", [row])
                if asked.get("answerable", True)
            ]
    return list(passages), questions


def holds(text: str, answers: list[str]) -> bool:
    """Whether an accepted answer of more than two characters stands in the text."""
    return any(len(answer) > 2 and answer.lower() in text.lower() for answer in answers)


def passage_rows(
    embedder: BiEncoder, scorer: CrossEncoder, path: Path, limit: int, chosen: random.Random
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of (logit, cosine, question number) and their labels."""
    passages, questions = load(path)
    questions = chosen.sample(questions, min(limit, len(questions)))
    vectors = embedder.embed(passages)
    asked = embedder.embed([question for question, _, _ in questions])
    rows, labels = [], []
    for at, (question, own, answers) in enumerate(questions):
        cosines = vectors @ asked[at]
        best = np.argsort(-cosines)[:RETRIEVED]
        # Half of the questions lose their own passage, as happens when the documents do not hold the answer.
        kept = [int(i) for i in best if at % 2 or i != own]
        logits = scorer.logits(question, [passages[i] for i in kept])
        rows += [(float(logit), float(cosines[i]), at) for logit, i in zip(logits, kept, strict=True)]
        labels += [i == own or holds(passages[i], answers) for i in kept]
    return np.array(rows), np.array(labels)


def strip_rows(scorer: CrossEncoder, path: Path, limit: int, chosen: random.Random) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of (logit, 0, question number) for every sentence of the questions' own passages."""
    passages, questions = load(path)
    rows: list[tuple[float, float, int]] = []
    labels: list[bool] = []
    for at, (question, own, answers) in enumerate(chosen.sample(questions, min(limit, len(questions)))):
        strips = [span.text for span in split_sentences(passages[own])]
        marks = [holds(strip, answers) for strip in strips]
        if any(marks):
            rows += [(float(logit), 0.0, at) for logit in scorer.logits(question, strips)]
            labels += marks
    return np.array(rows), np.array(labels)


def calibration_error(probabilities: np.ndarray, labels: np.ndarray, bins: int = 10) -> float:
    """Return the expected calibration error over equally wide bins (Guo et al. 2017)."""
    places = np.minimum((probabilities * bins).astype(int), bins - 1)
    parts = [places == number for number in range(bins)]
    return float(sum(abs(probabilities[p].mean() - labels[p].mean()) * p.mean() for p in parts if p.any()))


def fit(rows: np.ndarray, labels: np.ndarray, columns: list[int]) -> tuple[Logistic, dict[str, float]]:
    """Return the coefficients fitted on one half of the questions and the figures of the other half."""
    known = rows[:, 2] % 4 < 2
    model = LogisticRegression(C=1e6).fit(rows[known][:, columns], labels[known])
    guessed = model.predict_proba(rows[~known][:, columns])[:, 1]
    weights = dict(zip(columns, model.coef_[0], strict=True))
    figures = {
        "pairs": float(len(rows)),
        "relevant": float(labels.mean()),
        "log_loss": float(log_loss(labels[~known], guessed)),
        "auc": float(roc_auc_score(labels[~known], guessed)),
        "expected_calibration_error": calibration_error(guessed, labels[~known]),
    }
    logistic = Logistic(
        round(float(weights[0]), 4), round(float(model.intercept_[0]), 4), round(float(weights.get(1, 0.0)), 4)
    )
    return logistic, figures


def choose_thresholds(
    questions: np.ndarray, relevances: np.ndarray, labels: np.ndarray, strips: np.ndarray, marks: np.ndarray
) -> tuple[Thresholds, dict[str, float]]:
    """Return thresholds by the criteria at the top of this file, and what they come to on the same questions."""
    numbers = np.unique(questions)
    best = np.array([relevances[questions == number].max() for number in numbers])
    there = np.array([labels[questions == number].any() for number in numbers])
    steps = np.arange(0.02, 0.98, 0.01)
    precise = [t for t in steps if (best >= t).any() and there[best >= t].mean() >= PRECISION_OF_CORRECT]
    upper = float(min(precise, default=0.97))
    lower = float(max([t for t in steps if (best[there] < t).mean() <= MISSED_BY_INCORRECT], default=0.02))
    strip = float(max([t for t in steps if (strips[marks] < t).mean() <= MISSED_BY_STRIP], default=0.02))
    for t in (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7):
        said = best >= t
        print(
            f"best >= {t:.2f}: of {said.mean():.2f} of the questions, right {there[said].mean():.2f}; "
            f"below: answer there {there[~said].mean():.2f}; "
            f"strips kept {np.mean(strips >= t):.2f}, with answer {np.mean(strips[marks] >= t):.2f}",
            file=sys.stderr,
        )
    correct, incorrect = best >= upper, best < lower
    return Thresholds(round(upper, 2), round(min(lower, upper), 2), round(strip, 2)), {
        "questions": float(len(numbers)),
        "answer there": float(there.mean()),
        "said CORRECT": float(correct.mean()),
        "CORRECT right": float(there[correct].mean()),
        "said INCORRECT": float(incorrect.mean()),
        "INCORRECT right": float((~there[incorrect]).mean()),
        "strips kept": float((strips >= strip).mean()),
        "answer strips kept": float((strips[marks] >= strip).mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path, default=ROOT / "models" / "relevance-v0")
    parser.add_argument("--questions", type=int, default=250, help="of each set")
    arguments = parser.parse_args()
    chosen = random.Random(1)  # noqa: S311
    embedder = BiEncoder("all-minilm-l6-v2", ROOT / "models" / "all-minilm-l6-v2")
    scorer = CrossEncoder(arguments.model.name, arguments.model)

    parts = []
    for name in SETS:
        parts.append(passage_rows(embedder, scorer, arguments.data / f"{name}.jsonl.gz", arguments.questions, chosen))
        print(f"{name}: {len(parts[-1][1])} passages scored", file=sys.stderr)
    rows = np.concatenate([part[0] for part in parts])
    labels = np.concatenate([part[1] for part in parts])
    strips, marks = strip_rows(scorer, arguments.data / "squad2.jsonl.gz", arguments.questions, chosen)

    figures = {"passages, logit alone": fit(rows, labels, [0])[1]}
    passage, figures["passages, logit and cosine"] = fit(rows, labels, [0, 1])
    strip, figures["strips, logit alone"] = fit(strips, marks, [0])
    for part, name in zip(parts, SETS, strict=True):
        guessed = passage.probabilities(part[0][:, 0], part[0][:, 1])
        figures[f"passages of {name} (half of them fitted on)"] = {
            "auc": float(roc_auc_score(part[1], guessed)),
            "expected_calibration_error": calibration_error(guessed, part[1]),
        }
    # Question numbers begin at 0 in every set: made unique, so that a question is not mixed with another set's.
    for number, part in enumerate(parts):
        part[0][:, 2] += 1_000_000 * number
    rows = np.concatenate([part[0] for part in parts])
    thresholds, figures["thresholds"] = choose_thresholds(
        rows[:, 2], passage.probabilities(rows[:, 0], rows[:, 1]), labels, strip.probabilities(strips[:, 0]), marks
    )
    calibration = FittedCalibration(passage, strip, thresholds)
    (arguments.model / CALIBRATION_FILE).write_text(json.dumps(dataclasses.asdict(calibration), indent=2) + "\n")
    for label, values in figures.items():
        if values:
            print(label + ": " + ", ".join(f"{key} {value:.3f}" for key, value in values.items()))
    print(json.dumps(dataclasses.asdict(calibration)))


if __name__ == "__main__":
    main()
