"""When documents and web pages are from: what they say of themselves, what their file says, what cannot be true."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.crag.web import to_passages
from localcrag.documents.readers.open_document import open_document
from localcrag.records.enums import IngestStatus
from localcrag.records.ingest import Upload
from localcrag.records.run import WebResult
from localcrag.settings import load
from localcrag.text.quantities import file_date, iso_date
from tests.support import documents
from tests.support.fakes import FakeEmbedder

pytestmark = pytest.mark.models

TODAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param("2024-05-02", "2024-05-02", id="ISO"),
        pytest.param(" 2024-05-02T23:59:00+02:00 ", "2024-05-02", id="ISO with time"),
        pytest.param("2024-05-02 10:00:00", "2024-05-02", id="ISO with a space"),
        pytest.param("D:20190301120000+01'00'", "2019-03-01", id="PDF"),
        pytest.param("20190301", "2019-03-01", id="digits"),
        pytest.param("Thu, 02 May 2024 10:00:00 GMT", "2024-05-02", id="HTTP"),
        pytest.param("2 May 2024", "2024-05-02", id="written"),
        pytest.param("May 2, 2024", "2024-05-02", id="written the American way"),
        pytest.param("Jan 9, 2024", "2024-01-09", id="short month"),
        pytest.param("2026-11-22", "2026-11-22", id="tomorrow, where it is already"),
        pytest.param("2026-11-23", None, id="future"),
        pytest.param("D:16010101000000Z", None, id="Windows' zero"),
        pytest.param("1970-01-01T00:00:00Z", None, id="Unix' zero"),
        pytest.param("1980-01-01", None, id="ZIP's zero"),
        pytest.param("2024-02-30", None, id="no such day"),
        pytest.param("2024-05-021", None, id="a digit too many"),
        pytest.param("D:2019", None, id="a year alone"),
        pytest.param("03/04/2024", None, id="month or day first"),
        pytest.param("yesterday", None, id="words"),
        pytest.param("9" * 400, None, id="endless digits"),
        pytest.param("", None, id="empty"),
        pytest.param(None, None, id="none"),
    ],
)
def test_a_date_is_read_or_there_is_none(written: str | None, expected: str | None) -> None:
    assert iso_date(written, TODAY) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(1_714_644_000.0, "2024-05-02"), (0.0, None), (-11_644_473_600.0, None), (4e9, None), (1e30, None)],
    ids=["a day", "Unix' zero", "Windows' zero", "future", "beyond all years"],
)
def test_a_files_time_is_a_date_or_there_is_none(seconds: float, expected: str | None) -> None:
    assert file_date(seconds, TODAY) == expected


META = '<meta {}="{}" content="{}">'


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        pytest.param(META.format("property", "article:modified_time", "2024-05-02T10:00Z"), "", "2024-05-02", id="mod"),
        pytest.param(META.format("name", "date", "2024-05-02"), "", "2024-05-02", id="date"),
        pytest.param(META.format("name", "DC.Date", "2024-05-02"), "", "2024-05-02", id="Dublin Core"),
        pytest.param(META.format("itemprop", "datePublished", "2024-05-02"), "", "2024-05-02", id="schema.org"),
        pytest.param(
            META.format("property", "article:published_time", "2020-01-01")
            + META.format("property", "article:modified_time", "2024-05-02"),
            "", "2024-05-02", id="the last change",
        ),
        pytest.param(
            META.format("property", "article:modified_time", "soon") + META.format("name", "date", "2024-05-02"),
            "", "2024-05-02", id="the one that can be read",
        ),
        pytest.param("", "<time datetime='2024-05-02'>2 May</time>", "2024-05-02", id="one time"),
        pytest.param("", "<time>2024-05-02</time><time datetime='2024-05-02'>x</time>", "2024-05-02", id="same day"),
        pytest.param("", "<time>2024-05-02</time><time>2023-05-02</time>", None, id="two days"),
        pytest.param("", "<time>2024-05-02</time><time>9:00</time>", None, id="a day and an hour"),
        pytest.param(META.format("name", "date", "2099-01-01"), "", None, id="future"),
        pytest.param("", "", None, id="nothing"),
    ],
)  # fmt: skip
def test_a_web_page_bears_the_date_that_its_head_names(
    tmp_path: Path, head: str, body: str, expected: str | None
) -> None:
    path = documents.make_html(tmp_path / "page.html", f"<p>Text.</p>{body}", head=head)
    assert open_document(path, path.name).dated == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\ntitle: x\ndate: 2024-05-02\n---\n# Text", "2024-05-02"),
        ('---\ndate: "2024-05-02T10:00:00Z"  # draft\n---\nText', "2024-05-02"),
        ("---\r\ndate: May 2, 2024\r\n---\r\nText", "2024-05-02"),
        ("Text\n\n---\ndate: 2024-05-02\n---\n", None),
        ("---\nnext:\n  date: 2024-05-02\n---\nText", None),
        ("---\ntitle: x\n---\ndate: 2024-05-02", None),
        ("date: 2024-05-02", None),
    ],
    ids=["plain", "quoted, with a remark", "CRLF", "not at the start", "of something else", "after it", "no matter"],
)
def test_markdown_bears_the_date_of_its_front_matter(tmp_path: Path, text: str, expected: str | None) -> None:
    path = documents.make_text(tmp_path / "note.md", text)
    assert open_document(path, path.name).dated == expected


@pytest.mark.parametrize(
    ("created", "modified", "expected"),
    [
        ("20190301120000", "20210704080000", "2021-07-04"),
        ("20190301120000", "16010101000000", "2019-03-01"),
        ("20190301120000", "20990101000000", "2019-03-01"),
        ("19700101000000", "19700101000000", None),
    ],
    ids=["the last change", "Windows' zero", "future", "Unix' zero"],
)
def test_a_pdf_bears_the_date_of_its_last_change(
    tmp_path: Path, created: str, modified: str, expected: str | None
) -> None:
    path = documents.make_dated_pdf(tmp_path / "a.pdf", "Text.", created=created, modified=modified)
    document = open_document(path, path.name)
    assert document.dated == expected
    assert "Text." in next(document.pages).text


def test_a_word_document_bears_the_date_of_its_core_properties(tmp_path: Path) -> None:
    created, modified = datetime(2019, 3, 1, 12, tzinfo=UTC), datetime(2021, 7, 4, 8, tzinfo=UTC)
    path = documents.make_dated_docx(tmp_path / "a.docx", "Text.", created=created, modified=modified)
    assert open_document(path, path.name).dated == "2021-07-04"
    assert open_document(documents.make_docx(tmp_path / "b.docx", ["Text."]), "b.docx").dated is None, "a template's"
    documents.replace_part(path, "docProps/core.xml", b"<not XML")
    assert open_document(path, path.name).dated is None
    documents.replace_part(path, "docProps/core.xml", None)
    assert open_document(path, path.name).dated is None


@pytest.fixture
def assembly(tmp_path: Path) -> Assembly:
    return Assembly(load(data_dir=tmp_path / "data"))


def test_documents_are_stored_with_their_date(assembly: Assembly, tmp_path: Path) -> None:
    """Their own one, else that of the file, if it is the user's and no copy from the browser."""
    noon = datetime(2022, 2, 3, 12, tzinfo=UTC).timestamp()
    folder = tmp_path / "in"
    folder.mkdir()
    documents.make_dated_pdf(folder / "a.pdf", "The kettle is on.", created="20190301120000", modified="20210704080000")
    documents.make_text(folder / "b.txt", "The kettle is off.")
    documents.make_text(tmp_path / "c.txt", "The kettle is gone.")
    for path in (folder / "a.pdf", folder / "b.txt", tmp_path / "c.txt"):
        os.utime(path, (noon, noon))
    uploads = [*uploads_from([folder]), Upload(tmp_path / "c.txt", "c.txt")]
    done = list(assembly.ingest(uploads))
    assert [one.status for one in done if hasattr(one, "status")] == [IngestStatus.ADDED] * 3
    dates = {document.name: document.dated for document in assembly.collections.documents()}
    assert dates == {"a.pdf": "2021-07-04", "b.txt": "2022-02-03", "c.txt": None}
    store = assembly.collections.store()
    ids = store.chunk_ids()
    of_chunks = {store.chunks([chunk])[chunk][0]: day for chunk, day in store.dates(ids).items()}
    assert of_chunks == {"a.pdf": "2021-07-04", "b.txt": "2022-02-03"}


@pytest.mark.parametrize(
    ("published", "expected"), [("2024-05-02T10:00:00", "2024-05-02"), ("last week", None), (None, None)]
)
def test_a_web_result_keeps_the_date_that_the_search_server_gave(published: str | None, expected: str | None) -> None:
    result = WebResult("Title", "http://example.org", "Text.", published)
    assert to_passages("Question?", [result], embedder=FakeEmbedder())[0].dated == expected
