"""A file that is written to, replaced or removed while it is read is not stored as if it had been read whole."""

from __future__ import annotations

import dataclasses
import os
import zipfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from localcrag.documents.ingest import ingest
from localcrag.documents.prepare import AsFile, ReadingTools
from localcrag.documents.readers.open_document import open_document
from localcrag.records.documents import Member, OpenDocument, Page
from localcrag.records.enums import IngestStatus
from localcrag.records.ingest import IngestResult, Upload
from localcrag.records.protocols import Vectors
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.vector_index import ChunkIndex
from localcrag.storage.database import Database
from tests.support.documents import make_pdf
from tests.support.fakes import FakeEmbedder

BEFORE, AFTER = "The ferry leaves at noon. " * 40, "The ferry leaves at nine. " * 40


def slow_document(path: Path, happens: Callable[[Path], object]) -> OpenDocument:
    """Return a document between whose first and second half something happens to its file."""

    def pages() -> Generator[Page, None, None]:
        with path.open(encoding="utf-8") as file:
            yield Page(1, file.read(len(BEFORE) // 2))
            happens(path)
            yield Page(2, file.read())

    return dataclasses.replace(open_document(path, path.name), page_count=2, pages=pages())


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_text(AFTER, "utf-8")
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.replace(path)


def written_to_under_an_earlier_clock(path: Path) -> None:
    path.write_text(AFTER, "utf-8")
    os.utime(path, (1_000, 1_000))


def cut_off(path: Path) -> None:
    os.truncate(path, 100)


def written_over(path: Path) -> None:
    """Write as much into the same file, and put its time back."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(path.with_name("other").read_bytes() if path.with_name("other").exists() else AFTER.encode())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def nothing(_path: Path) -> None:
    pass


def given_other_rights(path: Path) -> None:
    path.chmod(0o600)
    path.chmod(0o640)


@pytest.mark.parametrize(
    "happens",
    [replaced, written_to_under_an_earlier_clock, written_over, cut_off, Path.unlink, nothing, given_other_rights],
)
def test_only_a_file_that_was_the_same_all_the_while_is_stored(
    tmp_path: Path, happens: Callable[[Path], object]
) -> None:
    path, store = tmp_path / "timetable.txt", opened(tmp_path)
    path.write_text(BEFORE, "utf-8")
    result = added(path, store, lambda path, _name: slow_document(path, happens))
    if happens in {nothing, given_other_rights}:
        assert (result.status, store.text(path.name).replace("\f", "")) == (IngestStatus.ADDED, BEFORE)
        return
    assert result.status is IngestStatus.FAILED
    assert "timetable.txt was changed or removed while it was read. Add it again" in str(result.error)
    assert store.documents() == []
    path.write_text(AFTER, "utf-8")
    assert added(path, store, open_document).status is IngestStatus.ADDED
    assert store.text(path.name).strip() == AFTER.strip()


class WritesOver(FakeEmbedder):
    """An embedder during whose work somebody writes over a file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def embed(self, texts: Sequence[str]) -> Vectors:
        written_over(self._path)
        return super().embed(texts)


def two_pdfs_of_a_size(folder: Path) -> Path:
    """Write a PDF of two pages, and beside it, as “other”, one that says something else in as many bytes."""
    path, other = folder / "timetable.pdf", folder / "other"
    make_pdf(path, [BEFORE, BEFORE])
    make_pdf(other, [AFTER, AFTER])
    size = max(path.stat().st_size, other.stat().st_size)
    for one in (path, other):
        with one.open("ab") as file:
            file.write(b"\n" * (size - one.stat().st_size))
    return path


@pytest.mark.parametrize("while_read", [True, False], ids=["while it is read", "while it is embedded"])
def test_a_pdf_written_over_in_its_size_with_its_time_put_back_is_not_stored(tmp_path: Path, while_read: bool) -> None:
    path, store = two_pdfs_of_a_size(tmp_path), opened(tmp_path)

    def read_slowly(path: Path, name: str) -> OpenDocument:
        document = open_document(path, name)
        first = next(document.pages)

        def pages() -> Generator[Page, None, None]:
            yield first
            written_over(path)
            yield from document.pages

        return dataclasses.replace(document, pages=pages())

    result = (
        added(path, store, read_slowly) if while_read else added(path, store, open_document, embedder=WritesOver(path))
    )
    assert result.status is IngestStatus.FAILED
    assert "timetable.pdf" in str(result.error)
    assert "changed" in str(result.error)
    assert store.documents() == []
    assert added(path, store, open_document).status is IngestStatus.ADDED
    assert "nine" in store.text(path.name)


def test_an_archive_that_is_written_over_while_it_is_unpacked_is_said_to_have_changed(tmp_path: Path) -> None:
    path, other, store = tmp_path / "timetables.zip", tmp_path / "other", opened(tmp_path)
    for archive, text in ((path, BEFORE), (other, AFTER)):
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("a.txt", text)
            file.writestr("b.txt", text)
    within = tmp_path / "within"

    @contextmanager
    def as_file(member: Member) -> Iterator[Path]:
        within.write_bytes(member.data)
        if member.name == "b.txt":
            written_over(path)
        yield within

    result = added(path, store, open_document, as_file=as_file)
    assert (result.document, result.status) == ("timetables.zip", IngestStatus.FAILED)
    assert "changed or removed while it was read" in str(result.error)


def opened(folder: Path) -> DocumentStore:
    embedder = FakeEmbedder()
    database = Database(folder / "db.sqlite3")
    return DocumentStore(database, "default", embedder=embedder.name, dimension=embedder.dimension)


def added(
    path: Path,
    store: DocumentStore,
    open_file: Callable[[Path, str], OpenDocument],
    *,
    embedder: FakeEmbedder | None = None,
    as_file: AsFile | None = None,
) -> IngestResult:
    """Add a file, and return what became of it."""
    tools = ReadingTools(
        open_file=open_file, embedder=embedder or FakeEmbedder(), find=store.find, chunk_tokens=180,
        as_file=as_file or (lambda _: nullcontext(path.parent)),
    )  # fmt: skip
    events = ingest([Upload(path, path.name)], tools, shelf=store, index=ChunkIndex(store, path.parent / "index"))
    (result,) = [one for one in events if isinstance(one, IngestResult) and one.document == path.name]
    return result
