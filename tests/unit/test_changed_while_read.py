"""A file that is written to, replaced or removed while it is read is not stored as if it had been read whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import nullcontext
from pathlib import Path

import pytest

from localcrag.backends.readers.open_document import open_document
from localcrag.backends.store.database import Database
from localcrag.backends.store.document_store import DocumentStore
from localcrag.backends.store.vector_index import ChunkIndex
from localcrag.records.documents import Member, Page
from localcrag.records.enums import IngestStatus
from localcrag.records.ingest import IngestResult, Upload
from localcrag.steps.ingest.ingest import ingest
from localcrag.steps.ingest.prepare import OpenDocument
from tests.support.fakes import FakeEmbedder

BEFORE, AFTER = "The ferry leaves at noon. " * 40, "The ferry leaves at nine. " * 40


class SlowReader:
    """A document between whose first and second half something happens to its file."""

    media_type, page_count, dated, title = "text/plain", 2, None, None

    def __init__(self, path: Path, happens: Callable[[Path], object]) -> None:
        self._path, self._happens = path, happens
        self.pages, self.members = self._pages(), self._no_members()

    def _pages(self) -> Generator[Page, None, None]:
        with self._path.open(encoding="utf-8") as file:
            yield Page(1, file.read(len(BEFORE) // 2))
            self._happens(self._path)
            yield Page(2, file.read())

    def _no_members(self) -> Generator[Member, None, None]:
        yield from ()


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


def nothing(_path: Path) -> None:
    pass


@pytest.mark.parametrize("happens", [replaced, written_to_under_an_earlier_clock, cut_off, Path.unlink, nothing])
def test_only_a_file_that_was_the_same_all_the_while_is_stored(
    tmp_path: Path, happens: Callable[[Path], object]
) -> None:
    path, embedder = tmp_path / "timetable.txt", FakeEmbedder()
    path.write_text(BEFORE, "utf-8")
    store = DocumentStore(
        Database(tmp_path / "db.sqlite3"), "default", embedder=embedder.name, dimension=embedder.dimension
    )

    def add(open_file: Callable[[Path, str], OpenDocument]) -> IngestResult:
        events = ingest(
            [Upload(path, path.name)], open_file=open_file, embedder=embedder, shelf=store,
            index=ChunkIndex(store, tmp_path / "index"), chunk_tokens=180, as_file=lambda _: nullcontext(tmp_path),
        )  # fmt: skip
        (result,) = [one for one in events if isinstance(one, IngestResult)]
        return result

    result = add(lambda path, _name: SlowReader(path, happens))
    if happens is nothing:
        assert (result.status, store.text(path.name).replace("\f", "")) == (IngestStatus.ADDED, BEFORE)
        return
    assert result.status is IngestStatus.FAILED
    assert "timetable.txt was changed or removed while it was read. Add it again" in str(result.error)
    assert store.documents() == []
    path.write_text(AFTER, "utf-8")
    assert add(open_document).status is IngestStatus.ADDED
    assert store.text(path.name).strip() == AFTER.strip()
