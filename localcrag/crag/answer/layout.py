"""Layout: the sources' own lines as Markdown, in their original form.

Steps keep their order and numbers, lists and tables stay whole, and sentences are in quotation marks. A document's text
can become bold or a list here, but never a heading, picture, link or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from localcrag.crag.refine.strips import passage_blocks
from localcrag.records.passages import Evidence, Passage, Strip
from localcrag.text.blocks import NARROWEST_WRAPPED, Block, BlockKind, split_blocks, split_cells
from localcrag.text.lexicon import SMALL
from localcrag.text.sanitize import quotable, remove_invisible
from localcrag.text.titles import heading_text
from localcrag.text.words import one_line

_NUMBER_CELL = re.compile(r"[^\w\s]*\d[\d.,\s]*[^\w\s]*")
_YEAR_CELL = re.compile(r"(?:19|20)\d\d")
MORE = " … "
"""Mark for an omission between two sentences of a paragraph."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A block of a passage, or the part of it that is shown.

    `pieces` are the pieces of its text, each with True if it is one of the likeliest. `level` and `steps` belong to a
    list item.
    """

    kind: BlockKind
    pieces: tuple[tuple[str, bool], ...]
    level: int = 0
    steps: bool = False

    @property
    def text(self) -> str:
        """Text of all pieces."""
        return "".join(text for text, _ in self.pieces)


def evidence_fragments(piece: Evidence, passage: Passage | None, strips: Sequence[Strip]) -> list[Fragment]:
    """Return a piece of evidence as blocks of its passage, or of its own text if it has no strips."""
    if passage is None or not strips:
        return _cut(piece.text, split_blocks(piece.text), [(0, len(piece.text), False)])
    shown = _cut(passage.text, passage_blocks(passage), [(strip.start, strip.end, False) for strip in strips])
    lead = passage.lead if passage.lead and piece.text.startswith(f"{passage.lead}\n") else None
    if lead and shown:
        kind = BlockKind.HEADER if shown[0].kind is BlockKind.ROW else BlockKind.PARAGRAPH
        return [Fragment(kind, ((lead, False),)), *shown]
    return shown


def passage_fragments(passage: Passage, likeliest: Collection[Strip], within: tuple[int, int]) -> list[Fragment]:
    """Return the part of a passage `within` two positions, with its likeliest strips marked.

    Rows keep their table's header, even if that is outside the part or the passage.
    """
    begin, end = within
    spans: list[tuple[int, int, bool]] = []
    done = begin
    for strip in sorted(likeliest, key=lambda strip: strip.start):
        spans += [(done, strip.start, False), (strip.start, strip.end, True)]
        done = strip.end
    spans.append((done, end, False))
    blocks = passage_blocks(passage)
    shown = _cut(passage.text, blocks, spans)
    if shown and shown[0].kind is BlockKind.ROW:
        above = [block for block in blocks if block.kind is BlockKind.HEADER and block.start < begin]
        for header in above[-1:]:
            if is_data_row(split_cells(passage.text[header.start : header.end].split("\n", 1)[0])):
                continue
            shown.insert(0, _fragment(header, [(passage.text[header.start : header.end], False)]))
        if not above and passage.lead and " | " in passage.lead:
            shown.insert(0, Fragment(BlockKind.HEADER, ((passage.lead, False),)))
    return shown


def _cut(text: str, blocks: Sequence[Block], spans: Sequence[tuple[int, int, bool]]) -> list[Fragment]:
    """Return the fragments of these spans of a text, block by block; spans are in order and do not overlap."""
    found: list[Fragment] = []
    for block in blocks:
        pieces: list[tuple[str, bool]] = []
        last = block.start
        for start, end, likely in spans:
            begin, stop = max(start, block.start), min(end, block.end)
            if not text[begin:stop].strip():
                continue
            if pieces:
                gap = text[last:begin]
                pieces.append((MORE if gap.strip() else gap, False))
            pieces.append((text[begin:stop], likely))
            last = stop
        if pieces:
            found.append(_fragment(block, pieces))
    return found


def _fragment(block: Block, pieces: Sequence[tuple[str, bool]]) -> Fragment:
    return Fragment(block.kind, tuple(pieces), block.level, block.steps)


MIN_ITEMS = 2
"""Minimum number of items or rows for a list or table to be a better answer than a sentence about it."""
MIN_LINES = 3
"""Minimum number of single lines to be a better answer than a sentence about them."""

_HAS_WORD = re.compile(r"\w")
_BULLET = re.compile(r"^[-*+•‣◦▪▫●○■□◆➢✓✔–—][ \t]+")
_NUMBER = re.compile(r"^\(?(\d{1,3})[.)][ \t]+")
_ASKS = re.compile(r"(?i)^[*_]*(?:Q|Question)[ \t]*(\d*)[ \t]*[:.)][*_]*[ \t]*")
_REPLIES = re.compile(r"(?i)^[*_]*(?:A|Answer)[ \t]*(\d*)[ \t]*[:.)][*_]*[ \t]*")
_QUESTION = re.compile(r"\?[\"'”’)*_]*\Z")
_CONTINUES = re.compile(f"[{SMALL}]")
_ENDS = re.compile(r"[.!?:;…][\"'”’»)\]*_]*\Z")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_LINK_TARGET = re.compile(r"\](?=[(\[])")
_BLOCK_MARK = re.compile(r"^(?=[#>|~=`*_]|[+-](?:[\s+-]|\Z))")
_COUNTS = re.compile(r"^(\d{1,9})([.)])(?=\s|\Z)")
_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
_FENCE = re.compile(r"\s*(?:`{3,}[^`]*|~{3,}.*)\Z")
_FENCE_END = re.compile(r"\s*(?:`{3,}|~{3,})\s*\Z")
_CODE_SPAN = re.compile(r"`[^`\s][^`]*`")
_CODE_SPANS = re.compile(r"(?:[^`\\]|\\[^`]|\\\Z|`[^`\s][^`]*`)*")
_BACKSLASH = re.compile(r"\\(?![!-/:-@\[-`{-~])")
"""A backslash that Markdown shows, because the next character is not punctuation that it could escape."""
_TABLE = (BlockKind.HEADER, BlockKind.ROW)


def markdown(fragments: Sequence[Fragment], citation: str = "", *, path: Collection[str] = ()) -> str:
    """Return fragments as Markdown, with the citation after the last one.

    Headings that are in the `path` shown above the fragments are not repeated.
    """
    above = {name.casefold() for name in path}
    left = [one for one in fragments if one.kind is not BlockKind.HEADING or _name(one).casefold() not in above]
    while len(left) > 1 and left[-1].kind is BlockKind.HEADING:
        left.pop()  # A heading with nothing under it.
    parts: list[str] = []
    before: Fragment | None = None
    for kind, some in groupby((one for one in left if _HAS_WORD.search(one.text)), key=_form):
        run = list(some)
        parts += _render_run(kind, run, before)
        before = run[-1]
    return "\n\n".join(_with_citation(_join_questions(parts), citation))


def is_block(fragments: Sequence[Fragment]) -> bool:
    """Return whether these are a list, a table or several lines, which are better than a sentence about them."""
    numbers = [sum(one.kind is kind for one in fragments) for kind in (BlockKind.ITEM, BlockKind.ROW, BlockKind.LINE)]
    return numbers[0] >= MIN_ITEMS or numbers[1] >= MIN_ITEMS or numbers[2] >= MIN_LINES


def has_steps(fragments: Sequence[Fragment]) -> bool:
    """Return whether the fragments include a list of more than one item."""
    return sum(one.kind is BlockKind.ITEM for one in fragments) >= MIN_ITEMS


def listed(fragments: Sequence[Fragment]) -> list[str]:
    """Return the texts of list items and table rows."""
    return [quotable(one.text) for one in fragments if one.kind in (BlockKind.ITEM, BlockKind.ROW)]


def strip_markdown(text: str) -> str:
    """Return a strip in its layout, without its list mark."""
    return inline_markdown(_NUMBER.sub("", _BULLET.sub("", text, count=1), count=1))


def label(path: Sequence[str]) -> str:
    """Return a line with the headings above the text that follows, or an empty string for an empty path."""
    names = " › ".join(plain_markdown(name) for name in path if name)
    return f"**{names}**" if names else ""


def plain_markdown(text: str) -> str:
    """Return a text as one line of Markdown that is shown without any markup."""
    bare = _BACKSLASH.sub(r"\\\\", _EMPHASIS.sub("", text).replace("`", ""))
    return inline_markdown(bare).replace("*", r"\*").replace("_", r"\_")


def inline_markdown(text: str) -> str:
    """Return a text as one line of Markdown without any markup except emphasis and code."""
    text = quotable(text)
    if not _CODE_SPANS.fullmatch(text):
        # If a backtick has no partner, the surrounding text would determine what is code.
        return _without_markup(text.replace("`", r"\`"))
    parts, done = [], 0
    for code in _CODE_SPAN.finditer(text):  # Code stays as it is, because nothing in it is markup.
        parts += [_without_markup(text[done : code.start()]), code[0]]
        done = code.end()
    return "".join([*parts, _without_markup(text[done:])])


def _without_markup(text: str) -> str:
    return _LINK_TARGET.sub("] ", _TAG.sub("&lt;", text)).replace("]:", r"]\:")


def _form(one: Fragment) -> BlockKind:
    return BlockKind.ROW if one.kind in _TABLE else one.kind


def _render_run(kind: BlockKind, run: Sequence[Fragment], above: Fragment | None) -> list[str]:
    match kind:
        case BlockKind.HEADING:
            return [name for one in run if (name := _bold(_name(one)))]
        case BlockKind.ITEM:
            return ["\n".join(_items(run))]
        case BlockKind.ROW:
            # Each header begins a new table.
            begins = [0, *(at for at, one in enumerate(run) if at and one.kind is BlockKind.HEADER), len(run)]
            return [text for start, end in pairwise(begins) for text in _table(run[start:end])]
        case BlockKind.CODE:
            return [_code(one.text) for one in run]
        case BlockKind.LINE:
            return _lines(run, above)
        case _:
            return [text for before, one in zip([above, *run], run, strict=False) for text in _lines([one], before)]


def _name(heading: Fragment) -> str:
    return heading_text(heading.text)


def _bold(text: str) -> str:
    inner = plain_markdown(text)
    return f"**{inner}**" if inner else ""


def _text(one: Fragment, start: re.Pattern[str] | None = None) -> str:
    """Return a fragment's text with its likeliest pieces in bold, and without the text that `start` matches."""
    pieces = list(one.pieces)
    if start is not None:
        pieces[0] = (start.sub("", pieces[0][0], count=1), pieces[0][1])
    if not any(likely for _, likely in pieces):
        return inline_markdown("".join(text for text, _ in pieces))
    # Emphasis that begins in one piece must not end in another. Bold text needs white space around it: between 。 and a
    # letter, the closing mark would close nothing.
    return one_line(" ".join(_bold(text) if likely else plain_markdown(text) for text, likely in pieces))


def _line(text: str) -> str:
    """Return a line, escaped if it would begin a Markdown block."""
    if re.match(r"\d", text):
        return _COUNTS.sub(r"\1\\\2", text)
    # Emphasis is allowed at the beginning of a line.
    return text if re.match(r"(?:\*\*|__)\S|[*_`][^*_`\s]", text) else _BLOCK_MARK.sub(r"\\", text)


def _lines(run: Sequence[Fragment], above: Fragment | None = None) -> list[str]:
    """Return lines or a paragraph as a quotation; questions and answers lose their marks ("Q:", "A:").

    `above` is the fragment before them.
    """
    parts: list[str] = []
    quoted: list[str] = []
    # Short lines without a full stop are commands, or a list, and no wrapped prose.
    is_prose = any(len(one.text) >= NARROWEST_WRAPPED or _ENDS.search(one.text) for one in run)
    for before, one in zip([above, *run], run, strict=False):
        asks = _ASKS.match(one.text) and _QUESTION.search(one.text)
        replies = before is not None and _replies(before.text, one.text)
        if (asks or replies) and quoted:
            parts.append(_quotation(quoted))
            quoted = []
        if asks:
            parts.append(_bold(_ASKS.sub("", one.text)))
        elif replies:
            parts.append(_line(_text(one, _REPLIES)))
        elif quoted and _CONTINUES.match(one.text) and not _ENDS.search(quoted[-1]) and is_prose:
            quoted[-1] += f" {_text(one)}"
        else:
            quoted.append(_text(one))
    return [*parts, *([_quotation(quoted)] if quoted else [])]


def _replies(question: str, text: str) -> bool:
    """Return whether a line is marked as the answer to the line above; "A4: 210 x 297 mm" is not."""
    marked, asked = _REPLIES.match(text), _ASKS.match(question)
    if not marked or not (asked or _QUESTION.search(question)):
        return False
    return not marked[1] or (asked is not None and asked[1] == marked[1])


def _quotation(lines: Sequence[str]) -> str:
    first, *others = lines
    # Two spaces at the end of a line are Markdown's line break.
    return "  \n".join([f"“{first}", *map(_line, others)]) + "”"


def _items(run: Sequence[Fragment]) -> Iterator[str]:
    """Yield list items; if a number does not follow the one before, another delimiter begins a new list."""
    over: list[tuple[int, int]] = []
    latest: dict[int, tuple[int, str]] = {}
    for one in run:
        while over and over[-1][0] >= one.level:
            over.pop()
        indent = sum(width for _, width in over)
        number = _NUMBER.match(one.text)
        if number:
            count = int(number[1])
            before, delimiter = latest.get(indent, (count - 1, "."))
            # Markdown numbers a list from its first item on, so a jump in the numbers needs a new list.
            if count != before + 1:
                delimiter = ")" if delimiter == "." else "."
            latest[indent] = (count, delimiter)
            marker = f"{count}{delimiter} "
        else:
            latest.pop(indent, None)
            marker = "- "
        yield " " * indent + marker + _line(_text(one, _NUMBER if number else _BULLET))
        over.append((one.level, len(marker)))


def _table(run: Sequence[Fragment]) -> list[str]:
    """Return rows as a table if they have matching numbers of cells, else as lines.

    The first row is the header only if it does not look like data; otherwise the header is empty.
    """
    lines = [one.text.split("\n", 1)[0] for one in run]
    header = lines[0] if run[0].kind is BlockKind.HEADER else ""
    rows = [split_cells(line, header=header) for line in lines]
    ruled = run[0].text.lstrip().startswith("|") or " | " in run[0].text
    width = max(len(row) for row in rows)
    # A header with a rule below it is a table even without rows.
    alone = header and len(rows) == 1 and "\n" not in run[0].text
    if alone or (not ruled and (not header or any(len(row) != width for row in rows))):
        return _lines(run)
    written = []
    for one, row in zip(run, rows, strict=True):
        likely = any(marked for _, marked in one.pieces) and one.kind is BlockKind.ROW
        cells = [_cell(cell, likely=likely) for cell in row]
        written.append("| " + " | ".join([*cells, *[""] * (width - len(row))]) + " |")
    if not header or is_data_row(rows[0]):
        written.insert(0, "|" + "  |" * width)
    return ["\n".join([written[0], "|" + " --- |" * width, *written[1:]])]


def is_data_row(cells: Sequence[str]) -> bool:
    """Return whether most cells after the first are numbers, as in a row of a table without a header; years are not."""
    numbers = [_is_number(cell) for cell in cells[1:]]
    return 2 * sum(numbers) > len(numbers)


def _is_number(cell: str) -> bool:
    """Return whether a cell is a number, or an amount with a sign, and not a year."""
    return _NUMBER_CELL.fullmatch(cell.strip()) is not None and not _YEAR_CELL.fullmatch(cell.strip())


def _cell(text: str, *, likely: bool) -> str:
    text = text.replace(r"\|", "|")
    # A bar ends a cell even within code.
    return (_bold(text) if likely and text else inline_markdown(text)).replace("|", r"\|")


def _code(text: str) -> str:
    """Return code in a fence that the code itself cannot close."""
    body = remove_invisible(text).strip("\n")
    lines = body.split("\n")
    if _FENCE.match(lines[0]):
        closed = len(lines) > 1 and _FENCE_END.match(lines[-1])
        lines = lines[1 : -1 if closed else None]
    longest = max((len(ticks) for ticks in re.findall(r"`+", "\n".join(lines))), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([fence, *lines, fence])


def _join_questions(parts: Sequence[str]) -> list[str]:
    """Join each question with the text after it in one paragraph, without quotation marks."""
    done: list[str] = []
    for part in parts:
        asked = done and re.fullmatch(r"\*\*[^\n]+\?\*\*", done[-1])
        if asked and not re.match(r"\s*(?:[-|`]|\d+[.)]|\*\*[^\n]+\?\*\*\Z)", part):
            quoted = part.startswith("“") and part.endswith("”")
            done[-1] += f" {part[1:-1] if quoted else part}"
        else:
            done.append(part)
    return done


def _with_citation(parts: Sequence[str], citation: str) -> list[str]:
    if not citation or not parts:
        return list(parts)
    *others, last = parts
    # After a table or code the citation gets its own line: inside them, it would be cut off.
    if last.endswith("```") or (last.startswith("|") and last.endswith(" |")):
        return [*others, last, citation]
    return [*others, f"{last} {citation}"]
