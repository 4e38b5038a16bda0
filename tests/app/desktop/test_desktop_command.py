"""`localcrag desktop` on a terminal: what it says, and that what it made is gone afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localcrag.app.desktop.one_instance import OneInstance
from localcrag.interfaces.cli.main import main

pytestmark = pytest.mark.process


@pytest.fixture
def home(egress_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(egress_folder))
    for name in ("DATA", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(egress_folder / name.lower()))
    return egress_folder


def test_installed_and_removed_it_says_what_comes_next_and_leaves_nothing(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["desktop", "install"]) == 0
    said = capsys.readouterr().out
    assert str(home / "data/applications/localcrag.desktop") in said
    assert "`localcrag desktop open`" in said
    assert "`localcrag desktop remove`" in said
    assert main(["desktop", "remove", "--json"]) == 0
    assert str(home / "data/applications/localcrag.desktop") in json.loads(capsys.readouterr().out)
    assert [path for path in home.rglob("*") if not path.is_dir()] == []
    assert main(["desktop", "remove"]) == 0
    assert "so nothing was removed" in capsys.readouterr().out
    assert not OneInstance(home / "data" / "localcrag").window_folder.parent.exists()


def test_what_the_window_keeps_is_removed_once_nobody_uses_it(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = OneInstance(home)
    first.window_folder.mkdir(parents=True)
    assert first.claim()
    assert main(["desktop", "remove", "--data-dir", str(home)]) == 0
    assert "`localcrag desktop quit`" in capsys.readouterr().err
    assert first.window_folder.exists()
    first.release()
    assert main(["desktop", "remove", "--data-dir", str(home)]) == 0
    assert capsys.readouterr().err == ""
    assert not first.window_folder.exists()


def test_where_none_runs_there_is_nothing_to_end(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["desktop", "quit", "--data-dir", str(home)]) == 0
    assert "not running" in capsys.readouterr().err
