"""The exit head: what a cross-encoder knows of a passage half-way; one linear layer.

After some layers it estimates the logit. Most passages that retrieval finds do not help, and half of the layers know
that of most of these: those below a cut go through no further layer, and the estimate is their logit. Trained on the
model's own logits, and stored beside it (scripts/lab/training/train_exit_head.py). Early exits: Xin et al., “DeeBERT”,
ACL 2020; here one, for clear refusals alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn

from localcrag.models.encoders import CrossEncoder as SentenceTransformersCrossEncoder
from localcrag.models.encoders import (
    blame,
    knows_words,
    pick_device,
    pick_dtype,
    read_calibration,
    refusal,
    weights,
    without_circle,
)
from localcrag.records.enums import NumberFormat
from localcrag.records.errors import ModelDamaged, ModelError
from localcrag.records.protocols import Vectors
from localcrag.text.sentences import Span
from localcrag.text.words import valid

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


MOST = 127
MOST_IN_PAIRS = 64
"""The largest weight where a processor adds two products of eight bits into sixteen: 2 * 255 * 64 is what fits."""
SMALLEST = 1e-12
"""Stands for the scale of a token of nothing but zeros."""


class Int8Linear(nn.Module):
    """What a linear layer computes, rounded to eight bits on both sides; the output has the input's number format."""

    weight: torch.Tensor
    scale: torch.Tensor
    bias: torch.Tensor | None

    def __init__(self, layer: nn.Linear) -> None:
        """Round the weights of `layer`, shape (outputs, inputs), to whole multiples of a scale per output."""
        super().__init__()
        exact = layer.weight.detach().float()
        scale = (exact.abs().amax(1) / largest_weight()).clamp_min(SMALLEST)
        self.register_buffer("weight", (exact / scale[:, None]).round().to(torch.int8))
        self.register_buffer("scale", scale)
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach().float())

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the outputs, shape (..., outputs), of inputs of shape (..., inputs)."""
        tokens = inputs.reshape(-1, inputs.shape[-1]).float()
        largest = torch.maximum(tokens.amax(1, keepdim=True), tokens.amin(1, keepdim=True).neg_())
        token_scale = largest.div_(MOST).clamp_min_(SMALLEST)
        rounded = tokens.mul(token_scale.reciprocal()).round_().to(torch.int8)
        # The only name that torch has for it; the version is pinned, and tests/models/test_scorer_int8.py would notice.
        outputs = torch._int_mm(rounded, self.weight.t()).float().mul_(token_scale)
        if self.bias is None:
            outputs.mul_(self.scale)
        else:
            torch.addcmul(self.bias, outputs, self.scale, out=outputs)
        return outputs.to(inputs.dtype).reshape(*inputs.shape[:-1], -1)


@cache
def largest_weight() -> int:
    """Return up to which number this processor multiplies weights exactly.

    Processors with VNNI instructions (since 2021, by and large) do it for all of eight bits; on others, oneDNN's sums
    are far off without a word when the weights are too large. So it is tried, on the shape of a real layer.
    """
    inputs = torch.full((160, 384), MOST, dtype=torch.int8)
    weights = torch.full((512, 384), MOST, dtype=torch.int8)
    weights[::2] *= -1
    expected = weights.int().sum(1) * MOST
    return MOST if bool((torch._int_mm(inputs, weights.t()) == expected).all()) else MOST_IN_PAIRS


def round_layers(model: nn.Module) -> int:
    """Put Int8Linear in place of every linear layer below `model`, and return how many there were.

    A layer with one output is left: it gives the score, and what is rounded there is rounded for good.
    """
    count = 0
    for name, layer in model.named_children():
        # Not of a subclass: that has its reasons, such as being read by the layer it belongs to.
        if type(layer) is nn.Linear and layer.out_features > 1:
            setattr(model, name, Int8Linear(layer))
            count += 1
        else:
            count += round_layers(layer)
    return count


BATCH_ON_GPU = 64
TOKENS_AT_ONCE = 768
"""On a processor: more do not fit its caches, fewer make the time between two layers felt."""
LENGTH_STEP = 8
"""Tokens. Pairs are scored together that are equally long when rounded up to it, so that little time goes into padding,
and so that how a sum is rounded depends on the pair alone."""
LONGEST_WINDOW = 8192
"""Tokens; the window of models that name none. The longest that rerankers of this kind have."""
CHARACTERS_PER_TOKEN = 16
"""Question and text are cut to so many characters for each token of the window before they are tokenised, which would
take seconds for a million. Four is usual, so that nothing is lost but what the window would not have held."""
READINGS = 64
"""Passages whose reading is kept, so that the strips of those that have just been scored cost nothing."""
_CANNOT_COMPUTE = (RuntimeError, ValueError, TypeError, AttributeError, IndexError, MemoryError)
"""What a model ends in whose parts do not fit together, from a token beyond its vocabulary to full memory."""


class CrossEncoder:
    """A loaded scorer. A text's logit does not depend on the texts beside it."""

    def __init__(self, name: str, folder: Path, *, number_format: NumberFormat | str = NumberFormat.AUTO) -> None:
        """Load the model in `folder` and its calibration.

        AUTO is what the processor usually computes fastest in without int8: bfloat16 where it multiplies in it, else
        float32; relevance_format.load_fastest measures instead. Raises ModelDamaged, ModelError for a model of another
        kind, and for a format that this machine or this model does not have.
        """
        self.name = name
        # Two questions may be asked at once (two tabs), and a tokenizer cannot be used by two threads at once.
        self._lock = threading.Lock()
        device = pick_device()
        self.number_format = NumberFormat(number_format)
        if self.number_format is NumberFormat.AUTO:
            self.number_format = NumberFormat.BF16 if pick_dtype(device) is torch.bfloat16 else NumberFormat.FP32
        if reason := refusal(self.number_format):
            raise self._without_format(reason)
        try:
            self._model = self._loaded(folder, device)
            if not knows_words(self._model.tokenizer):
                raise ValueError("its tokenizer.json is missing or knows no words")
            place_file = folder / PLACE_FILE
            self._place = PlaceHead(place_file).to(device) if place_file.exists() else None
            states = getattr(self._model.config, "hidden_size", None)
            if self._place is not None and self._place.in_features != states:
                raise ValueError(f"its {PLACE_FILE} is for {self._place.in_features} numbers a token, not for {states}")
            exit_file = folder / EXIT_FILE
            # On a graphics processor, all passages are through before a part of them could be picked out.
            self._exit = ExitHead(exit_file) if exit_file.exists() and device == "cpu" else None
            if self._exit is not None and not self._exit.fits(self._model[0].model):
                raise ValueError(f"its {EXIT_FILE} is for another model")
        except Exception as error:  # Whatever the libraries stumble over in a damaged file, from TypeError on.
            raise ModelDamaged(
                f"The relevance model in {folder} cannot be loaded: {blame(folder)}{error}. Check it with `localcrag "
                f"models verify {name}`, or choose another with `localcrag models use NAME`."
            ) from error
        self._check_kind(folder)
        window = min(self._model.max_seq_length or LONGEST_WINDOW, LONGEST_WINDOW)
        # Whole steps: what is rounded up to them has to fit as well.
        self._model.max_seq_length = max(LENGTH_STEP, window - window % LENGTH_STEP)
        self._most_characters = CHARACTERS_PER_TOKEN * self._model.max_seq_length
        self._on_gpu = device != "cpu"
        if self.number_format is NumberFormat.INT8 and round_layers(self._model) == 0:
            raise self._without_format("the model has no linear layers that could be rounded")
        self.calibration = read_calibration(folder)
        self._readings: dict[tuple[str, str], Reading] = {}

    def _loaded(self, folder: Path, device: str) -> SentenceTransformersCrossEncoder:
        # The raw logit is asked for, and the sigmoid is ours: one taken in bfloat16 ties the best passages.
        model: SentenceTransformersCrossEncoder = SentenceTransformersCrossEncoder(
            str(folder),
            device=device,
            local_files_only=True,
            activation_fn=torch.nn.Identity(),
            model_kwargs={
                "dtype": torch.bfloat16 if self.number_format is NumberFormat.BF16 else torch.float32,
                # Weights in pickled files (.bin) can run anything when they are read.
                "use_safetensors": True,
            },
        )
        return without_circle(model)

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        """Return one raw logit per text, shape (len(texts),).

        A question and a text that are too long for the model's window together are cut at their ends, the longer one
        first, so that each keeps half of the window if it needs that. Raises ModelError when the model gives no number.
        """
        if not texts:
            return np.zeros(0, dtype=np.float32)
        pairs = self._pairs(question, texts)
        with self._at_work():
            if self._place is not None:
                readings = self._pass(pairs, self._place)
                self._keep(pairs, readings)
                logits = np.array([reading.logit for reading in readings], dtype=np.float32)
            else:
                logits = self._predict(pairs, BATCH_ON_GPU) if self._on_gpu else self._predict_by_length(pairs)
        if not np.isfinite(logits).all():
            raise ModelError(f"The relevance model {self.name} gave no number for a text. {self._remedy}")
        return logits

    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> list[Vectors]:
        """Return for each text one logit per strip of it; the strips are in the text's own characters.

        With a place head, from one pass over the whole text (none, if `logits` has just made it); without one, and for
        what lies beyond the model's window, of each strip by itself. Raises ModelError.
        """
        found = [np.full(len(spans), np.nan, dtype=np.float32) for spans in strips]
        if self._place is not None and texts:
            pairs = self._pairs(question, texts)
            with self._at_work():
                read = {pair: known for pair in pairs if (known := self._readings.get(pair)) and known.lines}
                if new := [pair for pair in dict.fromkeys(pairs) if pair not in read]:
                    read |= zip(new, self._pass(new, self._place, whole=True), strict=True)
                    self._keep(new, [read[pair] for pair in new])
            for pair, spans, logits in zip(pairs, strips, found, strict=True):
                reading = read[pair]
                lines = reading.lines
                logits[:] = [lines.logit_of(span) if lines and lines.sees(span) else np.nan for span in spans]
        alone = [
            (row, place) for row, logits in enumerate(found) for place in np.flatnonzero(np.isnan(logits)).tolist()
        ]
        by_themselves = self.logits(question, [strips[row][place].text for row, place in alone])
        for (row, place), logit in zip(alone, by_themselves, strict=True):
            found[row][place] = logit
        return found

    def _pairs(self, question: str, texts: Sequence[str]) -> list[tuple[str, str]]:
        asked = self._cut(question)
        return [(asked, self._cut(text)) for text in texts]

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """Keep other threads out, and turn what the libraries end in into a ModelError."""
        try:
            with self._lock:
                yield
        except _CANNOT_COMPUTE as error:
            raise ModelError(f"The relevance model {self.name} failed: {error}. {self._remedy}") from error

    def _keep(self, pairs: Sequence[tuple[str, str]], readings: Sequence[Reading]) -> None:
        """Keep the readings, and of earlier ones as many as there is room for."""
        for pair in list(self._readings)[: max(0, len(self._readings) + len(pairs) - READINGS)]:
            del self._readings[pair]
        self._readings |= zip(pairs, readings, strict=True)

    @torch.inference_mode()
    def _pass(self, pairs: Sequence[tuple[str, str]], place: PlaceHead, *, whole: bool = False) -> list[Reading]:
        """Return what one pass over each pair tells; with `whole`, none that stops at the exit head."""
        tokenizer: Any = self._model.tokenizer
        tokens = tokenizer(
            *map(list, zip(*pairs, strict=True)),
            truncation="longest_first",
            max_length=self._model.max_seq_length,
            return_offsets_mapping=True,
        )
        names = [name for name in tokenizer.model_input_names if name in tokens]
        readings: dict[int, Reading] = {}
        for length, places in by_length([len(ids) for ids in tokens["input_ids"]]).items():
            batch = BATCH_ON_GPU if self._on_gpu else max(1, TOKENS_AT_ONCE // length)
            for start in range(0, len(places), batch):
                some = places[start : start + batch]
                inputs = tokenizer.pad(
                    {name: [tokens[name][at] for at in some] for name in names},
                    padding="max_length",
                    max_length=length,
                    return_tensors="pt",
                ).to(self._model.device)
                inside = torch.zeros(inputs["input_ids"].shape, dtype=torch.bool)
                for row, at in enumerate(some):
                    inside[row, : len(tokens["input_ids"][at])] = torch.tensor(
                        [of == 1 for of in tokens.sequence_ids(at)]
                    )
                passed = self._through(inputs, whole)
                inside = inside[passed.whole.cpu()]
                values = place.values(passed.states, inside.to(self._model.device)).cpu().numpy()
                readings |= {at: Reading(float(logit)) for at, logit in zip(some, passed.logits, strict=True)}
                for row, at in enumerate(np.array(some)[passed.whole.cpu().numpy()].tolist()):
                    within = inside[row].numpy()
                    offsets = np.array(tokens["offset_mapping"][at], dtype=np.int64).reshape(-1, 2)
                    lines = Lines(offsets[within[: len(offsets)]], values[row][within], place.of_lines)
                    readings[at] = replace(readings[at], lines=lines)
        return [readings[at] for at in range(len(pairs))]

    def _through(self, inputs: Any, whole: bool) -> Passed:
        model: Any = self._model[0].model
        if self._exit is not None and not whole:
            return self._exit.through(model, inputs)
        out = model(**inputs, output_hidden_states=True)
        logits = out.logits[:, 0].float()
        return Passed(logits, torch.ones(len(logits), dtype=torch.bool), out.hidden_states[-1])

    def _predict_by_length(self, pairs: Sequence[tuple[str, str]]) -> Vectors:
        tokens = self._model.tokenizer(
            *zip(*pairs, strict=True), truncation="longest_first", max_length=self._model.max_seq_length
        )["input_ids"]
        logits = np.empty(len(pairs), dtype=np.float32)
        for length, places in by_length([len(ids) for ids in tokens]).items():
            some = [pairs[place] for place in places]
            logits[places] = self._predict(some, max(1, TOKENS_AT_ONCE // length))
        return logits

    def _predict(self, pairs: Sequence[tuple[str, str]], batch: int) -> Vectors:
        padding = {"text": {"pad_to_multiple_of": LENGTH_STEP}}
        scores = self._model.predict(pairs, batch_size=batch, show_progress_bar=False, processing_kwargs=padding)
        return np.asarray(scores, dtype=np.float32).reshape(len(pairs))

    @property
    def _remedy(self) -> str:
        return (
            f"Check it with `localcrag models verify {self.name}`, set relevance_format to fp32, or choose another "
            "with `localcrag models use NAME`."
        )

    def _cut(self, text: str) -> str:
        return valid(text[: self._most_characters])

    def _without_format(self, reason: str) -> ModelError:
        return ModelError(
            f"The relevance model {self.name} cannot be used in {self.number_format}: {reason}. Set relevance_format "
            "to auto or fp32."
        )

    def _check_kind(self, folder: Path) -> None:
        """Raise ModelError unless the model gives one score, by weights that lie in the folder and are not made up."""
        if self._model.num_labels != 1:
            what = f"it gives {self._model.num_labels} scores for a text"
        elif self._lacks_head(folder):
            what = "its weights have no layer that gives a score"
        else:
            return
        raise ModelError(
            f"The model in {folder} cannot be used as relevance model: {what}. Choose a cross-encoder with one score "
            "(a reranker) with `localcrag models use NAME`."
        )

    def _lacks_head(self, folder: Path) -> bool:
        # transformers fills what the files lack with random numbers, and says so in its log only.
        model: Any = getattr(self._model[0], "model", None)
        if not type(model).__name__.endswith("ForSequenceClassification"):
            return False  # A reranker made from a generator, which has no layer of its own for it.
        stored = {name for path in folder.rglob("*.safetensors") for name in weights(path)}
        head = {name for name in model.state_dict() if not name.startswith(f"{model.base_model_prefix}.")}
        return bool(stored) and not head <= stored


def by_length(lengths: Sequence[int]) -> dict[int, list[int]]:
    """Return the places of `lengths` (tokens) that are the same when rounded up to LENGTH_STEP, by that length."""
    places: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        places.setdefault(-(-length // LENGTH_STEP) * LENGTH_STEP, []).append(place)
    return places
