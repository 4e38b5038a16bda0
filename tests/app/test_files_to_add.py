"""Files of a folder are found while they are added: in order, counted meanwhile, and none that is nobody's business."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from localcrag.app.collections.collections import model_loading_progress
from localcrag.app.uploads import FoundFiles, uploads_from
from localcrag.records.errors import UnreadableDocument
from localcrag.records.ingest import FileProgress, IngestProgress, TimeEstimate, UploadCount
from tests.support.threads import DEADLOCK


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("four")


def counted(files: FoundFiles) -> UploadCount:
    deadline = time.monotonic() + DEADLOCK
    while not files.count().all:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return files.count()


def test_files_come_in_the_order_of_their_paths_without_hidden_ones(tmp_path: Path) -> None:
    write(tmp_path, "b.txt", "a/z.txt", "a.txt", "a/b/c.txt", ".git/config", "a/.note", "Z.txt")
    names = [upload.name for upload in uploads_from([tmp_path])]
    of_paths = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert names == [str(path) for path in of_paths if not any(part.startswith(".") for part in path.parts)]
    assert names == ["Z.txt", "a/b/c.txt", "a/z.txt", "a.txt", "b.txt"]


def test_files_and_folders_come_as_they_were_named_and_a_missing_one_is_left_to_its_turn(tmp_path: Path) -> None:
    write(tmp_path, "in/one.txt", "two.txt")
    found = uploads_from([tmp_path / "two.txt", tmp_path / "gone.txt", tmp_path / "in"])
    assert [(upload.name, upload.refused) for upload in found] == [
        ("two.txt", None), ("gone.txt", None), ("one.txt", None),
    ]  # fmt: skip


def test_they_are_counted_beside_and_the_first_comes_before_the_last_is_found(tmp_path: Path) -> None:
    write(tmp_path, *(f"{folder}/{number}.txt" for folder in range(3) for number in range(5)))
    files = FoundFiles([tmp_path])
    walk = iter(files)
    assert next(walk).name == "0/0.txt"
    write(tmp_path, "2/late.txt")
    assert [upload.name for upload in walk][-1] == "2/late.txt", "what was not reached yet had not been looked at"
    assert counted(files) == UploadCount(16, 64, all=True)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="an administrator may open every folder")
def test_a_folder_that_may_not_be_opened_says_so_by_its_name(tmp_path: Path) -> None:
    write(tmp_path, "open.txt", "shut/secret.txt")
    (tmp_path / "shut").chmod(0)
    try:
        found = {upload.name: upload.refused for upload in uploads_from([tmp_path])}
    finally:
        (tmp_path / "shut").chmod(0o700)
    assert found == {
        "open.txt": None, "shut": "The folder shut cannot be opened: Permission denied. Check who may read it.",
    }  # fmt: skip


def test_a_link_round_in_a_circle_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "in/one.txt")
    (tmp_path / "in" / "round").symlink_to(tmp_path)
    assert [upload.name for upload in uploads_from([tmp_path])] == ["in/one.txt"]


def test_a_folder_of_folders_without_files_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "one" / "two").mkdir(parents=True)
    with pytest.raises(UnreadableDocument, match="contains no files"):
        FoundFiles([tmp_path])


class Finding:
    """Files of which more and more are found."""

    def __init__(self, *counts: UploadCount) -> None:
        self._counts = [*counts]

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(())

    def count(self) -> UploadCount:
        return self._counts.pop(0) if len(self._counts) > 1 else self._counts[0]


def test_progress_says_that_there_are_more_files_and_guesses_no_time_until_all_are_found(tmp_path: Path) -> None:
    write(tmp_path, "a.txt")
    (upload,) = uploads_from([tmp_path])
    finding = Finding(UploadCount(3, 12, all=False), UploadCount(3, 12, all=False), UploadCount(9, 36, all=True))
    pace = TimeEstimate(finding)
    early, late = (FileProgress(upload, 5, pace).at("embedding", 1, 2) for _ in range(2))
    assert (early.files, early.more, early.seconds_left) == (5, True, None), "no fewer than the one that is worked on"
    assert (late.files, late.more) == (9, False)
    assert late.seconds_left is not None


def test_while_models_load_it_is_told_how_many_files_have_been_found(tmp_path: Path) -> None:
    write(tmp_path, *(f"{number}.txt" for number in range(7)))
    files = FoundFiles([tmp_path])
    told: list[IngestProgress] = []

    def load() -> None:
        # It takes as long as it takes until somebody has heard that all are found.
        deadline = time.monotonic() + DEADLOCK
        while not (told and not told[-1].more) and time.monotonic() < deadline:
            time.sleep(0.01)
        raise UnreadableDocument("asked for again by whoever needs it")

    told.extend(model_loading_progress(load, files))
    assert {one.phase for one in told} == {"loading"}
    assert (told[-1].files, told[-1].more, told[-1].number) == (7, False, 0)
