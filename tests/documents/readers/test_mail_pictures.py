"""Pictures within letters: scans and photos become documents, logos do not; files however a program attaches them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from email.message import EmailMessage
from pathlib import Path

import pytest
from PIL import Image

from localcrag.documents.readers.open_document import open_document
from localcrag.records.documents import Member
from tests.support import hostile_pages, scans
from tests.support.outlook_files import Attached, Message, make_msg

SCAN = scans.png(scans.picture(scans.LEASE, size=(620, 400)))
LOGO = scans.png(Image.new("RGB", (300, 90), "red"))
PIXEL = scans.png(Image.new("RGB", (1, 1)))


def letter(html: str) -> EmailMessage:
    made = EmailMessage()
    made["From"], made["Subject"], made["Date"] = "Ada", "The lease", "Wed, 09 Apr 2025 10:00:00 +0000"
    made.set_content("The lease, as I said.")
    made.add_alternative(html, subtype="html")
    return made


def with_pictures(*pictures: tuple[str, bytes], disposition: str = "inline") -> EmailMessage:
    """Return a letter that shows pictures, named by their content's place, in its HTML."""
    made = letter("".join(f'<img src="cid:{name}@1">' for name, _ in pictures))
    (_, html) = made.iter_parts()
    for name, data in pictures:
        html.add_related(
            data, maintype="image", subtype="png", cid=f"<{name}@1>", filename=f"{name}.png", disposition=disposition
        )
    return made


def read(path: Path, *letters: EmailMessage) -> tuple[list[str], list[Member]]:
    """Return the pages of a letter, or of a mailbox of several, and what is taken out."""
    box = b"".join(b"From ada Wed\n" + one.as_bytes() + b"\n" for one in letters)
    path.write_bytes(box if len(letters) > 1 else letters[0].as_bytes())
    document = open_document(path, "a.mbox" if len(letters) > 1 else "a.eml")
    return [page.text for page in document.pages], list(document.members)


def names(members: Sequence[Member]) -> list[str]:
    return [one.name for one in members]


@pytest.mark.parametrize("disposition", ["inline", "attachment"])
def test_a_scan_within_a_letter_is_a_document_and_a_logo_is_not(tmp_path: Path, disposition: str) -> None:
    pictures = [("logo", LOGO), ("scan", SCAN), ("pixel", PIXEL)]
    (text,), found = read(tmp_path / "a", with_pictures(*pictures, disposition=disposition))
    assert [(one.name, one.data, one.changed) for one in found] == [("scan.png", SCAN, 1744192800.0)]
    assert text.endswith("The lease, as I said.\n\nAttached: scan.png")


def test_a_picture_that_replies_quote_is_one_document(tmp_path: Path) -> None:
    _, found = read(tmp_path / "a", *[with_pictures(("scan", SCAN))] * 2)
    assert names(found) == ["1/scan.png"]


def test_a_picture_that_is_attached_and_not_shown_is_one_however_small(tmp_path: Path) -> None:
    made = letter("<p>As attached.</p>")  # Some programs number what is attached as well.
    made.add_attachment(LOGO, maintype="image", subtype="png", filename="logo.png", cid="<f_1>")
    _, found = read(tmp_path / "a", made)
    assert names(found) == ["logo.png"]


def test_a_picture_of_unknown_size_counts_by_its_bytes_and_a_drawing_never(tmp_path: Path) -> None:
    made = with_pictures(("photo", b"\0\0\0\x18ftypheic" + bytes(60_000)), ("icon", b"\0\0\0\x18ftypheic"))
    (_, html) = made.iter_parts()
    html.add_related(b"<svg>" + b" " * 60_000, maintype="image", subtype="svg+xml", cid="<d>", disposition="inline")
    _, found = read(tmp_path / "a", made)
    assert names(found) == ["photo.png"]


def test_a_picture_written_into_the_letter_is_a_document(tmp_path: Path) -> None:
    written = "".join(
        f"<img src='data:image/png;base64,{base64.encodebytes(data).decode()}'>" for data in (SCAN, LOGO, SCAN)
    )
    (text,), found = read(tmp_path / "a", letter(written))
    assert [(one.name, one.data) for one in found] == [("picture.png", SCAN)]
    assert "base64" not in text


def test_files_beside_one_version_of_the_text_or_within_what_is_signed_are_taken_out(tmp_path: Path) -> None:
    apple = EmailMessage()
    apple["Subject"] = "Files"
    apple.set_content("See the plan.")
    apple.make_alternative()
    mixed = EmailMessage()
    mixed.set_content("<p>See the plan</p>", subtype="html")
    mixed.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename="plan.pdf", disposition="inline")
    mixed.attach(after := EmailMessage())
    after.set_content("<p>below.</p>", subtype="html")
    apple.attach(mixed)
    (text,), found = read(tmp_path / "a", apple)
    assert (names(found), text) == (["plan.pdf"], "See the plan.\n\nAttached: plan.pdf")

    signed = EmailMessage()
    signed["Subject"] = "Files"
    signed["Content-Type"] = 'multipart/signed; boundary="b"'
    inner = letter("<p>See</p>")
    inner.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename="plan.pdf")
    signed.attach(inner)
    signature = EmailMessage()
    signature.set_content(b"x", maintype="application", subtype="pgp-signature")
    signed.attach(signature)
    assert names(read(tmp_path / "a", signed)[1]) == ["plan.pdf"]


def test_a_letter_that_is_nothing_but_a_file_has_it_attached(tmp_path: Path) -> None:
    made = EmailMessage()
    made["From"] = "scanner@example.org"
    made.set_content(b"%PDF-1.4", maintype="application", subtype="pdf", filename="scan.pdf")
    assert names(read(tmp_path / "a", made)[1]) == ["scan.pdf"]


def test_a_message_of_outlook_has_its_pictures_taken_out_too(tmp_path: Path) -> None:
    attached = [
        Attached("scan.png", SCAN, mime="image/png", cid="scan@1"),
        Attached("logo.png", LOGO, cid="logo@1"),  # of no kind, as Outlook often has it
        Attached("photo.png", LOGO, mime="image/png"),
    ]
    document = open_document(make_msg(tmp_path / "a", Message(body="The lease.", attached=attached)), "a.msg")
    (page,) = document.pages
    assert page.text.endswith("Attached: scan.png\n\nAttached: photo.png")
    assert [(one.name, one.data) for one in document.members] == [("scan.png", SCAN), ("photo.png", LOGO)]


def test_parts_within_parts_without_end_and_pictures_that_are_none_are_no_harm(tmp_path: Path) -> None:
    made = letter("<img src='data:image/png;base64,%%%'><img src=\"data:image/png;base64,AAAA " + "A " * 50_000)
    for name, make in hostile_pages.PICTURES.items():
        data = make(tmp_path / name).read_bytes()
        made.add_attachment(data, maintype="image", subtype="png", filename=name, disposition="inline")
    nested = made
    for _ in range(40):
        outer = EmailMessage()
        outer.make_mixed()
        outer.attach(nested)
        nested = outer
    nested["Subject"] = "x"
    assert all(one.error is None for one in read(tmp_path / "a", nested)[1])
