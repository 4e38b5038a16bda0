"""Convert a LoRA adapter from peft's format to GGUF, for models of the Llama family.

It does the work of llama.cpp's own convert_lora_to_gguf.py, which is in no package, for the projections that
train_answerer.py trains.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch

NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
"""llama.cpp's names of a layer's tensors, by their names in transformers."""


def write_adapter(path: Path, weights: Mapping[str, torch.Tensor], config: Any, *, alpha: float) -> None:
    """Write the adapter as 16-bit floats; `config` is the model's. Raises KeyError for a projection not in NAMES."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, alpha)
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    for name, tensor in sorted(weights.items()):
        # base_model.model.model.layers.3.self_attn.q_proj.lora_A.weight
        layer, part = name.split("layers.")[1].split(".", 1)
        projection, _, kind = part.removesuffix(".weight").rpartition(".")
        theirs = NAMES[projection]
        values = tensor.float().cpu().numpy()
        if kind == "lora_B" and theirs in heads:
            values = permuted(values, heads[theirs])
        writer.add_tensor(f"blk.{layer}.{theirs}.weight.{kind.lower()}", values.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def permuted(rows: np.ndarray[Any, Any], heads: int) -> np.ndarray[Any, Any]:
    """Return the rows of a query or key projection in GGUF's order, shape (heads * size, anything).

    Hugging Face rotates the first half of a head's rows with the second half; llama.cpp rotates neighbouring rows.
    """
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)
