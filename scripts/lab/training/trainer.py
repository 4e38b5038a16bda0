"""The reranker in training: its place head and optimiser, three losses, and a larger model's scores."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch.nn.functional import binary_cross_entropy_with_logits, smooth_l1_loss
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from lab.training.pairs import Group, Pair
from lab.training.tokenised import Lesson, Share, Tokenised
from lab.training.training_loop import multiplies_in_bf16
from localcrag.models.reranker import SPAN_HEAD_FILE

LEARNING_RATE = 1e-4
RANKING, PLACE = 0.5, 0.5
"""Weights of the two losses in addition to the binary cross-entropy."""
LESSON = 0.5
"""Weight of a pair with an earlier model's score, compared with one with a label."""
OPINION = 0.5
"""Share of a larger model's score in the target of a pair and of a line; the label has the rest."""
DISTANCE = 0.1
"""Weight of the distance between a pair's logit and the larger model's."""
PLACE_RATE = 10
"""Factor of the learning rate for the place head, which starts untrained."""
AHEAD = 4
"""Steps that are prepared in advance, in parallel with training."""

Forward: TypeAlias = "tuple[torch.Tensor, torch.Tensor]"
"""Logits of pairs, shape (pairs,), and the place head's logits of lines, shape (lines,)."""


class Network:
    """A cross-encoder with its place head, on a GPU if there is one."""

    def __init__(self, base: Path, *, dropout: float = 0.0) -> None:
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.in_bf16 = multiplies_in_bf16(self.device)
        # In bf16 on a CPU, eager attention is faster: torch's fused one takes twice the time in the backward pass (27
        # pairs a second instead of 43 on two cores). In fp32, the fused one takes 0.8 times as long.
        self.model: Any = AutoModelForSequenceClassification.from_pretrained(
            base,
            num_labels=1,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
            attn_implementation="eager" if self.device == "cpu" and self.in_bf16 else "sdpa",
        ).to(self.device, torch.float32)
        self.place = torch.nn.Linear(self.model.config.hidden_size, 1).to(self.device)
        if (base / SPAN_HEAD_FILE).exists():
            self.place.load_state_dict(load_file(base / SPAN_HEAD_FILE))

    def __call__(self, share: Share, *, learns: bool) -> Forward:
        """Run the model on a share, and return its logits."""
        inputs = {name: torch.from_numpy(values).to(self.device).long() for name, values in share.inputs.items()}
        line = torch.from_numpy(share.line).to(self.device)
        with (
            nullcontext() if learns else torch.no_grad(),
            torch.autocast(self.device, torch.bfloat16, enabled=self.in_bf16),
        ):
            states = self.model.bert(**inputs)
            logits = self.model.classifier(states.pooler_output)[:, 0].float()
            scores = self.place(states.last_hidden_state)[:, :, 0].float()
        lines = len(share.needed)
        ones = torch.ones_like(scores).flatten()
        empty = torch.zeros(lines + 1, device=self.device)
        sums, counts = (empty.index_add(0, line.flatten(), of.flatten())[:lines] for of in (scores, ones))
        return logits, sums / counts.clamp(min=1)


class Trainer:
    """The network in training, its optimiser, and the larger network that it learns from, if there is one."""

    def __init__(
        self,
        base: Path,
        seed: int,
        rate: float = LEARNING_RATE,
        *,
        frozen: int = 0,
        words_stay: bool = False,
        dropout: float = 0.0,
        larger: Path | None = None,
    ) -> None:
        self.rate = rate
        torch.manual_seed(seed)
        self.network = Network(base, dropout=dropout)
        self.larger = Network(larger) if larger else None
        if self.larger:
            self.larger.model.eval()
        self.model, self.place = self.network.model, self.network.place
        self.device, self.in_bf16 = self.network.device, self.network.in_bf16
        # On a CPU, small batches stay in its caches (27 pairs a second with 8, 14 with 40). A GPU waits for the
        # program that calls it, so batches are large (1,000 pairs a second with 128, on an H100). They have few
        # shapes; otherwise, it would allocate memory again and again.
        self.at_once, self.multiple = (512, 32) if self.device == "cuda" else (8, 1)
        self.tokenizer: Any = AutoTokenizer.from_pretrained(base)
        if frozen:
            for part in (self.model.bert.embeddings, *self.model.bert.encoder.layer[:frozen]):
                part.requires_grad_(False)
        if words_stay:
            self.model.bert.embeddings.word_embeddings.requires_grad_(False)
        learning = [one for one in self.model.parameters() if one.requires_grad]
        self.parameters = [*learning, *self.place.parameters()]
        parts = [
            {"params": learning, "times": 1},
            {"params": list(self.place.parameters()), "times": PLACE_RATE},
        ]
        self.optimiser = torch.optim.AdamW(parts, lr=rate, weight_decay=0.01, fused=True)

    def lessons(self, seen: Tokenised, steps: Sequence[Sequence[int]]) -> Iterator[Lesson]:
        """Yield the lesson of each step's groups, prepared in advance."""
        rest = iter(steps)
        put_together = partial(seen.lesson, at_once=self.at_once, multiple=self.multiple)
        with ThreadPoolExecutor(1) as reader:
            ahead: deque[Future[Lesson]] = deque()
            while True:
                ahead.extend(reader.submit(put_together, groups) for groups in islice(rest, AHEAD - len(ahead)))
                if not ahead:
                    return
                yield ahead.popleft().result()

    def step(self, lesson: Lesson, rate: float) -> float:
        """Train on a lesson at `rate` times the learning rate, and return the loss."""
        self.model.train()
        for part in self.optimiser.param_groups:
            part["lr"] = self.rate * rate * part["times"]
        logits, lines = self._all(self.network, lesson, learns=True)
        larger = self._all(self.larger, lesson, learns=False) if self.larger else None
        loss = self._pairs_loss(logits, lesson, larger[0] if larger else None)
        if (ranked := self._ranking_loss(logits, lesson)) is not None:
            loss = loss + RANKING * ranked
        if marked := sum(share.marked for share in lesson.shares):
            needed = torch.from_numpy(np.concatenate([share.needed for share in lesson.shares])).to(self.device)
            weight = (
                torch.from_numpy(np.concatenate([share.weight for share in lesson.shares])).to(self.device) / marked
            )
            wanted = torch.lerp(needed, torch.sigmoid(larger[1]), OPINION) if larger else needed
            loss = loss + PLACE * binary_cross_entropy_with_logits(lines, wanted, weight, reduction="sum")
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return float(loss.detach())

    def _pairs_loss(self, logits: torch.Tensor, lesson: Lesson, larger: torch.Tensor | None) -> torch.Tensor:
        """Return the mean loss of pairs, shape (): cross-entropy with the label, or distance to a teacher's logit."""
        wanted = torch.from_numpy(lesson.wanted).to(self.device)
        labels = torch.from_numpy(lesson.relevant).to(self.device).float()
        taught, wanted = ~torch.isnan(wanted), torch.nan_to_num(wanted)
        if larger is not None:
            labels = torch.lerp(labels, torch.sigmoid(larger), OPINION)
        losses = torch.where(
            taught,
            LESSON * smooth_l1_loss(logits, wanted, reduction="none"),
            binary_cross_entropy_with_logits(logits, labels, reduction="none"),
        )
        loss = losses.mean()
        return loss if larger is None else loss + DISTANCE * smooth_l1_loss(logits, larger)

    def _ranking_loss(self, logits: torch.Tensor, lesson: Lesson) -> torch.Tensor | None:
        """Return the mean cross-entropy of the relevant pair within its list, shape (); None if no list has one."""
        lengths = lesson.lengths
        starts = np.cumsum(lengths) - lengths
        ranked = (lengths > 1) & lesson.relevant[starts] & np.isnan(lesson.wanted[starts])
        if not ranked.any():
            return None
        starts, lengths = starts[ranked], lengths[ranked]
        column = np.arange(lengths.max())
        there = torch.from_numpy(column < lengths[:, None]).to(self.device)
        places = torch.from_numpy(np.minimum(starts[:, None] + column, len(logits) - 1)).to(self.device)
        rows = logits[places].masked_fill(~there, -torch.inf)
        return -torch.log_softmax(rows, 1)[:, 0].mean()

    def logits(self, asked: Sequence[Pair]) -> NDArray[np.float32]:
        """Return the logits of pairs, shape (pairs,)."""
        return self.logits_of(Tokenised.of([Group("", tuple(asked), ())], self.tokenizer))

    @torch.no_grad()
    def logits_of(self, asked: Tokenised) -> NDArray[np.float32]:
        """Return the logits of all pairs of these groups, shape (pairs,)."""
        self.model.eval()
        lesson = asked.lesson(range(len(asked)), self.at_once, multiple=self.multiple)
        return self._all(self.network, lesson, learns=False)[0].cpu().numpy()

    def _all(self, network: Network, lesson: Lesson, *, learns: bool) -> Forward:
        """Run a network on all shares; return the logits of pairs in the lesson's order, of lines in the shares'."""
        said = [network(share, learns=learns) for share in lesson.shares]
        back = np.argsort(np.concatenate([share.places for share in lesson.shares]))
        return torch.cat([one for one, _ in said])[torch.from_numpy(back).to(self.device)], torch.cat(
            [one for _, one in said]
        )
