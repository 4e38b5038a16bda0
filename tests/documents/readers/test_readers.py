from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from localcrag.documents.readers.open_document import SUPPORTED, open_document
from localcrag.records.documents import ScannedLine, ScannedPage
from localcrag.records.errors import (
    DocumentError,
    EmptyDocument,
    EncryptedDocument,
    PasswordNeeded,
    UnreadableDocument,
    UnsupportedDocument,
)
from tests.support import documents, odd_pdfs, office_files, scans


def read(path: Path, name: str | None = None) -> str:
    return "\f".join(page.text for page in open_document(path, name or path.name).pages)


def failure(path: Path, name: str) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        read(path, name)
    assert name in str(caught.value)
    return caught.value


ENGLISH = "The hotel limit in Hamburg is 140 euros a night."


def lowest_free_descriptor() -> int:
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
    return descriptor


# PDF


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return documents.handbook_pdf(tmp_path_factory.mktemp("handbook") / "handbook.pdf")


def test_a_pdf_has_its_pages_in_order_and_numbered_from_one(handbook: Path) -> None:
    document = open_document(handbook, "handbook.pdf")
    assert document.media_type == "application/pdf"
    assert document.page_count == documents.HANDBOOK_PAGES
    assert [page.number for page in document.pages] == list(range(1, documents.HANDBOOK_PAGES + 1))


@pytest.mark.parametrize("number", range(documents.HANDBOOK_PAGES))
def test_each_heading_and_paragraph_of_a_pdf_page_is_a_line_of_its_own(handbook: Path, number: int) -> None:
    lines = read(handbook).split("\f")[number].split("\n")
    blocks = documents.handbook_pages()[number].strip().split("\n\n")
    written = [block.lstrip("# ") for block in blocks if not block.startswith("|")]
    assert [line for line in lines if line in written] == written


def test_each_row_of_a_table_in_a_pdf_is_a_line_of_its_own(handbook: Path) -> None:
    assert "\n| Hamburg | 140 euros | 48 euros |\n| Gdynia | 95 euros | 36 euros |\n" in read(handbook)


def test_a_page_without_text_among_others_is_an_empty_page(tmp_path: Path) -> None:
    path = documents.make_pdf(tmp_path / "gap.pdf", ["Before.", "", "After."])
    assert [(page.number, page.text) for page in open_document(path, "gap.pdf").pages] == [
        (1, "Before."),
        (2, ""),
        (3, "After."),
    ]


@pytest.mark.parametrize("taken", [0, 1, 3], ids=lambda taken: f"{taken}-pages-read")
def test_a_pdf_that_is_closed_before_its_end_leaves_no_file_open(handbook: Path, taken: int) -> None:
    before = lowest_free_descriptor()
    document = open_document(handbook, "handbook.pdf")
    for _ in range(taken):
        next(document.pages)
    document.pages.close()
    assert lowest_free_descriptor() == before


def test_a_pdf_whose_pages_nobody_asks_for_leaves_no_file_open(handbook: Path) -> None:
    before = lowest_free_descriptor()
    document = open_document(handbook, "handbook.pdf")
    assert lowest_free_descriptor() == before
    document.pages.close()


def test_pdfs_read_by_several_threads_at_once_are_read_as_by_one(handbook: Path) -> None:
    alone = read(handbook)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(read, [handbook] * 8)) == [alone] * 8


def test_two_pdfs_can_be_read_page_by_page_in_turns(handbook: Path) -> None:
    first, second = (open_document(handbook, "handbook.pdf").pages for _ in range(2))
    assert all(a == b for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("angle", [0, 30, 90, 180, 270, 315])
def test_text_at_any_angle_is_read_in_order(tmp_path: Path, angle: int) -> None:
    lines = [
        (-200.0, 0.0, "The travel desk pays for the hotel of everybody who asks for it in due"),
        (-200.0, -14.0, "time, and the ﬁnance team checks the claim within ﬁve working days of it"),
        (-200.0, -28.0, "coming in."),
        (-200.0, -50.0, "• A receipt."),
        (-200.0, -64.0, "• A signature."),
    ]
    if not angle:
        lines = [(x + 300, y + 400, text) for x, y, text in lines]
    path = documents.make_lines_pdf(tmp_path / "turned.pdf", lines, angle=angle)
    assert read(path) == (
        "The travel desk pays for the hotel of everybody who asks for it in due time, and the finance team checks the "
        "claim within five working days of it coming in.\n\n• A receipt.\n• A signature."
    )


def test_a_word_hyphenated_at_the_end_of_a_line_is_put_together(tmp_path: Path) -> None:
    lines = [
        (72.0, 700.0, "Every claim is checked within five days and the reimburse-"),
        (72.0, 686.0, "ment follows."),
    ]
    path = documents.make_lines_pdf(tmp_path / "hyphen.pdf", lines)
    assert read(path) == "Every claim is checked within five days and the reimbursement follows."


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        pytest.param(["Sales of 1,234", "^1", " million"], "Sales of 1,234 ¹ million", id="a note's mark"),
        pytest.param(["All sales", "^1,2", " of May."], "All sales ¹,² of May.", id="two marks behind a word"),
        pytest.param(["Some 3.2 x 10", "^6", ", or 10", "^-3", " mol"], "Some 3.2 x 10⁶, or 10⁻³ mol", id="exponents"),
        pytest.param(["80 m", "^2", ", and x", "^2"], "80 m², and x²", id="squares"),
        pytest.param(["^1", "Unaudited."], "¹ Unaudited.", id="the note itself"),
        pytest.param(["H", "_2", "O in 2024"], "H2O in 2024", id="what is lowered stays"),
        pytest.param(["On May 1", "^st", ", 2024"], "On May 1st, 2024", id="letters stay"),
    ],
)
def test_raised_digits_are_not_taken_for_a_numbers_own(tmp_path: Path, pieces: list[str], text: str) -> None:
    assert read(documents.make_raised_pdf(tmp_path / "a.pdf", pieces)) == text


def test_what_was_filled_into_a_pdf_form_is_read(tmp_path: Path) -> None:
    path = documents.make_form_pdf(tmp_path / "form.pdf", "Name of the traveller", "Tobias Wren")
    assert "Tobias Wren" in read(path)


def test_the_pages_of_a_scan_are_without_text_and_show_some(tmp_path: Path) -> None:
    path = documents.make_image_pdf(tmp_path / "scan.pdf", pages=2)
    assert [(page.text, page.unread) for page in open_document(path, "scan.pdf").pages] == [("", True), ("", True)]


LETTERS = "\uf76f\uf76e\uf764\ue003 " * 30


@pytest.mark.parametrize(
    ("kind", "unread"),
    [("text", False), ("blank", False), ("space", False), ("ruled", False), ("scan", True), ("outlines", True)],
)
def test_a_page_without_text_that_shows_something_is_unread(tmp_path: Path, kind: str, unread: bool) -> None:
    path = documents.make_pages_pdf(tmp_path / "some.pdf", ["text", kind])
    assert [page.unread for page in open_document(path, "some.pdf").pages] == [False, unread]


def test_a_page_of_characters_that_mean_nothing_is_a_page_without_text(tmp_path: Path) -> None:
    path = odd_pdfs.make_mapped_pdf(tmp_path / "odd.pdf", [ENGLISH, LETTERS, f"7\n{LETTERS}"])
    assert [(page.text, page.unread) for page in open_document(path, "odd.pdf").pages] == [
        (ENGLISH, False),
        ("", True),
        ("", True),
    ]


def test_letters_stay_beside_characters_that_mean_nothing(tmp_path: Path) -> None:
    leaders = "\n".join(f"Part {number} {chr(0xF76F) * 30} {number}" for number in range(1, 9))
    path = odd_pdfs.make_mapped_pdf(tmp_path / "contents.pdf", [leaders])
    assert read(path).split() == leaders.split()


@pytest.mark.parametrize(
    "codes",
    [
        pytest.param([0x11223344, 0x11223345], id="beyond Unicode"),
        pytest.param([0x81308130, 0xFFFFFFF0], id="beyond an int"),
    ],
)
def test_codes_that_are_no_characters_do_not_stop_the_file(tmp_path: Path, codes: list[int]) -> None:
    path = odd_pdfs.make_coded_pdf(tmp_path / "codes.pdf", ENGLISH, codes)
    assert read(path) == f"{ENGLISH}\n\n{chr(0xFFFD) * len(codes)}"


def test_halves_of_characters_do_not_get_into_the_text(tmp_path: Path) -> None:
    path = odd_pdfs.make_mapped_pdf(tmp_path / "halves.pdf", [f"{ENGLISH} \ud83d\ude42 \ud83d \ude42"])
    assert read(path) == f"{ENGLISH} \N{SLIGHTLY SMILING FACE} \ufffd \ufffd"


def test_a_pdf_of_empty_pages_is_not_called_a_scan(tmp_path: Path) -> None:
    error = failure(documents.make_blank_pdf(tmp_path / "blank.pdf"), "blank.pdf")
    assert isinstance(error, EmptyDocument)
    assert "scan" not in str(error)


def test_a_pdf_with_a_password_is_encrypted(tmp_path: Path) -> None:
    path = documents.make_pdf(tmp_path / "locked.pdf", ["Secret."], password="tide")  # noqa: S106 - a made-up one
    assert isinstance(failure(path, "locked.pdf"), PasswordNeeded)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.9, 0.99, 0.999])
def test_a_pdf_that_was_cut_off_is_unreadable(tmp_path: Path, share: float) -> None:
    path = documents.cut_off(documents.handbook_pdf(tmp_path / "download.pdf"), share)
    error = failure(path, "download.pdf")
    assert isinstance(error, UnreadableDocument)
    assert "cut off" in str(error)


def test_a_pdf_with_rubbish_after_its_end_is_read(tmp_path: Path) -> None:
    path = documents.make_pdf(tmp_path / "tail.pdf", ["All of it."])
    path.write_bytes(path.read_bytes() + b"\n<!-- served by a careless server -->" * 200)
    assert read(path) == "All of it."


# Word documents


def test_a_word_document_keeps_headings_lists_and_tables(tmp_path: Path) -> None:
    path = documents.make_docx(
        tmp_path / "report.docx",
        ["# Limits", "Two cities.", "* Hamburg", "* Gdynia", "1. First", "1. Second"],
        table=[["City", "Night"], ["Hamburg", "140 euros"]],
    )
    document = open_document(path, "report.docx")
    assert document.media_type.endswith("wordprocessingml.document")
    assert document.page_count is None
    assert [(page.number, page.text) for page in document.pages] == [
        (
            None,
            "Limits\n\nTwo cities.\n\n* Hamburg\n* Gdynia\n\n1. First\n2. Second\n\nCity | Night\nHamburg | 140 euros",
        )
    ]


def test_a_footnote_of_a_word_document_stands_at_its_end(tmp_path: Path) -> None:
    path = documents.make_footnote_docx(tmp_path / "note.docx", "The limit is 140 euros.", "110 euros until 2024.")
    assert read(path) == "The limit is 140 euros.[1]\n\n1. 110 euros until 2024."


def test_a_numbered_list_of_a_word_document_counts_on_behind_a_paragraph(tmp_path: Path) -> None:
    path = documents.make_docx(tmp_path / "a.docx", ["1. One", "1. Two", "A note.", "* A bullet", "1. Three", "# End"])
    assert read(path) == "1. One\n2. Two\n\nA note.\n\n* A bullet\n\n3. Three\n\nEnd"


def test_a_list_of_a_word_document_that_restarts_begins_anew(tmp_path: Path) -> None:
    path = documents.make_docx(tmp_path / "a.docx", ["1. One", "1. Two", "1. Again", "1. Once more"])
    with zipfile.ZipFile(path) as archive:
        numbering = archive.read("word/numbering.xml").decode()
        body = archive.read("word/document.xml").decode()
        styles = archive.read("word/styles.xml").decode()
    (list_of,) = re.findall(r'w:styleId="ListNumber">.*?<w:numId w:val="(\d+)"/>', styles, re.DOTALL)
    (kind,) = re.findall(rf'<w:num w:numId="{list_of}"[^>]*>\s*<w:abstractNumId w:val="(\d+)"', numbering)
    anew = (
        f'<w:num w:numId="99"><w:abstractNumId w:val="{kind}"/>'
        '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num></w:numbering>'
    )
    documents.replace_part(path, "word/numbering.xml", numbering.replace("</w:numbering>", anew).encode())
    number = '<w:pStyle w:val="ListNumber"/><w:numPr><w:ilvl w:val="0"/><w:numId w:val="99"/></w:numPr>'
    style = '<w:pStyle w:val="ListNumber"/>'
    documents.replace_part(path, "word/document.xml", number.join(body.rsplit(style, 2)).encode())
    assert read(path) == "1. One\n2. Two\n5. Again\n6. Once more"


def test_tabs_and_breaks_of_every_kind_part_words_in_a_word_document(tmp_path: Path) -> None:
    path = documents.make_docx(tmp_path / "a.docx", ["Rent, TAB 500 euros, CR a month"])
    with zipfile.ZipFile(path) as archive:
        body = archive.read("word/document.xml").decode()
    for word, markup in ((", TAB ", '<w:ptab w:alignment="right" w:relativeTo="margin"/>'), (", CR ", "<w:cr/>")):
        body = body.replace(word, f"</w:t>{markup}<w:t>")
    documents.replace_part(path, "word/document.xml", body.encode())
    assert read(path) == "Rent 500 euros\na month"


def test_a_long_cell_of_a_word_document_leaves_its_table_a_table(tmp_path: Path) -> None:
    said = ("The desk pays. " * 60).strip()
    path = documents.make_docx(
        tmp_path / "a.docx", ["Terms."], table=[["Term", "Means"], ["Hotel", said], ["Bus", "Ours"]]
    )
    assert read(path) == f"Terms.\n\nTerm | Means\nHotel | {said}\nBus | Ours"


def test_fields_and_text_in_a_direction_of_its_own_are_read_in_a_word_document(tmp_path: Path) -> None:
    path = documents.make_docx(tmp_path / "a.docx", ["It ends on END.", "In the BDO room.", "Of RUBY."])
    run = "<w:r><w:t>{}</w:t></w:r>"
    parts = {
        "END": f"<w:fldSimple w:instr='DOCPROPERTY End'>{run.format('31 March')}</w:fldSimple>",
        "BDO": f"<w:bdo w:val='ltr'>{run.format('blue')}</w:bdo>",
        "RUBY": "<w:r><w:ruby><w:rt><w:r><w:t>kan</w:t></w:r></w:rt><w:rubyBase>"
        f"{run.format('漢')}</w:rubyBase></w:ruby></w:r>",
    }
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    body = contents["word/document.xml"].decode()
    for word, markup in parts.items():
        body = re.sub(
            rf"<w:t([^>]*)>([^<]*){word}", rf"<w:t xml:space='preserve'>\2</w:t></w:r>{markup}<w:r><w:t\1>", body
        )
    contents["word/document.xml"] = body.encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    assert read(path) == "It ends on 31 March.\n\nIn the blue room.\n\nOf 漢."


# What cannot be read


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("plan.dwg", "Save it as PDF, as text, or as a file of Word, Excel or PowerPoint, and add that; or give it"),
        ("papers.7z", "Unpack it, and add the files in it."),
        ("sound.mp3", "Add what is said in it as text or as subtitles."),
        ("letter.p7s", "Save what was signed or encrypted in the program it comes from, and add that."),
    ],
)
def test_an_unknown_name_ending_is_unsupported_and_what_to_do_is_said(tmp_path: Path, name: str, remedy: str) -> None:
    error = failure(documents.make_text(tmp_path / "x", "text"), name)
    assert isinstance(error, UnsupportedDocument)
    kind = f"there is no reader for files that end in {Path(name).suffix}."
    assert str(error).startswith(f"{name} was left out: {kind} {remedy}")


@pytest.mark.parametrize("name", ["README", "a/Makefile", "LICENSE"])
def test_a_text_that_never_has_a_name_ending_is_read(tmp_path: Path, name: str) -> None:
    assert read(documents.make_text(tmp_path / "x", ENGLISH), name) == ENGLISH


@pytest.mark.parametrize("name", ["notes", "song.mp3", "archive.tar.gz", ".pdf"])
def test_a_kind_without_a_reader_is_unsupported(tmp_path: Path, name: str) -> None:
    assert isinstance(failure(documents.make_text(tmp_path / "x", "text"), name), UnsupportedDocument)


def test_the_documents_name_and_not_the_files_says_what_it_is(tmp_path: Path) -> None:
    path = documents.make_text(tmp_path / "upload-7f3a.tmp", ENGLISH)
    assert read(path, "Limits.TXT") == ENGLISH


@pytest.mark.parametrize("suffix", sorted(SUPPORTED))
@pytest.mark.parametrize("content", [b"", b" \r\n\t \n"], ids=["nothing", "white-space"])
def test_a_file_with_nothing_in_it_is_empty(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / "upload"
    path.write_bytes(content)
    assert isinstance(failure(path, f"file{suffix}"), EmptyDocument)


def test_a_long_file_of_white_space_is_empty(tmp_path: Path) -> None:
    assert isinstance(failure(documents.make_text(tmp_path / "x", " \n" * 20_000), "x.txt"), EmptyDocument)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    error = failure(tmp_path / "gone", "report.pdf")
    assert isinstance(error, UnreadableDocument)
    assert "No such file" in str(error)


def test_a_folder_is_no_document(tmp_path: Path) -> None:
    assert "folder" in str(failure(tmp_path, "folder.pdf"))


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert isinstance(failure(tmp_path / "pipe", "pipe.txt"), UnreadableDocument)


def make_bomb(path: Path) -> Path:
    return documents.replace_part(documents.make_docx(path, ["x"]), "word/media/image1.bin", bytes(11_000_000))


def make_office(folder: str) -> Callable[[Path], Path]:
    return lambda path: documents.make_zip(path, {"[Content_Types].xml": b"<Types/>", f"{folder}/main.xml": b"<x/>"})


def write(content: bytes) -> Callable[[Path], Path]:
    def make(path: Path) -> Path:
        path.write_bytes(content)
        return path

    return make


def docx_with(part: str, content: bytes | None) -> Callable[[Path], Path]:
    return lambda path: documents.replace_part(documents.make_docx(path, ["x"]), part, content)


NOISE = bytes(range(256)) * 40
MAIL = b"From: a\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=x\r\n\r\n--x\r\n\r\n<html>"
MISNAMED: dict[str, tuple[str, Callable[[Path], Path], type[DocumentError], str]] = {
    "a web page named pdf": (
        "a.pdf",
        lambda path: documents.make_html(path, "Not found"),
        UnreadableDocument,
        "a web page",
    ),
    "text named pdf": ("a.pdf", write(b"hello"), UnreadableDocument, "plain text"),
    "noise named pdf": ("a.pdf", write(NOISE), UnreadableDocument, "unknown binary data"),
    "a pdf header and nothing else": ("a.pdf", write(b"%PDF-1.7\n%%EOF\n"), UnreadableDocument, "damaged"),
    "noise named txt": ("a.txt", write(NOISE), UnreadableDocument, "not a text file"),
    "text with much binary in it": ("a.txt", write(b"some words" + bytes(40)), UnreadableDocument, "not a text file"),
    "a web archive named html": ("a.html", write(MAIL), UnreadableDocument, "MHTML"),
    "a gzip archive named html": ("a.html", write(b"\x1f\x8b\x08 packed"), UnreadableDocument, "a gzip archive"),
    "a locked Word document": (
        "a.docx",
        lambda path: office_files.make_compound(path, {"EncryptedPackage": b"x"}),
        EncryptedDocument,
        "password",
    ),
    "an old Word document named docx": (
        "a.docx",
        write(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600)),
        UnreadableDocument,
        "before 2007",
    ),
    "a web page named docx": ("a.docx", lambda path: documents.make_html(path, "x"), UnreadableDocument, "a web page"),
    "an archive named docx": (
        "a.docx",
        lambda path: documents.make_zip(path, {"a.txt": b"x"}),
        UnreadableDocument,
        "a ZIP archive",
    ),
    "a workbook named docx": ("a.docx", make_office("xl"), UnreadableDocument, "an Excel workbook"),
    "slides named docx": ("a.docx", make_office("ppt"), UnreadableDocument, "a PowerPoint file"),
    "an OpenDocument file named docx": (
        "a.docx",
        lambda path: documents.make_zip(path, {"mimetype": b"x"}),
        UnreadableDocument,
        "OpenDocument",
    ),
    "a Word document that was cut off": (
        "a.docx",
        lambda path: documents.cut_off(documents.make_docx(path, ["x"]), 0.6),
        UnreadableDocument,
        "cut off",
    ),
    "a Word document without its text": ("a.docx", docx_with("word/document.xml", None), UnreadableDocument, "damaged"),
    "a Word document whose text is no XML": (
        "a.docx",
        docx_with("word/document.xml", b"<w:document"),
        UnreadableDocument,
        "damaged",
    ),
    "a Word document with damaged styles": (
        "a.docx",
        docx_with("word/styles.xml", b"<x/><y/>"),
        UnreadableDocument,
        "damaged",
    ),
    "a Word document that would fill the memory": ("a.docx", make_bomb, UnreadableDocument, "unpacks to 12 MB"),
    "a Word document without words": ("a.docx", lambda path: documents.make_docx(path, []), EmptyDocument, "no text"),
    "a web page without words": (
        "a.html",
        lambda path: documents.make_html(path, "<script>x</script>"),
        EmptyDocument,
        "no text",
    ),
    "a web page that is a comment": ("a.html", write(b"<!-- x -->"), EmptyDocument, "no text"),
}


@pytest.mark.parametrize(("name", "make", "kind", "words"), MISNAMED.values(), ids=MISNAMED.keys())
def test_a_file_that_is_not_what_it_should_be_says_what_it_is(
    tmp_path: Path, name: str, make: Callable[[Path], Path], kind: type[DocumentError], words: str
) -> None:
    error = failure(make(tmp_path / "upload"), name)
    assert type(error) is kind
    assert words in str(error)
    assert re.search(r"[.] \w.*[.]$", str(error)), "the message does not say what to do next"


def test_a_zip_that_lies_in_its_directory_is_unreadable(tmp_path: Path) -> None:
    path = documents.make_docx(tmp_path / "upload", ["x"])
    data = bytearray(path.read_bytes())
    for at in [found.start() for found in re.finditer(rb"PK\x01\x02", data)]:
        data[at + 6] = 200  # the version of the format that is needed to read the entry
    path.write_bytes(data)
    assert isinstance(failure(path, "a.docx"), UnreadableDocument)


def test_a_stamp_on_a_scan_does_not_make_it_text(tmp_path: Path) -> None:
    photo, stamps = scans.picture(scans.LEASE), ("Scanned with a telephone", "A photo of the house")
    canvas = documents.lab.pdfgen.canvas.Canvas(str(tmp_path / "scan.pdf"), pagesize=documents.A4)
    for share, stamp in zip((1.0, 0.3), stamps, strict=True):
        canvas.drawInlineImage(photo, 0, 0, documents.A4[0], documents.A4[1] * share)
        canvas.drawString(72, 20, stamp)
        canvas.showPage()
    canvas.save()

    def read(*said: str) -> list[tuple[str, bool]]:
        lines = [ScannedLine(text, 0.99, 100, 100, 900, 130) for text in said]
        scan = {page: ScannedPage(1240, 1754, 0, 0.0, (line,), 0.99) for page, line in enumerate(lines, start=1)}
        pages = open_document(tmp_path / "scan.pdf", "scan.pdf", scan).pages
        return [(page.text, page.unread) for page in pages]

    assert read() == [(stamps[0], True), (stamps[1], False)]
    deposit = "The deposit is three months' rent, and is due on signing."
    assert read(deposit, deposit) == [(deposit, True), (stamps[1], False)]
    assert read("Scanned") == read()
