"""The embedding model (a bi-encoder), and helpers for every encoder: device, number format.

The helpers know torch and the files of a sentence-transformers folder, but not what the model is used for.

This module imports sentence-transformers without scikit-learn. sentence-transformers needs it for one distance
function, which localcrag never calls; scikit-learn would load scipy's statistics and pandas, 740 modules in all, and
slow down the start of the app and of every command.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer

from localcrag.records.enums import NumberFormat
from localcrag.records.errors import ModelDamaged, describe_problems
from localcrag.records.protocols import Vectors
from localcrag.records.thresholds import UNCALIBRATED, FittedCalibration
from localcrag.text.words import replace_surrogates


def pick_device() -> str:
    """Return the device that models run on: a GPU if torch finds one, otherwise the CPU."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def pick_dtype(device: str) -> torch.dtype:
    """Return bfloat16 if the device is a CPU that multiplies in it, otherwise float32.

    On CPUs with AVX512-BF16 or AMX, bfloat16 doubles the speed (from 25 to 59 texts a second on two cores, with a
    cosine of 0.99994 to float32's vectors). On other CPUs it is emulated and slower.
    """
    if device != "cpu":
        return torch.float32
    able = torch.cpu.get_capabilities()
    return torch.bfloat16 if able.get("avx512_bf16") or able.get("amx_bf16") else torch.float32


def unsupported_reason(number_format: NumberFormat) -> str:
    """Return why a number format cannot be used on this machine; "" if it is worth trying."""
    device = pick_device()
    if device != "cpu" and number_format is not NumberFormat.FP32:
        return f"the model runs on the graphics processor ({device}), in fp32"
    if number_format is NumberFormat.BF16 and pick_dtype(device) is not torch.bfloat16:
        return "this processor does not multiply in bfloat16"
    return ""


def describe_damage(folder: Path) -> str:
    """Return which file of a model that could not be loaded is damaged or missing; "" if all files seem intact.

    Call it after loading has failed: the libraries do not always name the file.
    """
    for path in sorted(folder.rglob("*")):
        try:
            if path.suffix == ".json":
                json.loads(path.read_bytes())
            elif path.suffix == ".safetensors":
                weights(path)
        except (OSError, ValueError, SafetensorError):
            return f"{path.relative_to(folder)} is damaged; "
    missing = [path for path in _module_configs(folder) if not path.exists()]
    return f"{missing[0].relative_to(folder)} is missing; " if missing else ""


def weights(path: Path) -> set[str]:
    """Return the names of a file's tensors. Raises SafetensorError and OSError."""
    with safe_open(path, "pt") as file:
        return set(file.keys())


def has_vocabulary(tokenizer: Callable[..., Any]) -> bool:
    """Return whether a tokenizer has a vocabulary; without its files, it turns every word into the unknown token."""
    ids = tokenizer("the words of a language", add_special_tokens=False)["input_ids"]
    return set(ids) - {getattr(tokenizer, "unk_token_id", None)} != set()


def _module_configs(folder: Path) -> list[Path]:
    """Return the paths of the config files of the modules in modules.json; only the Normalize module has none."""
    modules = folder / "modules.json"
    listed = json.loads(modules.read_bytes()) if modules.exists() else []
    whole_entries = [module for module in listed if isinstance(module, dict) and {"type", "path"} <= module.keys()]
    return [
        folder / str(module["path"]) / "config.json"
        for module in whole_entries
        if not str(module["type"]).endswith(".Normalize")
    ]


PACKAGE, NEEDED = "sklearn", "sklearn.metrics"


def _pairwise_distances(*arguments: Any, **options: Any) -> Any:
    from sklearn.metrics import pairwise_distances  # noqa: PLC0415 - imported only when it is called

    return pairwise_distances(*arguments, **options)


@contextmanager
def without_scikit_learn() -> Iterator[None]:
    """Import modules with a stand-in for scikit-learn. Imports of scikit-learn afterwards get the real one."""
    if PACKAGE in sys.modules:  # scikit-learn is already loaded, so a stand-in would save nothing.
        yield
        return
    package, metrics = module_from_spec(ModuleSpec(PACKAGE, None)), module_from_spec(ModuleSpec(NEEDED, None))
    metrics.pairwise_distances = _pairwise_distances  # type: ignore[attr-defined]
    sys.modules.update({PACKAGE: package, NEEDED: metrics})
    try:
        yield
    finally:
        for name in (PACKAGE, NEEDED):
            sys.modules.pop(name, None)


with without_scikit_learn():
    from sentence_transformers import CrossEncoder, SentenceTransformer

__all__ = ["CrossEncoder", "SentenceTransformer", "without_reference_cycle"]

Encoder = TypeVar("Encoder", CrossEncoder, SentenceTransformer)


def without_reference_cycle(model: Encoder) -> Encoder:
    """Return the model without the reference cycle through its model card, which only training needs.

    With the cycle, an unused model of 50 to 130 MB would stay in memory until the garbage collector runs.
    """
    model.model_card_data.model = None
    return model


CALIBRATION_FILE = "calibration.json"
CALIBRATION_WITHOUT_COSINES = "calibration-without-cosines.json"
"""Name of the calibration for use with an embedding model other than the one that CALIBRATION_FILE was fitted with."""


def read_calibration(folder: Path, embedder: str | None = None) -> FittedCalibration:
    """Return the calibration stored with a model, or the fallback if there is none. Raises ModelDamaged.

    With `embedder`, return the calibration that is valid with that embedding model: a calibration that uses cosines is
    valid only for the embedding model it was fitted with.
    """
    found = _read(folder / CALIBRATION_FILE)
    if embedder and found and found.cosines_of not in (None, embedder):
        found = _read(folder / CALIBRATION_WITHOUT_COSINES)
    return found or UNCALIBRATED


def _read(path: Path) -> FittedCalibration | None:
    if not path.exists():
        return None
    try:
        return TypeAdapter(FittedCalibration).validate_json(path.read_bytes(), strict=True)
    except OSError as error:
        raise ModelDamaged(f"{path} cannot be read: {error.strerror}. Check its permissions, or restore it.") from error
    except ValidationError as error:
        raise ModelDamaged(
            f"{path} is not a calibration ({describe_problems(error)}). Restore it, or remove it to continue without "
            "one."
        ) from error


BATCH_SIZE = 32
"""Texts in a batch; larger batches are no faster on a CPU and take more memory."""


class BiEncoder:
    """A loaded embedding model."""

    def __init__(self, name: str, folder: Path) -> None:
        """Load the model in `folder`. Raises ModelDamaged."""
        # A question may be asked while documents are being added, and a tokenizer is not thread-safe.
        self._lock, self._counting = threading.Lock(), threading.Lock()
        self._counter: Tokenizer | None = None
        device = pick_device()
        try:
            self._model = without_reference_cycle(
                SentenceTransformer(
                    str(folder),
                    device=device,
                    local_files_only=True,
                    # Weights in pickled files (.bin) can run any code when they are read.
                    model_kwargs={"dtype": pick_dtype(device), "use_safetensors": True},
                )
            )
            if not has_vocabulary(self._model.tokenizer):
                raise ValueError("its tokenizer.json is missing or knows no words")
        except Exception as error:  # The libraries raise almost any exception on a damaged file, TypeError included.
            raise ModelDamaged(
                f"The embedding model in {folder} cannot be loaded: {describe_damage(folder)}{error}. Check it with "
                f"`localcrag models verify {name}`, get it again with `localcrag models get {name}`, or choose another "
                "with `localcrag models use NAME`."
            ) from error
        self.name = name
        self.dimension = int(self._model.get_embedding_dimension() or 0)
        special = self._model.tokenizer.num_special_tokens_to_add()
        self.max_tokens = int(self._model.max_seq_length or 512) - special

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of texts to search in, shape (len(texts), dimension)."""
        return self._embed(texts, self._model.encode_document)

    def embed_questions(self, questions: Sequence[str]) -> Vectors:
        """Return unit vectors of questions to search for, shape (len(questions), dimension).

        Some embedding models need a prompt (“query: ”, “passage: ”) before each text; it is added here and in `embed`.
        """
        return self._embed(questions, self._model.encode_query)

    def _embed(self, texts: Sequence[str], encode: Callable[..., Any]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        with self._lock:
            encoded = encode(
                [replace_surrogates(text) for text in texts],
                batch_size=BATCH_SIZE,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        vectors = encoded.astype(np.float32)
        # Normalised here in float32: in bfloat16, lengths would be up to 0.2 % off 1.
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return each text's length in tokens, without special tokens. Does not wait for a running `embed`."""
        if not texts:
            return []
        with self._counting:  # A separate lock and tokenizer, so that counting need not wait for embedding.
            if self._counter is None:
                self._counter = _counter(self._model.tokenizer)
            return [
                len(one.ids)
                for one in self._counter.encode_batch_fast(
                    [replace_surrogates(text) for text in texts], add_special_tokens=False
                )
            ]


def _counter(tokenizer: Any) -> Tokenizer:
    """Return a copy of the tokenizer without truncation and padding, which can be used while the model embeds."""
    copy = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    copy.no_truncation()
    copy.no_padding()
    return copy
