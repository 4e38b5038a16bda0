"""Each command closes what it opened: database, reader processes, threads and models."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from pathlib import Path

import pytest

from localcrag.interfaces.cli.main import _parser
from localcrag.records.errors import LocalcragError
from tests.support.command_line import as_json, localcrag
from tests.support.first_start import started_before

HOLDERS = ("Llama", "SentenceTransformer", "CrossEncoder", "Connection")
"""Classes whose objects hold a model, or a file of SQLite."""
SERVERS = {"ui", "serve", "mcp"}
"""They run until they are ended, and have tests of their own."""
WITHOUT_DATA = {"desktop", "models", "restore"}
"""They open no database, or one that they replace themselves."""


def alive() -> Counter[str]:
    """Count the objects that hold models or a database."""
    gc.collect()
    return Counter(type(one).__name__ for one in gc.get_objects() if type(one).__name__ in HOLDERS)


def open_files(folder: Path) -> list[str]:
    """Return the files in a folder that this process has open."""
    links = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return [link for link in links if link.startswith(str(folder))]


def children() -> set[str]:
    """Return the processes that this one has started and that have not ended."""
    return set(Path(f"/proc/self/task/{threading.main_thread().native_id}/children").read_text().split())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a document and a question that was asked."""
    folder = started_before(tmp_path_factory.mktemp("data"))
    (folder / "club.md").write_text("# Club\n\nThe boat may be borrowed on Sundays, for a deposit of 50 euros.\n")
    (folder / "followed").mkdir()
    assert localcrag(folder, "ingest", str(folder / "club.md")).returncode == 0
    as_json(localcrag(folder, "ask", "--json", "When may the boat be borrowed?"))
    return folder


def commands(data: Path) -> list[list[str]]:
    """Return a call of each command that opens a data folder, whether it succeeds or fails."""
    return [
        ["ask", "How high is the deposit?"], ["backup", str(data / "backup.sqlite3")], ["calibrate", "show"],
        ["collection", "copy", "default", "other"], ["collection", "list"], ["doctor"], ["documents", "list"],
        ["documents", "delete", "missing.md"], ["eval", "--list"], ["eval", str(data / "missing")],
        ["folder", "add", str(data / "followed")], ["folder", "sync"], ["forget", "missing.md"], ["gaps"],
        ["ingest", str(data / "club.md")], ["labels"], ["pins"], ["presets"], ["privacy"], ["runs"],
        ["runs", "show", "missing"], ["web", "show"],
    ]  # fmt: skip


def test_every_command_that_opens_a_data_folder_is_listed_here(data: Path) -> None:
    (named,) = (action.choices for action in _parser()._subparsers._group_actions)  # type: ignore[union-attr]
    assert named is not None
    assert {command[0] for command in commands(data)} == set(named) - SERVERS - WITHOUT_DATA


@pytest.mark.slow
def test_each_command_closes_what_it_opens(data: Path) -> None:
    threads, processes, objects = set(threading.enumerate()), children(), alive()
    for command in commands(data):
        localcrag(data, *command)
        assert (command, open_files(data)) == (command, [])
        # SQLite removes its log when the last connection is closed.
        assert (command, [path.name for path in data.glob("localcrag.sqlite3-*")]) == (command, [])
        assert (command, alive() - objects) == (command, Counter())
        left = {thread.name for thread in set(threading.enumerate()) - threads}
        assert (command, left, children() - processes) == (command, set(), set())


def test_a_command_that_breaks_off_closes_what_it_opened(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        assert open_files(data), "the database is open by then"
        raise LocalcragError("broken off")

    monkeypatch.setattr("localcrag.interfaces.cli.maintenance.print_result", fail)
    assert localcrag(data, "privacy").returncode == 1
    assert open_files(data) == []
