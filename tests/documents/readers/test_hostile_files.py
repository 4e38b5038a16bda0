"""Files that are to break their reader end as an error of their own, within its limits, and the next one is read."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.documents.readers.process import ReaderProcesses
from localcrag.records.documents import Page
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import DocumentError
from localcrag.records.ingest import IngestResult
from localcrag.settings import load
from tests.support import hostile_files as hostile
from tests.support import hostile_pages
from tests.support.hostile_files import Make

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="pipes, links and names are others there"),
]
PATIENCE = 120.0
"""Seconds; the app's is longer, and a file takes a few of these at most."""
FILES: dict[str, tuple[str, Make]] = {
    "archives within archives": ("a.zip", hostile.nested_archive),
    "an archive of one part 15,000 times": ("a.zip", hostile.overlapping_archive),
    "an archive that says 10 bytes of 900 MB": ("a.zip", lambda path: hostile.claiming_archive(path, 10)),
    "an archive that says 4 GB": ("a.zip", lambda path: hostile.claiming_archive(path, 2**32 - 2)),
    **{f"a billion laughs in {name}": (name, hostile.laughs(name)) for name in hostile.KINDS_WITH_XML},
    **{f"a PDF of {odd}": ("a.pdf", make) for odd, make in hostile_pages.PDFS.items()},
    **{f"a huge picture, {name}": (name, make) for name, make in hostile_pages.PICTURES.items()},
    "a fax that ends where it begins": ("a.tiff", hostile_pages.circling_fax),
    **{f"an archive: {wrong}": file for wrong, file in hostile.ARCHIVES.items()},
    **hostile.DEPTHS,
    **hostile.SHEETS,
    **{f"a line of 1 GB in {name}": (name, hostile.one_line) for name in hostile.OF_TEXT},
}
READ = frozenset(
    {
        "archives within archives", "a PDF of an outline in a circle", "a PDF of a thousand million pages",
        "a fax that ends where it begins", "very many rows", "letters within an attached letter",
    }
)  # fmt: skip
"""Of these, what can be had is no error."""


@pytest.fixture(scope="module")
def readers() -> Iterator[ReaderProcesses]:
    processes = ReaderProcesses(PATIENCE)
    yield processes
    processes.close()


def said_of(readers: ReaderProcesses, path: Path, name: str) -> tuple[list[Page], str]:
    """Return a file's pages, or what is said of it or the files within it."""
    try:
        document = readers.open_document(path, name)
        pages = list(document.pages)
        return pages, " ".join(one.error for one in document.members if one.error)
    except DocumentError as error:
        return [], str(error)


@pytest.mark.parametrize(("name", "make"), FILES.values(), ids=FILES.keys())
def test_a_file_that_is_to_break_its_reader_is_an_error_at_most(
    readers: ReaderProcesses, tmp_path: Path, name: str, make: Make, request: pytest.FixtureRequest
) -> None:
    pages, said = said_of(readers, make(tmp_path / "hostile"), name)
    of_file = request.node.callspec.id
    assert bool(pages) != bool(said) or of_file in READ, said
    assert "a fault of localcrag" not in said
    assert "there was no progress" not in said
    (tmp_path / "next.txt").write_text("Berth seven is free.")
    assert said_of(readers, tmp_path / "next.txt", "next.txt")[0][0].text == "Berth seven is free."


@pytest.mark.parametrize("name", hostile.KINDS_WITH_XML)
def test_a_file_does_not_show_what_another_one_says(readers: ReaderProcesses, tmp_path: Path, name: str) -> None:
    beside = tmp_path / "beside.txt"
    beside.write_text(hostile.BESIDE)
    pages, said = said_of(readers, hostile.outside(name, beside)(tmp_path / "hostile"), name)
    assert pages or said
    assert hostile.BESIDE not in " ".join([said, *(page.text for page in pages)])


def test_links_and_names_in_an_archive_lead_to_nothing_outside(readers: ReaderProcesses, tmp_path: Path) -> None:
    beside = tmp_path / "beside.txt"
    beside.write_text(hostile.BESIDE)
    document = readers.open_document(hostile.linking_archive(tmp_path / "a", beside), "a.zip")
    assert list(document.pages) == []
    members = {one.name: one.data.decode() for one in document.members}
    assert members == {"link.txt": str(beside), "out.txt": "It stays within.", "absolute.txt": "So does this."}
    assert {path.name for path in tmp_path.iterdir()} == {"a", "beside.txt"}


@pytest.fixture
def odd_folder(tmp_path: Path) -> Path:
    """A folder of what may be in folders: links that lead out and round, pipes, sockets, and names that mislead."""
    folder = tmp_path / "folder"
    (folder / "deeper").mkdir(parents=True)
    beside = tmp_path / "beside.txt"
    beside.write_text(hostile.BESIDE)
    (folder / "berths.txt").write_text("Berth seven is free.")
    (folder / "twin.txt").symlink_to("berths.txt")
    (folder / "out.txt").symlink_to(beside)
    (folder / "all.txt").symlink_to("/dev/zero")
    (folder / "nowhere.txt").symlink_to("gone.txt")
    (folder / "itself.txt").symlink_to("itself.txt")
    (folder / "deeper" / "round").symlink_to(folder)
    (folder / "house").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(folder / "socket.txt"))
    for name in (b"two\nlines.txt", b"red\x1b[31m.txt", b"evil\xe2\x80\xaefdp.txt", b"na\xefve.txt"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text(f"It is called {name!r}.")
    return folder


def test_a_folder_gives_its_own_files_under_names_that_show(odd_folder: Path, tmp_path: Path) -> None:
    assembly = Assembly(load(data_dir=tmp_path / "data"))
    results = [event for event in assembly.ingest(uploads_from([odd_folder])) if isinstance(event, IngestResult)]
    assembly.close()
    assert sorted((one.document, one.status, one.error) for one in results) == [
        ("berths.txt", IngestStatus.ADDED, None),
        ("evil\ufffdfdp.txt", IngestStatus.ADDED, None),
        ("na\ufffdve.txt", IngestStatus.ADDED, None),
        (
            "out.txt",
            IngestStatus.FAILED,
            "out.txt was left out: it is a link to a file outside of the folder. Add that file by itself.",
        ),
        ("red\ufffd[31m.txt", IngestStatus.ADDED, None),
        ("twin.txt", IngestStatus.ADDED, None),
        ("two\ufffdlines.txt", IngestStatus.ADDED, None),
    ]


def test_what_is_no_ordinary_file_is_an_error_and_not_waited_for(odd_folder: Path, tmp_path: Path) -> None:
    uploads = uploads_from([odd_folder / name for name in ("pipe.txt", "all.txt", "socket.txt", "berths.txt")])
    assembly = Assembly(load(data_dir=tmp_path / "data"))
    results = [event for event in assembly.ingest(uploads) if isinstance(event, IngestResult)]
    assembly.close()
    assert [one.status for one in results] == [*[IngestStatus.FAILED] * 3, IngestStatus.ADDED]
    assert {one.error for one in results[:3]} == {
        f"{name} cannot be read: it is not an ordinary file. Choose a file."
        for name in ("pipe.txt", "all.txt", "socket.txt")
    }


def test_files_beside_hostile_ones_go_in(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    some = (
        "an archive that says 4 GB",
        "a billion laughs in a.docx",
        "a PDF of pages in a circle",
        "quotes of Markdown",
    )
    for number, of_file in enumerate(some):
        name, make = FILES[of_file]
        make(folder / f"{number}{Path(name).suffix}")
    (folder / "last.txt").write_text("Berth seven is free.")
    assembly = Assembly(load(data_dir=tmp_path / "data"))
    results = [event for event in assembly.ingest(uploads_from([folder])) if isinstance(event, IngestResult)]
    assembly.close()
    assert [one.status for one in results] == [*[IngestStatus.FAILED] * 3, *[IngestStatus.ADDED] * 2]


def test_the_files_of_a_large_folder_are_found_in_order(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"{number:02}").mkdir()
        for inner in range(200):
            (tmp_path / f"{number:02}" / f"{inner:03}.txt").touch()
    uploads = uploads_from([tmp_path])
    assert [upload.name for upload in uploads] == [f"{at // 200:02}/{at % 200:03}.txt" for at in range(20_000)]
