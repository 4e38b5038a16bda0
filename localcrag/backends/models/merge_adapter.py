"""Merging a LoRA adapter into the weights of a model's faster copy."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np

_LENGTH = struct.Struct("<Q")
_KIND_AND_COUNT = struct.Struct("<IQ")
"""How an array of GGUF begins: the kind of its values, and how many there are (ggml/docs/gguf.md)."""


def merge(adapter: Path, original: Path, copy: Path) -> None:
    """Add the adapter, a LoRA in GGUF, to the weights in the file `copy`, which was made from `original`.

    Every adapted weight W, shape (out, in), becomes W + alpha/r · BA (Hu et al. 2021, section 4.1) in the copy's own
    quantisation, with W as the original has it. Raises OSError, and ValueError, KeyError or struct.error when the files
    do not fit.
    """
    ours = gguf.GGUFReader(adapter)
    scale = ours.get_field(gguf.Keys.Adapter.LORA_ALPHA)
    if scale is None:
        raise ValueError(f"{adapter} says no alpha")
    alpha = float(scale.contents())
    factors = {tensor.name: tensor.data.astype(np.float32) for tensor in ours.tensors}
    weights = {tensor.name: tensor for tensor in _WithoutArrays(original).tensors}
    written = _WithoutArrays(copy, "r+")
    places = {tensor.name: tensor for tensor in written.tensors}
    for name, down in factors.items():
        own, _, factor = name.rpartition(".")
        if factor != "lora_a":
            continue
        change = alpha / len(down) * (factors[f"{own}.lora_b"] @ down)
        whole = gguf.dequantize(weights[own].data, weights[own].tensor_type) + change
        places[own].data[:] = gguf.quantize(whole, places[own].tensor_type)
    written.data.flush()


class _WithoutArrays(gguf.GGUFReader):
    """A file's weights, without its vocabulary: of each of its 150,000 words and numbers gguf makes an array.

    Should a later gguf call no method of this name, it reads them all again, and only the time is lost.
    """

    def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
        little = self.endianess == gguf.GGUFEndian.LITTLE
        if raw_type != gguf.GGUFValueType.ARRAY or not little:
            return super()._get_field_parts(orig_offs, raw_type)
        held = self.data.data
        kind, count = _KIND_AND_COUNT.unpack_from(held, orig_offs)
        end = orig_offs + _KIND_AND_COUNT.size
        if width := self.gguf_scalar_to_np.get(kind):
            end += count * np.dtype(width).itemsize
        elif kind == gguf.GGUFValueType.STRING:
            for _ in range(count):
                end += _LENGTH.size + _LENGTH.unpack_from(held, end)[0]
        else:
            return super()._get_field_parts(orig_offs, raw_type)
        return end - orig_offs, [], [], [gguf.GGUFValueType.ARRAY]
