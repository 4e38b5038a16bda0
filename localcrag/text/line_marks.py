"""Marks at the beginning of a line: of headings, bullets and numbers."""

from __future__ import annotations

import re

from localcrag.text.letters import CAPITAL, SMALL
from localcrag.text.lines import TextLine

CODE_INDENT = 4
"""Columns, from which on Markdown takes a line for code."""

HASHES = re.compile(r"(#{1,6})[ \t]+\S")
ORDERED = re.compile(r"(?:\(?(\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]|\((\d{1,3}|[a-z])\)|Step[ \t]+\d+[.:]?)[ \t]+\S", re.I)
BOLD = re.compile(r"(\*\*|__)(?=\S)[^*_]+(?<=\S)\1[:.]?\s*\Z")
LEADS_IN = re.compile(r":[*_\s]*\Z")
"""The end of what leads into a list or table."""
_BULLET = re.compile(r"(?:[-*+•‣◦▪▫●○■□◆➢✓✔–—])[ \t]+\S")
_STEP = re.compile(r"((?:Step[ \t]+)?\(?)(\d{1,3})([.):]+)[ \t]", re.I)
_LOWER = re.compile(f"[{SMALL}]")
_UPPER = re.compile(f"[{CAPITAL}]")


def is_marked(line: TextLine) -> bool:
    """Whether a line is a heading by Markdown's mark; further in it is code, where the mark begins a comment."""
    return line.indent < CODE_INDENT and HASHES.match(line.text) is not None


def is_item(line: str) -> bool:
    """Whether a line begins an item of a list."""
    return bool(_BULLET.match(line) or ORDERED.match(line)) and not BOLD.match(line)


def counts_on(step: str, line: str) -> bool:
    """Whether a line is the step behind `step`, numbered in the same way."""
    one, other = _STEP.match(step), _STEP.match(line)
    if one is None or other is None:
        return False
    return one.group(1, 3) == other.group(1, 3) and int(one[2]) + 1 == int(other[2])


def is_bare_number(line: str) -> bool:
    """Whether a line has no two letters in a row."""
    return not re.search(r"[^\W\d_]{2}", line)


def is_capitals(line: str) -> bool:
    """Whether a line is in capital letters."""
    return len(_UPPER.findall(line)) >= 3 and not _LOWER.search(line)
