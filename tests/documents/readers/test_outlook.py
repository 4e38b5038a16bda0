"""Outlook's messages (MSG): what they say, what is attached, and what is no message or damaged."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from localcrag.documents.readers import kinds, outlook
from localcrag.documents.readers.open_document import open_document
from localcrag.documents.readers.outlook import unpack_rtf
from localcrag.records.documents import OpenDocument
from localcrag.records.errors import UnreadableDocument
from tests.support.compound_files import compound
from tests.support.outlook_files import Attached, Message, make_msg, packed
from tests.support.spreadsheet_files import make_xls

SAID = "The keys are with Björn.\nRing 0421 55."
DATE = "Date: Wed, 09 Apr 2025 10:00:00 +0200\n"
HEAD = "Ada Thorne wrote to Bo on 9 April 2025 at 10:00:\n\n"
ADDRESS = "\n\nAda Thorne: ada@example.org"
LETTER = Message(body=SAID, headers=f"From: x\n{DATE}\n")


def opened(folder: Path, message: Message, name: str = "keys.msg") -> OpenDocument:
    return open_document(make_msg(folder / "a", message), name)


def text_of(document: OpenDocument) -> str:
    (page,) = document.pages
    return page.text


@pytest.mark.parametrize("name", ["keys.msg", "keys.oft", "keys.txt", "keys"])
def test_a_message_reads_as_a_letter_whatever_it_is_called(tmp_path: Path, name: str) -> None:
    document = opened(tmp_path, LETTER, name)
    assert document.media_type == "application/vnd.ms-outlook"
    assert text_of(document) == f"{HEAD}{SAID}{ADDRESS}"
    assert (document.dated, document.title) == ("2025-04-09", "The keys of Quay Street")
    assert list(document.members) == []


RTF = rb"{\rtf1\ansi\ansicpg1252\pard The keys are with Bj\'f6rn.\par Ring 0421 55.\par}"


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(Message(body=SAID.replace("\n", "\r\n"), html=b"<p>Otherwise</p>"), id="plain"),
        pytest.param(Message(body=" \r\n", html="<p>The keys are with Björn.</p><p>Ring 0421 55.".encode()), id="html"),
        pytest.param(
            Message(html=b"<meta charset=cp1252><p>The keys are with Bj\xf6rn.<p>Ring 0421 55."), id="declared"
        ),
        pytest.param(Message(rtf=packed(RTF)), id="rtf"),
        pytest.param(Message(body=SAID, code_page=1252), id="8 bit"),
    ],
)
def test_what_it_says_is_read_as_it_is_written(tmp_path: Path, written: Message) -> None:
    text = text_of(opened(tmp_path, replace(written, headers=DATE)))
    assert text.startswith(HEAD)
    lines = [line for line in text[len(HEAD) : -len(ADDRESS)].split("\n") if line]
    assert lines == SAID.split("\n")


def test_texts_in_an_old_encoding_are_read_by_its_name(tmp_path: Path) -> None:
    written = Message(subject="Ключи", body="Ключи у Бориса.", sender=("Анна", "anna@example.org"), code_page=1251)
    document = opened(tmp_path, written)
    assert document.title == "Ключи"
    assert text_of(document) == "Анна wrote to Bo:\n\nКлючи у Бориса.\n\nАнна: anna@example.org"


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"sender": ("", "ada@example.org")}, "ada@example.org wrote to Bo:"),
        ({"sender": ("Thorne, Ada", "/O=EXCHANGE/CN=ADA")}, "Thorne, Ada wrote to Bo:"),
        ({"sender": ("", "")}, "Written to Bo:"),
        ({"to": (("'c@d.org'", "c@d.org"), ("Dé", "d@e.org"))}, "Ada Thorne wrote to c@d.org, Dé:"),
        ({"to": (), "all_names": "Bo; Cy, Di; "}, "Ada Thorne wrote to Bo, Cy, Di:"),
        ({"to": tuple((f"P{number}", "") for number in range(8))},
         "Ada Thorne wrote to P0, P1, P2, P3, P4, P5 and 2 others:"),
        ({"sender": ("Ada\r\nBcc: x", "a@b.org")}, "Ada Bcc: x wrote to Bo:"),
    ],
)  # fmt: skip
def test_who_wrote_to_whom_is_a_sentence(tmp_path: Path, changed: Any, sentence: str) -> None:
    text = text_of(opened(tmp_path, replace(Message(body=SAID), **changed)))
    assert text.partition("\n")[0] == sentence
    assert ": \n" not in f"{text}\n"


def test_a_moment_without_a_time_zone_is_told_in_that_of_this_machine(tmp_path: Path) -> None:
    sent = datetime(2025, 4, 9, 8, 5, tzinfo=UTC)
    here = sent.astimezone()
    document = opened(tmp_path, Message(body=SAID, sent=sent))
    assert f" on {here.day} April 2025 at {here.hour}:{here.minute:02}:" in text_of(document)
    assert document.dated == here.date().isoformat()


def test_what_is_attached_is_a_file_of_its_own_and_so_is_a_message(tmp_path: Path) -> None:
    inner = replace(LETTER, subject="Re: keys/locks", attached=[Attached("plan.txt", b"Berth 7.")])
    sent = datetime(2025, 4, 10, tzinfo=UTC)
    within = Message(body="See below.", sent=sent, attached=[
        Attached("fees.pdf", b"%PDF-1.4" + bytes(5000), mime="application/pdf"),
        Attached("Re: keys", inner.tree(24), method=5),
        Attached("logo.png", b"\x89PNG\r\n", mime="image/png", cid="logo@1"),
        Attached("notes\u202e.txt", b"", mime="text/plain; nonsense"),
        Attached("elsewhere.docx", b"", method=7),
        Attached("Picture", {"CONTENTS": b"x"}, method=6),
    ])  # fmt: skip
    document = opened(tmp_path, within)
    assert text_of(document).endswith("Attached: fees.pdf\n\nAttached: Re: keys\n\nAttached: notes\u202e.txt")
    fees, letter, notes = document.members
    assert (fees.name, len(fees.data), fees.changed) == ("fees.pdf", 5008, sent.timestamp())
    assert (letter.name, notes.name, notes.data) == ("Re: keys locks.eml", "notes.txt", b"")
    (tmp_path / "b").write_bytes(letter.data)
    reply = open_document(tmp_path / "b", letter.name)
    assert (reply.title, reply.dated) == ("Re: keys/locks", "2025-04-09")
    assert text_of(reply) == f"{HEAD}{SAID}{ADDRESS}\n\nAttached: plan.txt"
    assert [(one.name, one.data) for one in reply.members] == [("plan.txt", b"Berth 7.")]


@pytest.mark.parametrize(
    ("written", "file"),
    [
        (Message(html=b"<p>The keys.</p>"), Attached("notes.txt", b"Berth 7.", mime="text/plain", cid="notes@1")),
        (Message(body="The keys."), Attached("plan.html", b"<p>Berth 7.</p>", mime="text/html", cid="plan@1")),
    ],
)
def test_an_attached_text_with_a_content_id_is_a_file_and_not_what_the_message_says(
    tmp_path: Path, written: Message, file: Attached
) -> None:
    document = opened(tmp_path, replace(written, attached=[file]))
    assert text_of(document) == f"Ada Thorne wrote to Bo:\n\nThe keys.{ADDRESS}\n\nAttached: {file.name}"
    assert [(one.name, one.data) for one in document.members] == [(file.name, file.data)]


def test_messages_within_messages_are_taken_out_as_deep_as_they_can_be_added(tmp_path: Path) -> None:
    nested = LETTER
    for _ in range(20):
        nested = Message(body="See below.", attached=[Attached("below", nested.tree(24), method=5)])
    depth, (member, *_others) = 1, opened(tmp_path, nested).members
    while True:
        (tmp_path / "b").write_bytes(member.data)
        within = list(open_document(tmp_path / "b", "b.eml").members)
        if not within:
            break
        depth, member = depth + 1, within[0]
    assert depth == outlook.DEEPEST


def test_packed_rtf_refers_to_what_was_written_before() -> None:
    head = bytes.fromhex("2d0000002b0000004c5a4675f1c5c7a7")
    body = bytes.fromhex("03000a007263706731323542320af32068656c090020627705b06c647d0a800fa0")
    rtf = b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    assert unpack_rtf(head + body) == rtf
    assert unpack_rtf(head + body[:12]) == rtf[: len(unpack_rtf(head + body[:12]))]
    assert unpack_rtf(head[:8] + b"MELA" + head[12:] + rtf) == rtf


@pytest.mark.parametrize(
    "packing",
    [pytest.param(b"short", id="no head"), pytest.param(bytes(16) + b"x", id="unknown"),
     pytest.param(packed(b"no RTF")[:-1], id="no RTF")],
)  # fmt: skip
def test_rtf_that_is_none_is_an_error_of_the_file(tmp_path: Path, packing: bytes) -> None:
    with pytest.raises(UnreadableDocument, match=r"keys\.msg cannot be read as an"):
        opened(tmp_path, Message(rtf=packing))


def test_what_is_named_a_message_and_is_none_says_so(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("From: Ada\n\nThe keys.")
    with pytest.raises(UnreadableDocument, match=r"a\.msg is not an Outlook message \(MSG\), although .* plain text"):
        open_document(tmp_path / "a", "a.msg")
    (tmp_path / "b").write_bytes(compound({"Contents": b"x"}))
    with pytest.raises(UnreadableDocument, match=r"b\.msg cannot be read as an Outlook message"):
        open_document(tmp_path / "b", "b.msg")


def test_streams_that_are_told_to_be_larger_than_their_file_are_an_error_of_it(tmp_path: Path) -> None:
    written = bytearray(compound(Message(body=SAID, attached=[Attached("a", bytes(5000))]).tree()))
    at = written.index((5000).to_bytes(8, "little"))
    written[at : at + 8] = (2**31).to_bytes(8, "little")
    (tmp_path / "a").write_bytes(written)
    with pytest.raises(UnreadableDocument, match=r"a\.msg cannot be read as an Outlook message .*larger than itself"):
        list(open_document(tmp_path / "a", "a.msg").members)


def test_the_same_stream_under_many_names_is_read_no_more_often_than_its_file_is_long(tmp_path: Path) -> None:
    written = compound(Message(body=SAID, attached=[Attached(str(one), b"abcd" * 2000) for one in range(9)]).tree())
    size = (8000).to_bytes(8, "little")
    places = [at for at in range(512, len(written), 128) if written[at + 120 : at + 128] == size]
    doubled = bytearray(written[: len(written) // 512 * 512])
    for at in places:
        doubled[at + 116 : at + 128] = doubled[places[0] + 116 : places[0] + 120] + (70000).to_bytes(8, "little")
    (tmp_path / "a").write_bytes(doubled)
    with pytest.raises(UnreadableDocument, match="larger than itself"):
        list(open_document(tmp_path / "a", "a.msg").members)


def test_too_many_parts_are_an_error_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "MOST_ENTRIES", 10)
    with pytest.raises(UnreadableDocument, match=r"a\.msg cannot be read as an Outlook message"):
        opened(tmp_path, replace(LETTER, to=[("Bo", "")] * 20), "a.msg")


@pytest.mark.parametrize("end", [0.2, 0.5, 0.9])
def test_a_message_that_is_cut_off_is_an_error_of_the_file(tmp_path: Path, end: float) -> None:
    written = compound(replace(LETTER, attached=[Attached("a.txt", b"x" * 9000)]).tree())
    (tmp_path / "a").write_bytes(written[: int(len(written) * end)])
    with pytest.raises(UnreadableDocument, match=r"a\.msg cannot be read as an Outlook message .*damaged or cut off"):
        open_document(tmp_path / "a", "a.msg")


def test_folders_that_lie_within_themselves_are_entered_once(tmp_path: Path) -> None:
    written = bytearray(compound(replace(LETTER, attached=[Attached("a.txt", b"x")]).tree()))
    at = written.index("__attach_version1.0_".encode("utf-16-le"))
    root = written.index("Root Entry".encode("utf-16-le"))
    written[at + 76 : at + 80] = written[root + 76 : root + 80]
    (tmp_path / "a").write_bytes(written)
    document = open_document(tmp_path / "a", "a.msg")
    assert text_of(document) == f"{HEAD}{SAID}{ADDRESS}"
    assert list(document.members) == []


def test_a_file_that_lies_within_itself_is_entered_once(tmp_path: Path) -> None:
    written = bytearray(make_xls(tmp_path / "a", {"Prices": [["Rope", "Lamp"]]}).read_bytes())
    root = written.index("Root Entry".encode("utf-16-le"))
    written[root + 66], written[root + 76 : root + 80] = 1, bytes(4)  # A folder; its first part is the first entry.
    (tmp_path / "a").write_bytes(written)
    with kinds.open_compound(tmp_path / "a") as folder:
        assert len(list(folder.folders("root"))) == 1
