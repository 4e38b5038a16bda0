"""Look up: answer a question about a numbered place ("clause 10.4", "page 7") with what stands there.

A reranker cannot know what "clause 10.4" says without reading it, so that such passages score low. If the question asks
for nothing else than the place, its text is the answer, regardless of relevance. If it asks for something at the place,
the passages of the place are put first, and are graded like any others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from localcrag.crag.answer import layout
from localcrag.crag.compute import grade_chunks
from localcrag.crag.context import EVERY_STEP, AskedQuestion, Context, Flow
from localcrag.crag.references import Place, find_place, find_references
from localcrag.crag.refine.refine import recompose
from localcrag.crag.refine.strips import count_words, passage_strip
from localcrag.crag.screen import injection
from localcrag.records.enums import StripReason
from localcrag.records.events import Answered, LookedUp, StepStarted
from localcrag.records.passages import GradedPassage, Strip
from localcrag.text.sentences import Span
from localcrag.text.translation import gettext as _
from localcrag.text.words import blank_out, content_words

MOST_WORDS = 150
"""Maximum number of words of a place that are quoted."""
ASKS_FOR_TEXT = frozenset(
    "what does do say state read mean is are stand goes go on written about please show tell me give quote text "
    "content document file sheet page paper order report agreement contract manual guide form slides minutes law act "
    "was steht stehen lautet heißt besagt sagt zeige".split()
)
"""Words of a question for a place that ask for nothing but its text."""


def look_up(asked: AskedQuestion, passages: Sequence[GradedPassage], context: Context) -> Flow[bool]:
    """Answer the question with the text of a numbered place, if it asks for that alone. Return whether it does.

    The events are LookedUp and Answered. Raises StoreError.
    """
    question = asked.standalone
    if context.steps != EVERY_STEP:
        return False
    clock = context.clock("look up")
    place = find_place(question, passages, context.parts.store)
    if place is None or not _asks_for_text(question, place):
        return False
    text = _beginning(place.text.text)
    place = replace(place, text=Span(place.text.start, place.text.start + len(text), text))
    name = question[place.reference.start : place.reference.end]
    yield StepStarted("look up", _("looking up %(place)s", place=name))
    parts = _passages_of(place, question, passages, context)
    strips = tuple(strip for passage in parts for strip in _strips(place, passage))
    evidence, sources = recompose(parts, strips)
    known = {passage.id for passage in passages}
    rule = _("the question names %(place)s, which was found, regardless of how relevant it is", place=name)
    new = tuple(passage for passage in parts if passage.id not in known)
    yield LookedUp(rule, new, strips, evidence, sources, clock.cost())
    yield from injection.screen(parts, context.parts.rules)
    shown = {passage.id: passage for passage in injection.screened(parts, context.parts.rules)}
    texts = []
    for piece in evidence:
        own = [strip for strip in strips if strip.passage == piece.passage and strip.kept]
        texts.append(layout.markdown(layout.evidence_fragments(piece, shown[piece.passage], own), f"[{piece.n}]"))
    yield Answered("\n\n".join(texts), abstained=False)
    return True


def _asks_for_text(question: str, place: Place) -> bool:
    """Return whether a question asks for nothing but the text of the place that it names."""
    rest = question
    for one in find_references(question):
        rest = blank_out(rest, one.start, one.end)
    words = (word for word in re.split(r"[\W_]+", rest) if word.lower() not in ASKS_FOR_TEXT)
    asked = content_words(" ".join(words))
    return not asked - place.words - content_words(place.text.text)


def _passages_of(
    place: Place, question: str, passages: Sequence[GradedPassage], context: Context
) -> tuple[GradedPassage, ...]:
    """Return the passages that contain the place; those that were not found before are graded like the others."""
    ids = context.parts.store.chunks_within(place.chunk_id, place.text.start, place.text.end)
    known = {passage.id: passage for passage in passages}
    wanted = [chunk_id for chunk_id in ids if f"chunk-{chunk_id}" not in known]
    known |= {passage.id: passage for passage in grade_chunks(question, wanted, context)}
    return tuple(known[name] for chunk_id in ids if (name := f"chunk-{chunk_id}") in known)


def _beginning(text: str) -> str:
    """Return the lines of a text up to MOST_WORDS, but at least the first one."""
    shown, words = "", 0
    for line in text.splitlines(keepends=True):
        words += count_words(line)
        if shown and words > MOST_WORDS:
            break
        shown += line
    return shown


def _strips(place: Place, passage: GradedPassage) -> list[Strip]:
    """Return the part of a place that a passage contains, as a kept strip."""
    begin = passage.start or 0
    start = max(place.text.start - begin, 0)
    end = min(place.text.end - begin, len(passage.text))
    if not passage.text[start:end].strip():
        return []
    fates = (StripReason.BELOW, StripReason.NAMED)
    return [passage_strip(passage, (start, end), fates, kept=True)]
