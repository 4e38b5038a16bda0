"""The README's first question, as it stands there: from Python and in the terminal, with the real models."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from localcrag.interfaces.cli.main import main
from localcrag.records.enums import Action
from tests.support.fixtures_handbook import WARRANTY

pytestmark = pytest.mark.models

README = (Path(__file__).resolve().parents[2] / "README.md").read_text("utf-8")
COMMAND = ".venv/bin/localcrag "


@pytest.mark.usefixtures("beside_the_handbook")
def test_the_python_of_the_readme_answers(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    made: dict[str, object] = {}
    exec(compile(block, "README.md", "exec"), made)  # noqa: S102 - what README.md tells people to run
    said = capsys.readouterr().out
    assert WARRANTY in said
    assert Action.CORRECT in said
    assert "handbook.pdf" in said


@pytest.mark.usefixtures("beside_the_handbook")
def test_the_commands_of_the_readme_answer(capsys: pytest.CaptureFixture[str]) -> None:
    section = README.split("**In the terminal**")[1].split("**From Python**")[0]
    commands = [line.strip() for line in section.splitlines() if line.strip().startswith(COMMAND)]
    assert [shlex.split(command)[1] for command in commands] == ["ingest", "ask"]
    for command in commands:
        assert main(shlex.split(command.removeprefix(COMMAND))) == 0
    assert WARRANTY in capsys.readouterr().out
