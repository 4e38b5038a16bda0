"""Calibrations: what is written beside a model is read strictly, for a wrong one would grade every passage wrongly."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from localcrag.models.encoders import CALIBRATION_FILE, CALIBRATION_WITHOUT_COSINES, read_calibration
from localcrag.records.errors import ModelDamaged
from localcrag.records.passages import Thresholds
from localcrag.records.thresholds import UNCALIBRATED, FittedCalibration, Logistic

pytestmark = pytest.mark.contract

GOOD = FittedCalibration(Logistic(0.5, -4.4, 4.9), Logistic(0.6, -0.6), Thresholds(upper=0.35, lower=0.12, strip=0.14))


def changed(part: str, **values: Any) -> bytes:
    """Return a calibration file with some values changed, or left out where None."""
    record = asdict(GOOD)
    record[part] = {key: value for key, value in {**record[part], **values}.items() if value is not None}
    return json.dumps(record).encode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", "EOF", id="empty"),
        pytest.param(b"\xff\xfe{}", "Invalid JSON", id="not UTF-8"),
        pytest.param(b"[]", "object", id="a list"),
        pytest.param(b"null", "object", id="null"),
        pytest.param(b"{}", "passage: Field required", id="an empty object"),
        pytest.param(changed("passage")[:-40], "EOF", id="truncated"),
        pytest.param(changed("passage", bias=None), "passage.bias: Field required", id="a value is missing"),
        pytest.param(changed("passage", logit=float("nan")), "finite", id="a slope of NaN"),
        pytest.param(changed("passage", cosine=float("inf")), "finite", id="an infinite weight"),
        pytest.param(changed("strip", bias=float("-inf")), "finite", id="an infinite bias"),
        pytest.param(changed("passage", logit=-0.5), "above 0", id="a negative slope"),
        pytest.param(changed("strip", logit=0), "above 0", id="a slope of zero"),
        pytest.param(changed("strip", logit="0.5"), "valid number", id="a number in quotes"),
        pytest.param(changed("strip", logit=True), "valid number", id="a truth value"),
        pytest.param(changed("thresholds", lower=0.4), "must not be above upper", id="thresholds out of order"),
        pytest.param(changed("thresholds", upper=1.5), "within 0..1", id="upper above 1"),
        pytest.param(changed("thresholds", lower=-0.1), "within 0..1", id="lower below 0"),
        pytest.param(changed("thresholds", strip=35), "within 0..1", id="strip in per cent"),
        pytest.param(changed("thresholds", upper=float("nan")), "within 0..1", id="a threshold of NaN"),
        pytest.param(changed("thresholds", strip=None), "strip: Field required", id="a threshold is missing"),
    ],
)
def test_a_file_that_is_no_calibration_is_an_error_with_its_path(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / CALIBRATION_FILE).write_bytes(content)
    with pytest.raises(ModelDamaged, match=reason) as raised:
        read_calibration(tmp_path)
    assert str(tmp_path / CALIBRATION_FILE) in str(raised.value)
    assert "Restore it" in str(raised.value)


def test_cosines_of_another_embedder_are_not_calibrated_by(tmp_path: Path) -> None:
    of_one = replace(GOOD, cosines_of="mine")
    without = replace(GOOD, passage=Logistic(0.6, -1.0))
    (tmp_path / CALIBRATION_FILE).write_text(json.dumps(asdict(of_one)))
    assert read_calibration(tmp_path, "mine") == read_calibration(tmp_path) == of_one
    assert read_calibration(tmp_path, "another") == UNCALIBRATED
    (tmp_path / CALIBRATION_WITHOUT_COSINES).write_text(json.dumps(asdict(without)))
    assert read_calibration(tmp_path, "another") == without
    assert read_calibration(tmp_path, "mine") == of_one


def test_a_folder_in_the_place_of_a_calibration_is_an_error_with_its_path(tmp_path: Path) -> None:
    (tmp_path / CALIBRATION_FILE).mkdir()
    with pytest.raises(ModelDamaged, match=r"calibration\.json cannot be read"):
        read_calibration(tmp_path)


def test_a_calibration_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / CALIBRATION_FILE).write_bytes(changed("passage"))
    assert read_calibration(tmp_path) == GOOD
    (tmp_path / CALIBRATION_FILE).write_bytes(changed("passage", logit=1, bias=0, cosine=None))
    assert read_calibration(tmp_path).passage == Logistic(1.0, 0.0)


def test_without_a_file_there_is_the_fallback(tmp_path: Path) -> None:
    assert read_calibration(tmp_path) is UNCALIBRATED
