"""Where in its document something stands: the page of a PDF, the slide of a presentation."""

from __future__ import annotations

from pathlib import PurePath

from localcrag.text.translation import gettext as _

SLIDES = frozenset((".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".ppt", ".pps", ".pot", ".odp", ".otp"))
"""Endings of documents whose pages are slides."""


def page_name(document: str | None, page: int) -> str:
    """Return what a page of a document is called: "page 3", "slide 3"."""
    of_slides = document is not None and PurePath(document).suffix.lower() in SLIDES
    return _("slide %(page)s", page=page) if of_slides else _("page %(page)s", page=page)


def place(document: str, page: int | None) -> str:
    """Return a document, with the page where there is one: "handbook.pdf, page 3"."""
    return document if page is None else f"{document}, {page_name(document, page)}"
