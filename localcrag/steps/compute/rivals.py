"""Tables with the same columns as one that was found, on other pages and in other documents."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from localcrag.records.protocols import ChunkStore
from localcrag.steps.compute.candidate import LONGEST_TEXT, Candidate, chunk_of, names_of
from localcrag.steps.compute.conditions import may_meet
from localcrag.steps.compute.plan import plan_of
from localcrag.steps.compute.plan_columns import Plan
from localcrag.steps.compute.question import Request
from localcrag.steps.compute.table import Table, Tables, places_of

MOST_CHUNKS = 30
"""Passages that full-text search looks for the names of columns in: several of one document are one look."""
MOST_PAGES = 50
"""Of a document that are read for tables with the same columns."""


def rivals(
    request: Request,
    found: Sequence[Candidate],
    store: ChunkStore,
    within: Collection[int] | None,
    texts: Mapping[str, Tables],
) -> list[Candidate]:
    """Return candidates with the same columns as those found, that no passage has a part of.

    `texts` are documents that have been read, by name.
    """
    seen = {(one.document, one.table.start) for one in found}
    made: list[Candidate] = []
    for header in dict.fromkeys(one.header for one in found):
        own = {one.document: chunk_of(one.passages[0]) for one in found if one.header == header and one.passages}
        for document, title, table in _alike(header, own, store, within, texts):
            place = (document, table.start)
            if place in seen or tuple(name.casefold() for name in table.header) != header:
                continue
            seen.add(place)
            names = names_of(document, title, None)
            one = next(one for one in found if one.header == header)
            if plan := plan_of(request, table, names) or _plan_of_both(request, one.table, table, names):
                made.append(Candidate(plan, document, title, ()))
    return made


def _plan_of_both(request: Request, table: Table, rival: Table, names: Sequence[str]) -> Plan | None:
    """Return the plan for both tables as one, where rows of the rival would count; None where it is not about these.

    A rival in which no customer has two orders would fit no question about groups by itself.
    """
    both = replace(table, rows=(*table.rows, *rival.rows), caption=rival.caption, section=rival.section)
    plan = plan_of(request, both, names)
    if plan is None:
        return None
    return plan if set(rival.rows).intersection(may_meet(plan.tests, plan.known.rows)) else None


def _alike(
    header: Sequence[str],
    own: Mapping[str, int],
    store: ChunkStore,
    within: Collection[int] | None,
    texts: Mapping[str, Tables],
) -> Iterator[tuple[str, str | None, Table]]:
    """Yield document, title and table for the tables of documents in which full-text search finds these columns.

    Those of `own`, with a chunk of each, are read in any case: a long table fills all places of a search by itself.
    """
    others = _others(list(own.values()), store, within)
    ids = [*own.values(), *(store.full_text(" ".join(header), MOST_CHUNKS, others) if others else ())]
    chunks, titles = store.chunks(ids), store.titles(ids)
    documents: dict[str, int] = {}
    for chunk in ids:
        if chunk in chunks:
            documents.setdefault(chunks[chunk][0], chunk)
    for document, chunk in documents.items():
        read = texts.get(document)
        if read is None:
            text = store.excerpt(chunk, 0, LONGEST_TEXT)
            read = Tables(text if len(text) < LONGEST_TEXT else "", paged=chunks[chunk][1].page is not None)
        end = -1
        for number, place in enumerate(places_of(read.text, header)):
            if place < end or number >= MOST_PAGES:
                continue  # On a page that a table goes on over.
            for table in read.on_page_of(place):
                end = max(end, table.end)
                yield document, titles.get(chunk), table


def _others(own: Sequence[int], store: ChunkStore, within: Collection[int] | None) -> set[int]:
    """Return the ids of the documents that may be asked, but those of these chunks."""
    every = {document.id for document in store.documents()} if within is None else set(within)
    return every - set(store.documents_of(own).values())
