"""The wheel: it carries what lies in the repository, and works where there is no checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from localcrag.privacy.egress_log import REFUSALS_VARIABLE
from tests.support import ROOT

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that a wheel was put into, as installers do it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = "import sys, build_backend; print(build_backend.build_wheel(sys.argv[1]))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "scripts")}
    done = subprocess.run(
        [sys.executable, "-c", build, str(folder)], cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True
    )
    with zipfile.ZipFile(folder / done.stdout.decode().strip()) as wheel:
        wheel.extractall(folder / "site-packages")
    return folder / "site-packages"


def localcrag(installed: Path, folder: Path, *arguments: str) -> Any:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCALCRAG_")}
    environment[REFUSALS_VARIABLE] = os.environ[REFUSALS_VARIABLE]
    environment |= {"PYTHONPATH": str(installed), "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-m", "localcrag", *arguments, "--json"],
        cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_it_carries_the_manifest_and_our_own_models_and_nothing_that_was_downloaded(installed: Path) -> None:
    models = installed / "localcrag" / "shipped_models"
    tracked = subprocess.run(["git", "ls-files", "models"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    wanted = {line.removeprefix("models/") for line in tracked.splitlines()} - {"README.md"}
    assert {path.relative_to(models).as_posix() for path in models.rglob("*") if path.is_file()} == wanted


def test_its_models_are_found_and_others_go_into_the_data_folder(installed: Path, tmp_path: Path) -> None:
    said = localcrag(installed, tmp_path, "models", "list")
    states = {one["name"]: one["state"] for one in said}
    assert (states["relevance-v3"], states["smollm2-135m-answerer"]) == ("present", "present")
    assert (states["all-minilm-l6-v2"], states["smollm2-135m-instruct"]) == ("missing", "missing")
    embedder = next(one["path"] for one in said if one["name"] == "all-minilm-l6-v2")
    assert embedder == str(tmp_path / "localcrag" / "models" / "all-minilm-l6-v2")


def test_what_it_needs_includes_pip_which_fetches_models_and_which_tools_of_uv_lack(installed: Path) -> None:
    (metadata,) = installed.glob("localcrag-*.dist-info/METADATA")
    assert "Requires-Dist: pip>=" in metadata.read_text("utf-8")
