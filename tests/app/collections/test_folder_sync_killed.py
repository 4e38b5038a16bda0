"""A command that brings a folder in step is killed: what is in is whole, and the next one goes on."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from localcrag.storage.database import Database
from tests.support.command_line import as_json, localcrag, start
from tests.support.first_start import started_before

FILES, LONGEST = 400, 240.0
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="processes are killed by signals"),
]


def number(data: Path, table: str) -> int:
    database = Database(data / "localcrag.sqlite3")
    try:
        return int(database.rows(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608 - a name of ours
    finally:
        database.close()


def test_a_kill_leaves_whole_documents_and_the_next_command_goes_on(tmp_path: Path) -> None:
    data, papers = started_before(tmp_path / "data"), tmp_path / "papers"
    papers.mkdir()
    for one in range(FILES):
        (papers / f"{one:03}.txt").write_text(f"The gate number {one} opens at {one % 24} o'clock.")
        os.utime(papers / f"{one:03}.txt", (1_700_000_000, 1_700_000_000))
    assert localcrag(data, "folder", "add", str(papers)).returncode == 0
    process = start(data, "folder", "sync")
    until = time.monotonic() + LONGEST
    while not number(data, "documents"):
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = number(data, "documents")
    assert 0 < before == number(data, "chunks")
    changes = as_json(localcrag(data, "folder", "sync", "--json"))
    assert len(changes) == FILES - before, "what was in is not read again"
    assert number(data, "documents") == number(data, "chunks") == number(data, "folder_files") == FILES
    assert as_json(localcrag(data, "folder", "sync", "--json")) == []
