"""Train the reranker on prepared numbers, measure the learning curve, and write the model's folder.

This module knows neither documents nor the app: it runs on a machine that has only the numbers (tokenised.py) and a
GPU.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import save_file
from sklearn.metrics import roc_auc_score
from transformers import AutoTokenizer

from lab.training.pairs import Group
from lab.training.tokenised import Tokenised
from lab.training.trainer import Trainer
from localcrag.models.reranker import LINE_HEAD_METADATA, SPAN_HEAD_FILE

GROUPS_PER_STEP = 12
KINDS = ("passages", "strips")
"""Kinds of texts that the curve is measured on; a kind without texts has no figures."""
QUESTIONS_OF, PAIRS_OF = "questions of ", "pairs of "
"""Prefixes of the names of counts of training data, by source."""


@dataclass(frozen=True, slots=True)
class Material:
    """The training data, and the data for the curve, with whole passages and single sentences separate."""

    seen: Tokenised
    known: dict[str, Tokenised]

    @classmethod
    def of(cls, known: Sequence[Group], seen: Sequence[Group], tokenizer: Any) -> Material:
        """Tokenise the groups, `known` for the curve and `seen` for training."""
        parts = {
            "passages": [replace(group, strips=()) for group in known if group.passages],
            "strips": [replace(group, passages=()) for group in known if group.strips],
        }
        of_parts = {name: Tokenised.of(part, tokenizer) for name, part in parts.items() if part}
        return cls(Tokenised.of(seen, tokenizer), of_parts)


class Course:
    """The training data in steps, for training_loop.py, in a new random order in each pass.

    A step has `groups_per_step` groups, or as many as make about `tokens_per_step` tokens.
    """

    def __init__(
        self,
        trainer: Trainer,
        material: Material,
        chosen: random.Random,
        *,
        passes: int = 1,
        groups_per_step: int = GROUPS_PER_STEP,
        tokens_per_step: int | None = None,
    ) -> None:
        self.trainer, self.seen, self.known = trainer, material.seen, material.known
        every = range(len(self.seen))
        order = [number for _ in range(passes) for number in chosen.sample(every, len(every))]
        if tokens_per_step:
            self.steps = self.seen.steps(order, tokens_per_step)
            chosen.shuffle(self.steps)
        else:
            count = len(order) // groups_per_step
            self.steps = [order[n * groups_per_step : (n + 1) * groups_per_step] for n in range(count)]
        self._next = 0
        self._lessons = trainer.lessons(self.seen, ())

    def learn(self, number: int, rate: float) -> tuple[float, dict[str, int]]:
        """Train on the groups of step `number`."""
        if not number or number != self._next:
            self._lessons = self.trainer.lessons(self.seen, self.steps[number:])
        self._next = number + 1
        lesson = next(self._lessons)
        loss = self.trainer.step(lesson, rate)
        learned = Counter({"pairs": len(lesson.relevant), "tokens": lesson.tokens})
        for group in self.steps[number]:
            source = self.seen.sources[self.seen.source[group]]
            learned[QUESTIONS_OF + source] += 1
            learned[PAIRS_OF + source] += self.seen.pairs_of(group)
        return loss, dict(learned)

    def validate(self) -> dict[str, float]:
        """Return the figures on the known groups."""
        return validate(self.trainer, self.known)

    def state(self) -> dict[str, Any]:
        """Return model, place head and optimiser."""
        trainer = self.trainer
        parts = {"model": trainer.model, "place": trainer.place, "optimiser": trainer.optimiser}
        return {name: part.state_dict() for name, part in parts.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore model, place head and optimiser from a checkpoint."""
        self.trainer.model.load_state_dict(state["model"])
        self.trainer.place.load_state_dict(state["place"])
        self.trainer.optimiser.load_state_dict(state["optimiser"])


def validate(trainer: Trainer, known: Mapping[str, Tokenised]) -> dict[str, float]:
    """Return AUC and mean reciprocal rank of the relevant text on pairs that are not trained on, by kind."""
    figures: dict[str, float] = {}
    for name in KINDS:
        groups = known.get(name)
        if groups is None or groups.relevant.all() or not groups.relevant.any():
            figures |= {f"{name}_auc": float("nan"), f"{name}_mrr": float("nan")}
            continue
        labels, logits = groups.relevant, trainer.logits_of(groups)
        figures[f"{name}_auc"] = float(roc_auc_score(labels, logits))
        ranks = [
            1 + int((logits[start + 1 : end] >= logits[start]).sum())
            for start, end in itertools.pairwise(groups.lists.tolist())
            if labels[start]
        ]
        figures[f"{name}_mrr"] = float(np.mean(1 / np.array(ranks)))
    return figures


def save_model(trainer: Trainer, base: Path, out: Path) -> None:
    """Write the cross-encoder in fp16, in the form of sentence-transformers."""
    out.mkdir(parents=True, exist_ok=True)
    trainer.model.half().save_pretrained(out)
    place = {name: tensor.half().contiguous() for name, tensor in trainer.place.state_dict().items()}
    save_file(place, out / SPAN_HEAD_FILE, metadata=LINE_HEAD_METADATA)
    tokenizer: Any = AutoTokenizer.from_pretrained(base)
    # The bi-encoder's tokenizer file contains its own limit (128 tokens), and the trainer's that of the last batch.
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    limits = ("max_length", "truncation_strategy", "stride", "pad_to_multiple_of")
    for setting in (*limits, "is_local", "local_files_only"):
        tokenizer.init_kwargs.pop(setting, None)
    tokenizer.model_max_length = trainer.model.config.max_position_embeddings
    tokenizer.save_pretrained(out)
