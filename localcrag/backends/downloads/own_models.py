"""The user's own models: GGUF files in the models folder, and paths to anything that can be loaded.

Knows file names and first bytes; does not know the manifest, and has no checksums for these files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from localcrag.records.errors import ModelDamaged, ModelError
from localcrag.records.models import ModelRole

GGUF_MAGIC = b"GGUF"  # the first four bytes, by the GGUF specification (ggml/docs/gguf.md)
# llama.cpp's gguf-split names the parts of a large model so; it loads the others when it is given the first.
SPLIT = re.compile(r"-(?P<number>\d{5})-of-(?P<parts>\d{5})$")


@dataclass(frozen=True, slots=True)
class OwnModel:
    """A language model of the user's own; `size` in bytes, of all parts."""

    name: str
    path: Path
    size: int


def own_gguf_files(models_dir: Path, manifest_files: Set[Path], manifest_names: Set[str]) -> list[OwnModel]:
    """Return the GGUF files below `models_dir` that are not the manifest's, in the order of their names.

    A model is named after its file; after its path below `models_dir` when that name is taken.
    """
    paths = sorted(path for path in _gguf_paths(models_dir) if path not in manifest_files)
    stems = [path.stem for path in paths]
    models = []
    for path in paths:
        taken = path.stem in manifest_names or stems.count(path.stem) > 1
        name = path.relative_to(models_dir).as_posix() if taken else path.stem
        models.append(OwnModel(name=name, path=path, size=sum(part.stat().st_size for part in _parts(path))))
    return models


def find_own(name_or_path: str, models_dir: Path, own: list[OwnModel]) -> Path | None:
    """Return the path that a name of `own`, a path below `models_dir` or any other path stands for, if it exists."""
    for model in own:
        if name_or_path in (model.name, model.path.name):
            return model.path
    for path in (models_dir / name_or_path, Path(name_or_path).expanduser().absolute()):
        if name_or_path and path.exists():
            return path
    return None


def check_loadable(path: Path, role: ModelRole) -> Path:
    """Return `path` when its kind of file fits `role`. Raises ModelError; ModelDamaged for a file that is no GGUF."""
    if role is ModelRole.LLM:
        _check_gguf(path)
    elif not (path.is_dir() and (path / "config.json").is_file()):
        raise ModelError(
            f"{path} cannot be used as {role}: it is not the folder of a sentence-transformers model, which holds a "
            "config.json. Give that folder, or a name that `localcrag models list` shows."
        )
    return path


def guess_role(path: Path) -> ModelRole | None:
    """Return what the model at `path` is for, as far as its files tell."""
    if path.is_file():
        return ModelRole.LLM if path.suffix.lower() == ".gguf" else None
    try:
        architectures = json.loads((path / "config.json").read_text("utf-8")).get("architectures") or []
    except (OSError, ValueError, AttributeError):
        return None  # not a folder of the transformers library; whoever asked is told so
    if any(str(name).endswith("ForSequenceClassification") for name in architectures):
        return ModelRole.RELEVANCE
    return ModelRole.EMBEDDER if (path / "modules.json").is_file() else None


def _check_gguf(path: Path) -> None:
    if path.is_dir():
        raise ModelError(f"{path} is a folder. A language model is one file: give the path of the .gguf file in it.")
    try:
        with path.open("rb") as file:
            magic = file.read(len(GGUF_MAGIC))
    except OSError as error:
        raise ModelError(
            f"{path} cannot be read: {error.strerror}. Give its owner's permission, or copy it."
        ) from error
    if magic != GGUF_MAGIC:
        raise ModelDamaged(
            f"{path} is not a GGUF file (it does not begin with the letters GGUF). Download it again, or give another."
        )


def _gguf_paths(models_dir: Path) -> Iterator[Path]:
    for path in models_dir.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(models_dir).parts)
        split = SPLIT.search(path.stem)
        later_part = split is not None and int(split["number"]) > 1
        if path.suffix.lower() == ".gguf" and not hidden and not later_part and path.is_file():
            yield path


def _parts(path: Path) -> list[Path]:
    split = SPLIT.search(path.stem)
    if split is None:
        return [path]
    start = path.name[: split.start()]
    return [other for other in path.parent.iterdir() if other.name.startswith(start) and SPLIT.search(other.stem)]
