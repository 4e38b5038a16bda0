"""Titles: what a passage is part of, in a line. Knows no file format.

“The tank holds 3.5 litres” answers a question about the KX-40 only for those who know which manual they read. So a
passage is embedded and scored with its document's title in front (docs/evaluation.md).
"""

from __future__ import annotations

import re
from pathlib import PurePath

from localcrag.text.words import one_line, words_in

BEGINNING = 2000
"""Characters of a document that its title is looked for in."""
LONGEST = 120
"""Characters of a title. It must leave room for the passage in the models' windows."""
HEADING_WORDS = 15
"""A line of fewer words that ends no sentence introduces what follows."""

SEPARATOR = " › "
"""Between the headings of a path."""

FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
"""Markdown's, as static site generators read it."""
_FRONT_MATTER_TITLE = re.compile(r"^title:[ \t]*[\"']?([^\n\"']+?)[\"']?[ \t]*$", re.MULTILINE)
_IN_SENTENCE = re.compile(r"[.!?…,。！？，؟।][\"'”’»)\]]*$")
_MARKS = re.compile(r"^[#>*=_\s]+|[#*=_\s]+$")
_BETWEEN_WORDS = re.compile(r"[-_.\s]+")


def title_of(beginning: str, name: str) -> str:
    """Return a document's title: of its front matter, else its first line if that is a heading, else its file's name.

    `beginning` is the beginning of its text. The title is one line of at most LONGEST characters, without Markdown.
    """
    matter = FRONT_MATTER.match(beginning)
    if matter and (written := _FRONT_MATTER_TITLE.search(matter[1])):
        return _line(written[1])
    text = beginning[matter.end() :] if matter else beginning
    first = next((line for line in text.splitlines() if words_in(line)), "")
    if is_heading(first):
        return _line(_MARKS.sub("", first))
    return named(name)


def named(name: str) -> str:
    """Return the title that a file's name makes."""
    return _line(_BETWEEN_WORDS.sub(" ", PurePath(name).stem))


def is_heading(line: str) -> bool:
    """Whether a line is short and ends neither a sentence nor a clause, as "Dear Mr Roe," does."""
    return 0 < len(words_in(line)) < HEADING_WORDS and not _IN_SENTENCE.search(line.rstrip())


def heading_text(line: str) -> str:
    """Return what a heading says, without Markdown's marks and without the colon behind it."""
    return _line(_MARKS.sub("", line.split("\n", 1)[0]).rstrip(" :"))


def in_context(title: str | None, text: str, *, section: str | None = None, lead: str | None = None) -> str:
    """Return a passage with what it is part of in front (`in_front`)."""
    front = in_front(title, text, section=section, lead=lead)
    return f"{front}\n\n{text}" if front else text


def in_front(title: str | None, text: str, *, section: str | None = None, lead: str | None = None) -> str:
    """Return what a passage is part of, as far as it does not say that itself.

    That is the title of its document and the path of headings that it stands under, in a line, and what leads into it.
    """
    path = SEPARATOR.join(part for part in (title, section) if part and part not in text)
    return "\n".join(part for part in (path, lead) if part)


def _line(title: str) -> str:
    return one_line(title)[:LONGEST].strip()
