"""Write an evaluation set's documents as Markdown, HTML, Word or PDF, reproducible byte for byte."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, time
from html import escape
from pathlib import Path
from typing import Any

from lab.evaluation_sets.texts import Document, is_heading

EPOCH = (1980, 1, 1, 0, 0, 0)
"""Earliest time that a ZIP archive can store; it replaces the time of writing."""
INVARIANT_DAY = b"D:20000101"
"""Date that reportlab writes instead of the current day."""


class CannotWrite(Exception):
    """A library that is needed to write a kind of file is missing."""


def write_document(folder: Path, document: Document, form: str) -> str:
    """Write the document in that form, or as Markdown if the form's fonts lack its letters; return the file's name.

    Raises CannotWrite, OSError.
    """
    if form == "pdf" and not _in_pdf(document):
        form = "md"
    name = f"{document.name}.{form}"
    (folder / name).write_bytes(FORMS[form](document))
    return name


def _in_pdf(document: Document) -> bool:
    """Return whether the standard PDF fonts have every letter of the document."""
    try:
        "\n".join((document.title, *document.paragraphs)).encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def markdown(document: Document) -> bytes:
    return ("\n\n".join([f"# {document.title}", *document.paragraphs]) + "\n").encode()


def html(document: Document) -> bytes:
    body = []
    for paragraph in document.paragraphs:
        if is_heading(paragraph):
            body.append(f"<h2>{escape(paragraph[3:])}</h2>")
        elif rows := table_rows(paragraph):
            cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
            body.append("<table>\n" + "\n".join(f"<tr>{row}</tr>" for row in cells) + "\n</table>")
        else:
            body.append(f"<p>{escape(paragraph)}</p>")
    title = escape(document.title)
    head = f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title></head>\n'
    return (head + "\n".join(["<body>", f"<h1>{title}</h1>", *body, "</body>", "</html>"]) + "\n").encode()


def table_rows(paragraph: str) -> list[list[str]]:
    """Return the cells of a Markdown table by row, without the ruler and an empty header; [] if it is no table."""
    lines = paragraph.splitlines()
    if not paragraph.startswith("|") or len(lines) < 2:
        return []
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    return [row for number, row in enumerate(rows) if number != 1 and any(row)]


def word(document: Document) -> bytes:
    """Return a Word document. Raises CannotWrite."""
    try:
        import docx  # only where it is needed, as a test dependency  # noqa: PLC0415  # only where it is needed, as a test dependency
    except ImportError as error:
        raise CannotWrite(_missing("python-docx", "Word documents")) from error
    made = docx.Document()
    made.add_heading(document.title, 1)
    for paragraph in document.paragraphs:
        if is_heading(paragraph):
            made.add_heading(paragraph[3:], 2)
        elif rows := table_rows(paragraph):
            grid = made.add_table(rows=0, cols=len(rows[0]), style="Table Grid")
            for row in rows:
                for cell, text in zip(grid.add_row().cells, row, strict=True):
                    cell.text = text
        else:
            made.add_paragraph(paragraph)
    if document.dated:
        day = datetime.combine(document.dated, time(12), UTC)
        made.core_properties.created = made.core_properties.modified = day
    written = io.BytesIO()
    made.save(written)
    return _timeless(written)


def _timeless(archive: io.BytesIO) -> bytes:
    """Return the archive with a fixed time on every entry."""
    made = io.BytesIO()
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.namelist():
            part = zipfile.ZipInfo(entry, EPOCH)
            part.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(part, source.read(entry))
    return made.getvalue()


def pdf(document: Document) -> bytes:
    """Return a PDF of A4 pages. Raises CannotWrite."""
    try:
        import reportlab.lib.pagesizes  # likewise  # noqa: PLC0415  # likewise
        import reportlab.lib.styles  # noqa: PLC0415
        import reportlab.platypus  # noqa: PLC0415
    except ImportError as error:
        raise CannotWrite(_missing("reportlab", "PDF files")) from error
    lab: Any = reportlab  # has no type hints
    layout = lab.platypus
    styles = lab.lib.styles.getSampleStyleSheet()
    body = lab.lib.styles.ParagraphStyle("body", styles["BodyText"], fontSize=11, leading=15, spaceAfter=10)
    cell = lab.lib.styles.ParagraphStyle("cell", body, spaceAfter=0)
    grid = layout.TableStyle([("GRID", (0, 0), (-1, -1), 0.5, "grey"), ("VALIGN", (0, 0), (-1, -1), "TOP")])
    flowables = [layout.Paragraph(escape(document.title), styles["Heading1"])]
    for paragraph in document.paragraphs:
        if is_heading(paragraph):
            flowables.append(layout.Paragraph(escape(paragraph[3:]), styles["Heading2"]))
        elif rows := table_rows(paragraph):
            cells = [[layout.Paragraph(escape(text), cell) for text in row] for row in rows]
            flowables += [layout.Table(cells, style=grid), layout.Spacer(1, 12)]
        else:
            flowables.append(layout.Paragraph(escape(paragraph), body))
    written = io.BytesIO()
    # invariant leaves out the time of writing, so that the same text gives the same file
    page = lab.lib.pagesizes.A4
    layout.SimpleDocTemplate(written, pagesize=page, title=document.title, author="", invariant=1).build(flowables)
    if document.dated is None:
        return written.getvalue()
    # It has the length of the text that it replaces, so that every offset in the file stays right.
    return written.getvalue().replace(INVARIANT_DAY, f"D:{document.dated:%Y%m%d}".encode())


def _missing(package: str, what: str) -> str:
    return (
        f"{package} writes the {what} of the set, and it is not installed. It comes with the test tools "
        f"(python3 scripts/test.py sets them up); or install it alone: pip install {package}"
    )


FORMS: dict[str, Callable[[Document], bytes]] = {"md": markdown, "html": html, "docx": word, "pdf": pdf}
"""Function that writes each form, by the file's extension."""
