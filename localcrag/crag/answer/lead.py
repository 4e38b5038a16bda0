"""The lead of an answer: the lines of the sources that answer best, which are shown first.

A line is chosen by the reranker's score within its passage, by the words of the question that it contains, and by
whether it has a number if one is asked for. A line that only leads to others ("You can use:") is shown with them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from localcrag.crag.answer import layout
from localcrag.crag.answer.generate import GenerationTask
from localcrag.crag.answer.quotations import Quotation
from localcrag.crag.context import Context
from localcrag.crag.refine.completeness import names_row
from localcrag.crag.refine.refine import single_strip
from localcrag.crag.refine.strips import count_words
from localcrag.crag.screen import injection
from localcrag.records.passages import GradedPassage, Strip
from localcrag.text.blocks import BlockKind
from localcrag.text.quantities import comparable_moments
from localcrag.text.question_form import asks_for_list, asks_for_number, asks_how, asks_two_things, needs_inference
from localcrag.text.words import content_words

LEAD_WORDS = 60
"""Maximum number of words of a lead; the best line is shown in any case."""
MOST_LINES, MARGIN = 2, 2.0
"""Number of lines to choose, and distance in log-odds from the best line within which others are chosen."""
MOST_LINES_OF_SEVERAL, MARGIN_OF_SEVERAL = 5, 4.0
"""The same if the question asks for several things."""
NUMBER_LOG_ODDS = 2.0
"""What a number that the question does not contain adds to a line's log-odds, if a number is asked for."""
WORDS_LOG_ODDS = 3.0
"""What all words of the question together add to a line's log-odds, each weighted by its inverse frequency."""
ROW_LOG_ODDS = 3.0
"""What it adds to a row's log-odds that the question names it."""
FRAGMENT_WORDS, UNIT_WORDS = 5, 35
"""Number of words below which a line needs those that follow, and maximum number of words of both together.

These numbers were chosen on the sets `a` and `b` of docs/lab/real-documents.md."""
_NUMBER = re.compile(r"\d[\d.,:/]*")


def lead_lines(task: GenerationTask, context: Context) -> list[Quotation]:
    """Return the lines that answer best, the best one first, each as a quotation of its own.

    If the question asks for several things, they are in the order of their passages.
    """
    question = task.asked.standalone
    several = asks_several(question)
    passages = {passage.id: passage for passage in injection.screened(task.used, context.parts.rules)}
    kept = [strip for strip in task.refinement.strips if strip.kept and strip.passage in passages]
    scores = _log_odds(question, kept)
    chosen: dict[range, Quotation] = {}
    most, margin = (MOST_LINES_OF_SEVERAL, MARGIN_OF_SEVERAL) if several else (MOST_LINES, MARGIN)
    words, least = 0, -math.inf
    for place in sorted(range(len(kept)), key=lambda place: -scores[place]):
        if scores[place] < least:
            break
        unit = _unit(kept, place, task)
        more = sum(count_words(kept[at].text) for at in unit)
        if any(place in other for other in chosen) or (chosen and words + more > LEAD_WORDS):
            continue
        piece, passage = single_strip(kept[place], task.evidence), passages[kept[place].passage]
        if piece is None:
            continue  # Other evidence has the same words.
        within = kept[place].start, kept[unit.stop - 1].end
        line = Quotation(piece, tuple(layout.passage_fragments(passage, (), within)))
        if not _says_something(line, passage):
            continue
        if not chosen:
            least = scores[place] - margin
        chosen[unit] = line
        words += more
        if len(chosen) == most:
            break
    if not several:
        return list(chosen.values())
    # Several lines of one passage are read in its order, and the passage with the best line comes first.
    order = list(dict.fromkeys(kept[unit.start].passage for unit in chosen))
    read = sorted(chosen, key=lambda unit: (order.index(kept[unit.start].passage), unit.start))
    return [chosen[unit] for unit in read]


def asks_several(question: str) -> bool:
    """Return whether a question asks for several things, or for a conclusion from several."""
    return asks_for_list(question) or asks_how(question) or needs_inference(question) or asks_two_things(question)


def _log_odds(question: str, strips: Sequence[Strip]) -> list[float]:
    """Return how well each strip answers, as its relevance in log-odds plus what its words and numbers add."""
    asked = content_words(comparable_moments(question))
    held = [asked & content_words(comparable_moments(strip.text)) for strip in strips]
    frequency = Counter(word for words in held for word in words)
    weights = {word: math.log((len(strips) + 1) / (frequency[word] + 0.5)) for word in asked}
    total = sum(weights.values()) or 1.0
    numbers = set(_NUMBER.findall(question)) if asks_for_number(question) else None

    def score(strip: Strip, words: set[str]) -> float:
        share = min(max(strip.relevance, 1e-4), 1 - 1e-4)
        numbered = numbers is not None and not numbers.issuperset(_NUMBER.findall(strip.text))
        named = sum(weights[word] for word in words) / total
        is_row = "|" in strip.text and names_row(asked, strip.text)
        added = NUMBER_LOG_ODDS * numbered + WORDS_LOG_ODDS * named + ROW_LOG_ODDS * is_row
        return math.log(share / (1 - share)) + added

    return [score(strip, words) for strip, words in zip(strips, held, strict=True)]


def _unit(strips: Sequence[Strip], place: int, task: GenerationTask) -> range:
    """Return the places of a strip and of those after it that it leads to, if it says little by itself."""
    first = strips[place].text
    words, stop = count_words(first), place + 1
    if first.rstrip().endswith(":") or words < FRAGMENT_WORDS:
        while _follows(strips, stop, task):
            words += count_words(strips[stop].text)
            if words > UNIT_WORDS:
                break
            stop += 1
    return range(place, stop)


def _follows(strips: Sequence[Strip], place: int, task: GenerationTask) -> bool:
    """Return whether the strip at a place directly follows the one before it, in the same piece of evidence."""
    if not 0 < place < len(strips) or strips[place].passage != strips[place - 1].passage:
        return False
    pieces = [piece for piece in task.evidence if piece.passage == strips[place].passage]
    return any(strips[place].text in piece.text and strips[place - 1].text in piece.text for piece in pieces)


def _says_something(line: Quotation, passage: GradedPassage) -> bool:
    """Return whether a line has words besides headings and the name of its document."""
    text = " ".join(one.text for one in line.fragments if one.kind not in (BlockKind.HEADING, BlockKind.HEADER))
    named = re.sub(r"[-_.]", " ", f"{passage.title} {passage.document}")
    return bool(content_words(text) - content_words(named))


def render_lines(lines: Sequence[Quotation]) -> str:
    """Return lines as Markdown, each cited, without their headings."""
    return "\n\n".join(layout.markdown(one.fragments, f"[{one.piece.n}]") for one in lines)
