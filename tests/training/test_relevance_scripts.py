"""scripts/lab/relevance/eval_relevance.py and scripts/lab/relevance/calibrate_relevance.py, really run: the embedded
models on sets of our own."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
from lab.relevance.report import put_section
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from localcrag.backends.store.calibration_file import read_calibration
from localcrag.settings import REPOSITORY_MODELS
from tests.support.labelled_sets import write_sets
from tests.support.scripts import run_script

SETS = ("squad2", "nq_oracle", "fairytaleqa", "pubmedqa")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sets(tmp_path_factory.mktemp("sets"))


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The embedded relevance model in a folder that may be written to, without its calibration."""
    folder = tmp_path / "model"
    folder.mkdir()
    for path in (REPOSITORY_MODELS / "relevance-v3").iterdir():
        if path.name not in ("calibration.json", "CARD.md"):
            (folder / path.name).symlink_to(path)
    return folder


def run(script: str, data: Path, work: Path, *arguments: str) -> CompletedProcess[str]:
    return run_script(script, str(data), "--work", str(work), *arguments)


def test_a_model_is_calibrated_and_then_measured_with_its_calibration(
    data: Path, work: Path, model: Path, tmp_path: Path
) -> None:
    card = tmp_path / "CARD.md"
    card.write_text("# A model\n\n## Licence\n\nFree.\n")
    common = ("--model", f"{model}:fp32", "--questions", "4", "--card", str(card))
    done = run("lab/relevance/calibrate_relevance", data, work, *common)
    assert done.returncode == 0, done.stderr
    calibration = read_calibration(model)
    assert calibration.fitted
    assert "above the best" in done.stdout
    assert "minutes left" in done.stderr

    done = run("lab/relevance/eval_relevance", data, work, *common, "--json", str(tmp_path / "figures.json"))
    assert done.returncode == 0, done.stderr
    (figures,) = json.loads((tmp_path / "figures.json").read_text())["models"]
    assert (figures["name"], figures["fitted"]) == ("model fp32", True)
    assert figures["thresholds"]["upper"] == calibration.thresholds.upper
    assert list(figures["by_logit"]["mrr"]) == [*SETS, "all"]
    assert all(0 <= figures["by_relevance"][figure]["all"]["value"] <= 1 for figure in ("mrr", "auc"))
    assert set(figures["strips_auc"]) == set(SETS) - {"pubmedqa"}
    assert figures["answerable"]["low"] <= figures["answerable"]["value"] <= figures["answerable"]["high"]
    assert figures["speed"] > 0
    written = card.read_text()
    assert [line for line in written.splitlines() if line.startswith("## ")] == [
        "## Licence", "## Calibration", "## Figures",
    ]  # fmt: skip
    assert done.stdout in written


def test_what_was_scored_is_not_scored_again_and_gives_the_same_figures(data: Path, work: Path, model: Path) -> None:
    arguments = ("--model", f"{model}:fp32", "--questions", "4", "--no-speed")
    first, second = (run("lab/relevance/eval_relevance", data, work, *arguments) for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert "minutes left" not in second.stderr
    assert "no calibration" in second.stdout


@pytest.mark.parametrize("script", ["lab/relevance/eval_relevance", "lab/relevance/calibrate_relevance"])
def test_a_folder_without_the_sets_ends_with_a_message(script: str, tmp_path: Path, model: Path) -> None:
    done = run(script, tmp_path, tmp_path / "work", "--model", str(model))
    assert done.returncode == 1
    assert "squad2.jsonl.gz cannot be read" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        pytest.param("", "## Figures\n\nNew.\n", id="an empty card"),
        pytest.param("# Model\n\nText.\n", "# Model\n\nText.\n\n## Figures\n\nNew.\n", id="at the end"),
        pytest.param("# Model\n\n## Figures\n\nOld.\n", "# Model\n\n## Figures\n\nNew.\n", id="in place of the last"),
        pytest.param(
            "## Figures\n\nOld.\n\n### Speed\n\nOld.\n\n## Licence\n\nFree.\n",
            "## Figures\n\nNew.\n\n## Licence\n\nFree.\n",
            id="with its subsections, in place of one before others",
        ),
    ],
)
def test_a_section_takes_its_place_in_a_card(card: str, expected: str) -> None:
    assert put_section(card, "## Figures\n\nNew.\n") == expected


def test_models_are_averaged_tensor_by_tensor_in_the_first_ones_format(tmp_path: Path) -> None:
    for name, value in (("one", 1.0), ("other", 3.0)):
        (tmp_path / name).mkdir()
        save_file({"w": np.full((2, 3), value, np.float16)}, tmp_path / name / "model.safetensors", {"head": name})
        (tmp_path / name / "config.json").write_text(name)
        (tmp_path / name / "calibration.json").write_text(name)
    run_script(
        "lab/training/average_models", f"{tmp_path}/one=0.75", f"{tmp_path}/other=0.25", "--out", str(tmp_path / "out")
    )
    weights = load_file(tmp_path / "out" / "model.safetensors")["w"]
    with safe_open(tmp_path / "out" / "model.safetensors", framework="numpy") as opened:
        assert opened.metadata() == {"head": "one"}
    assert weights.dtype == np.float16
    assert weights.tolist() == [[1.5] * 3] * 2
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"model.safetensors", "config.json"}
    assert (tmp_path / "out" / "config.json").read_text() == "one"
