"""Importing localcrag changes nothing in a process; an app, or `localcrag.guard()`, guards it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from localcrag.privacy import egress_log
from localcrag.privacy.guard import GUARDED
from tests.support import ROOT

FOREIGN = "192.0.2.1"
"""An address of RFC 5737: no computer has it."""
SETTINGS = {"GRADIO_SHARE": "1", "HTTP_PROXY": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "0"}
TRY = f"""
def attempt():
    with socket.socket() as one:
        one.settimeout(0)
        try:
            one.connect(("{FOREIGN}", 443))
        except OSError as error:
            return type(error).__name__
    return "connected"
"""
pytestmark = [pytest.mark.process, pytest.mark.refused(f"{FOREIGN}:443")]


def fresh(code: str, folder: Path, **environment: str) -> list[str]:
    """Run code in a Python whose environment no guarded process has changed, and return the lines that it prints."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCALCRAG_", "GRADIO_", "HF_"))}
    refusals = {egress_log.REFUSALS_VARIABLE: os.environ[egress_log.REFUSALS_VARIABLE]}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False,
        env=kept | refusals | {"LOCALCRAG_DATA_DIR": str(folder)} | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_importing_localcrag_leaves_environment_connections_and_hooks_alone(tmp_path: Path) -> None:
    code = f"""
import os, socket, sys
hooks = []
sys.addaudithook(lambda event, arguments: hooks.append(event) if event == "sys.addaudithook" else None)
before, connect = dict(os.environ), socket.socket.connect
import localcrag
print(dict(os.environ) == before, socket.socket.connect is connect, hooks)
{TRY}
print(attempt() != "EgressRefused")
"""
    assert fresh(code, tmp_path, **SETTINGS) == ["True True []", "True"]


@pytest.mark.parametrize(
    "begin",
    [
        "localcrag.guard()",
        "localcrag.Localcrag().close()",
        (
            "from localcrag.interfaces.cli.main import main; "
            "main(['presets', '--data-dir', os.environ['LOCALCRAG_DATA_DIR']])"
        ),
        "from localcrag.app.facade import begin; begin()",
    ],
    ids=["guard", "an app", "a command", "settings"],
)
def test_a_process_is_guarded_once_an_app_begins(tmp_path: Path, begin: str) -> None:
    code = f"""
import contextlib, io, os, socket
import localcrag
with contextlib.redirect_stdout(io.StringIO()):
    {begin}
{TRY}
print(attempt(), os.environ["HF_HUB_OFFLINE"], "GRADIO_SHARE" in os.environ, "HTTP_PROXY" in os.environ)
"""
    assert fresh(code, tmp_path, **SETTINGS) == ["EgressRefused 1 False False"]


def test_libraries_are_imported_with_telemetry_off(tmp_path: Path) -> None:
    code = """
import localcrag
localcrag.Localcrag().close()
from huggingface_hub import constants
print(constants.HF_HUB_OFFLINE, constants.HF_HUB_DISABLE_TELEMETRY)
"""
    assert fresh(code, tmp_path) == ["True True"]


def test_a_worker_of_a_guarded_process_is_guarded_when_it_imports_localcrag(tmp_path: Path) -> None:
    code = f"import socket, localcrag\n{TRY}\nprint(attempt())"
    assert fresh(code, tmp_path, **{GUARDED: "1"}) == ["EgressRefused"]


def test_guarding_twice_adds_one_hook(tmp_path: Path) -> None:
    code = """
import sys
hooks = []
sys.addaudithook(lambda event, arguments: hooks.append(event) if event == "sys.addaudithook" else None)
import localcrag
localcrag.guard()
localcrag.guard()
print(len(hooks))
"""
    assert fresh(code, tmp_path) == ["1"]
