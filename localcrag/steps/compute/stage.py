"""The step `compute`: a question about a table is answered by computing on it, and by nothing else."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator, Sequence, Set
from dataclasses import replace

from localcrag.records.computation import Computation
from localcrag.records.enums import StripReason
from localcrag.records.errors import ModelError
from localcrag.records.events import Answered, Computed, Event, StepStarted, Warned
from localcrag.records.passages import GradedPassage, Passage, Strip
from localcrag.records.protocols import ChunkStore
from localcrag.steps.asked import Asked
from localcrag.steps.compute.candidate import Candidate, chunk_of
from localcrag.steps.compute.choose import candidates, overlaps
from localcrag.steps.compute.compute import compute as carried_out
from localcrag.steps.compute.question import request_of
from localcrag.steps.compute.wording import MOST_SHOWN, answer_of, citation_of, operation_in_words
from localcrag.steps.context import EVERY_STEP, Context
from localcrag.steps.evaluate import evaluate
from localcrag.steps.refine.refine import recompose
from localcrag.steps.retrieve.retrieve import passages_of
from localcrag.steps.screen import prompt_injection
from localcrag.steps.screen.stage import screen
from localcrag.text.translation import gettext as _

MOST_MORE = 3
"""Parts of a table that are added to the passages, for rows that no retrieved passage has."""


def compute(asked: Asked, passages: Sequence[GradedPassage], context: Context) -> Generator[Event, None, bool]:
    """Yield Computed and Answered where a question is one for computing on a table; return whether it was.

    Nothing is yielded for other questions but a warning where several tables fit equally. Raises StoreError.
    """
    request = request_of(asked.standalone, context.parts.today()) if context.steps == EVERY_STEP else None
    if request is None:
        return False
    clock = context.clock("compute")
    found = candidates(request, passages, context.parts.store, context.within)
    if len(found) > 1:
        yield Warned(_several(found))
    if len(found) != 1:
        return False
    (one,) = found
    done = _numbered(carried_out(one.plan, one.document, one.title), one, context.parts.store)
    yield StepStarted("compute", _("computing: %(what)s", what=operation_in_words(done)))
    more = _more(asked.standalone, one, done, context)
    parts = sorted((*one.passages, *more), key=lambda passage: passage.start or 0)
    counts = set(_cited(one, done))
    strips = tuple(strip for passage in parts for strip in _strips(one, counts, passage))
    evidence, sources = recompose(parts, strips)
    rule = _("computed on a table of the documents, whatever the relevance of its passages")
    yield Computed(done, rule, more, strips, evidence, sources, clock.cost())
    yield from screen(parts, context.parts.rules)
    yield Answered(answer_of(done, citation_of([piece.n for piece in evidence])), abstained=False)
    return True


def _numbered(done: Computation, one: Candidate, store: ChunkStore) -> Computation:
    """Return what was computed with the numbers that its rows have on their sheet, if they are of one."""
    if not done.rows or not any(passage.rows for passage in one.passages):
        return done
    start, end = min(row.start for row in done.rows), max(row.end for row in done.rows)
    chunks = store.chunks(store.chunks_within(chunk_of(one.passages[0]), start, end))
    numbers = {chunk.start + row.start: row.number for of, chunk in chunks.values() for row in chunk.rows}
    return replace(done, rows=tuple(replace(row, number=numbers.get(row.start)) for row in done.rows))


def _several(found: Sequence[Candidate]) -> str:
    names = dict.fromkeys(
        f"“{one.table.name}” ({one.document})" if one.table.name else f"“{one.document}”" for one in found
    )
    return _(
        "Several tables fit this question equally, so that nothing was computed: %(tables)s. Name one of them in the "
        "question.",
        tables=", ".join(names),
    )


def _cited(one: Candidate, done: Computation) -> list[tuple[int, int]]:
    """Return the places of the rows that the answer rests on: those that count, or all where none does."""
    return [(row.start, row.end) for row in done.rows or one.table.rows]


def _more(question: str, one: Candidate, done: Computation, context: Context) -> tuple[GradedPassage, ...]:
    """Return passages for rows that are shown and that no retrieved passage has, evaluated like those."""
    parts = context.parts
    missing: dict[int, None] = {}
    known = {chunk_of(passage) for passage in one.passages}
    for start, end in _cited(one, done)[:MOST_SHOWN]:
        if not any(overlaps(passage, start, end) for passage in one.passages):
            within = parts.store.chunks_within(chunk_of(one.passages[0]), start, end)
            missing.update(dict.fromkeys(chunk for chunk in within if chunk not in known))
    wanted = list(missing)[:MOST_MORE]
    if not wanted:
        return ()
    (vector,) = parts.embedder.embed_questions([question])
    found = passages_of(wanted, question, vector, parts.store)
    return _graded(question, found, context)


def _graded(question: str, found: Sequence[Passage], context: Context) -> tuple[GradedPassage, ...]:
    screened = prompt_injection.screened(found, context.parts.rules)
    try:
        graded = evaluate.evaluate(question, screened, scorer=context.parts.scorer, thresholds=context.thresholds)
    except ModelError:
        graded = evaluate.unscored(screened, thresholds=context.thresholds)  # That it is missing has been said.
    return prompt_injection.as_they_came(graded, found)


def _strips(one: Candidate, counts: Set[tuple[int, int]], passage: GradedPassage) -> list[Strip]:
    """Return the rows of the table that a passage has whole, and its header: kept are those at places that count."""
    first = bisect_left(one.table.rows, passage.start or 0, key=lambda row: row.start)
    last = bisect_left(one.table.rows, passage.end or 0, key=lambda row: row.start)
    rows = [place for row in one.table.rows[first:last] if _has(passage, place := (row.start, row.end))]
    kept = [place for place in rows if place in counts]
    header = (one.table.start, one.table.start + len(_header_text(one, passage)))
    places = [*([(header, bool(kept))] if header[1] > header[0] else []), *((place, place in counts) for place in rows)]
    begin = passage.start or 0
    return [
        Strip(
            passage.id, start - begin, end - begin, passage.text[start - begin : end - begin], passage.logit,
            passage.relevance, is_kept, StripReason.COMPUTED if is_kept else StripReason.NOT_COMPUTED,
        )
        for (start, end), is_kept in places
        if _has(passage, (start, end))
    ]  # fmt: skip


def _has(passage: GradedPassage, place: tuple[int, int]) -> bool:
    return passage.start is not None and passage.start <= place[0] and place[1] <= (passage.end or 0)


def _header_text(one: Candidate, passage: GradedPassage) -> str:
    """Return the header's lines, with the rule below it, where the passage has them whole; else nothing."""
    place = (one.table.start, one.table.rows[0].start)
    begin = passage.start or 0
    return passage.text[place[0] - begin : place[1] - begin].rstrip() if _has(passage, place) else ""
