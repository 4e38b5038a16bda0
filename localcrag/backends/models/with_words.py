"""A relevance model that ships without its words: made whole, once, with those of its embedder.

Of a multilingual model, four fifths are the table of its words. Where the embedder that it was made from is there,
localcrag ships the rest alone, in 8 bits: a matrix is whole numbers times a factor of each row. Half a second.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from localcrag.records.errors import ModelDamaged

LAYERS = "layers.safetensors"
FACTOR = ".factor"
"""Behind the name of a matrix: that of its rows' factors, shape (rows, 1)."""
WORDS_OF_EMBEDDER = "embeddings.word_embeddings.weight"
WORDS = f"bert.{WORDS_OF_EMBEDDER}"
SMALL = ("config.json", "tokenizer_config.json", "place_head.safetensors", "calibration.json")
LONGEST_WAIT = 60.0
"""Seconds to wait for another process that makes the same."""


def whole_model(folder: Path, words: Path, cache: Path) -> Path:
    """Return a folder in `cache` with the whole model: that in `folder`, with the words of the embedder in `words`.

    Raises ModelDamaged where the two do not fit, and OSError where `cache` cannot be written.
    """
    made = cache / f"{folder.name}-{_stamp(folder, words)}"
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f"{folder.name}.lock", timeout=LONGEST_WAIT):
        if not made.exists():
            for earlier in cache.glob(f"{folder.name}-*"):
                shutil.rmtree(earlier)
            temporary = cache / f"{folder.name}.tmp"
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()
            try:
                _make(folder, words, temporary)
            except (KeyError, ValueError, RuntimeError, SafetensorError) as error:
                raise ModelDamaged(
                    f"The relevance model in {folder} does not fit the words of {words}: {error}. Check both with "
                    "`localcrag models verify`."
                ) from error
            temporary.replace(made)
    for name in SMALL:  # A calibration may be another by now.
        if (folder / name).exists() and (folder / name).read_bytes() != _read(made / name):
            shutil.copyfile(folder / name, made / name)
    return made


def _make(folder: Path, words: Path, made: Path) -> None:
    """Write weights and tokenizer of the whole model."""
    layers = unpacked(load_file(folder / LAYERS))
    with safe_open(words / "model.safetensors", "pt") as file:
        layers[WORDS] = file.get_tensor(WORDS_OF_EMBEDDER)
    save_file(layers, made / "model.safetensors", metadata={"format": "pt"})
    with (made / "model.safetensors").open("rb+") as written:
        os.fsync(written.fileno())
    tokenizer = json.loads((words / "tokenizer.json").read_bytes())
    (made / "tokenizer.json").write_text(json.dumps(with_pairs(tokenizer), ensure_ascii=False), "utf-8")


def packed(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the weights as they ship: matrices in 8 bits with a factor for each row, others in float16."""
    shipped: dict[str, torch.Tensor] = {}
    for name, weight in weights.items():
        if weight.ndim < 2:
            shipped[name] = weight.half()
            continue
        factor = weight.float().abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / 127
        shipped[name] = torch.round(weight.float() / factor).to(torch.int8)
        shipped[name + FACTOR] = factor
    return shipped


def unpacked(shipped: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the weights that `packed` was given, in float16."""
    return {
        name: (weight.float() * shipped[name + FACTOR]).half() if name + FACTOR in shipped else weight
        for name, weight in shipped.items()
        if not name.endswith(FACTOR)
    }


def with_pairs(tokenizer: dict[str, Any]) -> dict[str, Any]:
    """Return an embedder's tokenizer.json for pairs: one mark between question and text, which are told apart."""
    begin, end, ends = (
        {"SpecialToken": {"id": mark, "type_id": which}} for mark, which in (("<s>", 0), ("</s>", 0), ("</s>", 1))
    )
    first, second = ({"Sequence": {"id": name, "type_id": which}} for name, which in (("A", 0), ("B", 1)))
    process = tokenizer["post_processor"] | {"single": [begin, first, end], "pair": [begin, first, end, second, ends]}
    return tokenizer | {"post_processor": process}


def _stamp(folder: Path, words: Path) -> str:
    """Return a digest of what the whole model is made from, by size and time of change."""
    files = (folder / LAYERS, words / "model.safetensors", words / "tokenizer.json")
    stats = [(path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return hashlib.sha256(repr(stats).encode()).hexdigest()[:12]


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None
