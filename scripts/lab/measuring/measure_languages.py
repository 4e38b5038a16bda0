"""Measure models in other languages: how often the right passage is found, ranked first and believed.

    .venv/bin/python scripts/lab/measuring/measure_languages.py FILE [--embedder NAME] [--relevance NAME] [--most 200]

Each line of FILE has a question: `lang`, `question`, and the `passage` that answers it. For each language, up to --most
questions are asked over all passages of that language. The script prints the share whose passage is the nearest by the
embedding model. For the reranker and the ten nearest passages, it prints:

- the share whose passage ranks first;
- the AUC of the best relevance, with the right passage there against the right passage removed;
- the share graded CORRECT (`upper` of the model's calibration), with and without the right passage.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from localcrag.app.assembly import Assembly
from localcrag.crag.grading import evaluate
from localcrag.records.enums import Origin
from localcrag.records.passages import Passage
from localcrag.records.protocols import Embedder, Scorer
from localcrag.settings import load

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.relevance.data import read_lines

NEAREST = 10
LONGEST = 1_000
"""Most characters of a passage: about the length of a chunk."""


def nearest(embedder: Embedder, asked: Sequence[str], texts: Sequence[str]) -> np.ndarray:
    """Return for each question the indices of all texts, nearest first, shape (questions, texts)."""
    return np.argsort(-(embedder.embed_questions(asked) @ embedder.embed(texts).T), axis=1)


def best_relevances(scorer: Scorer, question: str, texts: Sequence[str]) -> np.ndarray:
    """Return the relevance of each text, shape (texts,)."""
    passages = [
        Passage(id=str(number), text=text, origin=Origin.LOCAL, cosine=0.0) for number, text in enumerate(texts)
    ]
    graded = evaluate(question, passages, scorer=scorer, thresholds=scorer.calibration.thresholds)
    return np.array([passage.relevance for passage in graded])


def figures(rows: Sequence[tuple[str, str]], embedder: Embedder, scorer: Scorer | None) -> list[str]:
    """Return the figures in a line of the table for questions with their passages."""
    texts = list(dict.fromkeys(passage for _, passage in rows))
    right = [texts.index(passage) for _, passage in rows]
    order = nearest(embedder, [question for question, _ in rows], texts)
    shown = [str(len(rows)), f"{np.mean(order[:, 0] == right):.2f}"]
    if scorer is None:
        return shown
    upper = scorer.calibration.thresholds.upper
    there, gone, on_top = [], [], []
    for (question, _), number, ranked in zip(rows, right, order.tolist(), strict=True):
        near = ranked[: NEAREST + 1]
        relevance = dict(zip(near, best_relevances(scorer, question, [texts[at] for at in near]), strict=True))
        gone.append(max(value for at, value in relevance.items() if at != number))
        if number in near[:NEAREST]:
            there.append(max(relevance[at] for at in near[:NEAREST]))
            on_top.append(max(near[:NEAREST], key=relevance.__getitem__) == number)
    auc = roc_auc_score([1] * len(there) + [0] * len(gone), [*there, *gone])
    shares = (np.mean(on_top), auc, np.mean(np.array(there) >= upper), np.mean(np.array(gone) >= upper))
    return [*shown, *(f"{share:.2f}" for share in shares)]


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--embedder", default="all-minilm-l6-v2")
    parser.add_argument("--relevance", help="else the embedder alone")
    parser.add_argument("--most", type=int, default=200, help="questions of a language")
    arguments = parser.parse_args(given)
    named = {"embedder": arguments.embedder} | ({"relevance": arguments.relevance} if arguments.relevance else {})
    assembly = Assembly(load(**named))
    of_language: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for raw in read_lines(arguments.file):
        of_language[raw["lang"]].append((raw["question"], raw["passage"][:LONGEST]))
    columns = ["language", "questions", "nearest"]
    if arguments.relevance:
        columns += ["on top", "AUC", "CORRECT", "CORRECT without it"]
    print("| " + " | ".join(columns) + " |\n" + "| --- " * len(columns) + "|")
    for language, rows in sorted(of_language.items()):
        some = random.Random(1).sample(rows, min(arguments.most, len(rows)))
        scorer = assembly.models.scorer if arguments.relevance else None
        print("| " + " | ".join([language, *figures(some, assembly.models.embedder, scorer)]) + " |", flush=True)
    assembly.close()


if __name__ == "__main__":
    main(sys.argv[1:])
