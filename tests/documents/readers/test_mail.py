"""E-mails, mailboxes and web pages saved as one file."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest

from localcrag.documents.readers import mail
from localcrag.documents.readers.open_document import open_document
from localcrag.records.documents import Page
from localcrag.records.errors import EmptyDocument, UnreadableDocument
from localcrag.text.places import page_name


def letter(subject: str = "The keys of Quay Street", *, html: str = "", attached: str = "") -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"] = "Ada Thorne <ada@example.org>", "Bo"
    made["Subject"], made["Date"] = subject, "Wed, 09 Apr 2025 10:00:00 +0200"
    made["X-Spam"] = "no"
    made.set_content("The keys are with Björn.\nRing 0421 55.")
    if html:
        made.add_alternative(html, subtype="html")
    if attached:
        made.add_attachment(b"%PDF-1.4", maintype="application", subtype="pdf", filename=attached)
    return made


HEAD = "Ada Thorne wrote to Bo on 9 April 2025 at 10:00:\n\n"
ADDRESS = "\n\nAda Thorne: ada@example.org"
BODY = "The keys are with Björn.\nRing 0421 55."


def pages(path: Path, name: str) -> list[Page]:
    return list(open_document(path, name).pages)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_letter_has_its_head_and_what_it_says(tmp_path: Path, ends: str, encoding: str) -> None:
    written = letter(html="<p>Otherwise</p>", attached="plan\u202e.pdf").as_string().replace("\n", ends)
    (tmp_path / "a").write_bytes(written.encode(encoding))
    document = open_document(tmp_path / "a", "keys.eml")
    (page,) = document.pages
    assert page.text == f"{HEAD}{BODY}{ADDRESS}\n\nAttached: plan\u202e.pdf"
    assert (document.dated, document.title) == ("2025-04-09", "The keys of Quay Street")


def test_a_letter_of_html_alone_reads_as_a_browser_shows_it(tmp_path: Path) -> None:
    made = EmailMessage()
    made["Subject"] = "Prices"
    made.set_content("<h1>Prices</h1><ul><li>Lamp: 5 euros</li><li>Rope: 7 euros</li></ul>", subtype="html")
    (tmp_path / "a").write_bytes(made.as_bytes())
    (page,) = pages(tmp_path / "a", "prices.eml")
    assert page.text == "Prices\n\n* Lamp: 5 euros\n* Rope: 7 euros"
    assert [page.text[one.start : one.end] for one in page.headings] == ["Prices"]


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        ("From: Ada <a@b.org>, Bo\nTo: c@d.org", "Ada and Bo wrote to c@d.org:"),
        ("To: Ada\nDate: tomorrow", "Written to Ada on tomorrow:"),
        ("From: a@b.org\nDate: Thu, 1 Jan 2026 09:05:00 +0000", "a@b.org wrote on 1 January 2026 at 9:05:"),
        ("From: Ada\nTo: " + ", ".join(f"p{number}@b.org" for number in range(9)),
         "Ada wrote to p0@b.org, p1@b.org, p2@b.org, p3@b.org, p4@b.org, p5@b.org and 3 others:"),
        ("Subject: x", "Still read."),
    ],
)  # fmt: skip
def test_who_wrote_to_whom_is_a_sentence(tmp_path: Path, head: str, sentence: str) -> None:
    (tmp_path / "a").write_text(f"{head}\n\nStill read.")
    (page,) = pages(tmp_path / "a", "a.eml")
    assert page.text.partition("\n")[0] == sentence


def test_each_letter_of_a_mailbox_is_a_page(tmp_path: Path) -> None:
    letters = [letter("First"), letter("Second")]
    written = b"".join(b"From ada@example.org Wed Apr  9 10:00:00 2025\n" + one.as_bytes() + b"\n" for one in letters)
    (tmp_path / "a").write_bytes(written.replace(b"Ring", b"From here, ring"))
    document = open_document(tmp_path / "a", "all.mbox")
    assert document.page_count == len(letters)
    found = list(document.pages)
    assert [page.number for page in found] == [1, 2]
    body = BODY.replace("Ring", "From here, ring")
    assert [page.text for page in found] == [f"# {one}\n\n{HEAD}{body}{ADDRESS}" for one in ("First", "Second")]
    assert page_name("all.mbox", 2) == "message 2"


def test_a_web_page_saved_as_one_is_read_as_one(tmp_path: Path) -> None:
    made = EmailMessage()
    made["From"], made["Subject"] = "<Saved by a browser>", "Ferries"
    made.make_related()
    made.add_related("<h1>Ferries</h1><p>The first leaves at 7:45.</p>", subtype="html")
    made.add_related(b"\x89PNG\r\n", maintype="image", subtype="png")
    (tmp_path / "a").write_bytes(made.as_bytes())
    (page,) = pages(tmp_path / "a", "ferries.mhtml")
    assert page.text == "Ferries\n\nThe first leaves at 7:45."


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.eml", b"no head at all", "has no head"),
        ("a.mbox", b"Subject: x\n\nNo line that begins with From.", "it has 0 messages"),
        ("a.eml", b"\x1f\x8b\x08 packed", "a gzip archive"),
    ],
)
def test_what_is_no_mail_says_so(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(UnreadableDocument, match=words):
        pages(tmp_path / "a", name)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"Subject: =?utf-8?b?broken\nDate: the day after\nFrom: \xff\xfe <x\n\nStill read.", id="head"),
        pytest.param(b"Subject: x\nContent-Type: text/plain; charset=nonsense\n\nStill read.", id="charset"),
        pytest.param(b"Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\n"
                     b"Still read.", id="no end"),
        pytest.param(b"Subject: x\nContent-Transfer-Encoding: base64\n\nU3RpbGwgcmVhZC4", id="cut off"),
        pytest.param(b"Date: Tue, 1 Oct 2024 12:34:56 -050000000000000000000000\nSubject: x\n\nStill read.", id="zone"),
        pytest.param(b"Content-Disposition: ;;=\nContent-Type: ;\nSubject: x\n\nStill read.", id="fields"),
    ],
)  # fmt: skip
def test_what_is_malformed_is_read_as_far_as_it_goes(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    (page,) = pages(tmp_path / "a", "a.eml")
    assert "Still read." in page.text


@pytest.mark.parametrize(
    "head",
    [
        pytest.param("Content-Type: text/x;name1*", id="a parameter that ends before it begins"),
        pytest.param("Content-Type: text/html;charset1*", id="the same of a text"),
    ],
)
@pytest.mark.parametrize("within", [False, True])
def test_a_head_that_cannot_be_parsed_leaves_the_rest_to_be_read(tmp_path: Path, head: str, within: bool) -> None:
    front = 'Subject: x\nContent-Type: multipart/mixed; boundary="b"\n\n--b\n\nThe keys.\n--b\n' if within else ""
    (tmp_path / "a").write_text(f"{front}Subject: y\n{head}\n\nThe keys.\n")
    document = open_document(tmp_path / "a", "a.eml")
    (page,) = document.pages
    assert "The keys." in page.text
    assert all(member.error is None for member in document.members)


@pytest.mark.parametrize(
    "field", ["From: ", "Content-Type: text/plain; charset=", "Content-Disposition: attachment; a="]
)
def test_comments_nested_without_end_are_an_error_of_the_file_or_nothing(tmp_path: Path, field: str) -> None:
    head = f"{field}{'(' * 3_000}\n\nThe keys.\n"
    (tmp_path / "a").write_text(head)
    with pytest.raises(UnreadableDocument, match="nested too deeply"):
        pages(tmp_path / "a", "a.eml")
    front = 'Subject: x\nContent-Type: multipart/mixed; boundary="b"\n\n--b\n\nText.\n--b\n'
    (tmp_path / "a").write_text(f"{front}Content-ID: {'(' * 3_000}\nContent-Type: image/png\n{head}\n--b--\n")
    for member in mail.members(tmp_path / "a", "a.eml", mail.EML):
        assert member.data or member.error


def test_letters_nested_without_end_are_an_error_of_the_file(tmp_path: Path) -> None:
    nested = b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (level, level) for level in range(3000)
    )
    (tmp_path / "a").write_bytes(b"Subject: x\n" + nested + b"Content-Type: text/plain\n\nDeep.")
    with pytest.raises((UnreadableDocument, EmptyDocument)):
        pages(tmp_path / "a", "a.eml")


def test_too_many_letters_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"From x\nSubject: y\n\n" * (mail.MOST_EMAILS + 1))
    with pytest.raises(UnreadableDocument, match="20,001 messages"):
        pages(tmp_path / "a", "a.mbox")
