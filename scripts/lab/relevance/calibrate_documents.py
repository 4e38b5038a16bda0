"""Fit a reranker's calibration on documents and general texts; write MODEL_FOLDER/calibration.json.

    .venv/bin/python scripts/lab/relevance/calibrate_documents.py MODEL_FOLDER --documents FILE … [--plain FILE …]
        --apart FILE --general DATA_FOLDER --work FOLDER [--questions 100] [--form "logit and cosine"] [--dry-run]

The FILEs are documents with questions, and further questions about them, as for train_relevance.py. The calibration is
fitted only to the documents named in the file of --apart, which were kept out of training. DATA_FOLDER contains the
sets of calibrate_relevance.py. Documents and general sets weigh one half each: the former are like what people ask of
their own documents, the latter like what they ask of an encyclopaedia.

Each question is scored with its document there, which answers it or not (near misses), and with it removed. `upper` is
the lowest threshold at which at most NEAR_MISSES of the near misses are CORRECT. `lower` is the highest that rejects at
most MISSED of the answered questions. `strip` is the highest that keeps LINES of the needed lines.

The overlap of words is more informative for an encyclopaedia's passages than for near misses, which repeat a document's
words. --form "logit and cosine" leaves it out, at some cost in log loss (both are printed). The cosine, too, is more
informative for an encyclopaedia: --cosine sets its weight, in units of the logit, if the weight of the lowest log loss
is too high for documents. The work folder caches scores: a second run with another form or weight takes seconds.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from localcrag.evaluation.curves import Floats
from localcrag.models.encoders import CALIBRATION_FILE
from localcrag.records.passages import Thresholds
from localcrag.records.thresholds import FittedCalibration, Logistic
from localcrag.settings import Settings

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.relevance.calibrate_relevance import PASSAGES, STRIPS
from lab.relevance.calibration import best_form, held_out
from lab.relevance.models import EMBEDDER, WORK, Model, load_embedder
from lab.relevance.report import table
from lab.relevance.rows import Rows, fit
from lab.relevance.sample import passage_rows, rank, strip_rows, take
from lab.training import everyday

NEAR_MISSES, MISSED, LINES = 0.2, 0.06, 0.93
RETRIEVED: int = Settings.model_fields["reranked"].default
KEPT: int = Settings.model_fields["k"].default
DOCUMENT_SETS = 4
"""Number of sets that the documents count as, equal to the number of general sets; each set has the same weight."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A question with the KEPT most relevant of the RETRIEVED passages, by logit.

    `holds` is the share of the needed lines in each passage. `strips` has the logits of each passage's strips, and
    whether a complete answer needs them. `answered` says whether the document that answers the question was there.
    """

    question: everyday.Question
    logits: Floats
    cosines: Floats
    overlaps: Floats
    holds: Floats
    strips: tuple[tuple[Floats, Floats], ...]
    answered: bool
    removed: bool


def kept(found: everyday.Found, logits: Floats, *, removed: bool) -> list[int]:
    """Return the positions of the passages that the app would keep; with `removed`, not those of the own document."""
    order = np.argsort(-logits, kind="stable").tolist()
    own = found.question.document
    return [place for place in order if not (removed and found.passages[place].document == own)][:KEPT]


def judge(
    found: everyday.Found, logits: Floats, strips: Mapping[int, tuple[Floats, Floats]], *, removed: bool
) -> Judged | None:
    """Return the question with the passages that the app would keep; `strips` by the position of their passage."""
    question = found.question
    places = kept(found, logits, removed=removed)
    if not places:
        return None
    lines = sum(everyday.is_line(line) for line in question.needed)
    return Judged(
        question,
        logits[places],
        np.array([found.passages[place].cosine for place in places]),
        np.array([found.passages[place].overlap or 0.0 for place in places]),
        np.array([0.0 if removed or not lines else len(found.holds[place]) / lines for place in places]),
        tuple(strips[place] for place in places),
        bool(lines) and not removed,
        removed,
    )


def judged(collection: everyday.Collection, asked: Sequence[everyday.Question], model: Model) -> list[Judged]:
    """Return the questions, each with the passages that the app would keep. Raises ModelError."""
    everything: list[Judged] = []
    for question in asked:
        found = everyday.find(collection, question, question.text, k=RETRIEVED)
        texts = [passage.in_context for passage in found.passages]
        logits = np.asarray(model.scores.of(question.text, texts), dtype=np.float64)
        places = sorted({place for removed in (False, True) for place in kept(found, logits, removed=removed)})
        spans = [everyday.strips_in_context(found.passages[place]) for place in places]
        of_strips = [
            model.scores.of_strips(question.text, texts[place], own) for place, own in zip(places, spans, strict=True)
        ]
        strips = {
            place: (
                np.asarray(values, dtype=np.float64),
                np.array(
                    [
                        found.passages[place].document == question.document and everyday.needs(question, span.text)
                        for span in own
                    ]
                ),
            )
            for place, values, own in zip(places, of_strips, spans, strict=True)
        }
        both_ways = (judge(found, logits, strips, removed=removed) for removed in (False, True))
        everything += [one for one in both_ways if one]
    return everything


def rows(questions: Sequence[Judged], first: int) -> Rows:
    """Return passages as rows for fitting: logit, cosine, overlap; marked if they have a third of the needed lines."""
    features, marks, numbers, sets = [], [], [], []
    for number, one in enumerate(questions):
        features.append(np.stack([one.logits, one.cosines, one.overlaps], axis=1))
        marks.append(one.holds >= everyday.SOME_OF_IT)
        numbers.append(np.full(len(one.logits), number))
        sets.append(np.full(len(one.logits), first + number % DOCUMENT_SETS))
    return Rows(np.concatenate(features), np.concatenate(marks), np.concatenate(numbers), np.concatenate(sets))


def rows_of_strips(questions: Sequence[Judged], first: int) -> Rows:
    """Return the strips of passages that contain part of the answer; the second feature is not used."""
    features, marks, numbers, sets = [], [], [], []
    for number, one in enumerate(questions):
        for share, (values, needed) in zip(one.holds, one.strips, strict=True):
            if share >= everyday.SOME_OF_IT and len(values):
                features.append(np.stack([values, np.zeros(len(values))], axis=1))
                marks.append(needed)
                numbers.append(np.full(len(values), number))
                sets.append(np.full(len(values), first + number % DOCUMENT_SETS))
    return Rows(np.concatenate(features), np.concatenate(marks), np.concatenate(numbers), np.concatenate(sets))


def both(one: Rows, other: Rows) -> Rows:
    """Return the rows of both, one after the other."""
    parts = [(getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(Rows)]
    return Rows(*(np.concatenate([a[..., :], b[..., :]]) for a, b in parts))


def relevances(one: Judged, passage: Logistic) -> Floats:
    """Return the relevances of a question's passages."""
    return np.asarray(passage.probabilities(one.logits.astype(np.float32), one.cosines, one.overlaps), dtype=np.float64)


def with_cosine(rows: Rows, weight: float) -> Logistic:
    """Fit Platt scaling to the logit plus `weight` times the cosine."""
    mixed = dataclasses.replace(rows, features=rows.features[:, :1] + weight * rows.features[:, 1:2])
    fitted = fit(mixed, PASSAGES["logit"])
    return dataclasses.replace(fitted, cosine=round(fitted.logit * weight, 4))


def thresholds(questions: Sequence[Judged], best: Floats, passage: Logistic, strip: Logistic) -> Thresholds:
    """Return the thresholds, by the rules in the module's docstring; `best` is each question's best relevance."""
    answered = np.array([one.answered for one in questions])
    near = np.array([not one.answered and not one.removed for one in questions])
    upper = float(np.quantile(best[near], 1 - NEAR_MISSES))
    lower = float(np.quantile(best[answered], MISSED))
    kept = []
    for one in questions:
        if one.answered:
            for relevance, (values, needed) in zip(relevances(one, passage), one.strips, strict=True):
                of_lines = strip.probabilities(values.astype(np.float32)) * relevance
                kept += of_lines[needed].tolist()
    return Thresholds(
        upper=round(upper, 3), lower=round(min(lower, upper), 3), strip=round(float(np.quantile(kept, 1 - LINES)), 3)
    )


def report(questions: Sequence[Judged], best: Floats, chosen: Thresholds) -> str:
    """Return a table of the questions' grades under the thresholds."""
    from sklearn.metrics import roc_auc_score  # noqa: PLC0415

    answered = np.array([one.answered for one in questions])
    removed = np.array([one.removed for one in questions])
    near = ~answered & ~removed
    kinds = {"answered": answered, "near miss": near, "document taken out": removed}
    lines = [
        [
            name,
            str(int(of.sum())),
            f"{(best[of] >= chosen.upper).mean():.2f}",
            f"{(best[of] < chosen.lower).mean():.2f}",
        ]
        for name, of in kinds.items()
    ]
    some = answered | near
    auc = roc_auc_score(answered[some], best[some])
    return (
        table(["question", "number", "CORRECT", "INCORRECT"], lines)
        + f"\n\nAUC of answered against near misses, by the best passage: {auc:.3f}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="FOLDER or FOLDER:FORMAT")
    parser.add_argument("--documents", type=Path, nargs="+", required=True)
    parser.add_argument("--plain", type=Path, nargs="*", default=[], help="further questions on them, one a line")
    parser.add_argument("--apart", type=Path, required=True, help="JSON list of the documents' names to fit to")
    parser.add_argument("--general", type=Path, required=True, help="folder of the general sets")
    parser.add_argument("--embedder", type=Path, default=EMBEDDER)
    parser.add_argument("--questions", type=int, default=100, help="of each general set")
    parser.add_argument("--most", type=int, default=1000, help="questions on documents at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, default=WORK)
    parser.add_argument(
        "--form", choices=list(PASSAGES), help="of the passages' calibration; else that of least log loss"
    )
    parser.add_argument("--cosine", type=float, help="weight of the passages' cosine, in units of the logit")
    parser.add_argument("--dry-run", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    model = Model.named(arguments.model, arguments.work)
    names = frozenset(json.loads(arguments.apart.read_text("utf-8")))
    collection = everyday.opened(arguments.documents, arguments.work)
    every = (*collection.questions, *everyday.plain_questions(arguments.plain))
    asked = [question for question in every if question.document in names]
    asked = random.Random(arguments.seed).sample(asked, min(arguments.most, len(asked)))
    questions = judged(collection, asked, model)
    collection.assembly.close()
    random.Random(arguments.seed).shuffle(questions)
    samples = take(
        arguments.general, load_embedder(arguments.embedder), arguments.work,
        questions=arguments.questions, seed=arguments.seed, last=True,
    )  # fmt: skip
    for sample in samples:
        sample.compute(model.scores)
    general = passage_rows([rank(sample, model.scores) for sample in samples])
    passages = both(general, rows(questions, len(samples)))
    strips = both(strip_rows(samples, model.scores), rows_of_strips(questions, len(samples)))
    of_passages, of_strips = held_out(passages, PASSAGES), held_out(strips, STRIPS)
    if arguments.cosine is None:
        passage = fit(passages, PASSAGES[arguments.form or best_form(of_passages, PASSAGES).name])
    else:
        passage = with_cosine(passages, arguments.cosine)
    strip = fit(strips, STRIPS[best_form(of_strips, STRIPS).name])
    best = np.array([relevances(one, passage).max() for one in questions])
    chosen = thresholds(questions, best, passage, strip)
    for name, results in (("passages", of_passages), ("strips", of_strips)):
        print(name, {one.name: round(one.log_loss, 4) for one in results}, file=sys.stderr)
    print(report(questions, best, chosen))
    calibration = FittedCalibration(passage, strip, chosen)
    written = json.dumps(dataclasses.asdict(calibration), indent=2) + "\n"
    print(written, end="")
    if not arguments.dry_run:
        (model.folder / CALIBRATION_FILE).write_text(written, "utf-8")


if __name__ == "__main__":
    main()
