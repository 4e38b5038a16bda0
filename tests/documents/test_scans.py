"""Scans go into their documents page by page: kept as they are read, found before the last, and none is lost."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from localcrag.documents.ingest import ingest
from localcrag.documents.prepare import ReadingTools
from localcrag.documents.readers.open_document import open_document
from localcrag.documents.scans import ReadPage, ScanTools, read_scans
from localcrag.records.documents import Document, Member, ScannedLine, ScannedPage
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import UnreadableDocument
from localcrag.records.ingest import IngestProgress, IngestResult, Upload
from localcrag.records.protocols import Vectors
from localcrag.storage.collections.admin import delete_collection, move_documents
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.sqlite_collection import SqliteCollection
from localcrag.storage.collections.stored_collection import Scans
from localcrag.storage.collections.vector_index import ChunkIndex
from localcrag.storage.database import Database
from tests.support import scans
from tests.support.documents import make_picture
from tests.support.fakes import FakeEmbedder
from tests.support.stored_documents import rename_document

SAID = {
    2: "The deposit of the flat is three months' rent.",
    3: "Dogs need the consent of the landlord.",
    4: "Keys: two.",
}


def said(text: str, confidence: float = 0.97) -> ScannedPage:
    line = ScannedLine(text, confidence, 100, 100, 100 + 12 * len(text), 130)
    return ScannedPage(1000, 1400, 0, 0.0, (line,), confidence)


def read_page(_: bytes, __: Document, page: int) -> ScannedPage:
    return said(SAID[page])


class CountingEmbedder(FakeEmbedder):
    """Remembers what it embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return super().embed(texts)


class Shelf:
    """A collection with the lease, a scan but for its first page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.embedder: FakeEmbedder = FakeEmbedder()
        self.database = Database(folder / "db.sqlite3")
        self.store = self.of("default")
        self.index = ChunkIndex(self.store, folder / "index")
        self.scans = Scans(SqliteCollection(self.database, "default", folder))
        self.file = scans.make_scan(folder / "lease.pdf", "Lease of the flat in Quay Street", *(scans.table(),) * 3)

    def of(self, collection: str) -> DocumentStore:
        return DocumentStore(self.database, collection, embedder=self.embedder.name, dimension=self.embedder.dimension)

    def add(self, path: Path | None = None, name: str = "lease.pdf", *, recognise: bool = True) -> IngestResult:
        events = ingest(
            [Upload(path or self.file, name)],
            ReadingTools(
                open_file=open_document, embedder=self.embedder, find=self.store.find, chunk_tokens=60,
                as_file=self.as_file, read_scans=recognise,
            ), shelf=self.store, index=self.index,
        )  # fmt: skip
        return [event for event in events if isinstance(event, IngestResult)][-1]

    def reads(self, reader: ReadPage = read_page) -> Iterator[IngestProgress | IngestResult]:
        return read_scans(
            ScanTools(
                shelf=self.scans, index=self.index, embedder=self.embedder, chunk_tokens=60, open_file=open_document,
                read_page=reader, as_file=self.as_file,
            )
        )  # fmt: skip

    @contextlib.contextmanager
    def as_file(self, member: Member) -> Iterator[Path]:
        (self.folder / "as-file").write_bytes(member.data)
        yield self.folder / "as-file"

    @property
    def one(self) -> Document:
        (document,) = self.store.documents()
        return document


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def results(events: Iterator[IngestProgress | IngestResult]) -> list[IngestResult]:
    return [event for event in events if isinstance(event, IngestResult)]


def test_pages_that_are_pictures_wait_and_are_found_once_they_are_read(shelf: Shelf) -> None:
    added = shelf.add()
    assert added.note == "Pages 2–4 are pictures: they can be found as soon as their text is recognised."
    assert added.warnings == ()
    assert (shelf.one.waiting, shelf.one.chunks, shelf.one.recognised) == (3, 1, 0)
    (result,) = results(shelf.reads())
    assert result.note == "3 pages were read by text recognition, confidence 0.97"
    assert (shelf.one.waiting, shelf.one.recognised) == (0, 3)
    assert shelf.one.confidence == pytest.approx(0.97)
    (found,) = shelf.store.full_text("deposit", 5)
    _, chunk = shelf.store.chunks([found])[found]
    assert (chunk.page, chunk.text) == (2, SAID[2])
    assert chunk.confidence == pytest.approx(0.97)
    assert shelf.index.nearest(shelf.embedder.embed(["Dogs"])[0], 9)
    first = [chunk for _, chunk in shelf.store.chunks(shelf.store.chunk_ids()).values() if chunk.page == 1]
    assert [chunk.confidence for chunk in first] == [None]
    assert results(shelf.reads()) == []


def test_a_document_of_pictures_alone_goes_in_and_waits(shelf: Shelf, tmp_path: Path) -> None:
    picture = make_picture(tmp_path / "photo.png")
    assert shelf.add(picture, "photo.png").status is IngestStatus.ADDED
    assert (shelf.one.media_type, shelf.one.pages, shelf.one.chunks, shelf.one.waiting) == ("image/png", 1, 0, 1)
    results(shelf.reads(lambda *_: said("Receipt 4711, total 63.50 euros")))
    assert shelf.store.text("photo.png") == "Receipt 4711, total 63.50 euros"
    assert shelf.one.chunks == 1


def test_without_text_recognition_nothing_waits(shelf: Shelf, tmp_path: Path) -> None:
    added = shelf.add(recognise=False)
    assert added.warnings == ("Pages 2–4 hold no text (scans?): they cannot be found or quoted.",)
    assert shelf.one.waiting == 0
    refused = shelf.add(make_picture(tmp_path / "photo.png"), "photo.png", recognise=False)
    assert refused.status is IngestStatus.FAILED
    assert "text recognition is turned off. Turn it on (the setting read_scans)" in str(refused.error)


def test_what_is_read_stays_when_the_reading_is_interrupted(shelf: Shelf) -> None:
    shelf.add()
    asked: list[int] = []

    def interrupted(data: bytes, document: Document, page: int) -> ScannedPage:
        asked.append(page)
        if page == 3 and asked.count(3) == 1:
            raise KeyboardInterrupt
        return read_page(data, document, page)

    with pytest.raises(KeyboardInterrupt):
        list(shelf.reads(interrupted))
    assert (shelf.one.waiting, shelf.one.recognised) == (2, 1)
    assert shelf.store.full_text("deposit", 5), "found before the last page is read"
    assert len(results(shelf.reads(interrupted))) == 1
    assert asked == [2, 3, 3, 4]
    assert shelf.store.full_text("keys", 5)


def test_what_was_read_and_not_put_in_is_put_in_the_next_time(shelf: Shelf) -> None:
    shelf.add()
    for page, text in SAID.items():
        shelf.scans.keep(shelf.one, page, said(text), 1.0)
    assert not shelf.store.full_text("deposit", 5)
    (result,) = results(shelf.reads(lambda *_: pytest.fail("it was read before")))
    assert (result.note, result.warnings) == (None, ())
    assert shelf.store.full_text("deposit", 5)


def test_a_page_that_cannot_be_read_says_so_and_is_tried_again_when_asked(shelf: Shelf) -> None:
    shelf.add()

    def fails(data: bytes, document: Document, page: int) -> ScannedPage:
        if page == 3:
            raise UnreadableDocument("The text of lease.pdf, page 3 cannot be recognised: nothing came of it.")
        return read_page(data, document, page)

    (result,) = results(shelf.reads(fails))
    assert result.warnings == ("The text of lease.pdf, page 3 cannot be recognised: nothing came of it.",)
    assert (shelf.one.waiting, shelf.one.recognised, shelf.one.illegible) == (0, 2, 1)
    assert results(shelf.reads()) == []
    shelf.scans.retry_failed()
    assert len(results(shelf.reads())) == 1
    assert (shelf.one.recognised, shelf.one.illegible) == (3, 0)


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Договор аренды квартиры", " in Cyrillic letters, as the rest of the document"),
        ("Lease of the flat", ""),
        ("", ""),
    ],
)
def test_letters_that_are_not_recognised_are_refused_by_name(shelf: Shelf, text: str, script: str) -> None:
    shelf.add()
    with shelf.database.transaction() as connection:
        connection.execute("UPDATE documents SET text = ?", (text,))
    (result,) = results(shelf.reads(lambda *_: said("Apehartop naTht", 0.78)))
    assert result.warnings[0] == (
        f"lease.pdf, page 2 shows text{script} that cannot be recognised: printed Latin, Chinese and Japanese is, if "
        "it is sharp enough to be read. Add what it says as a text file, or make the PDF searchable with another "
        "program."
    )
    assert not shelf.store.full_text("Apehartop", 5)


def test_a_page_on_which_there_is_no_text_says_so(shelf: Shelf) -> None:
    shelf.add()
    empty = ScannedPage(1000, 1400, 0, 0.0, (), None)
    (result,) = results(
        shelf.reads(lambda data, document, page: empty if page == 3 else read_page(data, document, page))
    )
    assert result.warnings == ("No text that can be recognised was found on: page 3.",)
    assert results(shelf.reads()) == []


@pytest.mark.parametrize("change", ["deleted", "renamed", "moved", "the collection deleted", "put anew"])
def test_whatever_becomes_of_a_document_meanwhile_nothing_is_mixed_up(shelf: Shelf, change: str) -> None:
    shelf.add()
    shelf.of("other")
    done: list[int] = []

    def meanwhile(data: bytes, document: Document, page: int) -> ScannedPage:
        if not done:
            done.append(page)
            changes: dict[str, Callable[[], object]] = {
                "deleted": lambda: shelf.store.delete("lease.pdf"),
                "renamed": lambda: rename_document(shelf.database, "default", "lease.pdf", "flat.pdf"),
                "moved": lambda: move_documents(shelf.database, ["lease.pdf"], "default", "other"),
                "the collection deleted": lambda: delete_collection(shelf.database, "other"),
                "put anew": lambda: shelf.add(scans.make_scan(shelf.folder / "b.pdf", "Another lease")),
            }
            changes[change]()
        return read_page(data, document, page)

    list(shelf.reads(meanwhile))
    rows = shelf.database.rows(
        "SELECT d.name, c.text, c.confidence FROM documents d JOIN chunks c ON c.document_id = d.id"
    )
    read = {row["name"] for row in rows if row["confidence"]}
    assert read == {"deleted": set(), "renamed": {"flat.pdf"}, "moved": {"lease.pdf"},
                    "the collection deleted": {"lease.pdf"}, "put anew": set()}[change]  # fmt: skip
    assert len({row["text"] for row in rows}) == len(rows)


def test_only_what_is_new_is_embedded(shelf: Shelf) -> None:
    shelf.add()
    results(shelf.reads())
    shelf.embedder = counted = CountingEmbedder()
    with shelf.database.transaction() as connection:
        connection.execute("UPDATE scans SET in_text = 0, read = NULL WHERE page = 4")
    results(shelf.reads(lambda *_: said("Three keys are handed over.")))
    assert len(counted.texts) == 1
    assert "Three keys" in counted.texts[0]
