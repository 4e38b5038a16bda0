"""Tables with the same columns as one that was found, on other pages and in other documents."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from localcrag.records.protocols import ChunkStore
from localcrag.steps.compute.candidate import LONGEST_TEXT, Candidate, names_of
from localcrag.steps.compute.plan import plan_of
from localcrag.steps.compute.question import Request
from localcrag.steps.compute.table import Table, places_of, tables_in

MOST_CHUNKS = 30
"""Passages that full-text search looks for the names of columns in: several of one document are one look."""
MOST_PAGES = 50
"""Of a document that are read for tables with the same columns."""


def rivals(
    request: Request, found: Sequence[Candidate], store: ChunkStore, within: Collection[int] | None
) -> list[Candidate]:
    """Return candidates with the same columns as those found, that no passage has a part of."""
    seen = {(one.document, one.table.start) for one in found}
    made: list[Candidate] = []
    for header in dict.fromkeys(one.header for one in found):
        for document, title, table in _alike(header, store, within):
            place = (document, table.start)
            if place in seen or tuple(name.casefold() for name in table.header) != header:
                continue
            seen.add(place)
            if plan := plan_of(request, table, names_of(document, title, None)):
                made.append(Candidate(plan, document, title, ()))
    return made


def _alike(
    header: Sequence[str], store: ChunkStore, within: Collection[int] | None
) -> Iterator[tuple[str, str | None, Table]]:
    """Yield document, title and table for the tables of documents in which full-text search finds these columns."""
    ids = store.full_text(" ".join(header), MOST_CHUNKS, within)
    chunks, titles = store.chunks(ids), store.titles(ids)
    documents: dict[str, int] = {}
    for chunk in ids:
        if chunk in chunks:
            documents.setdefault(chunks[chunk][0], chunk)
    for document, chunk in documents.items():
        text = store.excerpt(chunk, 0, LONGEST_TEXT)
        end = -1
        if len(text) == LONGEST_TEXT:
            continue
        for number, place in enumerate(places_of(text, header)):
            if place < end or number >= MOST_PAGES:
                continue  # On a page that a table goes on over.
            for table in tables_in(text, place, paged=chunks[chunk][1].page is not None):
                end = max(end, table.end)
                yield document, titles.get(chunk), table
