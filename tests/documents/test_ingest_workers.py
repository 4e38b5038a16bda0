"""Files are read by several processes at once: one that dies costs its file, and none is left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import zipfile
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from localcrag.documents.ingest import ingest
from localcrag.documents.prepare import ReadingTools
from localcrag.documents.readers.process import ReaderProcesses
from localcrag.records.documents import Member
from localcrag.records.enums import IngestStatus
from localcrag.records.ingest import IngestEvent, IngestProgress, IngestResult, Upload
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.vector_index import ChunkIndex
from localcrag.storage.database import Database
from tests.support.app_process import children
from tests.support.command_line import start as start_command
from tests.support.documents import make_pdf
from tests.support.fakes import FakeEmbedder
from tests.support.threads import DEADLOCK, start

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="processes are stopped and killed by signals"),
]

PAGES = 200
"""More than a process reads ahead of whoever asks it."""


class Collection:
    """A collection that files are added to by real reader processes, and without a real embedder."""

    def __init__(self, folder: Path, patience: float) -> None:
        self.folder = folder
        self.database = Database(folder / "db.sqlite3")
        self.store = DocumentStore(self.database, "default", embedder="fake-embedder", dimension=64)
        self.index = ChunkIndex(self.store, folder / "index")
        self.readers = ReaderProcesses(patience, gently=True)

    def add(self, paths: list[Path], workers: int) -> Generator[IngestEvent, None, None]:
        readers = self.readers.shared(workers)
        return ingest(
            [Upload(path, path.name) for path in paths],
            ReadingTools(
                open_file=readers.open_document, embedder=FakeEmbedder(), find=self.store.find, chunk_tokens=60,
                as_file=self.as_file, unlock=readers.unlocked,
            ), shelf=self.store, index=self.index,
            workers=workers, abandon=readers.abandon, transaction=self.database.transaction,
        )  # fmt: skip

    @contextlib.contextmanager
    def as_file(self, member: Member) -> Iterator[Path]:
        path = self.folder / f"lent-{threading.get_ident()}-{member.name.replace('/', '-')}"
        path.write_bytes(member.data)
        yield path
        path.unlink()

    @property
    def lent(self) -> list[Path]:
        return list(self.folder.glob("lent-*"))

    @property
    def names(self) -> list[str]:
        return [document.name for document in self.store.documents()]


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    made = Collection(tmp_path, patience=5.0)
    yield made
    made.readers.close()


def letters(folder: Path, number: int) -> list[Path]:
    paths = [folder / f"letter {one:02}.txt" for one in range(number)]
    for one, path in enumerate(paths):
        path.write_text(f"Berth {one} is let to the ferry company.")
    return paths


@pytest.fixture
def long(tmp_path: Path) -> Path:
    make_pdf(tmp_path / "long.pdf", [f"Line {number} leaves from berth 7." for number in range(PAGES)])
    return tmp_path / "long.pdf"


def results(events: Iterator[IngestEvent]) -> list[IngestResult]:
    return [event for event in events if isinstance(event, IngestResult)]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_documents_go_in_in_the_order_of_the_files_however_many_read_them(
    collection: Collection, long: Path, workers: int
) -> None:
    paths = [long, *letters(collection.folder, 12)]
    done = results(collection.add(paths, workers))
    assert [(one.document, one.status) for one in done] == [(path.name, IngestStatus.ADDED) for path in paths]
    rows = collection.database.rows("SELECT name FROM documents ORDER BY id")
    assert [row["name"] for row in rows] == [path.name for path in paths]
    again = results(collection.add(paths, workers))
    assert {one.status for one in again} == {IngestStatus.UNCHANGED}


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGSEGV])
def test_readers_that_die_cost_the_files_in_their_hands_which_are_named(
    collection: Collection, long: Path, by: signal.Signals
) -> None:
    before, killed, done = children(), 0, []
    for event in collection.add([long, *letters(collection.folder, 40)], 3):
        if isinstance(event, IngestProgress) and event.done == 1 and not killed:
            for process in children() - before:
                os.kill(process, by)
                killed += 1
        if isinstance(event, IngestResult):
            done.append(event)
    failed = [one for one in done if one.status is IngestStatus.FAILED]
    assert done[0] in failed
    assert len(failed) <= killed <= 3
    for one in failed:
        assert f"{one.document} cannot be read: its reader process ended ({by.name})" in str(one.error)
    assert len(done) == 41
    assert sorted(collection.names) == sorted(one.document for one in done if one not in failed)


def test_a_reader_that_stands_still_costs_its_file(collection: Collection, long: Path) -> None:
    before, stopped, done = children(), False, []
    for event in collection.add([long, *letters(collection.folder, 5)], 1):
        if isinstance(event, IngestProgress) and event.done == 1 and not stopped:
            (process,) = children() - before
            os.kill(process, signal.SIGSTOP)
            stopped = True
        if isinstance(event, IngestResult):
            done.append(event)
    assert "long.pdf cannot be read: there was no progress for 5 seconds" in str(done[0].error)
    assert [one.status for one in done[1:]] == [IngestStatus.ADDED] * 5


def test_files_that_are_read_at_once_within_archives_come_whole_and_leave_nothing(collection: Collection) -> None:
    paths = []
    for number in range(3):
        make_pdf(collection.folder / "lease.pdf", [f"Flat {number} has a balcony."])
        path = collection.folder / f"papers {number}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(collection.folder / "lease.pdf", "lease.pdf")
            for one in range(9):
                archive.writestr(f"{one}.txt", f"Flat {number} has window {one}.")
            archive.writestr("song.mp3", b"ID3\x04")
        paths.append(path)
    done = results(collection.add(paths, 3))
    assert [one.document for one in done if one.status is IngestStatus.UNPACKED] == [path.name for path in paths]
    notes = {one.note for one in done if one.status is IngestStatus.UNPACKED}
    assert notes == {"10 files in it are in the collection."}
    assert len(collection.names) == 30
    assert collection.lent == []
    kept = collection.database.rows("SELECT data FROM originals")
    assert len(kept) == 3, "the PDFs, whose pages are shown"


def test_whoever_stops_need_not_wait_for_readers_that_stand_still(tmp_path: Path, long: Path) -> None:
    collection, before = Collection(tmp_path, patience=10 * DEADLOCK), children()
    threads = threading.active_count()

    def stopped() -> int:
        stood_still = 0
        with closing(collection.add([long, *letters(tmp_path, 30)], 3)) as events:
            for event in events:
                if isinstance(event, IngestProgress) and event.done == 1 and not stood_still:
                    for process in children() - before:
                        os.kill(process, signal.SIGSTOP)
                        stood_still += 1
                elif stood_still and isinstance(event, IngestProgress) and event.document == "long.pdf":
                    return stood_still  # It is told again while nothing comes: here somebody presses “Cancel”.
        return 0

    assert 1 <= start(stopped).result(DEADLOCK) <= 3
    collection.readers.close()
    assert children() == before
    assert collection.names == []
    assert collection.lent == []
    deadline = time.monotonic() + DEADLOCK
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threading.active_count() <= threads


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_no_reader_is_left_of_a_command_that_is_interrupted_or_killed(tmp_path: Path, by: signal.Signals) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    for number in range(20):
        make_pdf(folder / f"{number:02}.pdf", [f"Line {one} leaves from berth {number}." for one in range(PAGES)])
    command = start_command(tmp_path / "data", "ingest", str(folder), "--workers", "3")
    readers: set[int] = set()
    while len(readers) < 3:
        assert command.poll() is None, "it ended before it could be ended"
        readers = {one for one in children(command.pid) if b"localcrag.documents.readers" in _called(one)}
        time.sleep(0.05)
    command.send_signal(by)
    assert command.wait() == (130 if by is signal.SIGINT else -signal.SIGKILL)
    deadline = time.monotonic() + DEADLOCK
    while any(map(_called, readers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [one for one in readers if _called(one)] == []


def _called(process: int) -> bytes:
    """Return a process's command line; nothing when it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
