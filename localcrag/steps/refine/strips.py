"""Strips: a passage is cut into sentences, groups, paragraphs, windows, or by its length.

Sentences are sentences.py's; every mode but the window is made of them. In the mode sentence the blocks of blocks.py
come first: a step, a row or a line by itself says what half of it does not. Knows nothing of questions or scores.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import assert_never

from localcrag.records.enums import StripMode
from localcrag.text.blocks import Block, BlockKind, blocks_of
from localcrag.text.sentences import rules_for, split_sentences
from localcrag.text.span import Span

MOST_JOINED = 3
"""Sentences in a strip of the mode multi-sentence."""
SHORT_WORDS = 15
"""A sentence of fewer words is short. English prose has 15 to 20 words a sentence."""
ADAPTIVE_STRIPS = ((150, 4), (400, 8))
"""A passage of up to so many words has about so many strips: a chunk of the default length (180 tokens) has four."""
MOST_ADAPTIVE_STRIPS = 16
ITEM_SENTENCES, ITEM_WORDS = 2, 60
"""A list item, or a line that stands by itself, with no more of the one or of the other is one strip."""

# Written without spaces: Thai, Lao, Burmese, Khmer; kana, Han (with its extensions). Each letter counts as a word.
_SPACELESS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_SPACELESS}][^\w\s]*|[^\s{_SPACELESS}]+")
_SAYS = re.compile(r"\w")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n|\f")


def split_into_strips(text: str, mode: StripMode, *, window_words: int) -> list[Span]:
    """Return the strips of `text` in order, without the white space around them; nothing but white space is lost.

    `window_words` is the length of a strip in the mode window.
    """
    match mode:
        case StripMode.SENTENCE:
            return _whole_blocks(text)
        case StripMode.MULTI_SENTENCE:
            return _joined(text, split_sentences(text))
        case StripMode.PARAGRAPH:
            return [_whole(text, group) for group in _paragraphs(text, split_sentences(text))]
        case StripMode.WINDOW:
            return _windows(text, window_words)
        case StripMode.ADAPTIVE:
            return _adapted(text, split_sentences(text))
        case _:
            assert_never(mode)


def count_words(text: str) -> int:
    """Return the number of words; in scripts written without spaces each letter counts as one."""
    return len(_WORD.findall(text))


def _whole_blocks(text: str) -> list[Span]:
    """Return rows, steps, lines, headings and code whole, paragraphs and long items in sentences."""
    places: list[tuple[int, int]] = []
    language = rules_for(text)
    for block in blocks_of(text):
        for start, end in _cut(text, block, language):
            if places and not _SAYS.search(text, start, end):
                places[-1] = (places[-1][0], end)  # A ruler belongs to what stands above it.
            else:
                places.append((start, end))
    if not places:
        return split_sentences(text, language)
    # Marks that are of no block, as those of a quotation, go with what they stand before.
    ends = [0, *(end for _, end in places[:-1])]
    whole = [(_first_mark(text, end, start), stop) for end, (start, stop) in zip(ends, places, strict=True)]
    whole[-1] = (whole[-1][0], len(text))
    return [_span(text, start, end) for start, end in whole]


def _cut(text: str, block: Block, language: str) -> list[tuple[int, int]]:
    place = (block.start, block.end)
    if block.kind not in (BlockKind.PARAGRAPH, BlockKind.ITEM, BlockKind.LINE):
        return [place]
    piece = text[block.start : block.end]
    sentences = split_sentences(piece, language)
    short = len(sentences) <= ITEM_SENTENCES or count_words(piece) <= ITEM_WORDS
    if block.kind is not BlockKind.PARAGRAPH and short:
        return [place]
    return [(block.start + span.start, block.start + span.end) for span in sentences] or [place]


def _first_mark(text: str, start: int, end: int) -> int:
    """Return where the first character that is no white space stands, `end` where there is none before it."""
    return next((place for place in range(start, end) if not text[place].isspace()), end)


def _joined(text: str, sentences: Sequence[Span]) -> list[Span]:
    """Return short sentences of a paragraph joined to two or three; a long sentence stays alone."""
    strips = []
    for paragraph in _paragraphs(text, sentences):
        group: list[Span] = []
        for sentence in paragraph:
            long = count_words(sentence.text) >= SHORT_WORDS
            if group and (long or len(group) == MOST_JOINED):
                strips.append(_whole(text, group))
                group = []
            group.append(sentence)
            if long:
                strips.append(_whole(text, group))
                group = []
        if group:
            strips.append(_whole(text, group))
    return strips


def _adapted(text: str, sentences: Sequence[Span]) -> list[Span]:
    """Return about as many strips as the passage's length calls for, of whole sentences.

    Long sentences are taken one by one, short ones joined first; where that makes too many, neighbours are joined.
    """
    if not sentences:
        return []
    words = sum(count_words(sentence.text) for sentence in sentences)
    short = words / len(sentences) < SHORT_WORDS
    strips = _joined(text, sentences) if short else list(sentences)
    return _shared_out(text, strips, adaptive_strips(words))


def adaptive_strips(words: int) -> int:
    """Return how many strips a passage of so many words should have."""
    return next((number for limit, number in ADAPTIVE_STRIPS if words <= limit), MOST_ADAPTIVE_STRIPS)


def _shared_out(text: str, strips: Sequence[Span], most: int) -> list[Span]:
    """Return up to `most` strips of about the same number of words, made by joining neighbours."""
    if len(strips) <= most:
        return list(strips)
    lengths = [count_words(strip.text) for strip in strips]
    total = sum(lengths)
    groups: list[list[Span]] = [[] for _ in range(most)]
    before = 0
    for strip, length in zip(strips, lengths, strict=True):
        # Where a strip's middle lies says which of the equal parts it belongs to.
        groups[int((before + length / 2) / total * most)].append(strip)
        before += length
    return [_whole(text, group) for group in groups if group]


def _paragraphs(text: str, sentences: Sequence[Span]) -> list[list[Span]]:
    """Return the sentences in groups, parted by blank lines and page breaks."""
    groups = [list(sentences[:1])] if sentences else []
    for before, sentence in pairwise(sentences):
        if _BLANK_LINE.search(text, before.end, sentence.start):
            groups.append([])
        groups[-1].append(sentence)
    return groups


def _windows(text: str, words: int) -> list[Span]:
    starts = [found.start() for found in _WORD.finditer(text)][::words]
    return [_span(text, start, end) for start, end in pairwise([*starts, len(text)])]


def _whole(text: str, group: Sequence[Span]) -> Span:
    return _span(text, group[0].start, group[-1].end)


def _span(text: str, start: int, end: int) -> Span:
    piece = text[start:end].rstrip()
    return Span(start, start + len(piece), piece)
