"""PDFs with a password: asked for at the terminal, used once and kept nowhere; what is kept opens without one."""

from __future__ import annotations

import os
import re
import select
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from localcrag.app.assemble import Assembly
from localcrag.app.files_to_add import uploads_from
from localcrag.backends.readers.open_document import open_document
from localcrag.backends.readers.reader_process import ReaderProcesses
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import PasswordNeeded
from localcrag.records.ingest import IngestResult, Upload
from localcrag.settings import load
from tests.support import ROOT
from tests.support.command_line import as_json, localcrag
from tests.support.documents import make_pdf

PATIENCE = 120.0
"""Seconds until it says something."""
PASSWORD, LINE = "tide-4711", "The keys hang behind the harbour door."


@pytest.fixture
def locked(tmp_path: Path) -> Path:
    return make_pdf(tmp_path / "locked.pdf", [LINE], password=PASSWORD)


def test_a_pdf_is_opened_by_its_password_and_no_other(tmp_path: Path, locked: Path) -> None:
    readers = ReaderProcesses()
    try:
        with pytest.raises(PasswordNeeded, match=r"locked\.pdf is protected with a password\. Give it on"):
            readers.open_document(locked, "locked.pdf")
        with pytest.raises(PasswordNeeded, match=r"locked\.pdf has another password\. Try again\."):
            readers.unlocked(locked, "locked.pdf", "ebb")
        (tmp_path / "open.pdf").write_bytes(readers.unlocked(locked, "locked.pdf", PASSWORD))
    finally:
        readers.close()
    assert [page.text for page in open_document(tmp_path / "open.pdf", "open.pdf").pages] == [LINE]


def test_what_is_added_is_kept_without_its_password_and_not_read_again(tmp_path: Path, locked: Path) -> None:
    assembly = Assembly(load(data_dir=tmp_path / "data"))
    try:
        assert [(one.status, one.locked) for one in results(assembly, *uploads_from([locked]))] == [
            (IngestStatus.FAILED, True)
        ]
        assert PASSWORD not in repr(Upload(locked, "locked.pdf", password=PASSWORD))
        (added,) = results(assembly, Upload(locked, "locked.pdf", password=PASSWORD))
        assert (added.status, added.locked, added.chunks) == (IngestStatus.ADDED, False, 1)
        drawn = assembly.collections.page_picture("locked.pdf", 1, [LINE])
        assert drawn is not None
        assert len(drawn.boxes) == 1
        (again,) = results(assembly, *uploads_from([locked]))
        assert again.status is IngestStatus.UNCHANGED
    finally:
        assembly.close()
    assert [path for path in (tmp_path / "data").rglob("*") if path.is_file() and kept(path)] == []


def results(assembly: Assembly, *uploads: Upload) -> list[IngestResult]:
    return [event for event in assembly.ingest(uploads) if isinstance(event, IngestResult)]


def kept(path: Path) -> bool:
    return PASSWORD.encode() in path.read_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of its own")
def test_the_terminal_asks_until_the_password_is_right(tmp_path: Path, locked: Path) -> None:
    import pty  # noqa: PLC0415 - there is none on Windows

    data, plain = tmp_path / "data", make_pdf(tmp_path / "plain.pdf", ["Bins go out on Monday."])
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(ROOT)
        command = [sys.executable, "-m", "localcrag", "ingest", str(locked), str(plain), "--data-dir", str(data)]
        os.execv(sys.executable, command)  # noqa: S606 - its own Python
    said = ""
    for typed in ("ebb", PASSWORD):
        said += until(terminal, "(or Enter to leave it out): ")
        os.write(terminal, f"{typed}\n".encode())
    said += until(terminal, None)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, said
    words = " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said).split())  # without colours
    assert "locked.pdf has another password. Try again." in words
    assert "added locked.pdf" in words
    assert PASSWORD not in said
    assert {one["name"] for one in as_json(localcrag(data, "documents", "--json"))} == {"locked.pdf", "plain.pdf"}
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


def test_where_nobody_can_be_asked_the_error_says_what_is_needed(tmp_path: Path, locked: Path) -> None:
    (result,) = as_json(localcrag(tmp_path / "data", "ingest", str(locked), "--json"), status=1)
    assert (result["status"], result["locked"]) == ("failed", True)
    assert result["error"] == "locked.pdf is protected with a password. Give it on the page, or in a terminal."
