"""Functions that make documents for tests: small real files of every kind, and the damage that real files have."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import docx
import reportlab.lib.pagesizes
import reportlab.lib.pdfencrypt
import reportlab.lib.styles
import reportlab.lib.utils
import reportlab.pdfbase.pdfmetrics
import reportlab.pdfbase.ttfonts
import reportlab.pdfgen.canvas
import reportlab.platypus
from PIL import Image, ImageDraw

from tests.support import DATA

lab: Any = reportlab  # has no type hints
layout: Any = reportlab.platypus
A4: tuple[float, float] = lab.lib.pagesizes.A4  # in points
JUSTIFIED = 4
HANDBOOK = DATA / "handbook.md"
HANDBOOK_PAGES = 12
STYLES = lab.lib.styles.getSampleStyleSheet()
BODY = lab.lib.styles.ParagraphStyle(
    "body", STYLES["BodyText"], fontSize=11, leading=15, spaceAfter=10, alignment=JUSTIFIED
)
GRID = layout.TableStyle([("GRID", (0, 0), (-1, -1), 0.5, "grey"), ("BACKGROUND", (0, 0), (-1, 0), "lightgrey")])


def make_pdf(path: Path, pages: list[str], password: str | None = None) -> Path:
    """Write a PDF of `pages`, at most some 450 words each; empty lines part paragraphs, # makes headings, | tables."""
    flowables: list[Any] = []
    for page in pages:
        flowables += [*_flowables(page), layout.Spacer(1, 1), layout.PageBreak()]
    encryption = lab.lib.pdfencrypt.StandardEncryption(password, strength=128) if password else None
    layout.SimpleDocTemplate(str(path), pagesize=A4, encrypt=encryption).build(flowables)
    return path


def handbook_pdf(path: Path) -> Path:
    """Write the travel handbook of a fictitious company: 12 pages of A4 with headings, a table and page numbers."""
    flowables: list[Any] = []
    for page in handbook_pages():
        flowables += [*_flowables(page), layout.PageBreak()]
    template = layout.SimpleDocTemplate(
        str(path), pagesize=A4, title="Travel and Expense Handbook", author="Ottilie Brandt"
    )
    template.build(flowables, onFirstPage=_footer, onLaterPages=_footer)
    return path


def handbook_pages() -> list[str]:
    """Return the handbook's pages as Markdown."""
    return HANDBOOK.read_text("utf-8").split("\n---\n")


def _flowables(page: str) -> list[Any]:
    flowables: list[Any] = []
    for block in filter(None, page.split("\n\n")):
        if block.startswith("#"):
            level = len(block) - len(block.lstrip("#"))
            flowables.append(layout.Paragraph(escape(block.lstrip("# ")), STYLES[f"Heading{level}"]))
        elif block.startswith("|"):
            rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
            flowables += [layout.Table([rows[0], *rows[2:]], colWidths=130, style=GRID), layout.Spacer(1, 12)]
        else:
            flowables.append(layout.Paragraph(escape(block), BODY))
    return flowables


def _footer(canvas: Any, template: Any) -> None:
    canvas.setFont("Helvetica", 8)
    canvas.drawCentredString(A4[0] / 2, 34, f"Travel and Expense Handbook, page {template.page}")


def make_lines_pdf(
    path: Path, lines: Sequence[tuple[float, float, str]], *, size: float = 11, angle: float = 0
) -> Path:
    """Write a PDF page with each line's text at (x, y) in points from the lower left, turned by `angle` degrees."""
    canvas = lab.pdfgen.canvas.Canvas(str(path), pagesize=A4)
    canvas.translate(*(A4[0] / 2, A4[1] / 2) if angle else (0, 0))
    canvas.rotate(angle)
    lab.pdfbase.pdfmetrics.registerFont(lab.pdfbase.ttfonts.TTFont("Vera", "Vera.ttf"))  # comes with reportlab
    canvas.setFont("Vera", size)
    for x, y, text in lines:
        canvas.drawString(x, y, text)
    canvas.showPage()
    canvas.save()
    return path


def make_typed_pdf(
    path: Path,
    pages: Sequence[Sequence[tuple[str, str, float] | str]],
    *,
    title: str | None = None,
    outline: Sequence[tuple[int, str, int]] = (),
    header: str = "",
) -> Path:
    """Write a PDF of pages of lines, each a text with its font and size, or a paragraph's in ordinary type.

    `outline` has for each entry the index of its page, its title, and its depth from 0. An empty line is a gap.
    """
    canvas = lab.pdfgen.canvas.Canvas(str(path), pagesize=A4)
    if title:
        canvas.setTitle(title)
    for index, page in enumerate(pages):
        for key, (_, entry, depth) in enumerate(one for one in outline if one[0] == index):
            canvas.bookmarkPage(f"{index}-{key}")
            canvas.addOutlineEntry(entry, f"{index}-{key}", depth)
        if header:
            canvas.setFont("Helvetica-Bold", 16)
            canvas.drawString(72, 800, header)
        y = 770.0
        for line in page:
            text, font, size = (line, "Helvetica", 10) if isinstance(line, str) else line
            y -= 1.2 * size
            canvas.setFont(font, size)
            # Cells of a row are apart by a tabulator.
            for column, cell in enumerate(text.split("\t")):
                canvas.drawString(72 + 200 * column, y, cell)
        canvas.showPage()
    canvas.save()
    return path


def make_raised_pdf(path: Path, pieces: Sequence[str]) -> Path:
    """Write a PDF of one line; pieces that begin with ^ are small and raised, with _ small and lowered."""
    canvas = lab.pdfgen.canvas.Canvas(str(path), pagesize=A4)
    left = 72.0
    for piece in pieces:
        rise = {"^": 4, "_": -2}.get(piece[0], 0)
        text, size = (piece[1:], 6) if rise else (piece, 10)
        canvas.setFont("Helvetica", size)
        canvas.drawString(left, 700 + rise, text)
        left += canvas.stringWidth(text, "Helvetica", size)
    canvas.save()
    return path


def make_dated_pdf(path: Path, text: str, *, created: str, modified: str) -> Path:
    """Write a PDF whose two dates are given as YYYYMMDDHHmmSS, as PDF writes them."""
    make_pdf(path, [text])
    data = path.read_bytes()
    for key, moment in ((b"CreationDate", created), (b"ModDate", modified)):
        # As long as what reportlab wrote, so that every offset in the file stays right.
        data = re.sub(rb"(/" + key + rb" \(D:)\d{14}", rb"\g<1>" + moment.encode(), data)
    path.write_bytes(data)
    return path


def make_form_pdf(path: Path, label: str, value: str) -> Path:
    """Write a PDF with a form field that has been filled in."""
    canvas = lab.pdfgen.canvas.Canvas(str(path), pagesize=A4)
    canvas.drawString(72, 720, label)
    canvas.acroForm.textfield(name="field", value=value, x=200, y=710, width=200, height=20)
    canvas.showPage()
    canvas.save()
    return path


def make_image_pdf(path: Path, pages: int = 1) -> Path:
    """Write a PDF as a scanner does: each page is a picture of text and holds no letters."""
    picture = Image.new("L", (600, 800), 255)
    ImageDraw.Draw(picture).text((60, 60), "This page was scanned.", fill=0)
    canvas = lab.pdfgen.canvas.Canvas(str(path), pagesize=A4)
    for _ in range(pages):
        canvas.drawImage(lab.lib.utils.ImageReader(picture), 0, 0, *A4)
        canvas.showPage()
    canvas.save()
    return path


def make_pages_pdf(path: Path, kinds: Sequence[str]) -> Path:
    """Write a PDF with a page of each kind.

    text: a line of it. blank: nothing. space: a space, as Word leaves on an empty page. ruled: a frame with lines to
    write on. scan: a picture of text. outlines: lettering drawn as curves.
    """
    picture = Image.new("L", (600, 800), 255)
    ImageDraw.Draw(picture).text((60, 60), "This page was scanned.", fill=0)
    canvas = lab.pdfgen.canvas.Canvas(str(path), pagesize=A4)
    for number, kind in enumerate(kinds, start=1):
        if kind == "text":
            canvas.drawString(72, 700, f"The ferry number {number} leaves at noon.")
        elif kind == "space":
            canvas.drawString(72, 700, " ")
        elif kind == "ruled":
            canvas.roundRect(40, 40, A4[0] - 80, A4[1] - 80, 12)
            for y in range(60, 780, 9):
                canvas.line(50, y, A4[0] - 50, y)
        elif kind == "scan":
            canvas.drawImage(lab.lib.utils.ImageReader(picture), 0, 0, *A4)
        elif kind == "outlines":
            for place in range(200):
                canvas.ellipse(72 + 8 * (place % 50), 700 - 14 * (place // 50), 77 + 8 * (place % 50), 709)
        canvas.showPage()
    canvas.save()
    return path


def make_blank_pdf(path: Path, pages: int = 1) -> Path:
    """Write a PDF of empty pages."""
    canvas = lab.pdfgen.canvas.Canvas(str(path), pagesize=A4)
    for _ in range(pages):
        canvas.showPage()
    canvas.save()
    return path


def cut_off(path: Path, share: float) -> Path:
    """Keep only the first `share` (0..1) of a file, as a broken download does."""
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    return path


def make_docx(path: Path, paragraphs: Sequence[str], table: Sequence[Sequence[str]] | None = None) -> Path:
    """Write a Word document; paragraphs that start with # become headings, with = its title, with * or 1. items."""
    document = docx.Document()
    for paragraph in paragraphs:
        mark, _, rest = paragraph.partition(" ")
        styles = {"=": "Title", "#": "Heading 1", "##": "Heading 2", "*": "List Bullet", "1.": "List Number"}
        if mark in styles:
            document.add_paragraph(rest, style=styles[mark])
        else:
            document.add_paragraph(paragraph)
    if table:
        grid = document.add_table(rows=0, cols=len(table[0]))
        for row in table:
            for cell, text in zip(grid.add_row().cells, row, strict=True):
                cell.text = text
    document.save(str(path))
    return path


def make_dated_docx(path: Path, text: str, *, created: datetime, modified: datetime) -> Path:
    """Write a Word document with the dates among its core properties."""
    document = docx.Document()
    document.add_paragraph(text)
    document.core_properties.created, document.core_properties.modified = created, modified
    document.save(str(path))
    return path


def make_footnote_docx(path: Path, text: str, note: str) -> Path:
    """Write the smallest Word document that has a footnote."""
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    relationships = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    run = "<w:r><w:t>{}</w:t></w:r>"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="xml" '
        'ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="a" '
        f'Type="{relationships}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="b" '
        f'Type="{relationships}/footnotes" Target="footnotes.xml"/></Relationships>',
        "word/document.xml": f"<w:document {word}><w:body><w:p>{run.format(escape(text))}"
        '<w:r><w:footnoteReference w:id="2"/></w:r></w:p></w:body></w:document>',
        "word/footnotes.xml": f'<w:footnotes {word}><w:footnote w:id="2"><w:p>{run.format(escape(note))}</w:p>'
        "</w:footnote></w:footnotes>",
    }
    return make_zip(path, {name: content.encode() for name, content in parts.items()})


def replace_part(path: Path, part: str, content: bytes | None) -> Path:
    """Replace one file inside of a ZIP archive (a DOCX is one), or leave it out."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts.pop(part, None)
    if content is not None:
        parts[part] = content
    return make_zip(path, parts)


def make_zip(path: Path, parts: dict[str, bytes]) -> Path:
    """Write a compressed ZIP archive of `parts`, from name to content."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def make_html(path: Path, body: str, *, head: str = "", encoding: str = "utf-8") -> Path:
    """Write an HTML page; `head` is where a charset may be declared."""
    path.write_bytes(f"<!doctype html><html><head>{head}</head><body>{body}</body></html>".encode(encoding))
    return path


def make_text(path: Path, text: str, encoding: str = "utf-8") -> Path:
    """Write a text file as its bytes are, newlines not translated."""
    path.write_bytes(text.encode(encoding))
    return path


def make_picture(path: Path) -> Path:
    """Write a PNG picture, whatever the path's ending says."""
    buffer = BytesIO()
    Image.new("RGB", (4, 4)).save(buffer, "PNG")
    path.write_bytes(buffer.getvalue())
    return path
