"""Files are read in processes of their own: whatever becomes of those, the app goes on and says what happened."""

from __future__ import annotations

import os
import signal
import sys
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from localcrag.app import samples
from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.documents.readers.open_document import open_document
from localcrag.documents.readers.pdf.reader import picture
from localcrag.documents.readers.process import ReaderProcesses
from localcrag.privacy.worker_process import MOST_MEMORY
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import DocumentError, UnreadableDocument, UnsupportedDocument
from localcrag.records.ingest import IngestProgress, IngestResult
from localcrag.settings import load
from tests.support.app_process import children
from tests.support.documents import make_pages_pdf, make_pdf

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="processes are stopped and killed by signals"),
]


@pytest.fixture
def readers() -> Iterator[ReaderProcesses]:
    processes = ReaderProcesses()
    yield processes
    processes.close()


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """A PDF of more pages than are read ahead."""
    make_pdf(tmp_path / "long.pdf", [f"Line {number} leaves from berth 7." for number in range(200)])
    return tmp_path / "long.pdf"


@pytest.mark.parametrize("path", sorted(samples.DOCUMENTS.iterdir()), ids=lambda path: path.name)
def test_a_document_is_the_same_as_without_a_process(readers: ReaderProcesses, path: Path) -> None:
    here, there = open_document(path, path.name), readers.open_document(path, path.name)
    assert (there.media_type, there.page_count) == (here.media_type, here.page_count)
    assert (there.dated, there.title) == (here.dated, here.title)
    assert list(there.pages) == list(here.pages)


def test_files_within_a_file_are_the_same_as_without_a_process(readers: ReaderProcesses, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a", "w") as archive:
        for number in range(20):
            archive.writestr(f"{number}.txt", f"Line {number}.")
    here, there = (opens(tmp_path / "a", "a.zip") for opens in (open_document, readers.open_document))
    assert list(there.pages) == list(here.pages) == []
    assert list(there.members) == list(here.members)
    before = children()
    # Left in the middle: what reads it is gone, and the next file is read all the same.
    left = readers.open_document(tmp_path / "a", "a.zip")
    list(left.pages)
    with closing(left.members) as members:
        assert next(members).name == "0.txt"
    assert len(children()) == len(before) - 1
    assert list(readers.open_document(tmp_path / "a", "a.zip").pages) == []


def test_pages_that_were_not_read_are_the_same(readers: ReaderProcesses, tmp_path: Path) -> None:
    make_pages_pdf(tmp_path / "scans.pdf", ["text", "scan", "blank"])
    pages = readers.open_document(tmp_path / "scans.pdf", "scans.pdf").pages
    assert [page.unread for page in pages] == [False, True, False]


def test_a_picture_is_the_same_as_without_a_process(readers: ReaderProcesses, long: Path) -> None:
    data, texts = long.read_bytes(), ["leaves from berth 7"]
    assert readers.picture(data, "long.pdf", 3, texts, dpi=110) == picture(data, "long.pdf", 3, texts)


def test_one_process_reads_file_after_file(readers: ReaderProcesses, long: Path, tmp_path: Path) -> None:
    before = children()
    song = tmp_path / "song.mp3"
    song.write_bytes(b"ID3")
    for _ in range(3):
        assert len(list(readers.open_document(long, "long.pdf").pages)) == 200
        readers.picture(long.read_bytes(), "long.pdf", 1, dpi=110)
        with pytest.raises(UnsupportedDocument):
            readers.open_document(song, song.name)
    assert len(children() - before) == 1
    readers.close()
    assert children() == before


def test_several_files_can_be_open_at_once(readers: ReaderProcesses, long: Path) -> None:
    pages = [readers.open_document(long, "long.pdf").pages for _ in range(4)]
    assert len(list(zip(*pages, strict=True))) == 200


@pytest.mark.parametrize("content", [b"", b"no PDF", b"%PDF-1.7 cut off"])
def test_an_error_is_the_readers_own(readers: ReaderProcesses, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "odd.pdf"
    path.write_bytes(content)
    with pytest.raises(DocumentError) as here:
        list(open_document(path, "odd.pdf").pages)
    with pytest.raises(type(here.value)) as there:
        list(readers.open_document(path, "odd.pdf").pages)
    assert str(there.value) == str(here.value)


def test_names_that_are_no_text_are_found(readers: ReaderProcesses, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/na\xefve.txt"))
    path.write_text("A file's name is bytes.")
    (page,) = readers.open_document(path, "naive.txt").pages
    assert page.text == "A file's name is bytes."


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGSEGV])
def test_a_process_that_ends_is_an_error_that_names_the_file(
    readers: ReaderProcesses, long: Path, by: signal.Signals
) -> None:
    before = children()
    pages = readers.open_document(long, "long.pdf").pages
    next(pages)
    (process,) = children() - before
    os.kill(process, by)
    with pytest.raises(UnreadableDocument, match=rf"long\.pdf cannot be read: its reader process ended \({by.name}\)"):
        list(pages)
    assert len(list(readers.open_document(long, "long.pdf").pages)) == 200


def test_a_process_that_stands_still_is_given_up(long: Path) -> None:
    readers, before = ReaderProcesses(patience=5.0), children()
    pages = readers.open_document(long, "long.pdf").pages
    next(pages)
    (process,) = children() - before
    os.kill(process, signal.SIGSTOP)
    with pytest.raises(UnreadableDocument, match="there was no progress for 5 seconds"):
        list(pages)
    assert children() == before


def test_a_file_that_is_no_longer_wanted_ends_its_process(readers: ReaderProcesses, long: Path) -> None:
    before = children()
    pages = readers.open_document(long, "long.pdf").pages
    next(pages)
    pages.close()
    assert children() == before
    unread = readers.open_document(long, "long.pdf")
    del unread
    assert children() == before


def test_too_much_memory_is_an_error_and_not_the_end(readers: ReaderProcesses, tmp_path: Path) -> None:
    path = tmp_path / "large.pdf"
    with path.open("wb") as file:
        file.write(b"%PDF-1.7 ")
        file.truncate(MOST_MEMORY + 1)
    with pytest.raises(UnreadableDocument, match=r"large\.pdf cannot be read: that takes more than 4 GB of memory"):
        list(readers.open_document(path, "large.pdf").pages)
    small = tmp_path / "small.txt"
    small.write_text("Now it is small.")
    assert len(list(readers.open_document(small, "small.txt").pages)) == 1


def test_the_files_after_one_that_kills_its_reader_still_go_in(tmp_path: Path, long: Path) -> None:
    small = tmp_path / "small.txt"
    small.write_text("The harbour master is called Runa.")
    assembly, before, results = Assembly(load(data_dir=tmp_path / "data", workers=1)), children(), []
    for event in assembly.ingest(uploads_from([long, small])):
        if isinstance(event, IngestProgress) and event.document == "long.pdf" and event.done == 1:
            for process in children() - before:
                os.kill(process, signal.SIGKILL)
        if isinstance(event, IngestResult):
            results.append(event)
    assembly.close()
    assert [one.status for one in results] == [IngestStatus.FAILED, IngestStatus.ADDED]
    assert "its reader process ended (SIGKILL)" in str(results[0].error)
    assert children() == before
