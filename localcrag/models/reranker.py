"""The reranker: a cross-encoder that gives a question and a passage one relevance logit.

`CrossEncoder`, at the end of the module, loads the model and scores texts and their strips. Three parts make it faster:

- `ExitHead`, one linear layer, estimates the logit half-way through the model. Most passages that retrieval finds do
  not help, and half of the layers are usually enough to tell. Passages whose estimate is below a cut skip the remaining
  layers and keep the estimate. It is trained on the model's own logits and stored in the model's folder
  (scripts/lab/training/train_exit_head.py). Early exits: Xin et al., “DeeBERT”, ACL 2020; here there is only one, and
  only for clear refusals.
- `SpanHead`, one linear layer, scores each token of a passage, so that one pass over a passage also scores its strips.
- `Int8Linear` computes a linear layer in 8 bits.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cachetools import LRUCache
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn

from localcrag.models import encoders
from localcrag.records.enums import NumberFormat
from localcrag.records.errors import ModelDamaged, ModelError
from localcrag.records.protocols import Vectors
from localcrag.text.sentences import Span
from localcrag.text.words import replace_surrogates

EXIT_HEAD_FILE = "exit_head.safetensors"
LAYERS, CUT = "layers", "cut"
"""Metadata keys of the file: the number of layers before the exit, and the logit below which a passage exits."""


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of one forward pass over a batch of pairs.

    `logits`: one per pair, shape (pairs,). `whole`: whether the pair went through all layers, shape (pairs,). `states`:
    the last hidden states of the pairs that went through all layers, shape (number of those pairs, tokens, size).
    """

    logits: torch.Tensor
    whole: torch.Tensor
    states: torch.Tensor


class _Head(torch.nn.Linear):
    """One linear layer with one output, loaded from a file with `metadata`."""

    def __init__(self, path: Path) -> None:
        """Load the layer. Raises RuntimeError, ValueError, KeyError or OSError if the file does not contain it."""
        tensors = load_file(path)
        super().__init__(tensors["weight"].shape[1], 1)
        self.load_state_dict(tensors)
        self.requires_grad_(False)
        with safe_open(path, framework="pt") as file:
            self.metadata = file.metadata() or {}


class ExitHead(_Head):
    """A layer that estimates the logit from the first token's state and the mean state of the passage's tokens."""

    def __init__(self, path: Path) -> None:
        """Load the layer. Raises RuntimeError, ValueError, KeyError or OSError if the file does not contain it."""
        super().__init__(path)
        self.layers, self.cut = int(self.metadata[LAYERS]), float(self.metadata[CUT])

    def estimate(self, states: torch.Tensor, passage: torch.Tensor) -> torch.Tensor:
        """Return logits, shape (pairs,), from hidden states, shape (pairs, tokens, size).

        `passage`, shape (pairs, tokens), is true for the tokens of the passage, including its end mark.
        """
        weights = passage.unsqueeze(2).to(torch.float32)
        means = (states.float() * weights).sum(1) / weights.sum(1).clamp_min(1.0)
        logits: torch.Tensor = self(torch.cat([states[:, 0].float(), means], 1))[:, 0]
        return logits

    def fits(self, model: Any) -> bool:
        """Return whether `model` is a BERT of the right hidden size with more layers than the exit needs."""
        bert = getattr(model, "bert", None)
        return (
            bert is not None
            # The first token's state and the mean state, concatenated.
            and 2 * model.config.hidden_size == self.in_features
            and self.layers < len(bert.encoder.layer)
        )

    def run(self, model: Any, inputs: Any) -> BatchResult:
        """Run a batch through the model; pairs whose estimate is below the cut stop after `layers` layers."""
        bert = model.bert
        states = bert.embeddings(input_ids=inputs["input_ids"], token_type_ids=inputs["token_type_ids"])
        seen = inputs["attention_mask"][:, None, None, :].bool()
        for layer in bert.encoder.layer[: self.layers]:
            states = layer(states, seen)
        logits = self.estimate(states, inputs["token_type_ids"] == 1)
        whole = logits >= self.cut
        if not whole.any():
            return BatchResult(logits, whole, states[:0])
        # Only the remaining pairs continue, so that the later layers multiply smaller matrices.
        states, seen = states[whole], seen[whole]
        for layer in bert.encoder.layer[self.layers :]:
            states = layer(states, seen)
        logits[whole] = model.classifier(bert.pooler(states))[:, 0].float()
        return BatchResult(logits, whole, states)


SPAN_HEAD_FILE = "place_head.safetensors"
LINE_HEAD_METADATA = {"head": "lines"}
"""Metadata of the file."""


@dataclass(frozen=True, slots=True)
class TokenScores:
    """The place head's scores for the tokens of one passage, shape (tokens,).

    `places`: start and end of each token that the model saw, in characters of the passage, shape (tokens, 2).
    """

    places: NDArray[np.int64]
    scores: Vectors

    def span_logit(self, span: Span) -> float:
        """Return the log-odds that the answer needs this span, given that the passage contains the answer.

        NaN if none of the span's tokens was within the model's context window.
        """
        # Tokens that overlap the span; tokens without characters, such as separators, overlap nothing.
        starts, ends = self.places[:, 0], self.places[:, 1]
        overlapping = self.scores[(starts < span.end) & (ends > span.start) & (ends > starts)]
        return float(overlapping.mean()) if len(overlapping) else np.nan


@dataclass(frozen=True, slots=True)
class PairScores:
    """The result of one pass over a question and a passage; `lines` is None if the pass stopped at the exit head."""

    logit: float
    lines: TokenScores | None = None


class SpanHead(_Head):
    """A layer that scores each token of a passage."""

    def __init__(self, path: Path) -> None:
        """Load the layer. Raises RuntimeError, ValueError, KeyError or OSError if the file does not contain it."""
        super().__init__(path)
        if not self.metadata.items() >= LINE_HEAD_METADATA.items():
            raise ValueError(f"its {SPAN_HEAD_FILE} does not score lines")

    def scores(self, states: torch.Tensor) -> torch.Tensor:
        """Return each token's score, shape (passages, tokens), from hidden states, shape (passages, tokens, size)."""
        scores: torch.Tensor = self(states.float())[:, :, 0]
        return scores


MAX_INT8 = 127
"""Largest weight or input in 8 bits."""
MAX_INT8_IN_16_BITS = 64
"""Largest weight on a CPU that adds two 8-bit products in 16 bits: 2 * 255 * 64 fits, 2 * 255 * 127 does not."""
MIN_SCALE = 1e-12
"""Smallest scale, so that a token of zeros is not divided by zero."""


class Int8Linear(nn.Module):
    """A linear layer that multiplies 8-bit inputs by 8-bit weights; the output has the input's number format."""

    weight: torch.Tensor
    scale: torch.Tensor
    bias: torch.Tensor | None

    def __init__(self, layer: nn.Linear) -> None:
        """Round the weights of `layer`, shape (outputs, inputs), to whole multiples of one scale per output."""
        super().__init__()
        exact = layer.weight.detach().float()
        scale = (exact.abs().amax(1) / largest_exact_weight()).clamp_min(MIN_SCALE)
        self.register_buffer("weight", (exact / scale[:, None]).round().to(torch.int8))
        self.register_buffer("scale", scale)
        self.register_buffer("bias", None if layer.bias is None else layer.bias.detach().float())

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the outputs, shape (..., outputs), of inputs of shape (..., inputs)."""
        tokens = inputs.reshape(-1, inputs.shape[-1]).float()
        # The largest magnitude of each token, computed without the copy of `tokens` that abs() would make.
        largest = torch.maximum(tokens.amax(1, keepdim=True), tokens.amin(1, keepdim=True).neg_())
        token_scale = largest.div_(MAX_INT8).clamp_min_(MIN_SCALE)
        rounded = tokens.mul(token_scale.reciprocal()).round_().to(torch.int8)
        # torch offers this product only under a private name. Its version is pinned, and
        # tests/models/test_reranker_int8.py fails if the name changes.
        outputs = torch._int_mm(rounded, self.weight.t()).float().mul_(token_scale)
        if self.bias is None:
            outputs.mul_(self.scale)
        else:
            torch.addcmul(self.bias, outputs, self.scale, out=outputs)
        return outputs.to(inputs.dtype).reshape(*inputs.shape[:-1], -1)


@cache
def largest_exact_weight() -> int:
    """Return the largest 8-bit weight that this CPU multiplies exactly.

    CPUs with VNNI instructions (most since 2021) are exact for all 8-bit weights. On others, oneDNN's sums overflow
    silently if the weights are too large. So this function computes one product of a real layer's shape, and compares
    it with the exact result.
    """
    inputs = torch.full((160, 384), MAX_INT8, dtype=torch.int8)
    weights = torch.full((512, 384), MAX_INT8, dtype=torch.int8)
    weights[::2] *= -1  # every other output negative, to test overflow in both directions
    expected = weights.int().sum(1) * MAX_INT8
    return MAX_INT8 if bool((torch._int_mm(inputs, weights.t()) == expected).all()) else MAX_INT8_IN_16_BITS


def round_layers(model: nn.Module) -> int:
    """Replace every linear layer inside `model` by an Int8Linear, and return the number replaced.

    A layer with one output stays exact: it computes the score, and no later layer would even out its rounding.
    """
    count = 0
    for name, layer in model.named_children():
        # Subclasses are left alone: the layer that contains one may read its weights directly.
        if type(layer) is nn.Linear and layer.out_features > 1:
            setattr(model, name, Int8Linear(layer))
            count += 1
        else:
            count += round_layers(layer)
    return count


BATCH_ON_GPU = 64
"""Pairs in a batch on a GPU."""
TOKENS_PER_BATCH = 768
"""Tokens in a batch on a CPU: more do not fit its caches, and with fewer the overhead of each layer shows."""
LENGTH_STEP = 8
"""Tokens to which lengths are rounded up. Pairs of the same rounded length are scored in one batch: little time is
spent on padding, and the rounding of a pair's sums depends on that pair alone."""
MAX_WINDOW = 8192
"""Largest context window in tokens, also for models that state none; no reranker of this kind has a larger one."""
CHARACTERS_PER_TOKEN = 16
"""Characters per token of the context window to which question and text are cut before they are tokenised: a million
characters would take seconds. Four characters per token are usual, so the cut removes only text beyond the window."""
CACHED_PAIRS = 64
"""Number of passages whose scores are cached, so that scoring the strips of a passage just scored costs nothing."""
_COMPUTE_ERRORS = (RuntimeError, ValueError, TypeError, AttributeError, IndexError, MemoryError)
"""Exceptions from a model whose parts do not fit together (a token beyond its vocabulary), or from a lack of memory."""


class CrossEncoder:
    """A loaded reranker. A text's logit does not depend on the other texts of the call."""

    def __init__(self, name: str, folder: Path, *, number_format: NumberFormat | str = NumberFormat.AUTO) -> None:
        """Load the model in `folder` and its calibration.

        AUTO takes the format that is usually fastest without int8: bfloat16 if the CPU multiplies in it, otherwise
        float32. reranker_format.load_fastest measures instead. Raises ModelDamaged, and ModelError for a model of
        another kind or a format that this machine or this model does not support.
        """
        self.name = name
        # Two questions may be asked at once (in two tabs), and a tokenizer is not thread-safe.
        self._lock = threading.Lock()
        device = encoders.pick_device()
        self.number_format = NumberFormat(number_format)
        if self.number_format is NumberFormat.AUTO:
            able = encoders.pick_dtype(device) is torch.bfloat16
            self.number_format = NumberFormat.BF16 if able else NumberFormat.FP32
        if reason := encoders.unsupported_reason(self.number_format):
            raise self._format_error(reason)
        try:
            self._model = self._loaded(folder, device)
            if not encoders.has_vocabulary(self._model.tokenizer):
                raise ValueError("its tokenizer.json is missing or has no vocabulary")
            place_file = folder / SPAN_HEAD_FILE
            self._place = SpanHead(place_file).to(device) if place_file.exists() else None
            states = getattr(self._model.config, "hidden_size", None)
            if self._place is not None and self._place.in_features != states:
                raise ValueError(
                    f"its {SPAN_HEAD_FILE} is for {self._place.in_features} numbers a token, not for {states}"
                )
            exit_file = folder / EXIT_HEAD_FILE
            # On a GPU, picking out the remaining passages would take longer than running all of them to the end.
            self._exit = ExitHead(exit_file) if exit_file.exists() and device == "cpu" else None
            if self._exit is not None and not self._exit.fits(self._model[0].model):
                raise ValueError(f"its {EXIT_HEAD_FILE} is for another model")
        except Exception as error:  # The libraries raise almost any exception on a damaged file, TypeError included.
            raise ModelDamaged(
                f"The reranker in {folder} cannot be loaded: {encoders.describe_damage(folder)}{error}. Check it with "
                f"`localcrag models verify {name}`, or choose another with `localcrag models use NAME`."
            ) from error
        self._check_kind(folder)
        window = min(self._model.max_seq_length or MAX_WINDOW, MAX_WINDOW)
        # Use a multiple of LENGTH_STEP, so that a length rounded up to it still fits.
        self._model.max_seq_length = max(LENGTH_STEP, window - window % LENGTH_STEP)
        self._max_characters = CHARACTERS_PER_TOKEN * self._model.max_seq_length
        self._on_gpu = device != "cpu"
        if self.number_format is NumberFormat.INT8 and round_layers(self._model) == 0:
            raise self._format_error("the model has no linear layers that could be rounded")
        self.calibration = encoders.read_calibration(folder)
        self._pair_cache: LRUCache[tuple[str, str], PairScores] = LRUCache(CACHED_PAIRS)

    def _loaded(self, folder: Path, device: str) -> encoders.CrossEncoder:
        # The identity gives the raw logit; localcrag computes the sigmoid itself, because in bfloat16 the best passages
        # would tie.
        model: encoders.CrossEncoder = encoders.CrossEncoder(
            str(folder),
            device=device,
            local_files_only=True,
            activation_fn=torch.nn.Identity(),
            model_kwargs={
                "dtype": torch.bfloat16 if self.number_format is NumberFormat.BF16 else torch.float32,
                # Weights in pickled files (.bin) can run any code when they are read.
                "use_safetensors": True,
            },
        )
        return encoders.without_reference_cycle(model)

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        """Return one raw logit per text, shape (len(texts),).

        If question and text together exceed the context window, their ends are cut, the longer one first: each keeps
        up to half of the window. Raises ModelError if the model returns NaN or infinity.
        """
        if not texts:
            return np.zeros(0, dtype=np.float32)
        pairs = self._pairs(question, texts)
        with self._locked():
            if self._place is not None:
                readings = self._score_pairs(pairs, self._place)
                self._pair_cache.update(zip(pairs, readings, strict=True))
                logits = np.array([reading.logit for reading in readings], dtype=np.float32)
            else:
                logits = self._predict(pairs, BATCH_ON_GPU) if self._on_gpu else self._predict_by_length(pairs)
        if not np.isfinite(logits).all():
            raise ModelError(f"The reranker {self.name} returned an invalid score for a text. {self._remedy}")
        return logits

    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> list[Vectors]:
        """Return for each text one logit per strip; the strips are spans of that text's characters.

        With a place head, they come from one pass over the whole text, which is cached if `logits` has just run it.
        Without a place head, and for strips beyond the context window, each strip is scored alone. Raises ModelError.
        """
        found = [np.full(len(spans), np.nan, dtype=np.float32) for spans in strips]
        if self._place is not None and texts:
            pairs = self._pairs(question, texts)
            with self._locked():
                read = {pair: known for pair in pairs if (known := self._pair_cache.get(pair)) and known.lines}
                if new := [pair for pair in dict.fromkeys(pairs) if pair not in read]:
                    read |= zip(new, self._score_pairs(new, self._place, whole=True), strict=True)
                    self._pair_cache.update((pair, read[pair]) for pair in new)
            for pair, spans, logits in zip(pairs, strips, found, strict=True):
                if lines := read[pair].lines:
                    logits[:] = [lines.span_logit(span) for span in spans]
        # NaN marks the strips that no pass over a whole text has scored.
        alone = [
            (row, place) for row, logits in enumerate(found) for place in np.flatnonzero(np.isnan(logits)).tolist()
        ]
        scored_alone = self.logits(question, [strips[row][place].text for row, place in alone])
        for (row, place), logit in zip(alone, scored_alone, strict=True):
            found[row][place] = logit
        return found

    def _pairs(self, question: str, texts: Sequence[str]) -> list[tuple[str, str]]:
        asked = self._cut(question)
        return [(asked, self._cut(text)) for text in texts]

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock, and turn the libraries' exceptions into a ModelError."""
        try:
            with self._lock:
                yield
        except _COMPUTE_ERRORS as error:
            raise ModelError(f"The reranker {self.name} failed: {error}. {self._remedy}") from error

    @torch.inference_mode()
    def _score_pairs(
        self, pairs: Sequence[tuple[str, str]], place: SpanHead, *, whole: bool = False
    ) -> list[PairScores]:
        """Return the scores of each pair from one pass; with `whole`, no pass stops at the exit head."""
        tokenizer: Any = self._model.tokenizer
        tokens = tokenizer(
            *map(list, zip(*pairs, strict=True)),
            truncation="longest_first",
            max_length=self._model.max_seq_length,
            return_offsets_mapping=True,
        )
        names = [name for name in tokenizer.model_input_names if name in tokens]
        readings: dict[int, PairScores] = {}
        for length, places in group_by_length([len(ids) for ids in tokens["input_ids"]]).items():
            batch = BATCH_ON_GPU if self._on_gpu else max(1, TOKENS_PER_BATCH // length)
            for start in range(0, len(places), batch):
                some = places[start : start + batch]
                inputs = tokenizer.pad(
                    {name: [tokens[name][at] for at in some] for name in names},
                    padding="max_length",
                    max_length=length,
                    return_tensors="pt",
                ).to(self._model.device)
                passed = self._forward(inputs, whole)
                scores = iter(place.scores(passed.states).cpu().numpy())
                for at, logit, went_through in zip(some, passed.logits.tolist(), passed.whole.tolist(), strict=True):
                    lines = None
                    if went_through:
                        # Sequence 0 is the question, sequence 1 the passage; special tokens have none.
                        within = np.array([of == 1 for of in tokens.sequence_ids(at)])
                        offsets = np.array(tokens["offset_mapping"][at], dtype=np.int64)
                        lines = TokenScores(offsets[within], next(scores)[: len(within)][within])
                    readings[at] = PairScores(logit, lines)
        return [readings[at] for at in range(len(pairs))]

    def _forward(self, inputs: Any, whole: bool) -> BatchResult:
        model: Any = self._model[0].model
        if self._exit is not None and not whole:
            return self._exit.run(model, inputs)
        out = model(**inputs, output_hidden_states=True)
        logits = out.logits[:, 0].float()
        return BatchResult(logits, torch.ones(len(logits), dtype=torch.bool), out.hidden_states[-1])

    def _predict_by_length(self, pairs: Sequence[tuple[str, str]]) -> Vectors:
        tokens = self._model.tokenizer(
            *zip(*pairs, strict=True), truncation="longest_first", max_length=self._model.max_seq_length
        )["input_ids"]
        logits = np.empty(len(pairs), dtype=np.float32)
        for length, places in group_by_length([len(ids) for ids in tokens]).items():
            some = [pairs[place] for place in places]
            logits[places] = self._predict(some, max(1, TOKENS_PER_BATCH // length))
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
        return replace_surrogates(text[: self._max_characters])

    def _format_error(self, reason: str) -> ModelError:
        return ModelError(
            f"The reranker {self.name} cannot be used in {self.number_format}: {reason}. Set relevance_format "
            "to auto or fp32."
        )

    def _check_kind(self, folder: Path) -> None:
        """Raise ModelError unless the model gives one score, computed by weights that its folder contains."""
        if self._model.num_labels != 1:
            what = f"it gives {self._model.num_labels} scores for a text"
        elif self._lacks_head(folder):
            what = "its weights have no layer that gives a score"
        else:
            return
        raise ModelError(
            f"The model in {folder} cannot be used as a reranker: {what}. Choose a cross-encoder with one score "
            "with `localcrag models use NAME`."
        )

    def _lacks_head(self, folder: Path) -> bool:
        # transformers fills weights that the files lack with random numbers, and only logs it.
        model: Any = getattr(self._model[0], "model", None)
        if not type(model).__name__.endswith("ForSequenceClassification"):
            return False  # A reranker made from a text generator has no separate layer for the score.
        stored = {name for path in folder.rglob("*.safetensors") for name in encoders.weights(path)}
        head = {name for name in model.state_dict() if not name.startswith(f"{model.base_model_prefix}.")}
        return bool(stored) and not head <= stored


def group_by_length(lengths: Sequence[int]) -> dict[int, list[int]]:
    """Group the positions of `lengths` (in tokens) by their length rounded up to LENGTH_STEP."""
    places: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        places.setdefault(-(-length // LENGTH_STEP) * LENGTH_STEP, []).append(place)
    return places
