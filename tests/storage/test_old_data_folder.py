"""A data folder of before 0.1.0 gets one sentence from every command, exit status 1, and stays as it is."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from localcrag.interfaces.cli.main import main
from localcrag.storage.schema import DATABASE_NAME
from tests.support.command_line import as_process
from tests.support.schemas import database_before_0_1_0

pytestmark = pytest.mark.process

SAID = "was made by a localcrag older than 0.1.0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    database_before_0_1_0(data / DATABASE_NAME)
    (data / "settings.json").write_text('{"k": 7}')
    (data / "index").mkdir()
    (data / "index" / "collection-1.hnsw").write_bytes(b"vectors")
    for one in (data, *data.rglob("*")):
        one.chmod(0o755)
    return data


def state_of(data: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        str(one): (one.stat().st_mode, one.stat().st_mtime_ns, one.read_bytes() if one.is_file() else b"")
        for one in (data, *data.rglob("*"))
    }


@pytest.mark.parametrize(
    "command",
    ["ask Why?", "documents list", "runs list", "models list", "doctor", "doctor --repair", "backup copy.sqlite3",
     "restore copy.sqlite3", "forget", "privacy", "ui --no-browser", "desktop open", "serve", "mcp"],
)  # fmt: skip
def test_every_command_says_what_to_do_and_changes_nothing(
    folder: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = state_of(folder)
    assert main([*command.split(), "--json", "--data-dir", str(folder)]) == 1
    printed, said = capsys.readouterr()
    told = json.loads(printed)
    assert told["kind"] == "StoreError"
    assert SAID in told["error"]
    assert "Choose another folder with --data-dir" in told["error"]
    assert said == f"localcrag: {told['error']}\n"
    assert state_of(folder) == before


def test_the_program_itself_ends_with_the_sentence_and_status_1(folder: Path) -> None:
    before = state_of(folder)
    ended = as_process(folder, "ui", "--no-browser")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.count("\n") == 1
    assert SAID in ended.stderr
    assert state_of(folder) == before


def test_the_browser_shows_the_sentence_where_the_app_was_opened_without_a_terminal(
    folder: Path, tmp_path: Path
) -> None:
    before, page, browser = state_of(folder), tmp_path / "page.html", tmp_path / "browser.py"
    browser.write_text(
        f"import sys, urllib.request\nopen({str(page)!r}, 'wb').write(urllib.request.urlopen(sys.argv[1]).read())"
    )
    ended = as_process(folder, "desktop", "open", BROWSER=f"{sys.executable} {browser} %s")
    assert ended.returncode == 1
    assert SAID in ended.stderr
    assert "localcrag could not start" in page.read_text("utf-8")
    assert SAID in page.read_text("utf-8")
    assert state_of(folder) == before
