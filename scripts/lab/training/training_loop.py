"""A training loop that resumes after an interruption: schedule, curve, checkpoint, number format.

It knows nothing of the model that is trained.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from localcrag.models.encoders import pick_dtype


def multiplies_in_bf16(device: str) -> bool:
    """Return whether bf16 saves time on a device; a CPU that emulates it takes thirty times as long as in fp32."""
    return device == "cuda" or pick_dtype(device) is torch.bfloat16


class Learner(Protocol):
    """The model and data in training."""

    def learn(self, number: int, rate: float) -> tuple[float, Mapping[str, int]]:
        """Take step `number` at `rate` times the learning rate; return the loss, and counts of the training data."""

    def validate(self) -> Mapping[str, float]:
        """Return the figures for a row of the curve."""

    def state(self) -> dict[str, Any]:
        """Return everything that is needed to resume."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Resume from a state."""


@dataclass(slots=True)
class Progress:
    """The part of a checkpoint other than the learner; the curve has a row of figures for every checkpoint."""

    step: int = 0
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    curve: list[dict[str, float]] = field(default_factory=list)


def train(
    learner: Learner, steps: int, checkpoint: Path, *, minutes: float, warm_up: float, check_every: int
) -> Progress:
    """Train for `steps` steps, or as many as fit into `minutes`; the learning rate falls to 0 by then.

    It first rises over the share `warm_up` of the steps. Resumes from the checkpoint if there is one.
    """
    progress = Progress()
    if checkpoint.exists():
        state = torch.load(checkpoint, weights_only=False)
        learner.restore(state["learner"])
        progress = state["progress"]
        print(f"going on at step {progress.step} of {steps}", file=sys.stderr, flush=True)
    losses: list[float] = []
    while progress.step < steps and progress.seconds < minutes * 60:
        began = time.monotonic()
        done = max(progress.step / steps, progress.seconds / (minutes * 60))
        rate = min(done / warm_up, 1.0) * (1 - done) if progress.step else 0.01
        loss, counts = learner.learn(progress.step, rate)
        losses.append(loss)
        progress.step += 1
        progress.counts.update(counts)
        progress.seconds += time.monotonic() - began
        if progress.step % check_every == 0 or progress.step == steps:
            row = {"step": progress.step, "of": steps, "minutes": progress.seconds / 60, "loss": float(np.mean(losses))}
            row |= {**progress.counts, **learner.validate()}
            losses.clear()
            progress.curve.append(row)
            _save(learner, progress, checkpoint)
            print(json.dumps(row), flush=True)
    _save(learner, progress, checkpoint)
    return progress


def _save(learner: Learner, progress: Progress, path: Path) -> None:
    """Write the checkpoint to a second file, then replace the old one, so that a killed run leaves a complete one."""
    temporary = path.with_suffix(".tmp")
    torch.save({"learner": learner.state(), "progress": progress}, temporary)
    temporary.replace(path)
