"""Build backend based on flit's that adds the model manifest and the models in the repository to the wheel.

Downloaded models in models/ are left out. An editable install does not need this: it finds models/ in the checkout.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flit_core.buildapi import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from flit_core.wheel import WheelBuilder

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]
MODELS = Path("models")  # a build's working directory is the checkout (PEP 517)
IN_WHEEL = "localcrag/shipped_models"
"""Folder in the wheel where an installed localcrag looks for models (REPOSITORY_MODELS in localcrag/settings.py)."""


class WithModels(WheelBuilder):  # type: ignore[misc]
    """Builder of flit's wheel with the models added."""

    def copy_module(self) -> None:
        """Add the package and the models to the wheel."""
        super().copy_module()
        for path in shipped():
            self._add_file(MODELS / path, f"{IN_WHEEL}/{path}")


def shipped() -> Iterator[str]:
    """Yield the paths, relative to models/, of the manifest and of all files of the models in the repository."""
    yield "models.toml"
    for entry in tomllib.loads((MODELS / "models.toml").read_text("utf-8"))["model"]:
        if entry["source"]["kind"] == "repository":
            files = sorted(path for path in (MODELS / entry["folder"]).rglob("*") if path.is_file())
            yield from (path.relative_to(MODELS).as_posix() for path in files)


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """Write the wheel into `wheel_directory` and return its name."""
    unfinished = Path(wheel_directory) / "localcrag.part"
    with unfinished.open("w+b") as file:
        builder = WithModels.from_ini_path(Path("pyproject.toml"), file)
        builder.build()
    unfinished.replace(unfinished.with_name(builder.wheel_filename))
    return str(builder.wheel_filename)
