"""The title of a document: what its file states, else its first page's largest heading, else a line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath

from localcrag.records.documents import Page
from localcrag.text.titles import (
    BEGINNING,
    LONGEST_MATTER,
    heading_text,
    is_heading,
    may_be_title,
    title_of,
    without_site,
)

FIRST_PAGES = 3
"""Of a document, those that its title is looked for on."""
RUNNING = 3
"""Pages that begin or end with one line; it is a header or footer."""


def document_title(stated: str | None, pages: Sequence[Page], name: str) -> str:
    """Return what a document is called. `stated` is what its properties say, `name` its file's name."""
    found = [_headings(page) for page in pages[:FIRST_PAGES]]
    if stated and not _is_name(stated, name):
        return without_site(stated, [text for headings in found for _, text in headings])
    for headings in found:
        fit = [heading for heading in headings if is_heading(heading[1]) and may_be_title(heading[1])]
        if fit:
            return min(fit, key=lambda heading: heading[0])[1]
    running = _running(pages)
    beginning = "\n".join(page.text for page in pages[:FIRST_PAGES])[: LONGEST_MATTER + BEGINNING]
    lines = (line for line in beginning.split("\n") if _without_numbers(line) not in running)
    return title_of("\n".join(lines), name)


def _headings(page: Page) -> list[tuple[int, str]]:
    """Return the headings that the file tells of, in order, each with its level."""
    return [(known.level, heading_text(page.text[known.start : known.end])) for known in page.headings if known.level]


def _is_name(stated: str, name: str) -> bool:
    """Whether a title is one word and the file's name, which programs put there for want of a title."""
    return len(stated.split()) == 1 and stated.casefold() == PurePath(name).stem.casefold()


def _running(pages: Sequence[Page]) -> set[str]:
    """Return the lines that pages begin or end with, without their numbers."""
    seen: Counter[str] = Counter()
    for page in pages:
        lines = [line for line in page.text.split("\n") if line.strip()]
        seen.update({_without_numbers(line) for line in (*lines[:1], *lines[-1:])})
    often = {line for line, times in seen.items() if times >= max(RUNNING, len(pages) / RUNNING)}
    known = [page.text[one.start : one.end] for page in pages for one in page.headings if not one.level]
    return often | set(map(_without_numbers, known))


def _without_numbers(line: str) -> str:
    return re.sub(r"\d+", "", line).strip()
