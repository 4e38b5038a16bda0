"""Chunks: pages are cut into runs of whole sentences, on one subject where paragraphs show it.

Chunks never cross a page. They end with a paragraph as soon as they are long enough to be found, since a passage over
several subjects is scored low for a question about one of them (docs/evaluation.md); the sentences of longer paragraphs
are shared out evenly, so that none ends in a two-line remainder that no question finds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from localcrag.records.documents import Chunk, Page
from localcrag.text.sentences import split_sentences
from localcrag.text.span import Span
from localcrag.text.titles import is_heading

PAGE_BREAK = "\f"
"""Between two pages in a document's text, as in the output of pdftotext."""

_LEAST = 1 / 3
"""Of the target length: what a chunk that ends with a paragraph has at least. Shorter paragraphs stay with the next."""

_BLANK_LINE = re.compile(r"\n[ \t]*\n")

CountTokens = Callable[[Sequence[str]], list[int]]


def join_pages(pages: Iterable[Page]) -> str:
    """Return a document's text: what a chunk's offsets count in."""
    return PAGE_BREAK.join(page.text for page in pages)


def split_into_chunks(pages: Sequence[Page], count_tokens: CountTokens, *, target: int, limit: int) -> list[Chunk]:
    """Return the chunks of a document, in order.

    `target` and `limit` are in the embedder's tokens: a chunk has about `target`, and none has more than `limit`
    (a single sentence that does is cut at white space). Every character of the pages that is not white space is in
    exactly one chunk, but for pages without any token: no question would find those.
    """
    target = min(target, limit)
    chunks: list[Chunk] = []
    offset = 0
    for page in pages:
        sentences = _measured(page.text, count_tokens, limit)
        for section in _sections(page.text, sentences, target * _LEAST) if _tokens(sentences) else ():
            for group in _share_out(section, target, limit):
                start, end = group[0].start, group[-1].end
                chunks.append(Chunk(page.number, offset + start, offset + end, page.text[start:end]))
        offset += len(page.text) + len(PAGE_BREAK)
    return chunks


def _measured(text: str, count_tokens: CountTokens, limit: int) -> list[tuple[Span, int]]:
    """Return the sentences with their lengths in tokens, over-long ones in pieces that fit.

    A piece may have no token: characters of private use, say, are nothing to an embedder.
    """
    spans = split_sentences(text)
    while True:
        lengths = count_tokens([span.text for span in spans])
        fit = [length <= limit or len(span.text) == 1 for span, length in zip(spans, lengths, strict=True)]
        if all(fit):
            return list(zip(spans, lengths, strict=True))
        # The halves are measured, and if need be halved, in the next round.
        spans = [piece for span, fits in zip(spans, fit, strict=True) for piece in ((span,) if fits else _halves(span))]


def _halves(span: Span) -> tuple[Span, Span]:
    """Cut at the white space nearest to the middle, or in the middle where there is none (a long string, CJK)."""
    text, middle = span.text, len(span.text) // 2
    left, right = text.rfind(" ", 1, middle), text.find(" ", middle, -1)
    candidates = [place for place in (left, right) if place > 0]
    cut = min(candidates, key=lambda place: abs(place - middle)) if candidates else middle
    rest = text[cut:].lstrip()
    second = span.end - len(rest)
    return (Span(span.start, span.start + cut, text[:cut]), Span(second, span.end, rest))


def _sections(text: str, sentences: list[tuple[Span, int]], least: float) -> list[list[tuple[Span, int]]]:
    """Cut between paragraphs, never after a heading, so that each section has `least` tokens or is the page's only."""
    if not sentences:
        return []
    sections = [[sentences[0]]]
    for (before, _), sentence in pairwise(sentences):
        new_paragraph = _BLANK_LINE.search(text, before.end, sentence[0].start)
        if new_paragraph and not is_heading(before.text) and _tokens(sections[-1]) >= least:
            sections.append([sentence])
        else:
            sections[-1].append(sentence)
    if len(sections) > 1 and _tokens(sections[-1]) < least:
        rest = sections.pop()
        sections[-1].extend(rest)
    return sections


def _tokens(sentences: Iterable[tuple[Span, int]]) -> int:
    return sum(length for _, length in sentences)


def _share_out(sentences: list[tuple[Span, int]], target: int, limit: int) -> Iterable[list[Span]]:
    total = _tokens(sentences)
    goal = total / max(1, round(total / target))
    group: list[Span] = []
    size = 0
    for span, length in sentences:
        # Closing before the sentence that lies mostly beyond the goal keeps the groups' mean at the goal.
        if group and (size + length / 2 > goal or size + length > limit):
            yield group
            group, size = [], 0
        group.append(span)
        size += length
    if group:
        yield group
