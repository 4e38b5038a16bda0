"""Train the exit head of a reranker, and print its effect at several cuts.

    .venv/bin/python scripts/lab/training/train_exit_head.py DATA [--model FOLDER] [--layers N] [--cut LOGIT]
        [--questions N] [--write]

For each of N everyday questions (DATA/everyday/train.jsonl.gz), the eleven passages that the app finds go through the
model. So do as many groups of general questions, with passages that answer and that do not (DATA/train). The head
learns the model's own logit from the states after some layers, by ridge regression, since there are few pairs. It uses
no labels.

The script prints figures for everyday/dev and for the sets in DATA/dev, on which nothing is trained: the share of
passages that exit; how many exit of those that the whole model takes for ambiguous or correct; and for how many
everyday questions the action changes, or fewer needed lines are among the best six and three. --write writes the head
with the cut of --cut into the model's folder.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from localcrag.crag.grading import best, graded
from localcrag.models.reranker import CUT, EXIT_HEAD_FILE, LAYERS, CrossEncoder
from localcrag.records.enums import Grade, NumberFormat, Origin
from localcrag.records.passages import GradedPassage, Passage, grade
from localcrag.records.protocols import Embedder, Vectors
from localcrag.text.words import overlap

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # scripts/, where the package `lab` is

from lab.relevance.data import SETS, load_set
from lab.training.everyday import Collection, collect, find
from lab.training.pairs import load_rows, make_groups

LOOKED_AT = 11
"""Passages of a question, as many as the app's reranker scored when the head was trained (settings.reranked)."""
OTHERS = 4
"""Nearest passages of a general question in addition to its own."""
CUTS = (-5.0, -5.5, -6.0, -6.5, -7.0)
PENALTY = 3_000.0
"""Ridge penalty, for states with unit variance; 300 gave the same result."""
KEPT, SHOWN = 6, 3
"""Passages that are kept, and those that are shown if none is sure (crag/grading.py)."""
SEED = 20
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Read:
    """A pair read by the whole model: its states after the layers, and its logit; `held`: needed lines in it."""

    question: str
    passage: Passage
    held: int
    states: Vectors
    logit: float


class Reader:
    """Runs the model on pairs, and keeps the states that the exit head would get."""

    def __init__(self, folder: Path, layers: int) -> None:
        self.scorer = CrossEncoder(folder.name, folder, number_format=NumberFormat.INT8)
        self._layers = layers

    @torch.inference_mode()
    def read(self, question: str, passage: Passage, held: int = 0) -> Read:
        """Run all layers on a pair."""
        encoder: Any = self.scorer._model
        tokens = encoder.tokenizer(
            question, passage.in_context, truncation="longest_first", max_length=encoder.max_seq_length,
            return_tensors="pt",
        )  # fmt: skip
        out = encoder[0].model(**tokens, output_hidden_states=True)
        states = out.hidden_states[self._layers][0].float()
        inside = tokens["token_type_ids"][0] == 1
        seen = torch.cat([states[0], states[inside].mean(0)])
        return Read(question, passage, held, seen.numpy(), float(out.logits[0, 0]))


def everyday(reader: Reader, collection: Collection, number: int) -> Iterator[Read]:
    """Yield the pairs of `number` everyday questions with the passages that the app finds."""
    for question in random.Random(SEED).sample(collection.questions, min(number, len(collection.questions))):
        found = find(collection, question, question.text, k=LOOKED_AT)
        for passage, holds in zip(found.passages, found.holds, strict=True):
            yield reader.read(question.text, passage, len(holds))


def general(reader: Reader, data: Path, embedder: Embedder, number: int) -> Iterator[Read]:
    """Yield the pairs of `number` groups of general questions, with passages that answer and that do not."""
    rows = random.Random(SEED).sample(load_rows(data / "train"), 20 * number)
    for group in make_groups(rows, embed=embedder.embed, chosen=random.Random(SEED))[:number]:
        for pair in group.passages:
            yield reader.read(pair.question, passage_of(pair.question, pair.text, embedder))


def held_out(reader: Reader, data: Path, name: str, embedder: Embedder, number: int) -> Iterator[Read]:
    """Yield the pairs of a set's questions with their own passage and the nearest others, among 300 of the set."""
    labelled = load_set(data / "dev", name)
    chosen = random.Random(SEED)
    pool = chosen.sample(labelled.passages, min(300, len(labelled.passages)))
    vectors = embedder.embed(pool)
    for question in chosen.sample(labelled.questions, min(number, len(labelled.questions))):
        near = np.argsort(-(vectors @ embedder.embed_questions([question.text])[0]))
        own = labelled.passages[question.own]
        for text in [own, *[pool[at] for at in near.tolist() if pool[at] != own][:OTHERS]]:
            yield reader.read(question.text, passage_of(question.text, text, embedder))


def passage_of(question: str, text: str, embedder: Embedder) -> Passage:
    """Return a text as a passage for a question."""
    asked, vector = embedder.embed_questions([question])[0], embedder.embed([text])[0]
    return Passage(
        id=text, origin=Origin.LOCAL, text=text, document="", page=None, cosine=float(asked @ vector),
        overlap=overlap(question, text),
    )  # fmt: skip


def fit(read: Sequence[Read]) -> tuple[Vectors, float]:
    """Fit the layer; return its weights, shape (size of the states,), and its bias."""
    scaler = StandardScaler()
    states = scaler.fit_transform(np.stack([one.states for one in read]))
    ridge = Ridge(alpha=PENALTY).fit(states, [one.logit for one in read])
    weights = ridge.coef_ / scaler.scale_
    return weights.astype(np.float32), float(ridge.intercept_ - weights @ scaler.mean_)


class Judged:
    """Pairs with their logits, for comparing the whole model with early exits."""

    def __init__(self, read: Sequence[Read], scorer: CrossEncoder) -> None:
        self._read, self._scorer = read, scorer
        self._logits = np.array([one.logit for one in read])

    def figures(self, estimates: NDArray[np.floating[Any]], cut: float) -> dict[str, float]:
        """Return the figures for exits below a cut."""
        exits = estimates < cut
        ours, whole = self._graded(np.where(exits, estimates, self._logits)), self._graded(self._logits)
        hot = np.array([one.grade is not Grade.INCORRECT for one in whole])
        return {
            "exit": float(exits.mean()),
            "not incorrect": int(hot.sum()),
            "of these exit": int((hot & exits).sum()),
            "another action": sum(a != b for a, b in zip(self._actions(ours), self._actions(whole), strict=True)),
            **{
                f"lines among {number}": self._lines(ours, number) - self._lines(whole, number)
                for number in (KEPT, SHOWN)
            },
        }

    def _graded(self, logits: Numbers) -> list[GradedPassage]:
        calibration = self._scorer.calibration
        cosines, overlaps = (
            np.array([getattr(one.passage, name) or 0.0 for one in self._read], np.float32)
            for name in ("cosine", "overlap")
        )
        relevances = calibration.passages(logits.astype(np.float32), cosines, overlaps)
        return [
            graded(one.passage, logit=float(logit), relevance=float(relevance), thresholds=calibration.thresholds)
            for one, logit, relevance in zip(self._read, logits, relevances, strict=True)
        ]

    def _by_question(self) -> list[list[int]]:
        places: dict[str, list[int]] = {}
        for place, one in enumerate(self._read):
            places.setdefault(one.question, []).append(place)
        return list(places.values())

    def _actions(self, passages: Sequence[GradedPassage]) -> list[Grade]:
        thresholds = self._scorer.calibration.thresholds
        return [grade(max(passages[place].relevance for place in places), thresholds) for places in self._by_question()]

    def _lines(self, passages: Sequence[GradedPassage], number: int) -> int:
        held = 0
        for places in self._by_question():
            kept = {one.id for one in best([passages[place] for place in places], number)}
            held += sum(self._read[place].held for place in places if passages[place].id in kept)
        return held


def show(name: str, judged: Judged, estimates: NDArray[np.floating[Any]]) -> None:
    """Print a set's figures as rows of a Markdown table."""
    for cut in CUTS:
        figures = judged.figures(estimates, cut)
        print(
            f"| {name} | {cut} | {figures.pop('exit'):.2f} | " + " | ".join(f"{one}" for one in figures.values()) + " |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--model", type=Path, default=Path("models/relevance-v3"), metavar="FOLDER")
    parser.add_argument("--layers", type=int, default=7)
    parser.add_argument("--cut", type=float, default=-6.5)
    parser.add_argument("--questions", type=int, default=350, help="everyday ones, and general ones (350)")
    parser.add_argument("--write", action="store_true", help="write the head into the model's folder")
    given = parser.parse_args()
    reader = Reader(given.model, given.layers)
    with tempfile.TemporaryDirectory(prefix="exit-head-") as temporary:
        collections = {
            which: collect([given.data / "everyday" / f"{which}.jsonl.gz"], Path(temporary) / which)
            for which in ("train", "dev")
        }
        embedder = collections["train"].assembly.models.embedder
        learned = [
            *everyday(reader, collections["train"], given.questions),
            *general(reader, given.data, embedder, given.questions),
        ]
        print(f"{len(learned)} pairs are learned from", file=sys.stderr, flush=True)
        weights, bias = fit(learned)
        print("| set | cut | exit | not incorrect | of these exit | another action | lines among 6 | among 3 |")
        print("| --- | --: | --: | --: | --: | --: | --: | --: |")
        number = given.questions // 2
        sets = {"everyday/dev": list(everyday(reader, collections["dev"], number))}
        sets |= {name: list(held_out(reader, given.data, name, embedder, number // 2)) for name in SETS}
        for name, read in sets.items():
            show(name, Judged(read, reader.scorer), np.stack([one.states for one in read]) @ weights + bias)
        for collection in collections.values():
            collection.assembly.close()
    if given.write:
        tensors = {"weight": torch.from_numpy(weights)[None].contiguous(), "bias": torch.tensor([bias])}
        save_file(tensors, given.model / EXIT_HEAD_FILE, metadata={LAYERS: str(given.layers), CUT: str(given.cut)})


if __name__ == "__main__":
    main()
