"""The int8 layers: near the exact ones, whole in their sums, and each token by itself."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from torch import nn

from localcrag.models.reranker import MAX_INT8, Int8Linear, largest_exact_weight, round_layers

pytestmark = pytest.mark.models


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def whole_numbers(layer: nn.Linear) -> nn.Linear:
    """Give the layer the largest weights that are whole after rounding, so that every output can be known exactly."""
    with torch.no_grad():
        layer.weight.copy_(
            torch.where(torch.rand_like(layer.weight) < 0.5, -largest_exact_weight(), largest_exact_weight())
        )
    return layer


@torch.inference_mode()
@pytest.mark.parametrize("bias", [True, False], ids=["with a bias", "without a bias"])
def test_outputs_are_a_hundredth_of_their_spread_from_the_exact_ones_in_the_mean(bias: bool) -> None:
    layer = nn.Linear(384, 512, bias=bias)
    inputs = torch.randn(2, 7, 384)
    exact, rounded = layer(inputs), Int8Linear(layer)(inputs)
    assert rounded.shape == exact.shape
    assert rounded.dtype == exact.dtype
    assert (rounded - exact).abs().mean() < 0.01 * exact.std()


@torch.inference_mode()
@pytest.mark.parametrize("tokens", [1, 3, 160])
def test_sums_are_exact_at_the_largest_numbers_that_occur(tokens: int) -> None:
    assert largest_exact_weight() >= 64
    layer = whole_numbers(nn.Linear(384, 512, bias=False))
    inputs = torch.where(torch.rand(tokens, 384) < 0.5, -MAX_INT8, MAX_INT8).float()
    inputs[0] = MAX_INT8
    expected = (inputs.double() @ layer.weight.double().t()).float()
    assert torch.equal(Int8Linear(layer)(inputs), expected)


@pytest.mark.slow
def test_sums_are_exact_on_a_processor_that_lacks_the_newer_instructions() -> None:
    process = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "largest_numbers_that_occur"],
        capture_output=True, text=True, check=False, env={**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"},
    )  # fmt: skip
    assert "3 passed" in process.stdout, process.stdout


@torch.inference_mode()
def test_a_token_gives_the_same_alone_and_beside_much_larger_ones() -> None:
    layer = Int8Linear(nn.Linear(384, 512))
    inputs = torch.randn(4, 384) * torch.tensor([[1.0], [1000.0], [0.001], [30.0]])
    assert torch.equal(layer(inputs), torch.cat([layer(token[None]) for token in inputs]))


@torch.inference_mode()
def test_a_token_of_zeros_gives_the_bias_and_one_that_is_no_number_stays_none() -> None:
    exact = nn.Linear(384, 512)
    outputs = Int8Linear(exact)(torch.stack([torch.zeros(384), torch.full((384,), torch.nan)]))
    assert torch.equal(outputs[0], exact.bias)
    assert outputs[1].isnan().all()


def test_all_linear_layers_are_replaced_but_the_one_that_gives_the_score() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.Sequential(nn.GELU(), nn.Linear(16, 8)), nn.Linear(8, 1))
    assert round_layers(model) == 2
    assert [type(layer) for layer in model.modules() if isinstance(layer, nn.Linear | Int8Linear)] == [
        Int8Linear,
        Int8Linear,
        nn.Linear,
    ]
