"""Seeds for fuzzing: small files of each kind, from a folder and from the tests, smallest first."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from lab.fuzzing.kinds import KINDS, MOST_BYTES, PASSWORD, digest_of
from tests.support import documents, hostile_files, hostile_pages, locked_files, odd_pdfs, office_files, outlook_files

MOST_SEEDS = 40
"""Most seeds of a kind."""

Make = Callable[[Path], object]
_LETTER = (
    b"From: Ada <ada@example.org>\nTo: Bo\nDate: Mon, 2 Mar 2026 10:00:00 +0100\nSubject: =?utf-8?q?Keys?=\n"
    b'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/html; charset=utf-8\n'
    b"Content-Transfer-Encoding: quoted-printable\n\n<p>Berth seven =3D free.</p>\n--b\nContent-Type: text/csv\n"
    b'Content-Disposition: attachment; filename="a.csv"\nContent-Transfer-Encoding: base64\n\nYSxiCg==\n'
    b"--b\nContent-Type: message/rfc822\n\nSubject: within\n\nText.\n--b--\n"
)
_BODY = (
    "<text:h text:outline-level='1'>Fees</text:h><text:list><text:list-item><text:p>One.</text:p></text:list-item>"
    "</text:list>"
)
_NOTEBOOK = b'{"cells": [{"cell_type": "code", "source": ["x = 1"], "outputs": [{"text": ["1"]}]}, {"source": "# A"}]}'
_MESSAGE = outlook_files.Message(
    body="The keys.",
    rtf=outlook_files.packed(b"{\\rtf1 Keys.}"),
    headers="Date: Mon, 2 Mar 2026 10:00:00 +0100",
    attached=[
        outlook_files.Attached("a.txt", b"Text.", "text/plain"),
        outlook_files.Attached("b.msg", outlook_files.Message("Within", "Text.").tree(24), method=5),
    ],
)
_BOMB = "1 GB of spaces, packed twice"
"""Name of a small seed that takes seconds to read; it is left out, since its mutations would take as long."""
_SLIDE = b"\x0f\0\xe8\x03\x1c\0\0\0" + b"\x0f\0\xf0\x0f\x14\0\0\0" + b"\0\0\xa8\x0f\x0c\0\0\0Berth seven."
"""Records of PowerPoint before 2007: a document with a list of texts with one text."""
_TEXTS: Sequence[tuple[str, bytes]] = (
    ("a.rtf", b"{\\rtf1\\ansi{\\info{\\title Fees}}\\trowd\\cellx900\\intbl a\\cell\\row\\pard\\u8364 ?\\par}"),
    ("a.csv", "Name;Größe\nA;1,5\n\nB;2\n".encode("cp1252")),
    (
        "a.html",
        b"<title>T</title><h1>H</h1><ol start=3><li>x<table><tr><th>a<td rowspan=2>b</table>",
    ),
    ("a.md", b"---\ntitle: A\ndate: 2026-01-02\n---\n# H\n\n* a\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n"),
    ("a.json", b'[{"a": 1, "b": {"c": [1, null]}}, {"a": 2.5}]'),
    ("a.jsonl", b'{"a": 1}\n{"a": 2}\n'),
    ("a.ipynb", _NOTEBOOK),
    ("a.rst", b"Title\n=====\n\n.. code:: python\n\n   x\n\n==  ==\na   b\n==  ==\n1   2\n==  ==\n"),
    ("a.adoc", b"= Title\n\n|===\n|a |b\n|===\n\n----\nx\n----\n"),
    (
        "a.tex",
        b"\\title{T}\\section{A}\\begin{itemize}\\item x\\end{itemize}\\begin{tabular}{l}a\\\\ \\end{tabular}",
    ),
    ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\n<i>Hello.</i>\n"),
    ("a.py", b"def f():\n    return '```'\n"),
    ("a.txt", "\ufeffBerth seven.".encode("utf-16-le")),
    ("a.eml", _LETTER),
    ("a.mbox", b"From a Mon Mar  2 10:00:00 2026\n" + _LETTER + b"\nFrom b\nSubject: Two\n\nText.\n"),
    ("a.mht", _LETTER.replace(b"mixed", b"related")),
)


def _locked(make: Make, lock: Callable[[Path, str], object]) -> Make:
    def made(path: Path) -> None:
        make(path)
        lock(path, PASSWORD)

    return made


def _docx(path: Path) -> Path:
    return documents.make_docx(path, ["= Title", "# Fees", "* one", "1. two", "Text."], [["a", "b"], ["c", "d"]])


def _long_docx(path: Path) -> Path:
    return documents.make_footnote_docx(path, random.Random(1).randbytes(4_000).hex(), "A note.")


def _odt(path: Path) -> Path:
    return office_files.make_odt(path, _BODY, title="Fees", day="2026-01-02T03:04:05")


def _makers() -> Iterator[tuple[str, Make]]:
    yield from ((name, hostile_files.written(data)) for name, data in _TEXTS)
    yield from ((f"{kind}.pdf", make) for kind, make in hostile_pages.PDFS.items() if kind != _BOMB)
    yield from hostile_pages.PICTURES.items()
    yield from (*hostile_files.DEPTHS.values(), *hostile_files.SHEETS.values())
    yield "a.pdf", lambda path: documents.make_form_pdf(path, "Name", "Ada")
    yield "a.pdf", lambda path: odd_pdfs.make_mapped_pdf(path, ["Berth\nseven", "\ue000\udc00 x"])
    yield "a.pdf", lambda path: odd_pdfs.make_coded_pdf(path, "Berth", [0x10000000, 0xFFFFFFFF])
    yield "a.pdf", lambda path: documents.make_pdf(path, ["Berth seven."], PASSWORD)
    yield "a.docx", _docx
    yield "a.docx", lambda path: documents.make_footnote_docx(path, "Text.", "A note.")
    yield "a.docx", _locked(_long_docx, locked_files.lock_agile)
    yield "a.docx", _locked(_long_docx, locked_files.lock_standard)
    yield "a.doc", lambda path: office_files.make_doc(path, "Berth seven is free.")
    yield "a.odt", _odt
    yield "a.odt", _locked(_odt, locked_files.lock_open_document)
    yield "a.odt", _locked(_odt, locked_files.lock_whole_open_document)
    yield "a.pptx", lambda path: office_files.make_pptx(path, [("A", ["b"], "c"), ("D", ["e"], "f")], picture_on=1)
    yield "a.ppt", lambda path: office_files.make_compound(path, {"PowerPoint Document": _SLIDE, "Current User": b""})
    yield "a.odp", lambda path: office_files.make_odp(path, [("A", "b", "c"), ("D", "e", "f")])
    yield (
        "a.xlsx",
        lambda path: office_files.make_xlsx(path, {"A": [["a", "b"], ["c", (1.5, "0 %")]]}, merged=["A1:B1"]),
    )
    yield "a.xls", lambda path: locked_files.make_xls(path, "Berth seven")
    yield "a.xls", lambda path: locked_files.make_xls(path, "Berth seven", PASSWORD)
    yield "a.ods", lambda path: hostile_files.repeating_sheet(path, across=2, down=2)
    yield "a.epub", lambda path: office_files.make_epub(path, ["<h1>A</h1><p>b</p>", "<p>c</p>"], title="T", day="2026")
    yield "a.msg", lambda path: outlook_files.make_msg(path, _MESSAGE)
    yield "a.msg", lambda path: outlook_files.make_msg(path, outlook_files.Message(html=b"<p>Keys.", code_page=1252))
    yield "a.zip", lambda path: documents.make_zip(path, {"a.txt": b"Text.", "b/../c.csv": b"a,b\n"})
    yield "a.zip", lambda path: hostile_files.nested_archive(path, wide=2, levels=2)


def make(folder: Path) -> None:
    """Write the files that the tests make: valid ones of each kind, and hostile ones."""
    for number, (name, maker) in enumerate(_makers()):
        maker(folder / f"{number}{Path(name).suffix}")


def seeds_of(kind: str, folders: Sequence[Path]) -> list[bytes]:
    """Return the files of a kind in these folders that are small enough, smallest first."""
    paths = (path for folder in folders for path in folder.rglob("*") if path.suffix.lower() in KINDS[kind])
    sizes = {path: path.stat().st_size for path in paths if path.is_file()}
    small = sorted((path for path in sizes if 0 < sizes[path] <= MOST_BYTES), key=lambda path: (sizes[path], path))
    return list(dict.fromkeys(path.read_bytes() for path in small))[:MOST_SEEDS]


def put(seeds: Sequence[bytes], folder: Path) -> None:
    """Write seeds to a folder, named by their digests."""
    folder.mkdir(parents=True, exist_ok=True)
    for data in seeds:
        (folder / digest_of(data)).write_bytes(data)
