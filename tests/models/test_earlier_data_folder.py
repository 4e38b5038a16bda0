"""A data folder that the version of 23 November 2026 made opens unchanged: runs, labels, chats, settings, index.

The archive holds the folder, and as expected.json what that version's commands printed of it with --json. In it are six
questions on the sample documents, one answered again from a manual selection, a chat, labels, a pinned question, a
second collection with a preset, a web mode and a calibration of its own, and changed settings.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from localcrag.app.assemble import Assembly
from localcrag.cli.main import main
from localcrag.records.enums import Action, Policy, Strictness
from localcrag.records.run import Run
from localcrag.runs.chats import TurnState
from localcrag.settings import load
from tests.support import DATA

ARCHIVE = DATA / "data_folder_of_november_2026.zip"
with zipfile.ZipFile(ARCHIVE) as _archive:
    EXPECTED: dict[str, Any] = json.loads(_archive.read("expected.json"))


OF_RELEVANCE_V1 = ("runs thresholds", "calibrate show", "calibrate show --collection second")
"""What that version's relevance model gave is no measure of today's."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(tmp_path)
    return tmp_path


@pytest.fixture
def assembly(folder: Path) -> Iterator[Assembly]:
    assembly = Assembly(load(data_dir=folder))
    yield assembly
    assembly.close()


def beside_new_fields(found: Any, expected: Any) -> Any:
    """Return what was found without the fields that are new since then."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return {name: beside_new_fields(found.get(name), value) for name, value in expected.items()}
    if isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        return [beside_new_fields(one, other) for one, other in zip(found, expected, strict=True)]
    return found


def best(run: Run) -> str:
    return max(run.passages, key=lambda passage: passage.relevance).id


@pytest.mark.parametrize("command", [command for command in EXPECTED if command not in OF_RELEVANCE_V1])
def test_a_command_prints_what_it_printed(folder: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--json", "--data-dir", str(folder)]) == 0
    assert beside_new_fields(json.loads(capsys.readouterr().out), EXPECTED[command]) == EXPECTED[command]


def test_what_another_relevance_model_gave_is_left_out_and_said_to_be(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*command: str) -> dict[str, Any]:
        assert main([*command, "--json", "--data-dir", str(folder)]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    thresholds = told("runs", "thresholds")
    assert thresholds["questions"] == 0
    assert thresholds["left_out"] == {"scored by another model": 7}
    for collection in ("default", "second"):
        shown = told("calibrate", "show", "--collection", collection)
        assert (shown["scorer"], shown["own"], shown["history"]) == ("relevance-v3", True, [])


def test_its_settings_hold(folder: Path) -> None:
    settings = load(data_dir=folder)
    assert (settings.k, settings.policy, settings.strictness) == (5, Policy.COUNT, Strictness.LENIENT)
    assert settings.web_never_terms == ("Kelderman",)


def test_its_chats_are_there(assembly: Assembly) -> None:
    (chat,) = assembly.chats.chats()
    turns = assembly.chats.turns(chat.id)
    assert [turn.state for turn in turns] == [TurnState.ANSWERED, TurnState.STOPPED]
    assert assembly.runs.get(turns[0].run_id or "").answer == turns[0].answer


def test_its_documents_are_asked_without_being_embedded_anew(assembly: Assembly) -> None:
    assert assembly.collections.embedders.to_embed() == []
    (guarantee,) = (run for run in EXPECTED["runs list"] if "guarantee" in run["question"])
    stored = assembly.runs.get(guarantee["run_id"])
    recording = assembly.replay(stored)
    for _ in recording:
        pass
    # Not word for word: which number format is the fastest, and so the last digits of a score, depends on the machine.
    assert recording.run.action is Action.CORRECT
    assert not recording.run.abstained
    # Another relevance model may like another of the same passages best.
    assert best(recording.run) in {passage.id for passage in stored.passages}
    assert "24 months" in recording.run.answer
    assert list((assembly.settings.data_dir / "index").glob("collection-1.*")) == []
