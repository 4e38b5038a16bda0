"""scripts/lab/training/weights_from_onnx.py: what it makes of an int8 ONNX file is the model that the file was made
of."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from lab.training.weights_from_onnx import main
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from transformers import AutoModelForSequenceClassification, BertConfig, BertForSequenceClassification

HEADS = 2


@pytest.fixture
def model() -> Any:
    torch.manual_seed(1)
    sizes: Any = {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": HEADS}
    sizes |= {"vocab_size": 30, "max_position_embeddings": 12, "num_labels": 1}
    config = BertConfig(**sizes)
    made: Any = BertForSequenceClassification(config)
    return made.eval()


def in_whole_numbers(weights: NDArray[np.float32], kind: type) -> tuple[NDArray[Any], ...]:
    """Return weights as ONNX Runtime's dynamic quantisation stores them, with their scale and zero point."""
    low, high = float(weights.min()), float(weights.max())
    scale = np.float32((high - low) / 255)
    zero = round(-low / scale) + np.iinfo(kind).min
    limits = np.iinfo(kind).min, np.iinfo(kind).max
    whole = np.clip(np.round(weights / scale) + zero, *limits).astype(kind)
    return whole, np.array(scale), np.array(zero, dtype=kind)


def exported(model: Any) -> onnx.ModelProto:
    """Return the model as such a file has it: with the names of its nodes and tensors, and no inputs or outputs."""
    tensors: dict[str, NDArray[Any]] = {}
    nodes = []
    for number, (name, value) in enumerate(model.state_dict().items()):
        weights = value.numpy()
        if name.endswith((".bias", "LayerNorm.weight")):
            tensors[name] = weights
        elif "embeddings" in name:
            parts = in_whole_numbers(weights, np.uint8)
            tensors |= dict(zip((f"{name}_quantized", f"{name}_scale", f"{name}_zero_point"), parts, strict=True))
        else:
            module = "/" + name.removesuffix(".weight").replace(".", "/").replace("layer/", "layer.")
            stored = f"onnx::MatMul_{number}"
            parts = in_whole_numbers(weights.T, np.int8)
            tensors |= dict(zip((f"{stored}_quantized", f"{stored}_scale", f"{stored}_zero_point"), parts, strict=True))
            gemm = "Gemm_" if name.startswith(("bert.pooler", "classifier")) else ""
            inputs = ["x", f"{stored}_quantized", "x_zero_point", f"{stored}_zero_point"]
            nodes.append(helper.make_node("MatMulInteger", inputs, [f"y{number}"], name=f"{module}/{gemm}MatMul_quant"))
    stored_tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in tensors.items()]
    return helper.make_model(helper.make_graph(nodes, "bert", [], [], stored_tensors))


def test_the_weights_are_those_of_the_file_and_transformers_loads_them(
    model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, made = tmp_path / "given", tmp_path / "made"
    given.mkdir()
    onnx.save(exported(model), given / "model.onnx")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (given / name).write_text("{}")
    monkeypatch.setattr(sys, "argv", ["", str(given), "--heads", str(HEADS), "--out", str(made)])
    main()
    loaded: Any = AutoModelForSequenceClassification.from_pretrained(made, dtype=torch.float32).eval()
    assert loaded.state_dict().keys() == model.state_dict().keys()
    for name, value in model.state_dict().items():
        spread = float(value.max() - value.min())
        torch.testing.assert_close(loaded.state_dict()[name], value, rtol=0, atol=spread / 255)
    ids = torch.arange(1, 11)[None]
    with torch.no_grad():
        assert abs(float(loaded(ids).logits - model(ids).logits)) < 0.02
    assert (made / "tokenizer.json").exists()
