"""Files within files: what archives hold, and what is attached to letters."""

from __future__ import annotations

import zipfile
from email.message import EmailMessage
from pathlib import Path

import pytest

from localcrag.documents.prepare import UnpackLimits
from localcrag.documents.readers import packages
from localcrag.documents.readers.open_document import open_document
from localcrag.documents.readers.pictures import LONGEST_NAME, safe_path
from localcrag.records.documents import Member
from localcrag.records.errors import EncryptedDocument, UnreadableDocument
from localcrag.text.places import UniqueNames


def packed(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name, text in files.items():
            made.writestr(zipfile.ZipInfo(name, (2025, 4, 9, 10, 0, 0)), text)
    return path


def members(path: Path, name: str) -> list[Member]:
    document = open_document(path, name)
    list(document.pages)
    return list(document.members)


def test_the_files_of_an_archive_come_one_by_one_but_for_hidden_ones(tmp_path: Path) -> None:
    files = {"house/lease.txt": "Two years.", "house/": "", "__MACOSX/house/._lease.txt": "x", ".git/config": "x",
             "house/.note": "x", "house/Thumbs.db": "x", "empty.txt": ""}  # fmt: skip
    found = members(packed(tmp_path / "a", files), "papers.zip")
    assert [(one.name, one.data, one.error) for one in found] == [
        ("house/lease.txt", b"Two years.", None),
        ("empty.txt", b"", None),
    ]
    assert {one.changed for one in found} == {1744192800.0}, "as if it was written where the clocks show UTC"


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("../../etc/passwd", "etc/passwd"),
        ("/etc/passwd", "etc/passwd"),
        ("C:\\papers\\lease.txt", "C:/papers/lease.txt"),
        ("plan\u202etxt.exe", "plantxt.exe"),
        ("a\nb\x00.txt", "ab.txt"),
        ("..", "unnamed"),
        ("", "unnamed"),
        ("x" * 300 + ".txt", "x" * (LONGEST_NAME - 4) + ".txt"),
    ],
)
def test_a_name_stays_within_and_shows_what_it_is(said: str, name: str) -> None:
    names = UniqueNames()
    assert names.of(safe_path(said)) == name
    assert names.of(safe_path(said)) != name, "there is one already"


def test_files_of_one_name_are_numbered() -> None:
    names = UniqueNames()
    assert [names.of(safe_path("a/scan.pdf")) for _ in range(3)] == ["a/scan.pdf", "a/scan (2).pdf", "a/scan (3).pdf"]


def test_a_damaged_file_in_an_archive_says_so_and_the_others_come(tmp_path: Path) -> None:
    path = packed(tmp_path / "a", {"one.txt": "The first one.", "two.txt": "The other one."})
    path.write_bytes(path.read_bytes().replace(b"The first", b"The f1rst", 1))
    one, two = members(path, "papers.zip")
    assert one.error == (
        "papers.zip/one.txt cannot be unpacked (Bad CRC-32 for file 'one.txt'). "
        "Unpack papers.zip in another program, and add this file."
    )
    assert (two.data, two.error) == (b"The other one.", None)


def test_an_archive_that_is_none_or_protected_or_a_bomb_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("These are no papers.")
    with pytest.raises(UnreadableDocument, match=r"papers.zip is not a ZIP archive, although its name says so"):
        open_document(tmp_path / "text", "papers.zip")

    path = packed(tmp_path / "a", {"one.txt": "The first one."})
    whole = path.read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-30])
    with pytest.raises(UnreadableDocument, match=r"papers.zip cannot be read as a ZIP archive: it is damaged"):
        open_document(tmp_path / "cut", "papers.zip")

    # The flags of a file, in front of it and in the directory.
    for start, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = whole.index(start) + offset
        whole = whole[:place] + b"\x01" + whole[place + 1 :]
    path.write_bytes(whole)
    with pytest.raises(EncryptedDocument, match=r"protected with a password\. Unpack it"):
        open_document(path, "papers.zip")

    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("zeros.txt", b"0" * 20_000_000)
    with pytest.raises(UnreadableDocument, match=r"unpacks to 20 MB in 1 parts, far more than"):
        open_document(tmp_path / "bomb", "papers.zip")


def test_a_name_ending_of_an_archive_does_no_harm_to_a_document(tmp_path: Path) -> None:
    path = packed(tmp_path / "a", {"mimetype": "application/epub+zip"})
    assert packages.open_members(path, "a.zip", path.read_bytes())
    with pytest.raises(UnreadableDocument, match="e-book"):
        list(open_document(path, "book.zip").pages)


def letter() -> EmailMessage:
    made = EmailMessage()
    made["From"], made["Subject"], made["Date"] = "Ada", "The move", "Wed, 09 Apr 2025 10:00:00 +0000"
    made.set_content("The plan is attached.")
    return made


def test_what_is_attached_to_a_letter_comes_behind_it(tmp_path: Path) -> None:
    inner = letter()
    inner.replace_header("Subject", "Quote 5/7")
    made = letter()
    made.add_attachment("The piano goes last.".encode("latin-1"), "text", "plain", filename="plan.txt")
    made.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename="plan.txt")
    made.add_attachment(inner)
    made.add_attachment(b"x", maintype="application", subtype="pgp-signature", filename="signature.asc")
    made.add_attachment(
        b"\x89PNG", maintype="image", subtype="png", filename="logo.png", disposition="inline", cid="<logo>"
    )
    made.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="photo.png")
    made.add_attachment(b"{}", maintype="application", subtype="json")
    (tmp_path / "a").write_bytes(made.as_bytes())
    found = members(tmp_path / "a", "move.eml")
    assert [one.name for one in found] == [
        "plan.txt", "plan (2).txt", "Quote 5 7.eml", "photo.png", "unnamed.json",
    ]  # fmt: skip
    assert found[0].data == b"The piano goes last."
    assert b"Subject: Quote 5/7" in found[2].data
    assert {one.changed for one in found} == {1744192800.0}

    (tmp_path / "b").write_bytes(b"From a Wed\n" + letter().as_bytes() + b"\nFrom b Wed\n" + made.as_bytes())
    assert [one.name for one in members(tmp_path / "b", "box.mbox")][:2] == ["2/plan.txt", "2/plan (2).txt"]


def test_odd_letters_and_archives_give_what_can_be_had_of_them(tmp_path: Path) -> None:
    # Mutated files found these.
    made = letter()
    made.add_attachment("The piano goes last.", filename="plan.txt")
    inner = letter()
    inner["X-Odd"] = "x"
    made.add_attachment(inner)
    data = (
        made.as_bytes()
        .replace(b'charset="utf-8"', b'charset="no-such-thing"')
        .replace(b"X-Odd: x", b"X-Odd: \xef\xbf\xbd")
    )
    (tmp_path / "a").write_bytes(data)
    document = open_document(tmp_path / "a", "move.eml")
    assert "The plan is attached." in next(document.pages).text
    plan, quote = document.members
    assert (plan.name, plan.data) == ("plan.txt", b"The piano goes last.\n")
    assert quote.name in {"The move.eml", "unnamed"}

    path = packed(tmp_path / "b", {"x": "The first one.", "two.txt": "The other one."})
    whole = path.read_bytes()
    at = whole.rindex(b"PK\x01\x02", 0, whole.index(b"PK\x01\x02", whole.index(b"PK\x01\x02") + 4))
    path.write_bytes(whole[: at + 42] + b"\xff\xff\xff\xff" + whole[at + 46 :])
    first, second = members(path, "papers.zip")
    assert "cannot be unpacked" in str(first.error)
    assert second.data == b"The other one."


def test_there_is_room_for_so_much_and_no_more() -> None:
    room = UnpackLimits(members=2, size=10)
    room.subtract(Member("a", b"123456789"), "papers.zip")
    with pytest.raises(UnreadableDocument, match=r"papers.zip contains more than 20,000 files or 2 GB"):
        room.subtract(Member("b", b"12"), "papers.zip")
    room = UnpackLimits(members=1)
    room.subtract(Member("a", b""), "papers.zip")
    with pytest.raises(UnreadableDocument, match=r"papers.zip contains more than"):
        room.subtract(Member("b", b""), "papers.zip")
