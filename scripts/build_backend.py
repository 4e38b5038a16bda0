"""Build backend: flit's, whose wheels carry the manifest and the models of the repository as well.

What is downloaded into models/ stays out. An editable install needs nothing of this: it finds models/ in the checkout.
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
"""Where localcrag looks without a checkout (REPOSITORY_MODELS in localcrag/settings.py)."""


class WithModels(WheelBuilder):  # type: ignore[misc]
    """flit's wheel, and the models."""

    def copy_module(self) -> None:
        """Put package and models into the wheel."""
        super().copy_module()
        for path in shipped():
            self._add_file(MODELS / path, f"{IN_WHEEL}/{path}")


def shipped() -> Iterator[str]:
    """Yield the manifest and all files beside the models that lie in the repository, by their paths in models/."""
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
