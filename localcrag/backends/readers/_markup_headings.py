"""Headings in markup: by their elements, and paragraphs in bold type that stand like one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from localcrag.text.titles import is_date

Element = Any  # lxml has no type hints
HEADINGS = MappingProxyType({f"h{level}": level for level in range(1, 7)})
TITLE_CLASS = "title-of-a-word-document"
"""Of a paragraph that is a heading of level 1 and yet no h1: in a table's cell it must not take the table for a page's
layout (PAGE_PARTS)."""
BOLD = frozenset(("b", "strong"))
BOLD_LEVEL = 7  # of a paragraph that is all bold, below all that are marked as headings
MOST_BOLD_WORDS = 12
MOST_BOLD_IN_A_ROW = 2  # paragraphs; more are an address or a warning
SENTENCE_END = re.compile(r"[.!…,;。！，；؟।][\"'”’»)\]]*$")
LONGEST_HEADING = 200  # characters; beyond it markup for headings was used to make text large

Marked = tuple[int, int, int]
"""The first line of a heading, the one behind its last, and its level, 1 the highest."""


def level_of(element: Element) -> int:
    """Return the level of the heading that an element is, 0 where it is none."""
    if element.tag != "p":
        return HEADINGS.get(element.tag, 0)
    if element.get("class") == TITLE_CLASS:
        return 1
    return BOLD_LEVEL if _is_bold(element) else 0


def _is_bold(paragraph: Element) -> bool:
    """Whether a paragraph has text in bold type, and no other."""
    if paragraph.text and not paragraph.text.isspace():
        return False
    children = [child for child in paragraph if isinstance(child.tag, str)]
    if any(child.tail and not child.tail.isspace() for child in paragraph):
        return False
    bold = [child.tag in BOLD for child in children if child.tag in BOLD or child.text_content().strip()]
    return bool(bold) and all(bold)


def _is_short(text: str) -> bool:
    ends_sentence = SENTENCE_END.search(text) is not None
    return len(text.split()) <= MOST_BOLD_WORDS and not ends_sentence and text[:1].isalnum() and not is_date(text)


def reads_as_heading(text: str, level: int, *, in_list: bool) -> bool:
    """Whether the text of what is marked as a heading can be one."""
    if not any(letter.isalnum() for letter in text) or len(text) > LONGEST_HEADING:
        return False
    return level != BOLD_LEVEL or (not in_list and _is_short(text))


def without_bold_runs(headings: Sequence[Marked], lines: int) -> list[Marked]:
    """Return the headings without bold paragraphs that stand below each other, or with nothing behind them."""
    kept: list[Marked] = []
    run: list[Marked] = []
    for heading in [*headings, (lines, 0, 0)]:
        first, behind, level = heading
        # Between two paragraphs there is an empty line.
        if run and (level != BOLD_LEVEL or first > run[-1][1] + 1):
            ends = run[-1][1] >= lines
            kept += run if len(run) <= MOST_BOLD_IN_A_ROW and not ends else []
            run = []
        if level == BOLD_LEVEL:
            run.append(heading)
        elif behind:
            kept.append(heading)
    return kept
