"""Compute: answer a question about a table by computing on it, and word the result."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from localcrag.crag import grading
from localcrag.crag.answer.layout import inline_markdown, plain_markdown
from localcrag.crag.context import EVERY_STEP, AskedQuestion, Context, Flow
from localcrag.crag.refine.refine import recompose
from localcrag.crag.refine.strips import passage_strip
from localcrag.crag.retrieve import chunk_passages
from localcrag.crag.screen import injection
from localcrag.records.enums import Operation, StripReason
from localcrag.records.errors import ModelError
from localcrag.records.events import Answered, Computed, StepStarted, Warned
from localcrag.records.passages import GradedPassage, Strip
from localcrag.records.protocols import ChunkStore
from localcrag.records.run import Computation
from localcrag.records.wording import (
    MAX_SHOWN,
    capitalised,
    groups_header,
    left_out_in_words,
    operation_in_words,
    result_in_words,
    rows_in_words,
)
from localcrag.tables.choose import Candidate, candidates, chunk_of, overlaps
from localcrag.tables.execute import compute as carried_out
from localcrag.tables.question import parse_request
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext

BAR = r"\|"
"""A bar in a cell of a table."""


def answer_text(done: Computation, citation: str) -> str:
    """Return the answer in Markdown; `citation` goes after its first sentence."""
    listed = done.values or done.rows or done.groups
    notes = " ".join(map(plain_markdown, (*left_out_in_words(done), *done.notes)))
    paragraphs = [f"{_first_sentence(done)} {citation}".rstrip() + (":" if listed else "."), *filter(None, [notes])]
    table = [_table(done.header, [row.cells for row in done.rows[:MAX_SHOWN]])] if done.rows else []
    if done.groups:
        shown = [(one.name, one.result, str(one.rows)) for one in done.groups[:MAX_SHOWN]]
        paragraphs.append(_table(groups_header(done), shown))
        more = len(done.groups) - MAX_SHOWN
        paragraphs += table if not done.by and done.operation is Operation.DIFFERENCE else []
    elif done.values:
        paragraphs.append("\n".join(f"- {inline_markdown(value)}" for value in done.values[:MAX_SHOWN]))
        more = len(done.values) - MAX_SHOWN
    else:
        paragraphs += table
        more = done.row_count - min(len(done.rows), MAX_SHOWN)
    if more > 0:
        paragraphs.append(ngettext("And %(num)s more.", "And %(num)s more.", more))
    return "\n\n".join(paragraphs)


def _first_sentence(done: Computation) -> str:
    """Return the first sentence of the answer, without its full stop."""
    if done.refused:
        what = plain_markdown(operation_in_words(done))
        return _("**Not computed: %(what)s.** The reason: %(why)s", what=what, why=plain_markdown(done.refused))
    return _result_phrase(done) + _table_phrase(done)


def _result_phrase(done: Computation) -> str:
    """Return the result with its operation, and its column or number of rows."""
    what = plain_markdown(capitalised(operation_in_words(done)))
    over = ngettext(" over %(num)s row", " over %(num)s rows", done.row_count)
    if done.groups:
        chosen = not done.by or done.pick
        return f"**{what}: {plain_markdown(done.result)}**" if chosen else f"**{what}**{over}"
    column_text = _(" of %(column)s", column=plain_markdown(done.column or ""))
    if done.operation is Operation.VALUES:
        return f"**{result_in_words(done)}**{column_text}"
    if done.operation is Operation.COUNT and done.column:
        number = ngettext("%(num)s different value", "%(num)s different values", int(done.result))
        return f"**{number}**{column_text}"
    if done.operation in (Operation.COUNT, Operation.FILTER):
        return f"**{rows_in_words(done.row_count)}**"
    if not done.row_count:
        return _("**No row** has a value")
    if done.pick or done.operation in (Operation.MAXIMUM, Operation.MINIMUM):
        over = ngettext(" in %(num)s row", " in %(num)s rows", done.row_count)
    result = f": {plain_markdown(done.result)}" if done.result else ""
    return f"**{what}{result}**{over}"


def _table_phrase(done: Computation) -> str:
    """Return the words that name the table and the conditions."""
    where = _(" of the table “%(name)s”", name=plain_markdown(done.table)) if done.table else ""
    if done.filters:
        where += _(" where %(conditions)s", conditions=_(" and ").join(map(plain_markdown, done.filters)))
    return where


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    first, *others = (
        f"| {' | '.join(inline_markdown(cell).replace('|', BAR) for cell in row)} |" for row in (header, *rows)
    )
    return "\n".join([first, "|" + " --- |" * len(header), *others])


MAX_EXTRA_PASSAGES = 3
"""Maximum number of parts of a table to add to the passages, for rows that no retrieved passage contains."""


def compute(asked: AskedQuestion, passages: Sequence[GradedPassage], context: Context) -> Flow[bool]:
    """Answer the question by computing on a table, if it asks for that. Return whether it does.

    The events are Computed and Answered; for any other question, at most a warning that several tables fit equally
    well. Raises StoreError.
    """
    request = parse_request(asked.standalone, context.parts.today()) if context.steps == EVERY_STEP else None
    if request is None:
        return False
    clock = context.clock("compute")
    found = candidates(request, passages, context.parts.store, context.within)
    if len(found) > 1:
        yield Warned(_several_tables(found))
    if len(found) != 1:
        return False
    (one,) = found
    done = _with_row_numbers(carried_out(one.plan, one.document, one.title), one, context.parts.store)
    yield StepStarted("compute", _("computing: %(what)s", what=operation_in_words(done)))
    more = _extra_passages(asked.standalone, one, done, context)
    parts = sorted((*one.passages, *more), key=lambda passage: passage.start or 0)
    counts = set(_cited_rows(one, done))
    strips = tuple(strip for passage in parts for strip in _strips(one, counts, passage))
    evidence, sources = recompose(parts, strips)
    rule = _("computed from a table in the documents, regardless of how relevant its passages are")
    yield Computed(done, rule, more, strips, evidence, sources, clock.cost())
    yield from injection.screen(parts, context.parts.rules)
    yield Answered(answer_text(done, "".join(f"[{piece.n}]" for piece in evidence)), abstained=False)
    return True


def _with_row_numbers(done: Computation, one: Candidate, store: ChunkStore) -> Computation:
    """Return the computation with the sheet numbers of its rows, if they come from a sheet."""
    if not done.rows or not any(passage.rows for passage in one.passages):
        return done
    start, end = min(row.start for row in done.rows), max(row.end for row in done.rows)
    chunks = store.chunks(store.chunks_within(chunk_of(one.passages[0]), start, end))
    numbers = {chunk.start + row.start: row.number for of, chunk in chunks.values() for row in chunk.rows}
    return replace(done, rows=tuple(replace(row, number=numbers.get(row.start)) for row in done.rows))


def _several_tables(found: Sequence[Candidate]) -> str:
    names = [f"“{one.table.name}” ({one.document})" if one.table.name else f"“{one.document}”" for one in found]
    return _(
        "Several tables fit this question equally well, so nothing was computed: %(tables)s. Name one of them in "
        "the question.",
        tables=", ".join(dict.fromkeys(names)),
    )


def _cited_rows(one: Candidate, done: Computation) -> list[tuple[int, int]]:
    """Return the positions of the rows that the answer is based on: the rows that count, or all if none does."""
    return [(row.start, row.end) for row in done.rows or one.table.rows]


def _extra_passages(question: str, one: Candidate, done: Computation, context: Context) -> tuple[GradedPassage, ...]:
    """Return passages, graded like the others, for shown rows that no retrieved passage contains."""
    parts = context.parts
    missing: dict[int, None] = {}
    known = {chunk_of(passage) for passage in one.passages}
    for start, end in _cited_rows(one, done)[:MAX_SHOWN]:
        if not any(overlaps(passage, start, end) for passage in one.passages):
            within = parts.store.chunks_within(chunk_of(one.passages[0]), start, end)
            missing.update(dict.fromkeys(chunk for chunk in within if chunk not in known))
    return grade_chunks(question, list(missing)[:MAX_EXTRA_PASSAGES], context)


def grade_chunks(question: str, ids: Sequence[int], context: Context) -> tuple[GradedPassage, ...]:
    """Return chunks that were not retrieved as passages, graded by the reranker, or unscored if it fails."""
    if not ids:
        return ()
    parts = context.parts
    (vector,) = parts.embedder.embed_questions([question])
    found = chunk_passages(ids, question, vector, parts.store)
    screened = injection.screened(found, parts.rules)
    try:
        graded = grading.evaluate(question, screened, scorer=parts.scorer, thresholds=context.thresholds)
    except ModelError:
        graded = grading.unscored(screened, thresholds=context.thresholds)  # The failure has been reported already.
    return injection.restore_texts(graded, found)


def _strips(one: Candidate, counts: Set[tuple[int, int]], passage: GradedPassage) -> list[Strip]:
    """Return the table's header and complete rows in a passage as strips, keeping the rows at positions `counts`."""
    first = bisect_left(one.table.rows, passage.start or 0, key=lambda row: row.start)
    last = bisect_left(one.table.rows, passage.end or 0, key=lambda row: row.start)
    rows = [place for row in one.table.rows[first:last] if _contains(passage, place := (row.start, row.end))]
    kept = [place for place in rows if place in counts]
    header = (one.table.start, one.table.start + len(_header_text(one, passage)))
    places = [*([(header, bool(kept))] if header[1] > header[0] else []), *((place, place in counts) for place in rows)]
    begin = passage.start or 0
    fates = (StripReason.NOT_COMPUTED, StripReason.COMPUTED)
    return [
        passage_strip(passage, (start - begin, end - begin), fates, kept=is_kept)
        for (start, end), is_kept in places
        if _contains(passage, (start, end))
    ]


def _contains(passage: GradedPassage, place: tuple[int, int]) -> bool:
    return passage.start is not None and passage.start <= place[0] and place[1] <= (passage.end or 0)


def _header_text(one: Candidate, passage: GradedPassage) -> str:
    """Return the header's lines with the rule below them, if the passage contains them completely; otherwise ""."""
    place = (one.table.start, one.table.rows[0].start)
    begin = passage.start or 0
    return passage.text[place[0] - begin : place[1] - begin].rstrip() if _contains(passage, place) else ""
