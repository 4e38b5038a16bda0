"""`localcrag serve` and the page bring a folder in step by themselves, as the system tells of changes in it.

Without being told, either would look again after ten minutes only. What the egress guard refuses of it fails the tests.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from localcrag.app.folders.keeper import LOOK_AGAIN
from localcrag.backends.store.collection_queries import texts_of
from localcrag.backends.store.database import Database
from tests.support.api_process import running_api
from tests.support.app_process import running_app
from tests.support.command_line import localcrag
from tests.support.first_start import started_before

LONGEST = 240.0


@pytest.mark.parametrize("running", [running_api, running_app], ids=["serve", "page"])
def test_what_changes_in_a_folder_is_in_its_collection_soon(
    running: Callable[[Path], AbstractContextManager[object]], tmp_path: Path
) -> None:
    data, papers = started_before(tmp_path / "data"), tmp_path / "papers"
    papers.mkdir()
    (papers / "gate.txt").write_text("The gate opens at seven.")
    assert localcrag(data, "folder", "add", str(papers)).returncode == 0
    database = Database(data / "localcrag.sqlite3")
    began = time.monotonic()

    def in_step(texts: dict[str, str]) -> None:
        while texts_of(database, "default") != texts:
            assert time.monotonic() < began + LONGEST < began + LOOK_AGAIN
            time.sleep(0.1)

    with running(data):
        in_step({"gate.txt": "The gate opens at seven."})
        (papers / "gate.txt").write_text("The gate opens at eight.")
        (papers / "boat.txt").write_text("The boat may carry six people.")
        in_step({"gate.txt": "The gate opens at eight.", "boat.txt": "The boat may carry six people."})
        (papers / "boat.txt").rename(papers / "ferry.txt")
        in_step({"gate.txt": "The gate opens at eight.", "ferry.txt": "The boat may carry six people."})
    database.close()


@pytest.mark.parametrize("running", [running_api, running_app], ids=["serve", "page"])
def test_what_a_changed_and_a_vanished_file_said_is_soon_in_no_byte(
    running: Callable[[Path], AbstractContextManager[object]], tmp_path: Path
) -> None:
    data, papers = started_before(tmp_path / "data"), tmp_path / "papers"
    papers.mkdir()
    (papers / "gate.txt").write_text("The quormvellity of the gate is kept in Oakham.")
    (papers / "boat.txt").write_text("The brindlequaff of the boat is kept in Oakham.")
    assert localcrag(data, "folder", "add", str(papers), "--gone", "remove").returncode == 0
    began = time.monotonic()

    def holding() -> set[str]:
        words = [word[4:].encode() for word in ("quormvellity", "brindlequaff")]
        files = [path for path in data.glob("localcrag.sqlite3*") if path.is_file()]
        return {word.decode() for word in words for path in files if word in path.read_bytes()}

    def wait_for(there: set[str]) -> None:
        while holding() != there:
            assert time.monotonic() < began + LONGEST
            time.sleep(0.1)

    with running(data):
        wait_for({"mvellity", "dlequaff"})
        (papers / "gate.txt").write_text("The lamp of the gate is kept in Oakham.")
        (papers / "boat.txt").unlink()
        wait_for(set())
