"""The model that learns, its place head and its optimiser; three losses, and a larger model beside the labels.

What a step learns from is made into numbers beforehand, beside the learning: a GPU does not wait for a tokenizer.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch.nn.functional import binary_cross_entropy_with_logits, smooth_l1_loss
from training_loop import multiplies_in_bf16
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from localcrag.backends.models.place_head import PLACE_FILE, reads_lines
from relevance.pairs import Group, Pair

MOST_TOKENS = 320
LEARNING_RATE = 1e-4
RANKING, PLACE = 0.5, 0.5
"""Weights of the two losses beside the binary cross-entropy."""
LESSON = 0.5
"""Weight of a pair that an earlier model judges, beside one with a label."""
OPINION = 0.5
"""Share of a larger model's opinion in what is to be learned of a pair and of a line; the label has the rest."""
DISTANCE = 0.1
"""Weight of the distance of a pair's logit from that of the larger model."""
PLACE_RATE = 10
"""Times the learning rate for the layer that begins with nothing."""
READERS = 12
"""Processes beside a GPU that make steps into numbers."""
AHEAD = 2
"""Steps for each of them that are made into numbers before their turn."""

Forward: TypeAlias = "tuple[torch.Tensor, torch.Tensor]"
"""Logits of pairs, shape (pairs,), and the place head's of lines, shape (lines,)."""


@dataclass(frozen=True, slots=True)
class Share:
    """Pairs of about the same length as numbers, and their lines.

    `places` says which pairs they are. `inputs` are the model's, shape (pairs, tokens); `line`, of the same shape, has
    for each token the number of its line among all of the share's, or the count of these where it is in none. `needed`
    says of each line whether a complete answer needs it, `weight` is its share of its pair, 0 for a line that was cut
    off; `marked` pairs have lines.
    """

    places: list[int]
    inputs: dict[str, NDArray[np.int32]]
    line: NDArray[np.int64]
    needed: NDArray[np.float32]
    weight: NDArray[np.float32]
    marked: int

    @property
    def tokens(self) -> int:
        """How many tokens its pairs have."""
        return int(self.inputs["attention_mask"].sum())


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one step learns from: its pairs, list by list, and as numbers."""

    lists: list[Sequence[Pair]]
    shares: list[Share]

    @property
    def pairs(self) -> list[Pair]:
        """All of its pairs."""
        return [pair for one in self.lists for pair in one]

    @property
    def tokens(self) -> int:
        """How many tokens they have."""
        return sum(share.tokens for share in self.shares)


def lists_of(groups: Sequence[Group]) -> list[Sequence[Pair]]:
    """Return the groups' lists of pairs, whole passages and single sentences apart."""
    return [one for group in groups for one in (group.passages, group.strips) if one]


class Reader:
    """Makes pairs into numbers, `at_once` of them in a share."""

    def __init__(self, base: Path, at_once: int) -> None:
        self.at_once = at_once
        self.tokenizer: Any = AutoTokenizer.from_pretrained(base)

    def shares(self, flat: Sequence[Pair]) -> list[Share]:
        """Return pairs as numbers: of about the same length together, or half of what is computed would be padding."""
        order = sorted(range(len(flat)), key=lambda i: len(flat[i].text))
        parts = np.array_split(np.array(order), max(1, round(len(flat) / self.at_once)))
        return [self._share(part.tolist(), flat) for part in parts]

    def _share(self, places: list[int], flat: Sequence[Pair]) -> Share:
        short = all(len(flat[i].question) < 600 for i in places)
        batch = self.tokenizer(
            [flat[i].question for i in places],
            [flat[i].text for i in places],
            truncation="only_second" if short else True,
            max_length=MOST_TOKENS,
            padding=True,
            return_tensors="np",
        )
        needed: list[float] = []
        weight: list[float] = []
        line = np.full(batch["input_ids"].shape, -1, dtype=np.int64)
        marked = 0
        for row, i in enumerate(places):
            if lines := flat[i].marked:
                encoding = batch.encodings[row]
                within = np.array(encoding.type_ids) * np.array(encoding.attention_mask)
                own = _lines_of_tokens(np.array(encoding.offsets), within.astype(bool), lines)
                seen = [int((own == number).any()) for number in range(len(lines))]
                line[row] = np.where(own < 0, -1, own + len(needed))
                needed += [float(one) for _, _, one in lines]
                weight += [one / max(sum(seen), 1) for one in seen]
                marked += bool(sum(seen))
        line[line < 0] = len(needed)
        inputs = {name: values.astype(np.int32) for name, values in batch.items()}
        given = (np.array(needed, dtype=np.float32), np.array(weight, dtype=np.float32))
        return Share(places, inputs, line, *given, marked)


_reader: Reader


def _read_with(base: Path, at_once: int) -> None:
    global _reader  # noqa: PLW0603 - a process has one
    _reader = Reader(base, at_once)


def _read(flat: Sequence[Pair]) -> list[Share]:
    return _reader.shares(flat)


class Network:
    """A cross-encoder with its place head, on a GPU where there is one."""

    def __init__(self, base: Path, *, dropout: float = 0.0) -> None:
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.in_bf16 = multiplies_in_bf16(self.device)
        # Attention in bf16 written out in full: torch's own for processors takes twice the time on the way back (27
        # against 43 pairs a second on two cores); in fp32 it takes 0.8 times.
        self.model: Any = AutoModelForSequenceClassification.from_pretrained(
            base,
            num_labels=1,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
            attn_implementation="eager" if self.device == "cpu" and self.in_bf16 else "sdpa",
        ).to(self.device, torch.float32)
        self.place = torch.nn.Linear(self.model.config.hidden_size, 1).to(self.device)
        if (base / PLACE_FILE).exists() and reads_lines(base / PLACE_FILE):
            self.place.load_state_dict(load_file(base / PLACE_FILE))

    def __call__(self, share: Share, *, learns: bool) -> Forward:
        """Return what the model says of a share."""
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
    """The network that learns, its optimiser, and the larger one that it learns from where there is one."""

    def __init__(
        self,
        base: Path,
        seed: int,
        rate: float = LEARNING_RATE,
        *,
        frozen: int = 0,
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
        # Of few, on a processor, the numbers stay in its caches (27 against 14 pairs a second with 8 and with 40).
        # A GPU waits for what calls it, and is to be called seldom (1,000 pairs a second with 128, on an H100).
        self.reader = Reader(base, 384 if self.device == "cuda" else 8)
        self.base = base
        if frozen:
            for part in (self.model.bert.embeddings, *self.model.bert.encoder.layer[:frozen]):
                part.requires_grad_(False)
        learning = [one for one in self.model.parameters() if one.requires_grad]
        self.parameters = [*learning, *self.place.parameters()]
        parts = [
            {"params": learning, "times": 1},
            {"params": list(self.place.parameters()), "times": PLACE_RATE},
        ]
        self.optimiser = torch.optim.AdamW(parts, lr=rate, weight_decay=0.01, fused=True)

    def lessons(self, steps: Sequence[Sequence[Group]]) -> Iterator[Lesson]:
        """Yield the lesson of each step's groups, made ahead of its turn."""
        rest = iter(steps)
        with self._readers() as readers:
            count = AHEAD * (READERS if self.device == "cuda" else 1)

            def begun(number: int) -> list[tuple[list[Sequence[Pair]], Future[list[Share]]]]:
                lists = [lists_of(groups) for groups in islice(rest, number)]
                return [(one, readers.submit(_read, [pair for part in one for pair in part])) for one in lists]

            ahead = begun(count)
            while ahead:
                lists, shares = ahead.pop(0)
                ahead += begun(1)
                yield Lesson(lists, shares.result())

    def _readers(self) -> Executor:
        given = (self.base, self.reader.at_once)
        if self.device == "cuda":
            fork = multiprocessing.get_context("fork")
            return ProcessPoolExecutor(READERS, mp_context=fork, initializer=_read_with, initargs=given)
        return ThreadPoolExecutor(1, initializer=_read_with, initargs=given)

    def step(self, lesson: Lesson, rate: float) -> float:
        """Learn at `rate` of the learning rate. Return the loss."""
        self.model.train()
        for part in self.optimiser.param_groups:
            part["lr"] = self.rate * rate * part["times"]
        flat = lesson.pairs
        logits, lines = self._all(self.network, lesson.shares, len(flat), learns=True)
        larger = self._all(self.larger, lesson.shares, len(flat), learns=False) if self.larger else None
        loss = self._pairs_loss(logits, flat, larger[0] if larger else None)
        if (ranked := self._ranking_loss(logits, lesson.lists)) is not None:
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

    def _pairs_loss(self, logits: torch.Tensor, flat: Sequence[Pair], larger: torch.Tensor | None) -> torch.Tensor:
        """Return the mean loss of pairs, shape (): cross-entropy with the label, or distance to a teacher's logit."""
        taught = torch.tensor([pair.wanted is not None for pair in flat], device=self.device)
        labels = torch.tensor([float(pair.relevant) for pair in flat], device=self.device)
        wanted = torch.tensor([pair.wanted or 0.0 for pair in flat], device=self.device)
        if larger is not None:
            labels = torch.lerp(labels, torch.sigmoid(larger), OPINION)
        losses = torch.where(
            taught,
            LESSON * smooth_l1_loss(logits, wanted, reduction="none"),
            binary_cross_entropy_with_logits(logits, labels, reduction="none"),
        )
        loss = losses.mean()
        return loss if larger is None else loss + DISTANCE * smooth_l1_loss(logits, larger)

    def _ranking_loss(self, logits: torch.Tensor, lists: Sequence[Sequence[Pair]]) -> torch.Tensor | None:
        """Return the mean cross-entropy of the relevant pair within its list, shape (); None where no list has any."""
        lengths = np.array([len(one) for one in lists])
        starts = np.cumsum(lengths) - lengths
        ranked = [len(one) > 1 and one[0].relevant and one[0].wanted is None for one in lists]
        if not any(ranked):
            return None
        starts, lengths = starts[ranked], lengths[ranked]
        column = np.arange(lengths.max())
        there = torch.from_numpy(column < lengths[:, None]).to(self.device)
        places = torch.from_numpy(np.minimum(starts[:, None] + column, len(logits) - 1)).to(self.device)
        rows = logits[places].masked_fill(~there, -torch.inf)
        return -torch.log_softmax(rows, 1)[:, 0].mean()

    @torch.no_grad()
    def logits(self, asked: Sequence[Pair]) -> NDArray[np.float32]:
        """Return the logits of the pairs, shape (pairs,)."""
        self.model.eval()
        return self._all(self.network, self.reader.shares(asked), len(asked), learns=False)[0].cpu().numpy()

    def _all(self, network: Network, shares: Sequence[Share], pairs: int, *, learns: bool) -> Forward:
        """Return what a network says of all shares: of the pairs in the order given, of the lines in the shares'."""
        said = [network(share, learns=learns) for share in shares]
        back = torch.empty(pairs, dtype=torch.long)
        back[torch.tensor([place for share in shares for place in share.places])] = torch.arange(pairs)
        return torch.cat([one for one, _ in said])[back.to(self.device)], torch.cat([one for _, one in said])


def _lines_of_tokens(
    offsets: NDArray[np.int64], within: NDArray[np.bool_], lines: Sequence[tuple[int, int, bool]]
) -> NDArray[np.int64]:
    """Return for each token the number of the line of the text that it stands in, shape (tokens,); -1 for none.

    `offsets`, shape (tokens, 2), say where tokens stand, `within` which of them are the text's, and not the question's.
    """
    own = np.full(len(offsets), -1, dtype=np.int64)
    for number, (start, end, _) in enumerate(lines):
        own[within & (offsets[:, 0] < end) & (offsets[:, 1] > start) & (own < 0)] = number
    return own
