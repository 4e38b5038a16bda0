"""A reranker that ships without token embeddings: its base model, and what is kept of that."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from localcrag.models.reranker_format import FACTOR, LAYERS, VOCABULARY, pair_tokenizer

READ = ["input_ids", "token_type_ids", "attention_mask"]


def for_pairs(embedder: Path, made: Path) -> Path:
    """Copy an embedding model's folder to `made`, with a tokenizer for pairs of question and text; return it."""
    shutil.copytree(embedder, made, dirs_exist_ok=True)
    for name, changed in (("tokenizer.json", pair_tokenizer), ("tokenizer_config.json", _reads_types)):
        path = made / name
        path.write_text(json.dumps(changed(json.loads(path.read_bytes())), ensure_ascii=False), "utf-8")
    return made


def leave_words_out(model: Path) -> None:
    """Rewrite a model's folder in the form that ships: weights in 8 bits, without token embeddings and tokenizer."""
    weights = load_file(model / "model.safetensors")
    del weights[VOCABULARY]
    save_file(pack(weights), model / LAYERS, metadata={"format": "pt"})
    for name in ("model.safetensors", "tokenizer.json"):
        (model / name).unlink()


def pack(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the weights in the form that ships: matrices in 8 bits with one factor per row, all others in float16."""
    shipped: dict[str, torch.Tensor] = {}
    for name, weight in weights.items():
        if weight.ndim < 2:
            shipped[name] = weight.half()
            continue
        factor = weight.float().abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / 127
        shipped[name] = torch.round(weight.float() / factor).to(torch.int8)
        shipped[name + FACTOR] = factor
    return shipped


def _reads_types(settings: dict[str, object]) -> dict[str, object]:
    return settings | {"model_input_names": READ}
