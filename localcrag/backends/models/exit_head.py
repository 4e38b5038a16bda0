"""The exit head: what a cross-encoder knows of a passage half-way; one linear layer.

After some layers it estimates the logit. Most passages that retrieval finds do not help, and half of the layers know
that of most of these: those below a cut go through no further layer, and the estimate is their logit. Trained on the
model's own logits, and stored beside it (scripts/lab/training/train_exit_head.py). Early exits: Xin et al., “DeeBERT”,
ACL 2020; here one, for clear refusals alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file

EXIT_FILE = "exit_head.safetensors"
LAYERS, CUT = "layers", "cut"
"""In the file's metadata: how many layers a passage goes through before, and below which logit it goes no further."""


@dataclass(frozen=True, slots=True)
class Passed:
    """What some pairs came to. `logits`, shape (pairs,); `whole`, shape (pairs,): which went through all layers.

    `states`, shape (those that did, tokens, size): the last hidden states.
    """

    logits: torch.Tensor
    whole: torch.Tensor
    states: torch.Tensor


class ExitHead(torch.nn.Linear):
    """A logit from the first token's state and the mean of the passage's tokens'."""

    def __init__(self, path: Path) -> None:
        """Load the layer. Raises RuntimeError, ValueError, KeyError or OSError when the file does not hold it."""
        tensors = load_file(path)
        super().__init__(tensors["weight"].shape[1], 1)
        self.load_state_dict(tensors)
        self.requires_grad_(False)
        with safe_open(path, framework="pt") as file:
            told = file.metadata() or {}
        self.layers, self.cut = int(told[LAYERS]), float(told[CUT])

    def estimate(self, states: torch.Tensor, passage: torch.Tensor) -> torch.Tensor:
        """Return logits, shape (pairs,), from hidden states, shape (pairs, tokens, size).

        `passage`, shape (pairs, tokens), is true for the tokens of the passage, its end mark among them.
        """
        weights = passage.unsqueeze(2).to(torch.float32)
        means = (states.float() * weights).sum(1) / weights.sum(1).clamp_min(1.0)
        logits: torch.Tensor = self(torch.cat([states[:, 0].float(), means], 1))[:, 0]
        return logits

    def fits(self, model: Any) -> bool:
        """Whether `model` is of the kind that this is for: BERT with a score, of as many numbers a token."""
        bert = getattr(model, "bert", None)
        return (
            bert is not None
            and 2 * model.config.hidden_size == self.in_features
            and self.layers < len(bert.encoder.layer)
        )

    def through(self, model: Any, inputs: Any) -> Passed:
        """Return what pairs come to: those that this layer refuses after some layers, the others after all."""
        bert = model.bert
        states = bert.embeddings(input_ids=inputs["input_ids"], token_type_ids=inputs["token_type_ids"])
        seen = inputs["attention_mask"][:, None, None, :].bool()
        for layer in bert.encoder.layer[: self.layers]:
            states = layer(states, seen)
        logits = self.estimate(states, inputs["token_type_ids"] == 1)
        whole = logits >= self.cut
        if not whole.any():
            return Passed(logits, whole, states[:0])
        states, seen = states[whole], seen[whole]
        for layer in bert.encoder.layer[self.layers :]:
            states = layer(states, seen)
        logits[whole] = model.classifier(bert.pooler(states))[:, 0].float()
        return Passed(logits, whole, states)
