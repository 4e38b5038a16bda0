"""Files with a password: asked for at the terminal, used once and kept nowhere; what is kept opens without one."""

from __future__ import annotations

import os
import re
import select
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.uploads import uploads_from
from localcrag.documents.readers.office.encrypted import EXCEL_PASSWORD
from localcrag.documents.readers.open_document import open_document
from localcrag.documents.readers.process import ReaderProcesses
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import PasswordNeeded
from localcrag.records.ingest import IngestResult, Upload
from localcrag.settings import load
from tests.support.command_line import as_json, localcrag, start
from tests.support.documents import make_docx, make_pdf
from tests.support.locked_files import lock_agile, lock_doc, lock_standard, lock_whole_open_document, make_xls
from tests.support.office_files import make_doc, make_odt, make_pptx, make_xlsx

pytestmark = pytest.mark.process

PATIENCE = 120.0
"""Seconds until it says something."""
PASSWORD, LINE = "tide-4711", "The keys hang behind the harbour door."


def locked(folder: Path, kind: str) -> Path:
    path = folder / f"locked.{kind}"
    match kind:
        case "pdf":
            return make_pdf(path, [LINE], password=PASSWORD)
        case "docx":
            return lock_agile(make_docx(path, [LINE]), PASSWORD)
        case "pptx":
            return lock_standard(make_pptx(path, [("", [LINE], "")]), PASSWORD)
        case "odt":
            return lock_whole_open_document(make_odt(path, f"<text:p>{LINE}</text:p>"), PASSWORD)
        case "doc":
            return lock_doc(make_doc(path, LINE), PASSWORD)
        case _:
            return make_xls(path, LINE, PASSWORD)


@pytest.mark.parametrize("kind", ["pdf", "docx", "pptx", "doc", "xls", "odt"])
def test_a_file_is_opened_by_its_password_and_no_other(tmp_path: Path, kind: str) -> None:
    path, name = locked(tmp_path, kind), f"locked.{kind}"
    readers = ReaderProcesses()
    try:
        with pytest.raises(PasswordNeeded, match=rf"{name} is protected with a password\. Give it on"):
            list(readers.open_document(path, name).pages)
        with pytest.raises(PasswordNeeded, match=rf"{name} has another password\. Try again\."):
            readers.unlocked(path, name, "ebb")
        (tmp_path / "open").write_bytes(readers.unlocked(path, name, PASSWORD))
    finally:
        readers.close()
    assert [page.text for page in open_document(tmp_path / "open", name).pages] == [LINE]


def test_what_is_added_is_kept_without_its_password_and_not_read_again(tmp_path: Path) -> None:
    path, office = locked(tmp_path, "pdf"), locked(tmp_path, "docx")
    assembly = Assembly(load(data_dir=tmp_path / "data"))
    try:
        assert [(one.status, one.locked) for one in results(assembly, *uploads_from([path, office]))] == [
            (IngestStatus.FAILED, True)
        ] * 2
        assert PASSWORD not in repr(Upload(path, "locked.pdf", password=PASSWORD))
        for one in (path, office):
            (added,) = results(assembly, Upload(one, one.name, password=PASSWORD))
            assert (added.status, added.locked, added.chunks) == (IngestStatus.ADDED, False, 1)
        drawn = assembly.collections.page_picture("locked.pdf", 1, [LINE])
        assert drawn is not None
        assert len(drawn.boxes) == 1
        again = results(assembly, *uploads_from([path, office]))
        assert [one.status for one in again] == [IngestStatus.UNCHANGED] * 2
    finally:
        assembly.close()
    assert [path for path in (tmp_path / "data").rglob("*") if path.is_file() and kept(path)] == []


def test_what_excel_opens_without_asking_is_added_without_asking(tmp_path: Path) -> None:
    path = lock_standard(
        make_xlsx(tmp_path / "fees.xlsx", {"Fees": [["Berth", "Fee"], ["7", "12 euros"]]}), EXCEL_PASSWORD
    )
    assembly = Assembly(load(data_dir=tmp_path / "data"))
    try:
        (added,) = results(assembly, *uploads_from([path]))
        assert (added.status, added.locked, added.error) == (IngestStatus.ADDED, False, None)
    finally:
        assembly.close()


def results(assembly: Assembly, *uploads: Upload) -> list[IngestResult]:
    return [event for event in assembly.ingest(uploads) if isinstance(event, IngestResult)]


def kept(path: Path) -> bool:
    return PASSWORD.encode() in path.read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of its own")
def test_the_terminal_asks_until_the_password_is_right(tmp_path: Path) -> None:
    import pty  # noqa: PLC0415 - there is none on Windows

    data, plain = tmp_path / "data", make_pdf(tmp_path / "plain.pdf", ["Bins go out on Monday."])
    files = [locked(tmp_path, "pdf"), locked(tmp_path, "docx"), plain]
    terminal, theirs = pty.openpty()
    process = start(data, "ingest", *map(str, files), stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = ""
    for typed in ("ebb", PASSWORD, "ebb", PASSWORD):
        said += until(terminal, "(press Enter to skip the file): ")
        os.write(terminal, f"{typed}\n".encode())
    said += until(terminal, None)
    os.close(terminal)
    assert process.wait() == 0, said
    words = " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said).split())  # without colours
    for name in ("locked.pdf", "locked.docx"):
        assert f"{name} has another password. Try again." in words
        assert f"added {name}" in words
    assert PASSWORD not in said
    assert {one["name"] for one in as_json(localcrag(data, "documents", "--json"))} == {one.name for one in files}
    with closing(sqlite3.connect(data / "localcrag.sqlite3")) as database:
        texts = {text for (text,) in database.execute("SELECT text FROM documents")}
    assert texts == {LINE, "Bins go out on Monday."}


def until(terminal: int, words: str | None) -> str:
    """Return what is printed up to these words, or to the end."""
    said = ""
    while words is None or words not in said:
        assert select.select([terminal], [], [], PATIENCE)[0], f"it says nothing more: {said}"
        try:
            piece = os.read(terminal, 1024).decode("utf-8", "replace")
        except OSError:  # It has ended.
            piece = ""
        if not piece:
            assert words is None, f"it ended without asking: {said}"
            break
        said += piece
    return said


def test_where_nobody_can_be_asked_the_error_says_what_is_needed(tmp_path: Path) -> None:
    path = locked(tmp_path, "pptx")
    (result,) = as_json(localcrag(tmp_path / "data", "ingest", str(path), "--json"), status=1)
    assert (result["status"], result["locked"]) == ("failed", True)
    assert result["error"] == "locked.pptx is protected with a password. Give it on the page, or in a terminal."
