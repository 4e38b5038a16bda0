"""Text recognition for real: scans and photos, however they lie, read by a process that may be killed or stopped."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from difflib import SequenceMatcher
from io import BytesIO
from pathlib import Path

import docx
import pytest

from localcrag.documents.readers.pdf.reader import picture
from localcrag.documents.scans import LEAST_CERTAIN, Recogniser
from localcrag.records.documents import ScannedPage
from localcrag.records.enums import Action
from localcrag.records.errors import UnreadableDocument
from tests.support import scans
from tests.support.app_process import children
from tests.support.command_line import as_json, as_process, localcrag, start

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="processes are killed by signals"),
]


@pytest.fixture(scope="module")
def recogniser() -> Iterator[Recogniser]:
    made = Recogniser()
    yield made
    made.close()


def nothing() -> None:
    """Go on at once."""


def read(recogniser: Recogniser, data: bytes, go_on: Callable[[], None] = nothing) -> ScannedPage:
    return recogniser.read(data, "lease.pdf, page 2", checkpoint=go_on)


def text_of(page: ScannedPage) -> str:
    return "\n".join(line.text for line in sorted(page.lines, key=lambda line: line.top))


@pytest.mark.parametrize("turn", [0, 2, -3, 90, 180, 270])
def test_a_page_is_read_however_it_lies_and_its_lines_are_where_they_stand(recogniser: Recogniser, turn: int) -> None:
    data = scans.png(scans.picture(scans.LEASE, size=(1240, 500), turn=turn))
    page = read(recogniser, data)
    assert SequenceMatcher(None, text_of(page), "\n".join(scans.LEASE), autojunk=False).ratio() > 0.97
    assert page.confidence is not None
    assert page.confidence > 0.95
    assert page.turn == (-turn % 360 if turn % 90 == 0 else 0) or (turn % 90 == 0 and page.turn == turn % 360)
    # Where a line stands on the picture as it lies, there is ink, and around it is paper.
    (box,) = picture(data, "photo.png", 1, [scans.LEASE[2]], scan=page, dpi=200).boxes
    assert 0 < box.left < box.left + box.width < 1
    assert 0 < box.top < box.top + box.height < 1
    assert (box.height > box.width) == (turn % 180 == 90)


def test_a_scanned_table_is_read_cell_by_cell(recogniser: Recogniser) -> None:
    cells = {line.text for line in read(recogniser, scans.png(scans.table())).lines}
    assert cells == {"Article", "Price", "Weight", "Rope light", "79 euros", "1.2 kg"}


def test_letters_of_another_script_are_told_by_the_confidence(recogniser: Recogniser) -> None:
    page = read(recogniser, scans.png(scans.picture(scans.RUSSIAN, size=(1240, 400))))
    assert page.certainty is not None
    assert page.certainty < LEAST_CERTAIN


def test_a_page_without_text_has_no_lines(recogniser: Recogniser) -> None:
    assert read(recogniser, scans.png(scans.picture((), size=(600, 600)))).lines == ()


def test_reading_ends_when_it_is_told_to_and_the_next_page_is_read(recogniser: Recogniser) -> None:
    data, told = scans.png(scans.picture(scans.LEASE, size=(1240, 500))), []

    def stop() -> None:
        told.append(1)
        if len(told) == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        read(recogniser, data, stop)
    assert len(read(recogniser, data).lines) == len(scans.LEASE)


def test_a_process_that_is_killed_costs_one_page() -> None:
    data, before = scans.png(scans.picture(scans.LEASE, size=(1240, 500))), children()
    recogniser = Recogniser()
    try:
        read(recogniser, data)
        (process,) = children() - before
        with pytest.raises(UnreadableDocument, match=r"text of lease\.pdf, page 2 cannot be recognised: .*SIGKILL"):
            read(recogniser, data, lambda: os.kill(process, signal.SIGKILL))
        assert len(read(recogniser, data).lines) == len(scans.LEASE)
    finally:
        recogniser.close()


def test_what_is_no_picture_is_an_error_of_that_page(recogniser: Recogniser) -> None:
    with pytest.raises(UnreadableDocument, match="UnidentifiedImageError in text recognition, a fault of localcrag"):
        read(recogniser, b"no picture at all")
    assert read(recogniser, scans.png(scans.picture(["Still read."], size=(600, 300)))).lines


@pytest.fixture
def lease(tmp_path: Path) -> Path:
    cover = "Cover sheet: the lease of the flat was sent on 3 March."
    return scans.make_scan(tmp_path / "Lease.pdf", cover, scans.picture(scans.LEASE), scans.table())


def test_a_scan_is_added_read_and_answered_from(tmp_path: Path, lease: Path) -> None:
    done = localcrag(tmp_path / "data", "ingest", str(lease))
    assert "2 pages were read by text recognition, confidence" in " ".join(done.stderr.split())
    (listed,) = as_json(localcrag(tmp_path / "data", "documents", "--json"))
    assert (listed["recognised"], listed["waiting"], listed["illegible"]) == (2, 0, 0)
    run = as_json(localcrag(tmp_path / "data", "ask", "How much is the deposit of the flat?", "--json"))
    assert run["action"] == Action.CORRECT
    best = max(run["passages"], key=lambda passage: passage["relevance"])
    assert (best["page"], best["confidence"] > 0.95) == (2, True)
    assert "2,070 euros" in run["answer"]


def test_a_scan_pasted_into_a_document_is_read_as_a_picture_of_its_own(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_picture(BytesIO(scans.png(scans.picture(scans.LEASE))))
    document.save(str(tmp_path / "Lease.docx"))
    done = localcrag(tmp_path / "data", "ingest", str(tmp_path / "Lease.docx"))
    assert "1 page was read by text recognition, confidence" in " ".join(done.stderr.split())
    (listed,) = as_json(localcrag(tmp_path / "data", "documents", "--json"))
    assert (listed["name"], listed["recognised"], listed["waiting"]) == ("Lease.docx/image1.png", 1, 0)


def test_reading_goes_on_after_a_kill_with_the_pages_that_are_left(tmp_path: Path) -> None:
    pages = (
        "The attic is let with the flat.",
        "Noise ends at ten.",
        "Windows are cleaned in May.",
        "Bins go out on Monday.",
    )
    data, path = tmp_path / "data", tmp_path / "Lease.pdf"
    scans.make_scan(path, *(scans.picture([page]) for page in pages))
    started = start(data, "ingest", str(path))
    while not (read_by_then := pages_read(data)):
        assert started.poll() is None, "it ended before it could be killed"
        time.sleep(0.05)
    started.kill()
    assert started.wait() == -signal.SIGKILL
    assert 1 <= len(read_by_then) < 4
    done = as_process(data, "ingest", "--read-scans")
    assert "read by text recognition" in " ".join(done.stderr.split())
    again = pages_read(data)
    assert set(read_by_then) <= set(again), "what was read is not read again"
    assert [page for page, *_ in again] == [1, 2, 3, 4]
    (listed,) = as_json(localcrag(data, "documents", "--json"))
    assert (listed["waiting"], listed["chunks"]) == (0, 4)


def pages_read(data: Path) -> list[tuple[int, float, str]]:
    """Return number, seconds and content of the pages that were read so far."""
    if not (data / "localcrag.sqlite3").exists():
        return []
    try:
        with closing(sqlite3.connect(f"file:{data / 'localcrag.sqlite3'}?mode=ro", uri=True)) as database:
            sql = "SELECT page, seconds, read FROM scans WHERE read IS NOT NULL ORDER BY page"
            return database.execute(sql).fetchall()
    except sqlite3.OperationalError:  # It is being made.
        return []
