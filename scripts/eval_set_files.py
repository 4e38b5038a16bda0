"""Documents of an evaluation set -> real files: Markdown, HTML, Word, PDF. The same text gives the same bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from eval_set_texts import Document, is_heading

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a ZIP archive can hold, in place of that of writing."""


class CannotWrite(Exception):
    """A library that writes a kind of file is missing."""


def write_document(folder: Path, document: Document, form: str) -> str:
    """Write the document as a file of that form, or as Markdown where the form lacks its letters; return its name.

    Raises CannotWrite, OSError.
    """
    if form == "pdf" and not _in_pdf(document):
        form = "md"
    name = f"{document.name}.{form}"
    (folder / name).write_bytes(FORMS[form](document))
    return name


def _in_pdf(document: Document) -> bool:
    """Whether PDF's own fonts have every letter."""
    try:
        "\n".join((document.title, *document.paragraphs)).encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def markdown(document: Document) -> bytes:
    return ("\n\n".join([f"# {document.title}", *document.paragraphs]) + "\n").encode()


def html(document: Document) -> bytes:
    body = [
        f"<h2>{escape(paragraph[3:])}</h2>" if is_heading(paragraph) else f"<p>{escape(paragraph)}</p>"
        for paragraph in document.paragraphs
    ]
    title = escape(document.title)
    head = f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title></head>\n'
    return (head + "\n".join(["<body>", f"<h1>{title}</h1>", *body, "</body>", "</html>"]) + "\n").encode()


def word(document: Document) -> bytes:
    """Return a Word document. Raises CannotWrite."""
    try:
        import docx  # noqa: PLC0415  # only where it is needed, as a test dependency
    except ImportError as error:
        raise CannotWrite(_missing("python-docx", "Word documents")) from error
    made = docx.Document()
    made.add_heading(document.title, 1)
    for paragraph in document.paragraphs:
        if is_heading(paragraph):
            made.add_heading(paragraph[3:], 2)
        else:
            made.add_paragraph(paragraph)
    written = io.BytesIO()
    made.save(written)
    return _timeless(written)


def _timeless(archive: io.BytesIO) -> bytes:
    """Return the archive with the same time on everything in it."""
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
        import reportlab.lib.pagesizes  # noqa: PLC0415  # likewise
        import reportlab.lib.styles  # noqa: PLC0415
        import reportlab.platypus  # noqa: PLC0415
    except ImportError as error:
        raise CannotWrite(_missing("reportlab", "PDF files")) from error
    lab: Any = reportlab  # has no type hints
    styles = lab.lib.styles.getSampleStyleSheet()
    body = lab.lib.styles.ParagraphStyle("body", styles["BodyText"], fontSize=11, leading=15, spaceAfter=10)
    flowables = [lab.platypus.Paragraph(escape(document.title), styles["Heading1"])]
    for paragraph in document.paragraphs:
        heading = is_heading(paragraph)
        text, style = (paragraph[3:], styles["Heading2"]) if heading else (paragraph, body)
        flowables.append(lab.platypus.Paragraph(escape(text), style))
    written = io.BytesIO()
    # invariant: no time of writing, so that the same text gives the same file
    lab.platypus.SimpleDocTemplate(written, pagesize=lab.lib.pagesizes.A4, title=document.title, invariant=1).build(
        flowables
    )
    return written.getvalue()


def _missing(package: str, what: str) -> str:
    return (
        f"{package} writes the {what} of the set, and it is not installed. It comes with the test tools "
        f"(python3 scripts/test.py sets them up); or install it alone: pip install {package}"
    )


FORMS: dict[str, Callable[[Document], bytes]] = {"md": markdown, "html": html, "docx": word, "pdf": pdf}
"""By the ending of the file."""
