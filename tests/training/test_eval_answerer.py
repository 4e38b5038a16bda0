"""scripts/lab/answerer/eval_answerer.py, really run: what the embedded language model writes from the evidence of an
evaluation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from localcrag.evaluation import store
from localcrag.evaluation.configurations import FULL
from tests.support import ROOT
from tests.support.made_evaluations import varied


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, path = varied(), tmp_path_factory.mktemp("evaluation")
    store.begin(path, made.about, made.questions)
    with store.appended(path) as runs:
        for configuration, own in made.runs.items():
            for name, run in own.items():
                runs.add(configuration, name, run)
    return path


def test_every_figure_is_there_for_each_model(folder: Path, tmp_path: Path) -> None:
    made = varied().pairs(FULL)
    with_evidence = [run for _, run in made if run.evidence]
    process = subprocess.run(
        [sys.executable, str(ROOT / "scripts/lab/answerer/eval_answerer.py"), str(folder), "smollm2-135m-instruct",
         "--configuration", FULL, "--show", "2"],
        capture_output=True, text=True, check=False, env={"LOCALCRAG_DATA_DIR": str(tmp_path), "PATH": ""},
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    shown, _, table = process.stdout.partition("| | smollm2-135m-instruct |")
    assert shown.count("smollm2-135m-instruct: ") == shown.count("the best sentences, quoted: ") == 2
    assert "[1] The tank is round." in shown
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    cells = {name: model for name, model, _ in rows}
    assert any(name.startswith("evidence holds the answer") for name in cells)
    assert f"… with the {len(made) - len(with_evidence)} questions without evidence: abstains" in cells
    assert float(cells["seconds to the first token, median"]) > 0
    assert float(cells["tokens a second, median"]) > 0
