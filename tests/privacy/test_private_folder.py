"""Only this user may look into what localcrag writes, also where others could look into it before."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcrag.privacy.private_folder import exposed_files, keep_private
from tests.support.command_line import start

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """As most systems have it: others may read."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}


def test_all_that_commands_write_is_for_this_user_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    document = tmp_path / "tarn.txt"
    document.write_text("The quillwort grows in the tarn above the village.")
    for command in (
        ("ingest", str(document)),
        ("ask", "What grows in the tarn?"),
        ("runs", "export", "--output", str(tmp_path / "runs.jsonl")),
        ("models", "use", "smollm2-135m-instruct"),
    ):
        assert start(data, *command).wait() == 0
    found = modes(data)
    assert {"localcrag.sqlite3", "cache", "settings.json"} <= set(found)
    assert {name for name, mode in found.items() if mode & 0o077} == set()
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "runs.jsonl").stat().st_mode) == 0o600


def test_what_an_older_version_left_open_is_closed(tmp_path: Path) -> None:
    ours = ["localcrag.sqlite3", "localcrag.sqlite3-wal", "settings.json", "scores-1.jsonl", "index/a.hnsw",
            "index/a.columns", "server_keys.json", "model_checks.json", "api-token",
            "cache/model.gguf", "uploads/x/y.pdf", "backups/one.sqlite3", "evaluations/1/runs.jsonl"]  # fmt: skip
    for name in (*ours, "holiday.jpg", "photos/one.jpg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    tmp_path.chmod(0o755)
    # Files, folders, and folders in those.
    assert len(exposed_files(tmp_path)) == len(ours) + 5 + 2
    keep_private(tmp_path)
    found = modes(tmp_path)
    assert {found[name] for name in ours} == {0o600}
    # What is not ours stays as it is.
    assert found["holiday.jpg"] == found["photos/one.jpg"] == 0o644
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    assert exposed_files(tmp_path) == []
    (tmp_path / "holiday.jpg").unlink()
    shutil.rmtree(tmp_path / "photos")
    assert exposed_files(tmp_path) == [tmp_path]
    keep_private(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_what_links_lead_to_stays_as_it_is(tmp_path: Path) -> None:
    shared, elsewhere = tmp_path / "shared", tmp_path / "elsewhere"
    shared.mkdir()
    elsewhere.mkdir()
    (elsewhere / "model.gguf").touch()
    (shared / "cache").symlink_to(elsewhere)
    keep_private(shared)
    assert stat.S_IMODE((elsewhere / "model.gguf").stat().st_mode) == 0o644
    assert exposed_files(shared) == []
