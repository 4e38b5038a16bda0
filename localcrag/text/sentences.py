"""Split text into sentences, with their spans in the text.

The sentence rules are those of sentencex, Wikimedia's splitter, which knows abbreviations, decimals, quotations and
scripts without spaces. A sentence splitter only knows running text, so this module first separates headings, list
items, table rows, quotations and code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sentencex import get_sentence_boundaries  # type: ignore[attr-defined]  # compiled, exported without stubs

from localcrag.text.lexicon import LEXICONS, current_language
from localcrag.text.words import OTHER_LANGUAGE, detect_text_language


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a longer text: `text == longer[start:end]`."""

    start: int
    end: int
    text: str


# The beginning of a line that starts a block: a bullet, a list number or letter, a Markdown heading, quotation or row.
_MARKER = re.compile(
    r"[ \t]*(?:[-*+•‣◦▪▫●○■□◆➢✓✔–—]|\(?\d{1,3}[.)]|\(?[a-zA-Z]\)|[a-zA-Z]\.|#{1,6}|>|\|)[ \t]+|[ \t]*\|"
)
_MARK = re.compile(r"\s*\(?\d{1,3}[.)]\s*")  # The number of an item within a line: "1. Wait. 2. Go."
_INITIAL = re.compile(r"[ \t]*[A-Z]\.[ \t]")
_QUOTED = re.compile(r"[ \t]*>[ \t]")
_ONE_LINE = re.compile(r"[ \t]*(?:#{1,6}[ \t]|\|)")  # A heading or a table row ends with its line.
_FENCE = re.compile(r"[ \t]*(```|~~~)")  # Markdown's mark for code
CLAUSE_ENDS = r"[;,](?=\s)|[()]|\s[–—-]\s"
"""Regular expression for the punctuation that ends a clause within a sentence."""
_BLANK_LINES = re.compile(r"\n\s*\n")
_NEW_LINE = re.compile(r"\r?\n(?:[ \t]*>[ \t])?")
_WORD = re.compile(r"\w")
_CLOSING = re.compile(r"(\*\*|__|[*_])(?=\s)")
"""Markdown's emphasis mark in a place where it may end the emphasis."""
_OTHER_SPACE = re.compile(r"[^\S ]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# Abbreviations that sentencex does not know; before a number they do not end a sentence: "Eq. 4", "vol. 2".
_REFERENCE = re.compile(
    r"\b(?:eqs?|vols?|chs?|chap|secs?|sect|arts?|paras?|tab|app|refs?|nr|nos|рис|см)\.\s*$", re.IGNORECASE
)

LEAST_WORDS = 12
"""Number of words above which a text is split by the rules of its own language, not the question's."""
LONGEST_REFERENCE = 12
"""Characters of the longest abbreviation in `_REFERENCE`, with the white space after it."""
CHARACTERS_AT_ONCE = 10_000
"""Characters of running text to split at once; hardly any paragraph is longer, but a file with one line may be."""


def split_sentences(text: str, language: str | None = None) -> list[Span]:
    """Return the sentences of `text` in order, without surrounding white space; nothing but white space is lost.

    The `language` decides which full stops end no sentence ("am 3. Mai", "núm. 5"); the default is
    `splitting_language`. Newlines within a paragraph do not end a sentence; blank lines, list items, headings and
    table rows do. Fenced code is split at its blank lines only. A piece without letters and digits, such as a rule or
    a row of dots, becomes part of the sentence before it.
    """
    spans: list[Span] = []
    position = 0
    language = language or splitting_language(text)
    for start, end in [*_fenced(text), (len(text), len(text))]:
        for block in _blocks(text, position, start):
            for sentence in _sentences(text, *block, language):
                _append(spans, text, *sentence)
        for paragraph in _paragraphs(text, start, end):
            _append(spans, text, *paragraph)
        position = end
    return spans


def splitting_language(text: str) -> str:
    """Return the code of the language whose rules split a text.

    This is the text's own language if the text is long enough to detect it, and otherwise the language of the current
    question (localcrag.text.lexicon.comparing_in_language).
    """
    own = detect_text_language(text) if len(text.split(None, LEAST_WORDS)) > LEAST_WORDS or not text.isascii() else None
    return own if own and own != OTHER_LANGUAGE else current_language()


def _sentences(text: str, start: int, end: int, language: str) -> list[tuple[int, int]]:
    # Leave out a list item's marker: otherwise "1. First" would be split after its number.
    marker = _MARKER.match(text, start, end)
    body = marker.end() if marker else start
    # sentencex recognises abbreviations at the beginning of a line only if newlines are spaces. Offsets stay valid.
    running = _NEW_LINE.sub(lambda found: " " * len(found[0]), text[body:end])
    running = _SURROGATE.sub("\ufffd", running)  # sentencex accepts only text that can be encoded as UTF-8.
    running = _OTHER_SPACE.sub(" ", running)  # sentencex panics at a multi-byte space after a capital letter.
    pieces: list[tuple[int, int]] = []
    for begins, last in _boundaries(running, language):
        first = begins
        if pieces and (
            _MARK.fullmatch(running, pieces[-1][0] - body, first) or _continues_sentence(running, first, language)
        ):
            first = pieces.pop()[0] - body
        elif pieces and (closing := _CLOSING.match(running, first)):
            # In "**Emergency switch.** It is ...", the closing mark belongs to the emphasised sentence.
            before = pieces[-1][0]
            if running.count(closing[1], before - body, first) % 2:
                pieces[-1] = (before, body + closing.end())
                first = closing.end()
        pieces.append((body + first, body + last))
    if pieces:
        pieces[0] = (start, pieces[0][1])
    elif body > start:
        pieces = [(start, end)]
    return pieces


def _continues_sentence(running: str, first: int, language: str) -> bool:
    """Return whether sentencex split at an abbreviation, so that the piece from `first` continues the sentence."""
    beginning, before = running[first : first + 1], max(0, first - LONGEST_REFERENCE)
    words = LEXICONS.get(language)
    if words and (beginning.islower() or words.shortened.search(running, before, first)):
        return True
    return beginning.isdigit() and _REFERENCE.search(running, before, first) is not None


def _boundaries(running: str, language: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets of sentences in running text, CHARACTERS_AT_ONCE at a time: sentencex takes quadratic time."""
    start = 0
    while start < len(running):
        some = running[start : start + CHARACTERS_AT_ONCE]
        found = [(one["start_index"], one["end_index"]) for one in get_sentence_boundaries(language, some)]
        if start + len(some) < len(running):
            if len(found) > 1:
                found.pop()  # The last sentence may continue after this piece of text.
            elif (space := some.rfind(" ")) > 0:  # Without a sentence end, cut at a space so that words stay whole.
                found = [(0, space + 1)]
        yield from ((start + first, start + last) for first, last in found)
        start += found[-1][1] if found else len(some)


def _append(spans: list[Span], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    end -= len(piece) - len(piece.rstrip())
    if start >= end:
        return
    if spans and not _WORD.search(text, start, end):
        start = spans.pop().start
    spans.append(Span(start, end, text[start:end]))


def _fenced(text: str) -> list[tuple[int, int]]:
    """Return the offsets of fenced code; a fence that is never closed begins no code."""
    places: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    position = 0
    for line in text.splitlines(keepends=True):
        start, position = position, position + len(line)
        fence = _FENCE.match(line)
        if fence and opened is None:
            opened = (start, fence[1])
        elif opened and line.strip() == opened[1]:
            places.append((opened[0], position))
            opened = None
    return places


def _paragraphs(text: str, start: int, end: int) -> list[tuple[int, int]]:
    breaks = [found.end() for found in _BLANK_LINES.finditer(text, start, end)]
    return list(zip([start, *breaks], [*breaks, end], strict=True))


def _blocks(text: str, begin: int, end: int) -> list[tuple[int, int]]:
    """Return the offsets of paragraphs, list items, headings, quotations and table rows."""
    blocks: list[tuple[int, int]] = []
    opener = before = ""  # The first line of the block that may continue, and the line before the current one.
    position = begin
    for line in text[begin:end].splitlines(keepends=True):
        start, position = position, position + len(line)
        if not line.strip():
            opener = ""
        elif not _WORD.search(line):
            # A rule is a block of its own, which later joins the line above; it ends the block that it underlines.
            blocks.append((start, position))
            opener = ""
        elif opener and not _begins(line, opener, before):
            blocks[-1] = (blocks[-1][0], position)
        else:
            blocks.append((start, position))
            opener = "" if _ONE_LINE.match(line) or _is_row(line) else line
        before = line
    return blocks


def _begins(line: str, opener: str, before: str) -> bool:
    """Return whether a line begins a block, after another block with first line `opener` and last line `before`."""
    if _INITIAL.match(line):
        # An initial may begin a line within a sentence ("… by", next line "J. Smith"), where it is not a list letter.
        return bool(_INITIAL.match(opener)) or before.rstrip().endswith((".", ":", ";", "!", "?"))
    if quoted := _QUOTED.match(line):
        return not _QUOTED.match(opener) or _MARKER.match(line, quoted.end()) is not None
    return bool(_MARKER.match(line) or _is_row(line))


def _is_row(line: str) -> bool:
    """Return whether a line is a table row: it has words on both sides of a tab."""
    first, _, others = line.strip().partition("\t")
    return bool(_WORD.search(first) and _WORD.search(others))
