"""Merging a LoRA adapter into the weights of a model's faster copy."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np


def merge(adapter: Path, original: Path, copy: Path) -> None:
    """Add the adapter, a LoRA in GGUF, to the weights in the file `copy`, which was made from `original`.

    Every adapted weight W, shape (out, in), becomes W + alpha/r · BA (Hu et al. 2021, section 4.1) in the copy's own
    quantisation, with W as the original has it. Raises OSError, and ValueError or KeyError when the files do not fit.
    """
    ours = gguf.GGUFReader(adapter)
    scale = ours.get_field(gguf.Keys.Adapter.LORA_ALPHA)
    if scale is None:
        raise ValueError(f"{adapter} says no alpha")
    alpha = float(scale.contents())
    factors = {tensor.name: tensor.data.astype(np.float32) for tensor in ours.tensors}
    weights = {tensor.name: tensor for tensor in gguf.GGUFReader(original).tensors}
    written = gguf.GGUFReader(copy, "r+")
    places = {tensor.name: tensor for tensor in written.tensors}
    for name, down in factors.items():
        own, _, factor = name.rpartition(".")
        if factor != "lora_a":
            continue
        change = alpha / len(down) * (factors[f"{own}.lora_b"] @ down)
        whole = gguf.dequantize(weights[own].data, weights[own].tensor_type) + change
        places[own].data[:] = gguf.quantize(whole, places[own].tensor_type)
    written.data.flush()
