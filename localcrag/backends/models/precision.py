"""Device and number format of the encoders, and the file to blame when a folder does not load.

Knows torch and the files of a sentence-transformers folder, and nothing of what the model is for.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from localcrag.records.enums import NumberFormat


def pick_device() -> str:
    """Return the device models run on: a GPU where torch sees one, else the processor."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def pick_dtype(device: str) -> torch.dtype:
    """Return bfloat16 where the processor multiplies in it, else float32.

    On processors with AVX512-BF16 or AMX it doubles the speed (25 to 59 texts a second on two cores, cosine to
    float32 0.99994); on others it is emulated, and slower.
    """
    if device != "cpu":
        return torch.float32
    able = torch.cpu.get_capabilities()
    return torch.bfloat16 if able.get("avx512_bf16") or able.get("amx_bf16") else torch.float32


def refusal(number_format: NumberFormat) -> str:
    """Return why a number format is of no use on this machine, "" for one that can be tried."""
    device = pick_device()
    if device != "cpu" and number_format is not NumberFormat.FP32:
        return f"the model runs on the graphics processor ({device}), in fp32"
    if number_format is NumberFormat.BF16 and pick_dtype(device) is not torch.bfloat16:
        return "this processor does not multiply in bfloat16"
    return ""


def blame(folder: Path) -> str:
    """Return what is wrong with the folder of a model that could not be loaded: the file, or "" where none stands out.

    To be asked after the fact; libraries name the file only sometimes.
    """
    for path in sorted(folder.rglob("*")):
        try:
            if path.suffix == ".json":
                json.loads(path.read_bytes())
            elif path.suffix == ".safetensors":
                weights(path)
        except (OSError, ValueError, SafetensorError):
            return f"{path.relative_to(folder)} is damaged; "
    missing = [path for path in _listed(folder) if not path.exists()]
    return f"{missing[0].relative_to(folder)} is missing; " if missing else ""


def weights(path: Path) -> set[str]:
    """Return the names of a file's tensors. Raises SafetensorError and OSError."""
    with safe_open(path, "pt") as file:
        return set(file.keys())


def knows_words(tokenizer: Callable[..., Any]) -> bool:
    """Return whether a tokenizer has a vocabulary: one made without its files takes every word for the unknown one."""
    ids = tokenizer("the words of a language", add_special_tokens=False)["input_ids"]
    return set(ids) - {getattr(tokenizer, "unk_token_id", None)} != set()


def _listed(folder: Path) -> list[Path]:
    """Return the settings files of the modules that modules.json lists; normalising is the only one without any."""
    modules = folder / "modules.json"
    listed = json.loads(modules.read_bytes()) if modules.exists() else []
    whole_entries = [module for module in listed if isinstance(module, dict) and {"type", "path"} <= module.keys()]
    return [
        folder / str(module["path"]) / "config.json"
        for module in whole_entries
        if not str(module["type"]).endswith(".Normalize")
    ]
