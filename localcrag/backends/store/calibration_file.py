"""The calibration file beside a relevance model, as data. Loads no model."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from localcrag.records.errors import ModelDamaged
from localcrag.steps.evaluate.calibration import UNCALIBRATED, FittedCalibration

CALIBRATION_FILE = "calibration.json"


def read_calibration(folder: Path) -> FittedCalibration:
    """Return the calibration stored with a model, or the fallback where there is none. Raises ModelDamaged."""
    path = folder / CALIBRATION_FILE
    if not path.exists():
        return UNCALIBRATED
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
