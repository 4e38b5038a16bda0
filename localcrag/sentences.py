"""Text to sentences with their places, for chunks and strips. Knows nothing of documents, tokens or scores.

The sentence rules are sentencex's (Wikimedia's splitter: abbreviations, decimals, quotations, scripts without spaces).
What a line may mean by itself (heading, list item, table row) is decided here first, since a sentence splitter only
knows running text.
"""

from __future__ import annotations

import re

from sentencex import get_sentence_boundaries  # type: ignore[attr-defined]  # compiled, exported without stubs

from localcrag.datatypes import Span

# A line that begins a block of its own: a bullet, a number or letter of a list, a Markdown heading, quotation or row.
_MARKER = re.compile(r"[ \t]*(?:[-*+•‣◦▪–—]|\d{1,3}[.)]|[a-zA-Z][.)]|#{1,6}|>|\|)[ \t]+|[ \t]*\|")
_ONE_LINE = re.compile(r"[ \t]*(?:#{1,6}[ \t]|\|)")  # a heading or a table row ends with its line
_WORD = re.compile(r"\w")


def split_sentences(text: str, language: str = "en") -> list[Span]:
    """Return the sentences of `text` in order, without the white space around them; nothing but white space is lost.

    Newlines within a paragraph do not end a sentence; blank lines, list items, headings and table rows do.
    Pieces without a letter or digit (a ruler, a row of dots) join the sentence before them.
    """
    spans: list[Span] = []
    for start, end in _blocks(text):
        # The marker of a list item is no sentence: "1. First" would be split after its number.
        marker = _MARKER.match(text, start, end)
        body = marker.end() if marker else start
        # Newlines as spaces, or an abbreviation at the beginning of a line is not seen as one. Offsets stay.
        running = text[body:end].replace("\n", " ")
        found = get_sentence_boundaries(language, running)
        pieces = [(body + sentence["start_index"], body + sentence["end_index"]) for sentence in found]
        if pieces:
            pieces[0] = (start, pieces[0][1])
        elif body > start:
            pieces = [(start, end)]
        for piece in pieces:
            _append(spans, text, *piece)
    return spans


def _append(spans: list[Span], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    end -= len(piece) - len(piece.rstrip())
    if start >= end:
        return
    if spans and not _WORD.search(text, start, end):
        start = spans.pop().start
    spans.append(Span(start, end, text[start:end]))


def _blocks(text: str) -> list[tuple[int, int]]:
    """Return the places of paragraphs, list items, headings and table rows."""
    blocks: list[tuple[int, int]] = []
    open_block = False
    position = 0
    for line in text.splitlines(keepends=True):
        start, position = position, position + len(line)
        if not line.strip():
            open_block = False
        elif not _WORD.search(line):
            # A ruler belongs to the line above it, and ends what it underlines.
            blocks.append((start, position))
            open_block = False
        elif open_block and not _MARKER.match(line):
            blocks[-1] = (blocks[-1][0], position)
        else:
            blocks.append((start, position))
            open_block = not _ONE_LINE.match(line)
    return blocks
