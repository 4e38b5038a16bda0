"""Linear layers in int8 for processors, with one scale per token and one per output.

Knows torch, and nothing of what the model is for. Needs no other library and no second file: the layers are made from
the loaded ones in a moment.

A scale per token, because a scale per call makes a text's logit depend on the texts beside it; that is what ONNX's
DynamicQuantizeLinear, hence ONNX Runtime's dynamic quantisation, takes: from the smallest and largest number of the
whole tensor (ONNX operator specification). The sums are whole numbers, hence exact in any order.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import nn

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
