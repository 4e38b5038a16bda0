"""Office files with a password: which are opened by it, which need none, and which nothing opens here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localcrag.documents.readers.office.encrypted import EXCEL_PASSWORD, POWERPOINT_PASSWORD
from localcrag.documents.readers.open_document import open_document, unlocked
from localcrag.records.documents import Page
from localcrag.records.errors import EncryptedDocument, PasswordNeeded, UnreadableDocument
from tests.support.compound_files import compound
from tests.support.documents import make_docx, make_zip
from tests.support.locked_files import (
    lock_agile,
    lock_doc,
    lock_open_document,
    lock_standard,
    lock_whole_open_document,
    make_xls,
)
from tests.support.office_files import make_compound, make_doc, make_odt, make_pptx, make_xlsx

PASSWORD, LINE = "tide-4711", "The keys hang at berth 7."
ODT = f"<text:p>{LINE}</text:p>"
UNKNOWN = r"is protected with a password, in a way that cannot be opened here\. Save a copy without one"


@pytest.mark.parametrize(
    ("name", "make", "password", "known"),
    [
        pytest.param("a.xlsx", lambda path: lock_standard(make_xlsx(path, {"A": [[LINE]]}), EXCEL_PASSWORD),
                     EXCEL_PASSWORD, EXCEL_PASSWORD, id="a workbook that all may read"),
        pytest.param("a.xls", lambda path: make_xls(path, LINE, EXCEL_PASSWORD), EXCEL_PASSWORD, EXCEL_PASSWORD,
                     id="an old workbook that all may read"),
        pytest.param("a.pptx", lambda path: lock_standard(make_pptx(path, [("", [LINE], "")]), POWERPOINT_PASSWORD),
                     POWERPOINT_PASSWORD, POWERPOINT_PASSWORD, id="slides that all may read"),
        pytest.param("a.xls", lambda path: make_xls(path, LINE, PASSWORD), PASSWORD, None, id="an old workbook"),
        pytest.param("a.odt", lambda path: lock_open_document(make_odt(path, ODT), PASSWORD), PASSWORD, None,
                     id="OpenDocument, its parts"),
        pytest.param("a.odt", lambda path: lock_whole_open_document(make_odt(path, ODT), "Paßwort ✓"), "Paßwort ✓",
                     None, id="OpenDocument, in one"),
        pytest.param("a.doc", lambda path: lock_doc(make_doc(path, LINE), PASSWORD), PASSWORD, None,
                     id="an old document"),
        pytest.param("a", lambda path: lock_agile(make_docx(path, [LINE]), PASSWORD), PASSWORD, None,
                     id="no name ending"),
        pytest.param("a.txt", lambda path: lock_agile(make_docx(path, [LINE]), "Paßwort ✓"), "Paßwort ✓", None,
                     id="another name ending"),
    ],
)  # fmt: skip
def test_a_file_says_that_it_needs_a_password_and_opens_by_it(
    tmp_path: Path, name: str, make: Callable[[Path], Path], password: str, known: str | None
) -> None:
    path = make(tmp_path / "file")
    with pytest.raises(PasswordNeeded, match=f"{name} is protected with a password") as needed:
        list(open_document(path, name).pages)
    assert needed.value.known == known
    with pytest.raises(PasswordNeeded, match=f"{name} has another password"):
        unlocked(path, name, "a password of more letters than it can be")
    (tmp_path / "open").write_bytes(unlocked(path, name, password))
    assert [page.text for page in open_document(tmp_path / "open", name).pages] == [LINE]


@pytest.mark.parametrize(
    ("name", "make"),
    [
        pytest.param("a.odt", lambda path: lock_open_document(make_odt(path, ODT), PASSWORD, cipher="blowfish"),
                     id="OpenDocument in a way of before 2012"),
        pytest.param("a.odt", lambda path: lock_whole_open_document(make_odt(path, ODT), PASSWORD, kib=2**30),
                     id="OpenDocument with a key that takes a terabyte"),
        pytest.param("a.doc", lambda path: lock_doc(make_doc(path, LINE), PASSWORD, obfuscated=True),
                     id="as Word 95 did"),
        pytest.param("a.docx", lambda path: make_compound(path, {"EncryptedPackage": b"x"}), id="without its key"),
        pytest.param("a.docx", lambda path: make_compound(path, {"EncryptedPackage": b"x", "EncryptionInfo": b"<x>"}),
                     id="a key that is none"),
        pytest.param("a.docx", lambda path: make_compound(
            path, {"EncryptedPackage": b"x", "EncryptionInfo": b"\3\0\3\0"}), id="in the way of another maker"),
    ],
)  # fmt: skip
def test_what_nothing_opens_here_says_what_to_do(tmp_path: Path, name: str, make: Callable[[Path], Path]) -> None:
    path = make(tmp_path / "file")
    for read in (lambda: list(open_document(path, name).pages), lambda: unlocked(path, name, PASSWORD)):
        with pytest.raises(EncryptedDocument, match=UNKNOWN) as refused:
            read()
        assert not isinstance(refused.value, PasswordNeeded)


def test_old_workbooks_in_the_way_of_excel_95_ask_for_their_password(tmp_path: Path) -> None:
    path = make_xls(tmp_path / "file", LINE, obfuscated=True)
    with pytest.raises(PasswordNeeded, match="protected"):
        list(open_document(path, "a.xls").pages)
    with pytest.raises(PasswordNeeded, match="another password"):
        unlocked(path, "a.xls", PASSWORD)


def test_what_is_damaged_behind_its_key_is_an_error_of_the_file(tmp_path: Path) -> None:
    path = lock_standard(make_pptx(tmp_path / "file", [("", [LINE], "")]), PASSWORD)
    data = bytearray(path.read_bytes())
    data[1600:1700] = bytes(100)
    path.write_bytes(data)
    with pytest.raises(UnreadableDocument, match="damaged"):
        list(opened(tmp_path, path))


def opened(folder: Path, path: Path) -> Iterator[Page]:
    (folder / "open").write_bytes(unlocked(path, "a.pptx", PASSWORD))
    yield from open_document(folder / "open", "a.pptx").pages


def test_what_has_no_password_is_not_asked_for_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(compound({"About": "EncryptedPackage".encode("utf-16-le") * 40}))
    with pytest.raises(UnreadableDocument):
        open_document(tmp_path / "file", "a.doc")
    assert list(open_document(make_doc(tmp_path / "b", "EncryptedPackage"), "b.doc").pages)
    for path in (make_zip(tmp_path / "c", {"a.txt": b"x"}), make_odt(tmp_path / "d", "")):
        with pytest.raises(EncryptedDocument):
            unlocked(path, "c.docx", PASSWORD)
