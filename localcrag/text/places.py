"""Where in its document something stands: page of a PDF, slide of a talk, letter of a mailbox."""

from __future__ import annotations

from pathlib import PurePath

from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext

MAILBOXES = frozenset((".mbox", ".mbx"))
"""Endings of documents whose pages are e-mails."""
SLIDES = frozenset((".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".ppt", ".pps", ".pot", ".odp", ".otp"))
"""Endings of documents whose pages are slides."""


def page_name(document: str | None, page: int) -> str:
    """Return what a page of a document is called: "page 3", "slide 3"."""
    ending = PurePath(document or "").suffix.lower()
    if ending in SLIDES:
        return _("slide %(page)s", page=page)
    return _("message %(page)s", page=page) if ending in MAILBOXES else _("page %(page)s", page=page)


def pages_in(document: str, pages: int) -> str:
    """Return how many pages a document has: "3 pages", "3 slides"."""
    ending = PurePath(document).suffix.lower()
    if ending in SLIDES:
        return ngettext("%(num)s slide", "%(num)s slides", pages)
    if ending in MAILBOXES:
        return ngettext("%(num)s message", "%(num)s messages", pages)
    return ngettext("%(num)s page", "%(num)s pages", pages)


def place(document: str, page: int | None) -> str:
    """Return a document, with the page where there is one: "handbook.pdf, page 3"."""
    return document if page is None else f"{document}, {page_name(document, page)}"
