"""Fit the judge of prompt injection (localcrag/crag/screen/judge.py), and write its weights.

    nice .venv/bin/python scripts/lab/injection/train_injection.py DATA [--check]

The attacks are `scripts/lab/injection/attacks.txt` and those that the rules were written for (tests/data/attacks.jsonl
and attacks_by_class.jsonl, without their unseen halves). The honest sentences are `scripts/lab/injection/honest.txt`,
tests/support/honest_sentences.py, and the sentences of `train/` and `everyday/train` in DATA, the folder of labelled
sets. The script reads none of the held-out data: tests/data/attacks_held_out.jsonl, attack_lookalikes.jsonl, `dev/`,
`everyday/dev`.

It prints which attacks ten-fold cross-validation finds at a threshold with a fixed share of false alarms among the
honest sentences. Each class of the file with classes is judged by weights that were fitted without it. With --check, it
writes nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

from localcrag.crag.screen import injection
from localcrag.crag.screen.injection import readable
from localcrag.crag.screen.judge import WEIGHTS, features, windows
from localcrag.crag.screen.rules import PATTERNS
from localcrag.text.sentences import split_sentences
from tests.support.honest_sentences import HONEST

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.injection.attacks import BY_CLASS, CORPUS, load
from lab.relevance.data import read_lines

TEXTS = Path(__file__).resolve().parent
FOLDS = 10
OF_A_SOURCE = 1_500
"""Most passages taken from each source in DATA."""
INVERSE_REGULARISATION = 0.2
ATTACK_WEIGHT, NEAR_WEIGHT = 3.0, 6.0
"""Weights of a sentence of an attack, and of an honest one that looks like one; running text has 1."""
WORDS_IN = 5
"""Fewest of our own sentences in which a word or word pair must occur to be a feature; each attack counts twice."""
SMALLEST = 0.05
"""Smallest weight that is written to the file."""
ALONE, BESIDE = 1, 12
"""Numbers of honest sentences that may exceed the thresholds “alone” and “beside” in the file of weights."""
CODE_WORD = re.compile(r"\b[A-Z]{4,}(?:-\d+)?\b|\b[A-Z]{3,}-\d+\b")


def attacks() -> list[str]:
    """Return the sentences of attacks, each twice: unchanged, and without the code words in capitals."""
    own = (TEXTS / "attacks.txt").read_text("utf-8").splitlines()
    found = []
    for attack in (*load(CORPUS), *load(BY_CLASS)):
        known = {span.text for span, _ in injection.find_instructions(attack.planted, PATTERNS)}
        texts = [span.text for span in split_sentences(attack.planted) if not attack.unseen]
        found += [text for text in texts if text in known or attack.got_through(text)]
    readings = [readable(text) for text in (*own, *found)]
    return [text for reading in readings for text in (reading, CODE_WORD.sub("", reading))]


def running_text(data: Path) -> list[str]:
    """Return the sentences of honest texts, each once."""
    chance = random.Random(1)
    by_source: dict[str, set[str]] = {}
    for row in read_lines(data / "train" / "passages.jsonl.gz"):
        by_source.setdefault(row["source"], set()).add(row["passage"][:1_500])
    texts = [
        text for _, of in sorted(by_source.items()) for text in chance.sample(sorted(of), min(len(of), OF_A_SOURCE))
    ]
    for name in ("train/handbooks", "everyday/train"):
        texts += [row["text"] for row in read_lines(data / f"{name}.jsonl.gz")]
    sentences = (readable(span.text) for text in texts for span in split_sentences(text))
    return list(dict.fromkeys(sentences))


class Sentences:
    """Sentences as rows of features, one row per window; `fold` of each sentence, in blocks or at random."""

    def __init__(self, texts: Sequence[str], vectors: DictVectorizer, *, in_stretches: bool) -> None:
        self.texts = texts
        rows = [(at, window) for at, text in enumerate(texts) for window in windows(text)]
        self.own = np.array([at for at, _ in rows])
        self.rows = vectors.transform(dict.fromkeys(features(window), 1.0) for _, window in rows)
        places = np.arange(len(texts)) * FOLDS // len(texts)
        self.fold = places if in_stretches else np.random.default_rng(0).integers(0, FOLDS, len(texts))

    def highest(self, total_rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each sentence the highest value of its windows."""
        highest = np.full(len(self.texts), -np.inf)
        np.maximum.at(highest, self.own, total_rows)
        return highest


def fit(groups: Sequence[Sentences], without: int | None) -> LogisticRegression:
    """Fit the regression on attacks, similar honest sentences and running text, without one fold."""
    chosen = [group.fold[group.own] != without for group in groups]
    matrix = scipy.sparse.vstack([group.rows[rows] for group, rows in zip(groups, chosen, strict=True)])
    counts = [int(rows.sum()) for rows in chosen]
    labels = np.repeat([1, 0, 0], counts)
    weight = np.repeat([ATTACK_WEIGHT, NEAR_WEIGHT, 1.0], counts)
    return LogisticRegression(C=INVERSE_REGULARISATION, solver="liblinear", max_iter=500).fit(matrix, labels, weight)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of labelled sets")
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    near = [readable(text) for text in (*(TEXTS / "honest.txt").read_text("utf-8").splitlines(), *HONEST)]
    bad, plain = attacks(), running_text(arguments.data)
    vectors = DictVectorizer().fit(
        dict.fromkeys(features(window), 1.0) for text in (*bad, *near) for window in windows(text)
    )
    seen = vectors.transform(dict.fromkeys(features(window), 1.0) for text in (*bad, *near) for window in windows(text))
    vectors.restrict(np.asarray((seen > 0).sum(axis=0)).ravel() >= WORDS_IN)
    groups = [
        Sentences(texts, vectors, in_stretches=stretches)
        for texts, stretches in ((bad, True), (near, True), (plain, False))
    ]
    folded = [np.zeros(len(group.texts)) for group in groups]
    for fold in range(FOLDS):
        model = fit(groups, fold)
        for group, figures in zip(groups, folded, strict=True):
            figures[group.fold == fold] = group.highest(model.decision_function(group.rows))[group.fold == fold]
    print(f"{len(bad)} attacks, {len(near)} honest sentences like them, {len(plain)} of running text")
    by_rules = np.array([bool(injection.find_instructions(text, PATTERNS)) for text in bad])
    thresholds = {over: float(np.sort(folded[2])[-over - 1]) for over in (0, ALONE, 3, BESIDE, 40)}
    for over, threshold in thresholds.items():
        found, alike = folded[0] > threshold, int((folded[1] > threshold).sum())
        with_rules, rules_alone = (found | by_rules).mean(), by_rules.mean()
        print(f"{over:>3} of running text over {threshold:5.2f}: {found.mean():.2f} of the attacks, {alike} like them")
        print(f"    with the rules {with_rules:.2f} of the attacks ({rules_alone:.2f} by the rules alone)")
    for text in [groups[2].texts[at] for at in np.argsort(-folded[2])[:12]]:
        print("    ", text[:200])
    if arguments.check:
        return
    model = fit(groups, None)
    of = {
        str(name): round(float(weight), 3)
        for name, weight in zip(vectors.feature_names_, model.coef_[0], strict=True)
        if abs(weight) >= SMALLEST
    }
    stored = {
        "bias": round(float(model.intercept_[0]), 3),
        "alone": round(thresholds[ALONE], 2),
        "beside": round(thresholds[BESIDE], 2),
        "of": dict(sorted(of.items())),
    }
    WEIGHTS.write_text(json.dumps(stored, ensure_ascii=False, indent=0) + "\n", "utf-8")
    print(f"{len(of)} weights in {WEIGHTS.name}")


if __name__ == "__main__":
    main()
