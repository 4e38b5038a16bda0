"""Uploads: one after the other, what failed stays and can be tried again, cancelled ones leave nothing behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import pytest

from localcrag.app.tasks import TaskState
from localcrag.app.uploads import SLASH_STAND_IN, Ingest, Uploads, UploadTask
from localcrag.interfaces.page import renderers
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import StoreError, UnknownCollection
from localcrag.records.ingest import (
    FolderChange,
    FolderEvent,
    FolderStatus,
    GrowingUploads,
    IngestEvent,
    IngestProgress,
    IngestResult,
    Upload,
    WatchedFolder,
)


def taken_in(upload: Upload, collection: str) -> Generator[IngestEvent, None, None]:
    """What ingest does with a file, by its name."""
    yield IngestProgress(upload.name, 1, 1, "reading", 1, 2, None)
    if upload.name.startswith("broken"):
        yield IngestResult(upload.name, IngestStatus.FAILED, error=f"{upload.name} is damaged.")
    elif upload.name.startswith("full"):
        raise StoreError("The disk is full.")
    elif upload.name.startswith("scans"):
        yield IngestResult(upload.name, IngestStatus.ADDED, 2, 5, warnings=("Page 2 holds <no> text.",))
    elif upload.name.startswith("odd"):
        raise ZeroDivisionError
    else:
        yield IngestResult(upload.name, IngestStatus.ADDED, 2, 5)


def one_by_one(ingest: Callable[[Upload, str], Generator[IngestEvent, None, None]]) -> Ingest:
    """Return what adds files by adding one, for uploads that give one at a time."""
    return lambda uploads, collection: ingest(next(iter(uploads)), collection)


def files(folder: Path, *names: str) -> list[Path]:
    for name in names:
        (folder / name).write_text("x")
    return [folder / name for name in names]


def last(uploads: Uploads) -> dict[str, UploadTask]:
    for _ in uploads.follow():
        pass
    return {one.name: one for one in uploads.items()}


def test_every_file_is_taken_in_and_what_fails_says_why_and_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uploads = Uploads(one_by_one(taken_in))
    paths = files(tmp_path, "a.txt", "broken.pdf", "full.txt", "odd.txt", "b.txt")
    uploads.add(paths, "documents")
    found = last(uploads)
    assert [one.state for one in found.values()] == [
        TaskState.DONE, TaskState.FAILED, TaskState.FAILED, TaskState.FAILED, TaskState.DONE,
    ]  # fmt: skip
    assert found["broken.pdf"].error == "broken.pdf is damaged."
    assert found["full.txt"].error == "The disk is full."
    assert "ZeroDivisionError" in str(found["odd.txt"].error)
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert found["a.txt"].result == IngestResult("a.txt", IngestStatus.ADDED, 2, 5)
    # What is in is not kept as a file; what failed is, to be tried again.
    assert [path.exists() for path in paths] == [False, True, True, True, False]
    uploads.dismiss([found["broken.pdf"].id])
    assert "broken.pdf" not in last(uploads)
    assert not paths[1].exists()
    uploads.dismiss()
    assert uploads.items() == ()


def test_what_failed_can_be_tried_again(tmp_path: Path) -> None:
    tries: list[str] = []

    def second_time(upload: Upload, collection: str) -> Generator[IngestEvent, None, None]:
        tries.append(collection)
        if len(tries) == 1:
            raise StoreError("The disk is full.")
        yield IngestResult(upload.name, IngestStatus.ADDED, None, 1)

    uploads = Uploads(one_by_one(second_time))
    uploads.add(files(tmp_path, "a.txt"), "cellar")
    (failed,) = last(uploads).values()
    uploads.retry([failed.id])
    assert last(uploads)["a.txt"].state is TaskState.DONE
    assert tries == ["cellar", "cellar"]


def test_cancelled_files_stop_before_their_next_step_and_the_others_go_on(tmp_path: Path) -> None:
    reached, go, closed = threading.Event(), threading.Event(), threading.Event()

    def slow(upload: Upload, collection: str) -> Generator[IngestEvent, None, None]:
        if upload.name == "slow.txt":
            try:
                yield IngestProgress(upload.name, 1, 1, "embedding", 1, 9, 3.0)
                reached.set()
                assert go.wait(60)
                yield IngestProgress(upload.name, 1, 1, "embedding", 2, 9, 3.0)
                pytest.fail("went on after it was cancelled")
            finally:
                closed.set()
        yield IngestResult(upload.name, IngestStatus.ADDED, None, 1)

    uploads = Uploads(one_by_one(slow))
    uploads.add(files(tmp_path, "slow.txt", "never.txt", "other.txt"), "documents")
    assert reached.wait(60)
    ids = {one.name: one.id for one in uploads.items()}
    uploads.cancel([ids["slow.txt"], ids["never.txt"]])
    go.set()
    found = last(uploads)
    assert closed.wait(60)
    assert [found[name].state for name in ("slow.txt", "never.txt", "other.txt")] == [
        TaskState.CANCELLED, TaskState.CANCELLED, TaskState.DONE,
    ]  # fmt: skip


def test_what_is_cancelled_when_it_is_in_already_is_in_and_the_next_goes_on(tmp_path: Path) -> None:
    reached, go = threading.Event(), threading.Event()

    def saved_late(upload: Upload, collection: str) -> Generator[IngestEvent, None, None]:
        try:
            yield IngestResult(upload.name, IngestStatus.ADDED, None, 1)
        finally:
            reached.set()
            assert go.wait(60)

    uploads = Uploads(one_by_one(saved_late))
    paths = files(tmp_path, "late.txt", "next.txt")
    uploads.add(paths, "documents")
    assert reached.wait(60)
    uploads.cancel([uploads.items()[0].id])
    go.set()
    assert {name: one.state for name, one in last(uploads).items()} == dict.fromkeys(
        ("late.txt", "next.txt"), TaskState.DONE
    )
    assert [path.exists() for path in paths] == [False, False]


def test_a_panic_of_a_library_is_the_end_of_one_file_and_of_no_other(tmp_path: Path) -> None:
    class Panic(BaseException):
        """As a library in Rust raises it: no Exception."""

    def panics(upload: Upload, collection: str) -> Generator[IngestEvent, None, None]:
        if upload.name == "bad.txt":
            raise Panic("not a char boundary")
        yield IngestResult(upload.name, IngestStatus.ADDED, None, 1)

    uploads = Uploads(one_by_one(panics))
    uploads.add(files(tmp_path, "bad.txt", "good.txt"), "documents")
    found = last(uploads)
    assert (found["bad.txt"].state, found["good.txt"].state) == (TaskState.FAILED, TaskState.DONE)
    assert "not a char boundary" in str(found["bad.txt"].error)


def test_whoever_comes_later_sees_where_it_is_and_files_added_meanwhile(tmp_path: Path) -> None:
    go = threading.Event()

    def waiting(upload: Upload, collection: str) -> Generator[IngestEvent, None, None]:
        assert go.wait(60)
        yield from taken_in(upload, collection)

    uploads = Uploads(one_by_one(waiting))
    uploads.add(files(tmp_path, "a.txt"), "documents")
    first = uploads.follow()
    assert next(first)[0].name == "a.txt"
    uploads.add(files(tmp_path, "b.txt"), "documents")
    go.set()
    assert list(last(uploads)) == ["a.txt", "b.txt"]
    assert all(not one.open for one in list(first)[-1])


def test_the_end_of_the_app_ends_what_is_under_way(tmp_path: Path) -> None:
    uploads = Uploads(one_by_one(taken_in))
    uploads.add(files(tmp_path, *(f"{number}.txt" for number in range(50))), "documents")
    uploads.close()
    assert all(not one.open for one in uploads.items())


def test_files_of_one_name_from_several_folders_go_in_side_by_side(tmp_path: Path) -> None:
    uploads = Uploads(one_by_one(taken_in))
    paths = []
    for folder, name in (("1", "a.txt"), ("2", "a.txt"), ("3", f"notes{SLASH_STAND_IN}a.txt"), ("4", "a.txt")):
        (tmp_path / folder).mkdir()
        paths += files(tmp_path / folder, name)
    # Of files that are the same to the last byte, Gradio names one twice.
    uploads.add([*paths, paths[0]], "documents")
    found = last(uploads)
    assert list(found) == ["a.txt", "a (2).txt", "notes/a.txt", "a (3).txt"]
    assert all(one.state is TaskState.DONE for one in found.values())
    assert len(uploads.items()) == len(found)


def test_what_went_in_before_is_not_listed_again(tmp_path: Path) -> None:
    uploads = Uploads(one_by_one(taken_in))
    uploads.add(files(tmp_path, "a.txt", "broken.pdf"), "documents")
    last(uploads)
    uploads.add(files(tmp_path, "b.txt"), "documents")
    assert sorted(last(uploads)) == ["b.txt", "broken.pdf"]


def test_what_was_taken_in_with_a_warning_stays_and_says_it(tmp_path: Path) -> None:
    uploads = Uploads(one_by_one(taken_in))
    uploads.add(files(tmp_path, "a.txt", "scans.pdf"), "documents")
    last(uploads)
    uploads.add(files(tmp_path, "b.txt"), "documents")
    found = last(uploads)
    assert set(found) == {"scans.pdf", "b.txt"}
    shown = renderers.uploads(uploads.items())
    assert "Page 2 holds &lt;no&gt; text." in shown
    assert 'title="scans.pdf"' in shown
    assert 'title="b.txt"' not in shown, "nothing is to be said of it"
    uploads.dismiss([found["scans.pdf"].id])
    assert set(last(uploads)) == {"b.txt"}


def test_a_file_goes_before_followed_folders_that_wait_and_between_two_documents_of_one(tmp_path: Path) -> None:
    done: list[str] = []
    begun, dropped = threading.Event(), threading.Event()

    def followed(folder: int, _: Callable[[], None]) -> Generator[FolderEvent, None, None]:
        for number in range(2):
            begun.set()
            assert dropped.wait(20)
            done.append(f"folder {folder}, {number}")
            yield FolderChange(f"{number}.md", FolderStatus.UPDATED)

    def taken(upload: Upload, collection: str) -> Generator[IngestEvent, None, None]:
        done.append(upload.name)
        yield from taken_in(upload, collection)

    uploads = Uploads(one_by_one(taken), follow=followed)
    for number in (1, 2):
        uploads.sync_folder(WatchedFolder(id=number, collection="default", path=tmp_path / str(number)))
    assert begun.wait(20)
    uploads.add(files(tmp_path, "new.txt"), "default")
    dropped.set()
    for _ in uploads.follow():
        pass
    assert done == ["folder 1, 0", "new.txt", "folder 1, 0", "folder 1, 1", "folder 2, 0", "folder 2, 1"]
    assert all(one.state is TaskState.DONE for one in uploads.items())


def test_reading_the_scans_of_a_collection_that_is_gone_is_done() -> None:
    def read_scans(collection: str, _: Callable[[], None]) -> Generator[IngestEvent, None, None]:
        raise UnknownCollection(f"There is no collection “{collection}” any more.")
        yield

    uploads = Uploads(one_by_one(taken_in), read_scans=read_scans)
    uploads.recognise(["gone"])
    for _ in uploads.follow():
        pass
    assert [one.state for one in uploads.items()] == [TaskState.DONE]


def scanned(read: list[str], *, waits: threading.Event | None = None) -> Uploads:
    """Uploads of which every file is a scan; what is recognised goes into `read`, a document after `waits`."""
    left: list[str] = []

    def ingest(upload: Upload, collection: str) -> Generator[IngestEvent, None, None]:
        left.append(upload.name)
        yield IngestResult(upload.name, IngestStatus.ADDED, 2, 0, note="Page 2 is a picture.")

    def read_scans(collection: str, go_on: Callable[[], None]) -> Generator[IngestEvent, None, None]:
        while left:
            name = left.pop(0)
            yield IngestProgress(name, 1, 1, "recognising", len(read), len(read) + 1, 12.0, 4.0)
            if waits:
                while not waits.wait(0.01):
                    go_on()
            read.append(name)
            yield IngestResult(name, IngestStatus.UPDATED, 2, 1, note="1 page was read by text recognition")

    return Uploads(one_by_one(ingest), read_scans=read_scans, scanned=lambda: ["default"] if left else [])


def test_scans_are_read_behind_the_files_and_nothing_waits_for_them(tmp_path: Path) -> None:
    read: list[str] = []
    goes_on = threading.Event()
    uploads = scanned(read, waits=goes_on)
    uploads.add(files(tmp_path, "a.pdf"), "default")
    reading: UploadTask | None = None
    for items in uploads.follow():
        reading = next((one for one in items if one.recognises and one.progress), None)
        if reading:
            break
    assert reading is not None
    assert "0 of 1 pages read · 4.0 s a page" in renderers.uploads(uploads.items())
    uploads.add(files(tmp_path, "b.pdf"), "default")
    for items in uploads.follow():
        if all(one.state is TaskState.DONE for one in items if not one.recognises):
            break
    assert read == [], "the second file was added while the first one's scans are read still"
    goes_on.set()
    found = last(uploads)
    assert read == ["a.pdf", "b.pdf"]
    assert sum(one.recognises for one in uploads.items()) == 1, "what came meanwhile is read by the same task"
    assert [result.document for result in found["default"].results] == ["a.pdf", "b.pdf"]
    assert "text in scans and pictures was recognised" in renderers.uploads(uploads.items())


def test_reading_scans_can_be_stopped_and_begun_again(tmp_path: Path) -> None:
    read: list[str] = []
    uploads = scanned(read, waits=threading.Event())
    uploads.add(files(tmp_path, "a.pdf"), "default")
    for items in uploads.follow():
        if any(one.recognises and one.progress for one in items):
            break
    uploads.close()
    (reading,) = [one for one in uploads.items() if one.recognises]
    assert (reading.state, read) == (TaskState.CANCELLED, [])
    assert "stopped: it resumes when localcrag starts again" in renderers.uploads(uploads.items())


def test_text_recognition_rests_as_long_as_a_question_is_being_answered(tmp_path: Path) -> None:
    busy, asked, read = threading.Event(), [], []

    def is_busy() -> bool:
        asked.append(busy.is_set())
        if len(asked) == 3:
            busy.clear()
        return busy.is_set()

    def read_scans(collection: str, go_on: Callable[[], None]) -> Generator[IngestEvent, None, None]:
        busy.set()
        go_on()
        read.append(busy.is_set())
        yield IngestResult("a.pdf", IngestStatus.UPDATED, 1, 1)

    uploads = Uploads(one_by_one(taken_in), read_scans=read_scans, busy=is_busy)
    uploads.recognise(["default"])
    last(uploads)
    assert asked == [True, True, True]
    assert read == [False]


def test_a_folder_is_one_row_that_says_how_many_files_are_in_and_which_are_not(tmp_path: Path) -> None:
    told: list[str] = []

    def of_folder(_: Sequence[Upload] | GrowingUploads, collection: str) -> Generator[IngestEvent, None, None]:
        yield IngestProgress("", 0, 4_000, "loading", 4_000, None, None, more=True)
        told.append(renderers.uploads(uploads.items()))
        for number in range(15):
            yield IngestProgress(f"{number}.txt", number + 1, 5_120, "reading", 0, None, None, more=True)
            told.append(renderers.uploads(uploads.items()))
            status = IngestStatus.FAILED if number % 5 else IngestStatus.ADDED
            yield IngestResult(f"{number}.txt", status, error=f"{number}.txt is odd." if number % 5 else None)

    uploads = Uploads(of_folder)
    uploads.add_folder(tmp_path / "papers", "documents")
    (row,) = last(uploads).values()
    assert (row.name, row.state) == ("papers", TaskState.DONE)
    assert row.result is not None
    assert row.result.note == "3 files in it are in the collection."
    assert row.result.warnings[0] == "1.txt is odd."
    assert row.result.warnings[-1] == "2 more files in it were not added."
    assert "4000 files found" in told[0]
    assert "document 3 of at least 5120" in told[3]
