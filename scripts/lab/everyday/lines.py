"""Decide whether a text contains a needed line: the same words, whatever their formatting.

The comparison ignores Markdown, citations, quotation marks, kinds of dashes, white space and the pipes of tables. It
treats "20 %" as "20%", and a word hyphenated at the end of a line as one word. Upper and lower case differ.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from localcrag.text.words import SUPPORTED_SHARE, content_words

LEAST_WORDS = 3
"""Fewest content words in a line that is searched by its words: two may occur together by chance."""

_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_MARKERS = re.compile(r"^\s*(?:(?:>|#{1,6}\s|[-+*•]\s|\d{1,3}[.)]\s|\[[ xX]\]\s)\s*)+")
_RULE = re.compile(r"^(?:[\s|:=*_-]*|\s*```\s*\w*\s*)$")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_ADDRESS_IN_BRACKETS = re.compile(r"\s*\(https?://[^()\s]*\)")
_CITATION = re.compile(r"\s*\[\d{1,3}(?:\s*[,–-]\s*\d{1,3})*\](?:\([^()\s]*\))?")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_EMPHASIS = re.compile(r"\*+|~~|(?<!\w)_+|_+(?!\w)")
_QUOTES = re.compile(r"[\"'`´‘’‚‛“”„‟«»‹›]")
_DASHES = re.compile(r"[‐‑‒–—―−]")
_PERCENT = re.compile(r"(?<=\d)\s+%")
_SPACE = re.compile(r"\s+")
_BEFORE_POINT = re.compile(r"\s+(?=[.,;:!?](?:\s|$))")
_HYPHENATED = re.compile(r"(?<=[a-z])[-\u00ad]\s*\n\s*(?=[a-z])")
_HYPHEN_AND_SPACE = re.compile(r"(?<=[a-z])[-\u00ad] (?=[a-z])")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9(])")
_POINTS = " .,;:!?"
_ITEM = re.compile(r"^\s*(?:>\s*)*(?:[-+*•]|\d{1,3}[.)])\s")


def normalised(text: str) -> str:
    """Return a text's words and numbers in the form for comparison, in one line."""
    lines = (_line(line) for line in _HYPHENATED.sub("", text).splitlines())
    return _HYPHEN_AND_SPACE.sub("", " ".join(line for line in lines if line))


def _line(line: str) -> str:
    line = unicodedata.normalize("NFKC", html.unescape(_ESCAPED.sub(r"\1", line)))
    if _RULE.match(line):
        return ""
    line = _CITATION.sub("", _TAG.sub(" ", _MARKERS.sub("", line)))
    line = _ADDRESS_IN_BRACKETS.sub("", _LINK.sub(r"\1", line))
    line = _QUOTES.sub("", _EMPHASIS.sub("", line))
    line = _PERCENT.sub("%", _DASHES.sub("-", line)).replace("|", " ")
    return _BEFORE_POINT.sub("", _SPACE.sub(" ", line)).strip()


@dataclass(frozen=True, slots=True)
class Text:
    """A text to search: in one line, line by line, and the content words of each paragraph, row or list item."""

    whole: str
    lines: tuple[str, ...]
    words: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, text: str) -> Text:
        """Make a Text from Markdown or plain text."""
        lines = (normalised(line) for line in text.splitlines())
        words = (frozenset(content_words(normalised(block))) for block in blocks(text))
        return cls(normalised(text), tuple(line for line in lines if line), tuple(words))


def blocks(text: str) -> list[str]:
    """Return the paragraphs, table rows and list items of a text, each item with its continuation lines."""
    found: list[list[str]] = []
    open_block = False
    for line in text.splitlines():
        row = _is_row(line)
        if not line.strip():
            open_block = False
        elif row or not open_block or _ITEM.match(line) or line.lstrip().startswith("#"):
            found.append([line])
            open_block = not row and not line.lstrip().startswith("#")
        else:
            found[-1].append(line)
    return ["\n".join(lines) for lines in found]


def stands_in(line: str, texts: Sequence[Text]) -> bool:
    """Return whether the texts contain a line: one contains all of it, or each of its sentences is in one of them.

    A text also contains a table row if one of its lines has all of the row's cells.
    """
    needed, sentences, cells = _forms(line)
    if not needed or any(_within(needed, text.whole) for text in texts):
        return True
    if len(cells) > 1 and any(all(_within(cell, row) for cell in cells) for text in texts for row in text.lines):
        return True
    return len(sentences) > 1 and all(any(_within(one, text.whole) for text in texts) for one in sentences)


def is_said_in(line: str, answer: Text) -> bool:
    """Return whether an answer contains a line, or one paragraph, row or item has nearly all its content words.

    “Nearly all” is at least HELD of them (0.9), if the line has at least LEAST_WORDS.
    """
    if stands_in(line, [answer]):
        return True
    needed = content_words(normalised(line))
    return len(needed) >= LEAST_WORDS and any(
        len(needed & words) >= SUPPORTED_SHARE * len(needed) for words in answer.words
    )


def says_fact(fact: str, answer: Text) -> bool:
    """Return whether an answer has a short fact, in upper or lower case, and not within a longer word or number."""
    return _within(_stripped(normalised(fact)).casefold(), answer.whole.casefold())


def needed_lines(evidence: Iterable[str], document: str) -> tuple[str, ...]:
    """Return the lines of evidence that carry the answer, without headings and header rows of tables.

    If there are no others, return all lines.
    """
    headers = _header_rows(document)
    every = tuple(evidence)
    carrying = tuple(
        line
        for line in every
        if not line.lstrip().startswith("#") and normalised(line) not in headers and _forms(line)[0]
    )
    return carrying or every


def _header_rows(document: str) -> set[str]:
    """Return the first row of each table, that is, of at least two consecutive lines with pipes."""
    lines = document.splitlines()
    is_row = [*map(_is_row, lines), False]
    return {
        normalised(line)
        for at, line in enumerate(lines)
        if is_row[at] and is_row[at + 1] and not (at and is_row[at - 1])
    }


def _is_row(line: str) -> bool:
    return line.count("|") > 1 or " | " in line


@lru_cache(maxsize=20_000)
def _forms(line: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return a line in the forms to search for: whole, its sentences, and its cells if it is a table row."""
    whole = normalised(line)
    sentences = tuple(_stripped(one) for one in _SENTENCE_END.split(whole))
    cells = tuple(_stripped(normalised(cell)) for cell in line.split("|")) if _is_row(line) else ()
    return _stripped(whole), sentences, tuple(cell for cell in cells if any(map(str.isalnum, cell)))


def _stripped(text: str) -> str:
    return text.strip(_POINTS)


def _within(part: str, text: str) -> bool:
    """Return whether a text contains the part, and not within a longer word or number."""
    return part in text and bool(re.search(rf"(?<!\w)(?<!\d[.,]){re.escape(part)}(?!\w)(?![.,]\d)", text))
