"""A web result as a document of a collection: its text in Markdown, and its name.

What the web wrote stays material: it is screened when it is retrieved, like any document. Here is only seen to it that
title and address cannot become another line of the front matter, or a path. Knows no file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container
from dataclasses import dataclass
from urllib.parse import urlsplit

from localcrag.records.enums import Origin
from localcrag.records.errors import GapError
from localcrag.records.passages import GradedPassage
from localcrag.records.run import Run
from localcrag.text.sanitize import without_unseen
from localcrag.text.words import one_line

LONGEST_TITLE = 80
"""Characters of a title in a document's name."""
_UNSAFE = re.compile(r"[^\w .,'’()+&-]+")


@dataclass(frozen=True, slots=True)
class WebDocument:
    """A document to be: `name` says that it is of the web, and of which host."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        """The checksum that the document would be stored with."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def choose(run: Run, number: int | None = None) -> GradedPassage:
    """Return the web passage that answered a run, or its web result of that number (from 1).

    The one that answered is the first that a backed sentence of the answer cites, else the most relevant one. Raises
    GapError when there is none.
    """
    found = [passage for passage in run.passages if passage.origin is Origin.WEB]
    if not found:
        raise GapError(f"The run {run.run_id} has no web results: there is no web text to add.")
    if number is not None:
        # A passage's id is "web-N", N counting from 1 (search.py); a discarded search has none.
        wanted = next((passage for passage in found if passage.id == f"web-{number}"), None)
        if wanted is None:
            there = ", ".join(passage.id.removeprefix("web-") for passage in found)
            raise GapError(f"The run {run.run_id} has no web result {number}; there are: {there}.")
        return wanted
    cited = [n for support in run.support if support.shown and support.supported for n in support.citations]
    behind = [piece.passage for n in cited for piece in run.evidence if piece.n == n]
    of_web = {passage.id: passage for passage in found}
    return next((of_web[name] for name in behind if name in of_web), max(found, key=lambda one: one.relevance))


def make(passage: GradedPassage) -> WebDocument:
    """Return the document of a web passage. Raises GapError when the passage holds no text."""
    if not one_line(passage.text):
        raise GapError(f"The web result {passage.url} holds no text to add.")
    title, url = _line(passage.title or ""), _line(passage.url or "")
    matter = [*([f"date: {passage.dated}"] if passage.dated else []), f"source: {url}"]
    heading = f"# {title}\n\n" if title else ""
    text = "---\n" + "\n".join(matter) + f"\n---\n\n{heading}{passage.text.strip()}\n"
    return WebDocument(_name(title, url), text)


def free_name(document: WebDocument, taken: Container[str]) -> str:
    """Return the document's name, numbered when another document has it."""
    name, number = document.name, 1
    while name in taken:
        number += 1
        name = f"{document.name.removesuffix('.md')} {number}.md"
    return name


def _line(text: str) -> str:
    return one_line(without_unseen(text))


def _name(title: str, url: str) -> str:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        host = ""
    safe = _UNSAFE.sub(" ", title)
    plain = one_line(safe)[:LONGEST_TITLE].strip(" .") or "Page"
    where = ", ".join(["web", *([_UNSAFE.sub("", host)] if host else [])])
    return f"{plain} ({where}).md"
