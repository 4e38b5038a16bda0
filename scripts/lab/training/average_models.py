"""Average the weights of rerankers that were trained from one another into a new model.

    scripts/lab/training/average_models.py FOLDER=0.6 OTHER=0.4 --out FOLDER

If each of two models is better at something, their average is nearly as good at both, without a step of training and at
the same speed (Wortsman et al., Model soups, ICML 2022). Config and tokenizer are those of the first model. A
calibration belongs to the weights, so fit a new one (`scripts/lab/relevance/calibrate_documents.py`).
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

NOT_COPIED = ("calibration.json", "CARD.md")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("models", nargs="+", type=share, metavar="FOLDER=SHARE", help="shares come to 1")
    parser.add_argument("--out", type=Path, required=True, help="the new model's folder, which must not exist")
    arguments = parser.parse_args()
    models: list[tuple[Path, float]] = arguments.models
    if abs(sum(weight for _, weight in models) - 1.0) > 1e-6:
        parser.error("the shares do not come to 1")
    arguments.out.mkdir(parents=True)
    first = models[0][0]
    for path in sorted(first.iterdir()):
        if path.suffix == ".safetensors":
            average([(folder / path.name, weight) for folder, weight in models], arguments.out / path.name)
        elif path.name not in NOT_COPIED:
            shutil.copyfile(path, arguments.out / path.name)
    print(f"written to {arguments.out}; it needs a calibration and a card")


def share(text: str) -> tuple[Path, float]:
    """Parse folder and share from “FOLDER=0.5”. Raises ValueError."""
    folder, _, number = text.rpartition("=")
    return Path(folder), float(number)


def average(files: list[tuple[Path, float]], out: Path) -> None:
    """Write the weighted mean of each tensor, with the first file's number format and metadata.

    Raises KeyError if another file lacks a tensor.
    """
    loaded = [(load_file(path), weight) for path, weight in files]
    first = loaded[0][0]
    means = {
        name: np.sum([weight * tensors[name].astype(np.float32) for tensors, weight in loaded], axis=0)
        for name in first
    }
    with safe_open(files[0][0], framework="numpy") as opened:
        kept = opened.metadata()  # it contains the kind of a place head
    save_file({name: mean.astype(first[name].dtype) for name, mean in means.items()}, out, kept)


if __name__ == "__main__":
    main()
