"""Pages of a document of which nothing can be found: which they are, and the sentence that says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from localcrag.records.documents import Chunk, Page
from localcrag.text.places import in_runs
from localcrag.text.translation import ngettext


def numbers(pages: Iterable[Page], chunks: Iterable[Chunk]) -> list[int]:
    """Return the pages that show something that is in no chunk; blank ones are not among them."""
    found = {chunk.page for chunk in chunks}
    lost = (page for page in pages if page.unread or (page.number not in found and page.text.strip()))
    return [page.number for page in lost if page.number is not None]


def warning(pages: Sequence[int]) -> str:
    """Return what is said of these pages, one at least."""
    return ngettext(
        "Page %(pages)s holds no text (a scan?): it cannot be found or quoted.",
        "Pages %(pages)s hold no text (scans?): they cannot be found or quoted.",
        len(pages),
        pages=named(pages),
    )


def note(pages: Sequence[int]) -> str:
    """Return what is said of pages, one at least, that wait for text recognition."""
    return ngettext(
        "Page %(pages)s is a picture: it can be found as soon as its text is recognised.",
        "Pages %(pages)s are pictures: they can be found as soon as their text is recognised.",
        len(pages),
        pages=named(pages),
    )


def shared_out(
    pages: Sequence[Page], chunks: Sequence[Chunk], *, recognised: bool
) -> tuple[Sequence[int], Sequence[int]]:
    """Return the pages that wait for text recognition, if those that are pictures are `recognised`, and those lost."""
    pictures = [page.number for page in pages if page.unread and page.number] if recognised else []
    return pictures, [number for number in numbers(pages, chunks) if number not in pictures]


def nothing(name: str, unread: Sequence[int]) -> str:
    """Return what is said of a document that nothing of goes in; `unread` are its pages that are not read."""
    if not unread:
        return f"{name} holds no text that could be searched."
    return (
        f"{name} holds no text: its pages are pictures or lettering without meaning (a scan?), and text recognition is "
        "turned off. Turn it on (the setting read_scans), and add the file again."
    )


def named(pages: Iterable[int]) -> str:
    """Return rising numbers as they are written, those in a row as one: "3, 7–9"."""
    return ", ".join(in_runs(pages))
