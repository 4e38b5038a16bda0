"""The calibration file beside a relevance model, as data. Loads no model."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from localcrag.records.errors import ModelDamaged
from localcrag.steps.evaluate.calibration import UNCALIBRATED, FittedCalibration

CALIBRATION_FILE = "calibration.json"
WITHOUT_COSINES = "calibration-without-cosines.json"
"""Of the same model, beside another embedder than that whose cosines CALIBRATION_FILE was fitted to."""


def read_calibration(folder: Path, embedder: str | None = None) -> FittedCalibration:
    """Return the calibration stored with a model, or the fallback where there is none. Raises ModelDamaged.

    With `embedder`, that which holds beside it: cosines of another one mean something else.
    """
    found = _read(folder / CALIBRATION_FILE)
    if embedder and found and found.cosines_of not in (None, embedder):
        found = _read(folder / WITHOUT_COSINES)
    return found or UNCALIBRATED


def _read(path: Path) -> FittedCalibration | None:
    if not path.exists():
        return None
    try:
        return TypeAdapter(FittedCalibration).validate_json(path.read_bytes(), strict=True)
    except OSError as error:
        raise ModelDamaged(
            f"{path} cannot be read: {error.strerror}. Give its owner's permission, or restore it."
        ) from error
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        what = problem["msg"].removeprefix("Value error, ")
        raise ModelDamaged(
            f"{path} is not a calibration ({where}{': ' if where else ''}{what}). Remove it to go on without one, or "
            "restore it."
        ) from error
