"""What was reported done is there after kills, backups come back whole, damaged data folders are mended."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from localcrag.app.health import CheckState, repair
from localcrag.app.storage import Storage
from localcrag.settings import load
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.database import Database
from localcrag.storage.salvage import rebuild_full_text
from localcrag.storage.schema import SCHEMA_VERSION
from tests.support import ROOT
from tests.support.command_line import as_json, localcrag
from tests.support.engines import needs_hnswlib
from tests.support.filled_folders import EMBEDDER, NAME, filled
from tests.support.first_start import started_before
from tests.support.stored_documents import documents_of

pytestmark = pytest.mark.process

with_each_engine = pytest.mark.parametrize("engine", [pytest.param("hnswlib", marks=needs_hnswlib), "usearch"])
"""Of the vector index: scripts/lab/faults/faults.py takes the settings of the environment."""


def faults(tmp_path: Path, engine: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/lab/faults/faults.py with an engine of the vector index."""
    command = [sys.executable, str(ROOT / "scripts" / "lab" / "faults" / "faults.py"), *options]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "LOCALCRAG_INDEX_ENGINE": engine}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def names_in(data: Path) -> list[str]:
    database = Database(data / NAME)
    try:
        return [one.name for one in documents_of(database, "default")]
    finally:
        database.close()


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked and killed by signals")
@with_each_engine
def test_nothing_reported_is_lost_and_nothing_deleted_found_when_the_app_is_killed(tmp_path: Path, engine: str) -> None:
    models = started_before(tmp_path / "models")
    done = faults(tmp_path, engine, "--kills", "10", "--seed", "2", "--models", str(models))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| all | 10 | 0 |" in done.stdout


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("cc"), reason="calls fail by a library put before libc")
@pytest.mark.parametrize("options", [("--step", "400"), ("--step", "900", "--faults", "no-memory")], ids=" ".join)
@with_each_engine
def test_nothing_reported_is_lost_and_every_error_is_said_where_a_call_fails(
    tmp_path: Path, engine: str, options: tuple[str, ...]
) -> None:
    done = faults(tmp_path, engine, "--every-call", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    (total,) = [line for line in done.stdout.splitlines() if line.startswith("| all ")]
    assert total.endswith("| 0 |")


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("cc"), reason="recorded by a library put before libc")
@with_each_engine
def test_nothing_reported_is_lost_in_a_power_cut(tmp_path: Path, engine: str) -> None:
    done = faults(tmp_path, engine, "--power-cuts", "12", "--seed", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| all | 12 | 0 |" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="disks of memory are mounted")
@with_each_engine
def test_nothing_reported_is_lost_on_a_full_disk_and_a_sentence_says_so(tmp_path: Path, engine: str) -> None:
    done = faults(tmp_path, engine, "--full-disk", "--step", "16")
    if done.returncode == 2:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| all | losses: 0 |" in done.stdout
    assert "can only be read: make it writable" in done.stdout
    assert "is full: what was to be written is not in it" in done.stdout


def test_a_backup_is_private_and_brings_documents_and_settings_to_another_folder(tmp_path: Path) -> None:
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "copy.sqlite3"
    filled(here, "ferry", "lighthouse")
    (here / "settings.json").write_text('{"k": 7}')
    made = as_json(localcrag(here, "backup", str(file), "--json"))
    assert (made["documents"], made["elsewhere"]) == (2, [])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert as_json(localcrag(there, "restore", str(file), "--json"))["documents"] == 2
    assert names_in(there) == ["ferry.txt", "lighthouse.txt"]
    assert (there / "settings.json").read_text() == '{"k": 7}'
    again = localcrag(here, "backup", str(file))
    assert again.returncode == 1
    assert "already exists" in again.stderr


def test_restoring_is_refused_while_another_process_has_the_folder(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "copy.sqlite3"
    filled(data, "ferry")
    as_json(localcrag(data, "backup", str(file), "--json"))
    filled(data, "lighthouse")
    code = f"""
import sys; from pathlib import Path; from localcrag.storage.database import Database
Database(Path({str(data / NAME)!r})); print("open", flush=True); sys.stdin.read()
"""
    other = subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True, cwd=ROOT)
    assert other.stdout is not None
    assert other.stdout.readline() == "open\n"
    refused = localcrag(data, "restore", str(file), "--json")
    other.communicate()
    assert "Another localcrag has" in as_json(refused, 1)["error"]
    assert names_in(data) == ["ferry.txt", "lighthouse.txt"]


def test_processes_that_open_a_new_data_folder_at_once_all_work_in_it(tmp_path: Path) -> None:
    data = tmp_path / "new" / "data"
    code = f"""
import sys
from pathlib import Path
from tests.support.filled_folders import filled
print("ready", flush=True)
filled(Path({str(data)!r}), sys.stdin.readline().strip())
"""
    words = ["ferry", "lamp", "pier"]
    command = [sys.executable, "-c", code]
    others = [subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True, cwd=ROOT) for _ in words]
    for other in others:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
    for other, word in zip(others, words, strict=True):
        assert other.stdin is not None
        other.stdin.write(f"{word}\n")
        other.stdin.flush()
    assert [other.communicate()[1] for other in others] == [""] * len(words)
    assert names_in(data) == [f"{word}.txt" for word in words]


@pytest.mark.parametrize("what", ["cut off", "foreign", "no database", "newer"])
def test_a_file_that_is_no_whole_backup_is_refused_and_changes_nothing(tmp_path: Path, what: str) -> None:
    data, file = tmp_path / "data", tmp_path / "copy.sqlite3"
    filled(data, "ferry")
    as_json(localcrag(data, "backup", str(file), "--json"))
    filled(data, "lighthouse")
    match what:
        case "cut off":
            file.write_bytes(file.read_bytes()[:20_000])
        case "no database":
            file.write_text("a text")
        case "newer":
            with sqlite3.connect(file) as copy:
                copy.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
        case _:
            file.unlink()
            with sqlite3.connect(file) as copy:
                copy.execute("CREATE TABLE notes (text)")
    said = as_json(localcrag(data, "restore", str(file), "--json"), 1)["error"]
    assert str(file) in said
    assert "Nothing was changed" in said
    assert names_in(data) == ["ferry.txt", "lighthouse.txt"]


def test_a_database_that_cannot_be_opened_is_kept_beside_the_backup_that_takes_its_place(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "copy.sqlite3"
    filled(data, "ferry")
    as_json(localcrag(data, "backup", str(file), "--json"))
    (data / NAME).write_bytes(b"broken" * 5_000)
    as_json(localcrag(data, "restore", str(file), "--json"))
    assert names_in(data) == ["ferry.txt"]
    (kept,) = data.glob(f"damaged-*/{NAME}")
    assert kept.read_bytes() == b"broken" * 5_000


def test_what_a_killed_restore_left_is_removed_by_the_next_start(tmp_path: Path) -> None:
    filled(tmp_path, "ferry")
    for end in (".new", ".new-wal", ".new-journal"):
        (tmp_path / f"{NAME}{end}").write_text("half")
    assert names_in(tmp_path) == ["ferry.txt"]
    assert list(tmp_path.glob("*.new*")) == []


def test_files_of_a_backup_are_put_back_by_the_next_start_where_the_restore_was_killed(tmp_path: Path) -> None:
    database = Database(tmp_path / NAME)
    with database.transaction() as connection:
        connection.execute("CREATE TABLE files_beside (name TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT")
        files = [("evaluations/one/report.json", b"{}"), ("../outside.txt", b"never")]
        connection.executemany("INSERT INTO files_beside VALUES (?, ?)", files)
    Storage(tmp_path, tmp_path / "models", database, lambda: None)
    assert (tmp_path / "evaluations" / "one" / "report.json").read_bytes() == b"{}"
    assert not (tmp_path.parent / "outside.txt").exists()
    assert database.rows("SELECT 1 FROM sqlite_master WHERE name = 'files_beside'") == []


def test_two_copies_within_a_second_have_names_of_their_own(tmp_path: Path) -> None:
    storage = Storage(tmp_path, tmp_path / "models", Database(tmp_path / NAME), lambda: None)
    assert len({storage.back_up().path for _ in range(5)}) == 5


def test_a_damaged_database_is_saved_as_far_as_it_can_be_read_and_kept_beside(tmp_path: Path) -> None:
    filled(tmp_path, *(f"ferry{number}" for number in range(40)))
    path = tmp_path / NAME
    content = bytearray(path.read_bytes())
    content[-3 * 4096 : -2 * 4096] = b"\xff" * 4096
    path.write_bytes(content)
    damaged = path.read_bytes()
    findings = {one.name: one for one in repair(load(data_dir=tmp_path))}
    assert findings["database"].state is CheckState.FAILED, findings
    (kept,) = tmp_path.glob(f"damaged-*/{NAME}")
    assert hashlib.sha256(kept.read_bytes()).digest() == hashlib.sha256(damaged).digest()
    assert 0 < len(names_in(tmp_path)) <= 40
    database = Database(path)
    assert database.rows("PRAGMA integrity_check")[0][0] == "ok"
    assert database.rows("PRAGMA foreign_key_check") == []
    database.close()


def test_repair_makes_the_full_text_anew_from_the_chunks(tmp_path: Path) -> None:
    filled(tmp_path, "ferry")
    database = Database(tmp_path / NAME)
    with database.transaction() as connection:
        connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('delete-all')")
    assert rebuild_full_text(database) == 1
    store = DocumentStore(database, "default", embedder=EMBEDDER.name, dimension=EMBEDDER.dimension)
    assert len(store.full_text("ferry", 5)) == 1
    database.close()
