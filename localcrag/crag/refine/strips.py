"""Strips: cut a passage into sentences, and map each to its block, list, table and headings.

The sentences come from text/sentences.py; every mode except the window uses them. In the sentence mode, the text is
first split into blocks (text/blocks.py), because half a step, row or line does not mean the same as the whole. This
module knows nothing about questions or scores.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise
from typing import assert_never

from localcrag.records.enums import StripMode, StripReason
from localcrag.records.passages import GradedPassage, Passage, Strip
from localcrag.text.blocks import INTRODUCTION_END, Block, BlockKind, split_blocks
from localcrag.text.places import SheetRow, rows_within, shift_rows
from localcrag.text.sentences import Span, split_sentences, splitting_language
from localcrag.text.titles import SEPARATOR, heading_text

MAX_JOINED = 3
"""Maximum number of sentences in a strip of the multi-sentence mode."""
SHORT_WORDS = 15
"""Number of words below which a sentence is short. English prose has 15 to 20 words a sentence."""
ADAPTIVE_STRIPS = ((150, 4), (400, 8))
"""Adaptive mode: maximum words of a passage, and its number of strips. A chunk of the default length (180 tokens) has
four."""
MAX_ADAPTIVE_STRIPS = 16
"""Adaptive mode: strips of a longer passage."""
ITEM_SENTENCES, ITEM_WORDS = 2, 60
"""Maximum number of sentences, or else of words, in a list item or single line that forms one strip."""

# Scripts without spaces: Thai, Lao, Burmese, Khmer; kana, Han (with its extensions). Each letter counts as a word.
_SPACELESS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_SPACELESS}][^\w\s]*|[^\s{_SPACELESS}]+")
_HAS_WORD = re.compile(r"\w")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n|\f")


def split_into_strips(text: str, mode: StripMode, *, window_words: int) -> list[Span]:
    """Return the strips of `text` in order, without surrounding white space; they omit nothing else.

    `window_words` is the length of a strip in the window mode.
    """
    match mode:
        case StripMode.SENTENCE:
            return _split_blocks(text)
        case StripMode.MULTI_SENTENCE:
            return _join_short(text, split_sentences(text))
        case StripMode.PARAGRAPH:
            return [_merge(text, group) for group in _paragraphs(text, split_sentences(text))]
        case StripMode.WINDOW:
            return _windows(text, window_words)
        case StripMode.ADAPTIVE:
            return _split_adaptively(text, split_sentences(text))
        case _:
            assert_never(mode)


def passage_strip(
    passage: GradedPassage, place: tuple[int, int], dropped_or_kept: tuple[StripReason, StripReason], *, kept: bool
) -> Strip:
    """Return the strip at a place of a passage, with the relevance of the passage."""
    text, reason = passage.text[slice(*place)], dropped_or_kept[kept]
    return Strip(passage.id, *place, text, passage.logit, passage.relevance, kept, reason)


def count_words(text: str) -> int:
    """Return the number of words; in scripts written without spaces each letter counts as one."""
    return len(_WORD.findall(text))


def _split_blocks(text: str) -> list[Span]:
    """Return rows, steps, lines, headings and code as one span each; split paragraphs and long items into sentences."""
    places: list[tuple[int, int]] = []
    language = splitting_language(text)
    for block in split_blocks(text):
        for start, end in _cut(text, block, language):
            if places and not _HAS_WORD.search(text, start, end):
                places[-1] = (places[-1][0], end)  # A ruled line belongs to the block above it.
            else:
                places.append((start, end))
    if not places:
        return split_sentences(text, language)
    # Marks outside every block, such as quotation marks, belong to the block that follows them.
    ends = [0, *(end for _, end in places[:-1])]
    whole = [(_first_non_space(text, end, start), stop) for end, (start, stop) in zip(ends, places, strict=True)]
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


def _first_non_space(text: str, start: int, end: int) -> int:
    """Return the position of the first character that is not white space; `end` if there is none before it."""
    return next((place for place in range(start, end) if not text[place].isspace()), end)


def _join_short(text: str, sentences: Sequence[Span]) -> list[Span]:
    """Return the short sentences of a paragraph joined in groups of up to MAX_JOINED; a long sentence stays alone."""
    strips = []
    for paragraph in _paragraphs(text, sentences):
        for short, some in groupby(paragraph, key=lambda sentence: count_words(sentence.text) < SHORT_WORDS):
            run, size = list(some), MAX_JOINED if short else 1
            strips += [_merge(text, run[at : at + size]) for at in range(0, len(run), size)]
    return strips


def _split_adaptively(text: str, sentences: Sequence[Span]) -> list[Span]:
    """Return about as many strips as suit the passage's length, made of whole sentences.

    Long sentences stay single, and short ones are joined first. If there are still too many, neighbours are joined.
    """
    if not sentences:
        return []
    words = sum(count_words(sentence.text) for sentence in sentences)
    short = words / len(sentences) < SHORT_WORDS
    strips = _join_short(text, sentences) if short else list(sentences)
    return _balance(text, strips, adaptive_strips(words))


def adaptive_strips(words: int) -> int:
    """Return how many strips a passage with this many words should have."""
    return next((number for limit, number in ADAPTIVE_STRIPS if words <= limit), MAX_ADAPTIVE_STRIPS)


def _balance(text: str, strips: Sequence[Span], most: int) -> list[Span]:
    """Return up to `most` strips of about the same number of words, made by joining neighbours."""
    if len(strips) <= most:
        return list(strips)
    lengths = [count_words(strip.text) for strip in strips]
    total = sum(lengths)
    groups: list[list[Span]] = [[] for _ in range(most)]
    before = 0
    for strip, length in zip(strips, lengths, strict=True):
        # The position of a strip's middle shows which of the equal parts it belongs to.
        groups[int((before + length / 2) / total * most)].append(strip)
        before += length
    return [_merge(text, group) for group in groups if group]


def _paragraphs(text: str, sentences: Sequence[Span]) -> list[list[Span]]:
    """Return the sentences in groups, separated by blank lines and page breaks."""
    groups = [list(sentences[:1])] if sentences else []
    for before, sentence in pairwise(sentences):
        if _BLANK_LINE.search(text, before.end, sentence.start):
            groups.append([])
        groups[-1].append(sentence)
    return groups


def _windows(text: str, words: int) -> list[Span]:
    starts = [found.start() for found in _WORD.finditer(text)][::words]
    return [_span(text, start, end) for start, end in pairwise([*starts, len(text)])]


def _merge(text: str, group: Sequence[Span]) -> Span:
    return _span(text, group[0].start, group[-1].end)


def _span(text: str, start: int, end: int) -> Span:
    piece = text[start:end].rstrip()
    return Span(start, start + len(piece), piece)


MAX_BLOCKS_BETWEEN = 4
"""Maximum number of blocks (a note, a picture's caption, bullets) between two steps of one procedure."""

_ORDINAL = re.compile(r"(?i)(?:step[ \t]+)?\(?(\d{1,3})[.):]?\s")
_TEXT = (BlockKind.PARAGRAPH, BlockKind.LINE, BlockKind.HEADING)


@dataclass(frozen=True, slots=True)
class StripPlace:
    """Place of a strip in its passage; blocks are named by their index in the passage.

    `headings` are those above the block, outermost first. `group` is the first block of the list or table that contains
    the strip or that the strip introduces, or None. `leads` marks the header of a table and text that introduces a
    group.
    """

    block: int
    kind: BlockKind
    headings: tuple[int, ...] = ()
    group: int | None = None
    steps: bool = False
    leads: bool = False


def strip_places(passage: Passage, strips: Sequence[Strip]) -> list[StripPlace]:
    """Return the place of each strip in its passage, in order."""
    text, blocks = passage.text, passage_blocks(passage)
    groups = _groups(text, blocks)
    lead_ins = {group[0] - 1: group[0] for group in groups if _leads_into(text, blocks, group[0])}
    group_start = {at: group[0] for group in groups for at in group}
    headings = _headings(blocks)
    found = [next((at for at, block in enumerate(blocks) if block.end > strip.start), -1) for strip in strips]
    parts = []
    for place, at in enumerate(found):
        if at < 0:
            parts.append(StripPlace(-1, BlockKind.PARAGRAPH))
            continue
        last_of_block = place + 1 == len(found) or found[place + 1] != at
        leads = at in lead_ins and last_of_block
        group = lead_ins[at] if leads else group_start.get(at)
        steps = group is not None and blocks[group].kind is BlockKind.ITEM and blocks[group].steps
        kind = blocks[at].kind
        parts.append(StripPlace(at, kind, headings[at], group, steps, leads or kind is BlockKind.HEADER))
    return parts


def group_into_runs(passage: Passage, strips: Sequence[Strip]) -> list[list[Strip]]:
    """Return the kept strips of a passage in runs: neighbours, a list or table, and text under a kept heading."""
    runs: list[list[tuple[Strip, StripPlace]]] = []
    apart = True
    for strip, part in zip(strips, strip_places(passage, strips), strict=True):
        if not strip.kept:
            apart = True
            continue
        if runs and _continues_run(runs[-1], part, apart=apart):
            runs[-1].append((strip, part))
        else:
            runs.append([(strip, part)])
        apart = False
    return [[strip for strip, _ in run] for run in runs]


def _continues_run(run: Sequence[tuple[Strip, StripPlace]], part: StripPlace, *, apart: bool) -> bool:
    """Return whether a strip belongs to the run before it; `apart` means that a strip between them was dropped."""
    blocks = {one.block for _, one in run}
    # A heading after text begins a new run, unless it is a subheading of the run.
    if part.kind is BlockKind.HEADING and any(one.kind is not BlockKind.HEADING for _, one in run):
        return any(heading in blocks for heading in part.headings)
    if not apart:
        return True
    in_group = part.group is not None and part.group == run[-1][1].group
    return in_group or any(heading in blocks for heading in part.headings)


def join_run(passage: Passage, run: Sequence[Strip]) -> str:
    """Return the text of a run, with the passage's white space between neighbours and a line break for each gap.

    If a list or table begins before the passage, its lead-in is put in front.
    """
    pieces = [passage.text[run[0].start : run[0].end]]
    for before, strip in pairwise(run):
        gap = passage.text[before.end : strip.start]
        pieces += ["\n" if gap.strip() else gap, passage.text[strip.start : strip.end]]
    text = "".join(pieces)
    if passage.lead and passage.lead not in text and any(part.group == 0 for part in strip_places(passage, run)):
        return f"{passage.lead}\n{text}"
    return text


def heading_path(passage: Passage, run: Sequence[Strip]) -> str | None:
    """Return the path of headings above a run of strips, or None if there is none."""
    path = passage.section.split(SEPARATOR) if passage.section else []
    blocks = passage_blocks(passage)
    parts = strip_places(passage, run)
    first = next((part for part in parts if part.kind is not BlockKind.HEADING), parts[0])
    named = [heading_text(passage.text[blocks[at].start : blocks[at].end]) for at in first.headings]
    # A heading above one that is also in the section is above the whole section, so it is the document's title.
    behind = max((at + 1 for at, name in enumerate(named) if name in path), default=0)
    above, below = ([name for name in some if name and name not in path] for some in (named[:behind], named[behind:]))
    return SEPARATOR.join([*above, *path, *below]) or None


def sheet_rows(passage: Passage, run: Sequence[Strip]) -> tuple[SheetRow, ...]:
    """Return the sheet rows of a run of strips; if the run has table rows, lines above the table do not count."""
    places = zip(run, strip_places(passage, run), strict=True)
    rows: list[SheetRow] = []
    for strip in [strip for strip, part in places if part.kind is BlockKind.ROW] or run:
        rows += shift_rows(rows_within(passage.rows, passage.text, strip.start, strip.end), strip.start)
    return tuple(rows)


def has_rows_or_items(text: str) -> bool:
    """Return whether a text contains a list or a table."""
    return any(block.kind in (BlockKind.ITEM, BlockKind.ROW) for block in _blocks(text))


def passage_blocks(passage: Passage) -> Sequence[Block]:
    """Return the blocks of a passage; if a table begins before the passage, its first row here is not a header."""
    blocks = _blocks(passage.text)
    first = blocks[0] if blocks else None
    if passage.lead and first and first.kind is BlockKind.HEADER and "\n" not in passage.text[first.start : first.end]:
        return [dataclasses.replace(first, kind=BlockKind.ROW), *blocks[1:]]
    return blocks


@lru_cache(maxsize=64)  # The same few passages are needed when strips are completed, joined and named.
def _blocks(text: str) -> tuple[Block, ...]:
    return tuple(split_blocks(text))


def _headings(blocks: Sequence[Block]) -> list[tuple[int, ...]]:
    """Return for each block the indices of the headings above it."""
    over: list[tuple[int, ...]] = []
    path: list[int] = []
    for at, block in enumerate(blocks):
        if block.kind is BlockKind.HEADING:
            while path and blocks[path[-1]].level >= block.level:
                path.pop()
        over.append(tuple(path))
        if block.kind is BlockKind.HEADING:
            path.append(at)
    return over


def _groups(text: str, blocks: Sequence[Block]) -> list[list[int]]:
    """Return the lists and tables, each as the indices of its blocks."""
    groups: list[list[int]] = []
    for at, block in enumerate(blocks):
        if block.kind not in (BlockKind.ITEM, BlockKind.HEADER, BlockKind.ROW):
            continue
        follows = bool(groups) and groups[-1][-1] == at - 1
        if block.kind is BlockKind.ITEM:
            follows = follows and _same_list(text, blocks, groups[-1], at)
        elif follows:
            follows = block.kind is BlockKind.ROW and blocks[at - 1].kind in (BlockKind.HEADER, BlockKind.ROW)
        if follows:
            groups[-1].append(at)
        else:
            groups.append([at])
    return _procedures(text, blocks, groups)


def _same_list(text: str, blocks: Sequence[Block], group: Sequence[int], at: int) -> bool:
    first, block = blocks[group[0]], blocks[at]
    if first.kind is not BlockKind.ITEM:
        return False
    if block.level > first.level:
        return True
    if block.steps != first.steps or (number := step_number(text, block)) is None:
        return block.steps == first.steps
    before = _last_number(text, blocks, group)
    return before is None or number > before


def _procedures(text: str, blocks: Sequence[Block], groups: list[list[int]]) -> list[list[int]]:
    """Join lists whose numbers continue, together with the notes between them."""
    joined_up: list[list[int]] = []
    for group in groups:
        number = step_number(text, blocks[group[0]])
        before = None
        for place in reversed(range(len(joined_up))):
            if not _near(blocks, joined_up[place][-1], group[0]):
                break
            if number and _last_number(text, blocks, joined_up[place]) == number - 1:
                before = place
                break
        if before is None:
            joined_up.append(group)
        else:
            joined_up[before:] = [list(range(joined_up[before][0], group[-1] + 1))]
    return joined_up


def _near(blocks: Sequence[Block], last: int, first: int) -> bool:
    between = blocks[last + 1 : first]
    return len(between) <= MAX_BLOCKS_BETWEEN and all(block.kind is not BlockKind.HEADING for block in between)


def _last_number(text: str, blocks: Sequence[Block], group: Sequence[int]) -> int | None:
    level = blocks[group[0]].level
    numbers = (step_number(text, blocks[at]) for at in reversed(group) if blocks[at].level <= level)
    return next((number for number in numbers if number is not None), None)


def step_number(text: str, block: Block) -> int | None:
    """Return the number of a step, or None if the block has none."""
    found = _ORDINAL.match(text, block.start, block.end) if block.kind is BlockKind.ITEM and block.steps else None
    return int(found[1]) if found else None


def _leads_into(text: str, blocks: Sequence[Block], first: int) -> bool:
    before = blocks[first - 1] if first else None
    if before is None or before.kind not in _TEXT:
        return False
    return INTRODUCTION_END.search(text[before.start : before.end]) is not None
