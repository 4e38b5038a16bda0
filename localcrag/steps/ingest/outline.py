"""The outline of a document: what of its pages belongs together, and under which headings it stands.

A unit is what is never torn apart if it fits a chunk: a paragraph's sentence, a list item, a table's row. Units of one
group (a list with the sentence that leads into it, a table with its header) stay in one chunk where they fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from localcrag.records.documents import Page
from localcrag.text.blocks import Block, BlockKind, each_block
from localcrag.text.sentences import split_sentences
from localcrag.text.span import Span
from localcrag.text.titles import heading_text
from localcrag.text.words import one_line

CountTokens = Callable[[Sequence[str]], list[int]]

PORTION = 2_000
"""Units found at once: those of a long text without pages take minutes, all together."""
LETTERS_AT_ONCE = 200_000
"""Characters of such units: half a megabyte without an end of a sentence takes as long as thousands of short ones."""
LONGEST_PIECE = 100_000
"""Characters of a block that is cut whole: a longer one, more tokens than any chunk has, is cut on the way."""
LONGEST_LEAD = 200
"""Characters of what stands in front of a list's or table's rest."""

_LEADS_IN = re.compile(r":[*_\"'”’)]*\s*\Z")
_CAPTION = re.compile(r"(?:table|tab\.|figure)\s+[\dIVX]+\b", re.IGNORECASE)
_NO_SPACE = re.compile(r"\S")
_SENTENCE_BEFORE = re.compile(r"[.!?]\s+(?=\S)")


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a page: `start` and `end` count in its text, `tokens` are the embedder's.

    `section` is the path of headings that it stands under, from the outermost; a heading's own path has itself in it.
    `lead` is what a reader needs who sees only this unit: the header of its table, the sentence that leads into its
    list.
    """

    page: int
    start: int
    end: int
    tokens: int
    section: tuple[str, ...]
    group: int
    heading: bool = False
    lead: str = ""


def units_of(
    pages: Iterable[Page], count_tokens: CountTokens, *, title: str, target: int, limit: int
) -> Iterator[list[Unit]]:
    """Yield the units of a document in order, in portions that each take a second or so; some may be empty.

    None is longer than `limit` tokens. A paragraph that has more than `target` is cut into sentences. The path of
    headings goes on from page to page; a heading that says what the `title` says is not in it.
    """
    outline = _Outline(title)
    for number, page in enumerate(pages):
        found = (unit for block, text in _texts(page) for unit in outline.units(number, block, text))
        for drafts in _portions(piece for unit in found for piece in _pieces(page.text, unit)):
            yield _measured(page.text, drafts, count_tokens, target=target, limit=limit)


def _portions(units: Iterable[Unit]) -> Iterator[list[Unit]]:
    portion: list[Unit] = []
    letters = 0
    for unit in units:
        portion.append(unit)
        letters += unit.end - unit.start
        if len(portion) >= PORTION or letters >= LETTERS_AT_ONCE:
            yield portion
            portion, letters = [], 0
    if portion:
        yield portion


def _pieces(text: str, unit: Unit) -> Iterator[Unit]:
    """Yield a unit; of a giant one its sentences, and where it has none pieces that end with a word."""
    start = unit.start
    while unit.end - start > LONGEST_PIECE:
        end = start + LONGEST_PIECE
        sentences = split_sentences(text[start:end])[:-1]  # The last one may go on.
        if sentences:
            yield from (replace(unit, start=start + one.start, end=start + one.end) for one in sentences)
            start += sentences[-1].end
        else:
            end = next((at for at in (text.rfind(space, start + 1, end) for space in "\n ") if at > 0), end)
            yield replace(unit, start=start, end=end)
            start = end
        start = behind.start() if (behind := _NO_SPACE.search(text, start, unit.end)) else unit.end
    yield replace(unit, start=start)


def _texts(page: Page) -> Iterator[tuple[Block, str]]:
    for block in each_block(page.text, page.headings):
        yield block, page.text[block.start : block.end]


class _Outline:
    """Where in a document a block stands."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._open: list[tuple[int, str]] = []
        self._group = 0
        self._lead = ""
        self._before: BlockKind | None = None

    def units(self, page: int, block: Block, text: str) -> Iterator[Unit]:
        if block.kind is BlockKind.HEADING:
            self._enter(block.level, heading_text(text))
        goes_on = self._goes_on(block)
        if not goes_on:
            self._group += 1
            self._lead = ""
        yield Unit(
            page,
            block.start,
            block.end,
            0,
            tuple(name for _, name in self._open if name),
            self._group,
            heading=block.kind is BlockKind.HEADING,
            lead=self._lead,
        )
        if block.kind is BlockKind.HEADER:
            self._lead = _cut(text.split("\n", 1)[0])
        elif not goes_on and block.kind in (BlockKind.PARAGRAPH, BlockKind.LINE, BlockKind.ITEM):
            self._lead = _lead_of(text)
        self._before = block.kind

    def _enter(self, level: int, name: str) -> None:
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        says_the_title = not self._open and name.casefold() == self._title.casefold()
        self._open.append((level, "" if says_the_title else name))

    def _goes_on(self, block: Block) -> bool:
        """Whether a block is of the same group as the one before it."""
        match block.kind:
            case BlockKind.ROW:
                return self._before in (BlockKind.HEADER, BlockKind.ROW)
            case BlockKind.ITEM:
                return self._before is BlockKind.ITEM or bool(self._lead)
            case BlockKind.HEADER:
                return bool(self._lead) and self._before is not BlockKind.ROW
            case BlockKind.CODE:
                return bool(self._lead)
            case _:
                return False


def _lead_of(text: str) -> str:
    """Return what leads into the list, table or code behind a paragraph; nothing where it does not."""
    if not _LEADS_IN.search(text) and not _CAPTION.match(text):
        return ""
    return _cut(_SENTENCE_BEFORE.split(text)[-1])


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= LONGEST_LEAD else line[:LONGEST_LEAD].rsplit(" ", 1)[0]


def _measured(text: str, units: Sequence[Unit], count_tokens: CountTokens, *, target: int, limit: int) -> list[Unit]:
    """Return the units with their lengths; long ones in sentences, and those in pieces where need be.

    A piece may have no token: characters of private use, say, are nothing to an embedder.
    """
    tokens = count_tokens([text[unit.start : unit.end] for unit in units])
    drafts = [replace(unit, tokens=count) for unit, count in zip(units, tokens, strict=True)]
    drafts = _cut_again(text, drafts, count_tokens, _sentences, min(target, limit))
    while any(_is_too_long(unit, limit) for unit in drafts):
        drafts = _cut_again(text, drafts, count_tokens, _halves, limit)
    return drafts


def _cut_again(
    text: str, units: Sequence[Unit], count_tokens: CountTokens, cut: Callable[[str, Unit], Sequence[Unit]], limit: int
) -> list[Unit]:
    """Return the units with pieces of those that have more than `limit` tokens in their places, measured."""
    drafts = [piece for unit in units for piece in (cut(text, unit) if _is_too_long(unit, limit) else (unit,))]
    known = set(units)
    new = [unit for unit in drafts if unit not in known]
    tokens = iter(count_tokens([text[unit.start : unit.end] for unit in new]))
    return [unit if unit in known else replace(unit, tokens=next(tokens)) for unit in drafts]


def _is_too_long(unit: Unit, limit: int) -> bool:
    return unit.tokens > limit and unit.end - unit.start > 1


def _sentences(text: str, unit: Unit) -> list[Unit]:
    return [
        replace(unit, start=unit.start + span.start, end=unit.start + span.end)
        for span in split_sentences(text[unit.start : unit.end])
    ]


def _halves(text: str, unit: Unit) -> tuple[Unit, Unit]:
    """Cut at the white space nearest to the middle, or in the middle where there is none (a long string, CJK)."""
    piece = Span(unit.start, unit.end, text[unit.start : unit.end])
    middle = len(piece.text) // 2
    left, right = piece.text.rfind(" ", 1, middle), piece.text.find(" ", middle, -1)
    candidates = [place for place in (left, right) if place > 0]
    cut = min(candidates, key=lambda place: abs(place - middle)) if candidates else middle
    rest = piece.text[cut:].lstrip()
    return replace(unit, end=unit.start + cut), replace(unit, start=unit.end - len(rest))
