"""The place head: which lines of a passage a cross-encoder takes for the answer; one linear layer.

Trained with the relevance model (scripts/lab/training/train_relevance.py), stored beside it. From one pass over a whole
passage it gives every line of it a logit, so that "It was built in 1821" is judged with the sentence before it in view.
A head of lines says of each whether a complete answer needs it; the first kind, of shares, where the one answer lies.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import load_file

from localcrag.records.protocols import Vectors
from localcrag.text.span import Span

PLACE_FILE = "place_head.safetensors"
OF_LINES = {"head": "lines"}
"""The file's metadata, for a head of lines."""
SMALLEST_SHARE = 1e-6


@dataclass(frozen=True, slots=True)
class Lines:
    """What the place head says of a passage's lines.

    `places`: start and end (characters of the passage) of each of its tokens that the model saw, shape (tokens, 2);
    `values`, shape (tokens,): of a head of lines a score for each; else how much of the model's attention to the answer
    lies on each, adding up to 1.
    """

    places: NDArray[np.int64]
    values: Vectors
    of_lines: bool = False

    def sees(self, span: Span) -> bool:
        """Whether a token of the span was within the model's window."""
        return bool(self._within(span).any())

    def logit_of(self, span: Span) -> float:
        """Return the log-odds that the answer, if the passage holds one, needs this line, or lies in it."""
        values = self.values[self._within(span)]
        if self.of_lines:
            return float(values.mean())
        share = float(np.clip(values.sum(), SMALLEST_SHARE, 1.0 - SMALLEST_SHARE))
        return float(np.log(share) - np.log1p(-share))

    def _within(self, span: Span) -> NDArray[np.bool_]:
        starts, ends = self.places[:, 0], self.places[:, 1]
        return np.asarray((starts < span.end) & (ends > span.start) & (ends > starts))


@dataclass(frozen=True, slots=True)
class Reading:
    """The outcome of one pass over a question and a passage; without lines where it stopped at the exit head."""

    logit: float
    lines: Lines | None = None


def reads_lines(path: Path) -> bool:
    """Whether a place head's file is one of lines. Raises OSError or SafetensorError where it is no such file."""
    with safe_open(path, framework="pt") as file:
        return (file.metadata() or {}).items() >= OF_LINES.items()


class PlaceHead(torch.nn.Linear):
    """A score for each token; of a head of shares, their softmax says where the answer is looked for."""

    def __init__(self, path: Path) -> None:
        """Load the layer. Raises RuntimeError, ValueError or OSError when the file does not hold it."""
        tensors = load_file(path)
        super().__init__(tensors["weight"].shape[1], 1)
        self.load_state_dict(tensors)
        self.requires_grad_(False)
        self.of_lines = reads_lines(path)

    def values(self, states: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
        """Return each token's value, shape (passages, tokens), from hidden states, shape (passages, tokens, size).

        `inside`, shape (passages, tokens), is true for the tokens of the passage; the others have no share.
        """
        scores: torch.Tensor = self(states.float())[:, :, 0]
        if self.of_lines:
            return scores
        return torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=1).nan_to_num(0.0)
