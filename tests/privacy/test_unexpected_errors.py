"""Errors that nobody expected: the log says where they happened, and holds nothing of what was being worked on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

TEXT = "the diary of a beekeeper"
FAILING = f"""
import traceback
from localcrag.app import tasks
from localcrag.privacy.process import hide_error_messages
if not {{debug}}:
    hide_error_messages()
def reads(text):
    int(text)
try:
    try:
        reads("{TEXT}")
    except ValueError as error:
        raise RuntimeError("{TEXT}") from error
except RuntimeError as error:
    traceback.print_exc()  # As Gradio does.
    tasks.describe_failure(error, "It")  # As our own work behind the page does.
"""


@pytest.mark.parametrize("debug", [False, True])
def test_messages_are_printed_with_debug_alone(tmp_path: Path, debug: bool) -> None:
    script = tmp_path / "failing.py"
    # The text is read from a file: a traceback quotes the lines of a program, which hold no document.
    (tmp_path / "secret.txt").write_text(TEXT)
    code = FAILING.replace(f'"{TEXT}"', "secret").format(debug=debug)
    script.write_text(f"secret = open({str(tmp_path / 'secret.txt')!r}).read()\n{code}")
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=root,
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (TEXT in done.stderr) is debug
    assert "RuntimeError" in done.stderr
    assert "ValueError" in done.stderr
    assert "in reads" in done.stderr
    assert ("LOCALCRAG_DEBUG" in done.stderr) is not debug
