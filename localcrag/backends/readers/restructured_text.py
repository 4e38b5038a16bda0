"""reStructuredText as Markdown: its titles, code and simple tables; all else is left as it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from localcrag.text.table_lines import row_of

DEEPEST = 6
"""Markdown has six levels of titles."""
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+\s*\Z")
_BORDER = re.compile(r"\s*=+(?:[ \t]+=+)+\s*\Z")
_SPAN = re.compile(r"\s*-+(?:[ \t]+-+)*\s*\Z")
_CODE = re.compile(r"(\s*)\.\.[ \t]+(?:code|code-block|sourcecode|parsed-literal|prompt)::[ \t]*([\w+-]*)")
_OPTION = re.compile(r"\s*:[\w-]+:")
_LITERAL = re.compile(r"``([^`\n]+)``")


def as_markdown(text: str) -> str:
    """Return a text with its titles, code blocks and simple tables as Markdown has them."""
    return "\n".join(_Written(text.split("\n")).lines())


class _Written:
    """Reads a text line by line."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0
        self._styles: list[tuple[str, bool]] = []

    def lines(self) -> Iterator[str]:
        while self._at < len(self._lines):
            line = self._line(0)
            if (code := _CODE.match(line)) and self._code_end(len(code[1])) > self._at + 1:
                yield from self._code(len(code[1]), code[2])
            elif title := self._title():
                yield title
            elif _BORDER.match(line) and (end := self._table_end()):
                yield from self._table(end)
            elif line.rstrip().endswith("::") and not line.lstrip().startswith(".. "):
                indent = len(line) - len(line.lstrip())
                yield _inline(re.sub(r"\s*::\s*\Z", ":" if line.strip() != "::" else "", line))
                if self._code_end(indent) > self._at + 1:
                    yield ""
                    yield from self._code(indent, "")
                else:
                    self._at += 1
            else:
                yield _inline(line)
                self._at += 1

    def _line(self, ahead: int) -> str:
        at = self._at + ahead
        return self._lines[at] if at < len(self._lines) else ""

    def _title(self) -> str:
        """Return the title that begins here, empty where none does; its style's first use says its level."""
        over = _ADORNMENT.match(self._line(0))
        said = self._line(1 if over else 0).strip()
        under = _ADORNMENT.match(self._line(2 if over else 1))
        if not said or not under or _ADORNMENT.match(said) or (self._at and self._lines[self._at - 1].strip()):
            return ""
        if len(under[0].rstrip()) + 1 < len(said) or (over and over[0].rstrip() != under[0].rstrip()):
            return ""
        style = (under[1], over is not None)
        if style not in self._styles:
            self._styles.append(style)
        self._at += 3 if over else 2
        return f"{'#' * min(self._styles.index(style) + 1, DEEPEST)} {_inline(said)}"

    def _code_end(self, indent: int) -> int:
        """Return where the lines end that stand further in than `indent`, behind a line that announces code."""
        end = self._at + 1
        for at in range(self._at + 1, len(self._lines)):
            line = self._lines[at]
            if line.strip() and len(line) - len(line.lstrip()) <= indent:
                break
            end = at + 1 if line.strip() else end
        return end

    def _code(self, indent: int, language: str) -> Iterator[str]:
        end = self._code_end(indent)
        body = list(self._lines[self._at + 1 : end])
        while body and (not body[0].strip() or _OPTION.match(body[0])):
            body.pop(0)
        least = min((len(line) - len(line.lstrip()) for line in body if line.strip()), default=0)
        yield f"{' ' * indent}```{language}"
        yield from (" " * indent + line[least:] for line in body)
        yield f"{' ' * indent}```"
        self._at = end

    def _table_end(self) -> int:
        """Return the line of a simple table's lower border, 0 where there is none."""
        borders = []
        for at in range(self._at + 1, len(self._lines)):
            if _BORDER.match(self._lines[at]):
                borders.append(at)
                below = self._lines[at + 1] if at + 1 < len(self._lines) else ""
                if len(borders) > 1 or not below.strip():
                    return at
        return 0

    def _table(self, end: int) -> Iterator[str]:
        """Write a simple table; what has nothing in its first column goes on with the row above."""
        starts = [run.start() for run in re.finditer("=+", self._line(0))]
        rows: list[list[str]] = []
        heads = 0
        for line in self._lines[self._at + 1 : end]:
            if _BORDER.match(line):
                heads = len(rows)
            elif line.strip() and not _SPAN.match(line):
                ends = [*starts[1:], None]
                cells = [line[begin:stop].strip() for begin, stop in zip(starts, ends, strict=True)]
                if rows and not cells[0] and len(rows) != heads:
                    rows[-1] = [f"{above} {cell}".strip() for above, cell in zip(rows[-1], cells, strict=True)]
                else:
                    rows.append(cells)
        self._at = end + 1
        if heads > 1:
            rows[:heads] = [[" ".join(filter(None, texts)) for texts in zip(*rows[:heads], strict=True)]]
        for number, row in enumerate(rows):
            yield row_of([_inline(cell) for cell in row])
            if heads and not number:
                yield f"|{' --- |' * len(row)}"


def _inline(text: str) -> str:
    return _LITERAL.sub(r"`\1`", text)
