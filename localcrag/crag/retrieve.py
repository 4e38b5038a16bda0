"""Retrieve: nearest vectors and full text (BM25), fused by reciprocal rank."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import partial

import numpy as np

from localcrag.crag.answer.generate import plain_prompt
from localcrag.crag.context import AskedQuestion, Context, Flow
from localcrag.crag.references import chunks_at_reference
from localcrag.records.enums import Origin, Skill
from localcrag.records.errors import GenerationError, StoreError
from localcrag.records.events import PlainPromptCounted, Retrieved, StepStarted, Warned
from localcrag.records.passages import Passage
from localcrag.records.protocols import ChunkStore, Embedder, VectorIndex, Vectors
from localcrag.text.lexicon import split_unspaced
from localcrag.text.titles import with_context
from localcrag.text.translation import gettext as _
from localcrag.text.words import is_function_word, overlap, split_words


def document_shares(question: str, ids: Sequence[int], store: ChunkStore) -> dict[int, float]:
    """Return for each chunk the share of the question's words in its document, scaled so that the best document has 1.

    Words are weighted by their inverse document frequency (Spärck Jones 1972), here over whole documents. A word in
    very many chunks does not count. If all documents have the same words, the shares make no difference.
    """
    documents = store.documents_of(ids)
    number = store.number_of_documents()
    held = dict.fromkeys(documents.values(), 0.0)
    # Words are looked up as written, because the index handles endings.
    words = {word.lower() for one in split_words(question) for word in split_unspaced(one)}
    for word in (word for word in words if not is_function_word(word)):
        having = store.documents_containing(word)
        if having:
            weight = math.log((number + 1) / (len(having) + 0.5))
            for document in having & held.keys():
                held[document] += weight
    most = max(held.values(), default=0.0)
    return {chunk_id: held[document] / most if most else 0.0 for chunk_id, document in documents.items()}


RANK_CONSTANT = 10
"""k of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009).

The paper's 60 is meant for lists of 1,000; with it, the order within lists of 30 hardly counts
(docs/lab/evaluation.md).
"""
SHARE_BONUS = 0.4
"""Bonus on the cosine of the document with most of the question's words; 0.3 to 0.5 gave the same results."""
SHARE_WEIGHT = 0.5
"""Relative gain in fused score of the document with most of the question's words; 0.3 to 1 gave the same results."""
NEARBY_FACTOR = 10
"""Number of nearest chunks in which such documents are searched, as a multiple of `candidates`."""


def hybrid_search(
    query: str,
    question: str,
    *,
    k: int,
    candidates: int,
    embedder: Embedder,
    index: VectorIndex | None,
    store: ChunkStore,
    within: Collection[int] | None = None,
) -> tuple[Passage, ...]:
    """Return up to `k` passages, best first, from three rankings of up to `candidates` each.

    The search is for `query`; cosine and overlap compare with `question`, which the passages are graded by. Without an
    index, only full text is searched. `within` restricts the search to documents with these ids.
    """
    asked, *others = embedder.embed_questions([question] if query == question else [question, query])
    vector = others[0] if others else asked
    near = index.nearest(vector, NEARBY_FACTOR * candidates, within) if index is not None else []
    best = _ranked(query, near, store, store.full_text(query, candidates, within), candidates)[:k]
    return chunk_passages(best, question, asked, store)


def chunk_passages(best: Sequence[int], question: str, asked: Vectors, store: ChunkStore) -> tuple[Passage, ...]:
    """Return chunks as passages for a question, in the order given; `asked` is its vector, shape (dimension,).

    Chunks that were deleted after the search are left out.
    """
    chunks = store.chunks(best)
    vectors = store.vectors(best)
    titles, dates = store.titles(best), store.dates(best)
    passages = []
    for chunk_id in best:
        # A document may have been deleted after the search, so it is not an error if its chunks are gone.
        if chunk_id in chunks and chunk_id in vectors:
            document, chunk = chunks[chunk_id]
            title = titles.get(chunk_id)
            read = with_context(title, chunk.text, section=chunk.section, lead=chunk.lead)
            passages.append(
                Passage(
                    id=f"chunk-{chunk_id}",
                    origin=Origin.LOCAL,
                    text=chunk.text,
                    document=document,
                    page=chunk.page,
                    start=chunk.start,
                    end=chunk.end,
                    title=title,
                    section=chunk.section,
                    lead=chunk.lead,
                    confidence=chunk.confidence,
                    rows=chunk.rows,
                    dated=dates.get(chunk_id),
                    cosine=float(np.dot(asked, vectors[chunk_id])),
                    overlap=overlap(question, read),
                )
            )
    return tuple(passages)


def _ranked(
    query: str, near: Sequence[tuple[int, float]], store: ChunkStore, sparse: Sequence[int], candidates: int
) -> list[int]:
    """Return the ids of the chunks to use, best first.

    `near` are chunks with their cosine, nearest first; `sparse` are chunks found by full text.
    """
    shares = document_shares(query, [*(chunk_id for chunk_id, _ in near), *sparse], store)
    # A third ranking moves documents with the question's words forward.
    by_document = sorted(near, key=lambda found: -(found[1] + SHARE_BONUS * shares.get(found[0], 0.0)))
    dense, by_share = ([chunk_id for chunk_id, _ in found[:candidates]] for found in (near, by_document))
    fused = fuse([dense, sparse, by_share])
    return sorted(fused, key=lambda chunk_id: -fused[chunk_id] * (1.0 + SHARE_WEIGHT * shares.get(chunk_id, 0.0)))


def fuse(rankings: Sequence[Sequence[int]]) -> dict[int, float]:
    """Return for each id the sum of 1 / (RANK_CONSTANT + rank) over all rankings."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, identifier in enumerate(ranking, start=1):
            scores[identifier] = scores.get(identifier, 0.0) + 1.0 / (RANK_CONSTANT + rank)
    return scores


MOST_AT_PLACE = 8
"""Maximum number of passages of a place that are put first."""


def place_first(question: str, found: tuple[Passage, ...], context: Context) -> tuple[Passage, ...]:
    """Return the passages with those of the place that the question names ("page 7") in front. Raises StoreError."""
    store = context.parts.store
    at_place = chunks_at_reference(question, found, store, MOST_AT_PLACE)
    if not at_place:
        return found
    (vector,) = context.parts.embedder.embed_questions([question])
    placed = chunk_passages(at_place, question, vector, store)
    ids = {passage.id for passage in placed}
    return (*placed, *(one for one in found if one.id not in ids))[: len(found)]


def retrieve(asked: AskedQuestion, context: Context) -> Flow[tuple[Passage, ...]]:
    """Yield Retrieved and, for comparison, the length of the prompt that plain RAG would send; return the passages.

    Plain RAG would send the first k. More are returned if they will be scored.
    """
    yield StepStarted("retrieve", _("searching the documents"))
    for missing in context.choice.missing if context.choice else ():
        yield Warned(_("Only some documents are searched, and %(missing)s.", missing=missing))
    clock = context.clock("retrieve")
    found = yield from search_passages(asked.standalone, asked.standalone, context)
    found = place_first(asked.standalone, found, context)
    yield Retrieved(found, clock.cost(), context.scope)
    try:
        sent = found[: context.settings.k]
        whole = Skill.ALONE in context.parts.skills
        prompt = plain_prompt(asked.question, asked.standalone, sent, asked.history, whole=whole)
        yield PlainPromptCounted(context.parts.llm.count_tokens(prompt))
    except GenerationError as error:
        yield Warned(_("The tokens that plain RAG would need could not be counted: %(error)s", error=error))
    return found


def search_passages(query: str, question: str, context: Context) -> Flow[tuple[Passage, ...]]:
    """Return the passages for `query`, to be graded by `question`; if the vector index fails, by full text alone.

    Raises StoreError if full text fails as well.
    """
    parts, settings = context.parts, context.settings
    search = partial(
        hybrid_search, query, question, k=context.retrieved, candidates=max(settings.candidates, context.retrieved),
        embedder=parts.embedder, store=parts.store, within=context.within,
    )  # fmt: skip
    try:
        return search(index=parts.index)
    except StoreError as error:
        yield Warned(_("The vector index could not be searched, so only keywords were used: %(error)s", error=error))
        return search(index=None)
