"""From the pages of a document to chunks with their vectors."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType

import numpy as np

from localcrag.records.documents import Chunk, Page
from localcrag.records.ingest import IngestEvent
from localcrag.records.protocols import Embedder, Vectors
from localcrag.steps.ingest.chunk import chunks_from
from localcrag.steps.ingest.outline import LETTERS_AT_ONCE, PORTION, Unit, units_of
from localcrag.text.titles import in_context

AT_ONCE = 64
"""Chunks embedded between two reports of progress; sorted by length, so that a batch is hardly padded."""
FOR_SECTION = 24
"""Tokens kept free in front of a chunk for the headings that it stands under."""


At = Callable[[str, int, int], IngestEvent]
"""Says how far a phase of an ingest is."""


def chunks_of(
    pages: Sequence[Page], title: str, embedder: Embedder, target: int, at: At
) -> Generator[IngestEvent, None, list[Chunk]]:
    """Return the pages cut into chunks that the embedder can read with what stands in front of them.

    Yields how far that is, in characters, where there is much to cut.
    """
    (of_title,) = embedder.count_tokens([title])
    # In a small window long headings may push out the end of a passage, but not half of it.
    limit = max(embedder.max_tokens - of_title - FOR_SECTION, embedder.max_tokens // 2)
    ends = [0, *accumulate(len(page.text) for page in pages)]
    units: list[Unit] = []
    told = told_up_to = 0
    for some in units_of(pages, embedder.count_tokens, title=title, target=min(target, limit), limit=limit):
        units += some
        done = ends[units[-1].page] + units[-1].end if units else 0
        if len(units) - told >= PORTION or done - told_up_to >= LETTERS_AT_ONCE:
            told, told_up_to = len(units), done
            yield at("cutting", done, ends[-1])
    return chunks_from(pages, units, target=target, limit=limit)


def texts_of(chunks: Sequence[Chunk], title: str) -> list[str]:
    """Return what is embedded of chunks: each with what stands in front of it."""
    return [in_context(title, chunk.text, section=chunk.section, lead=chunk.lead) for chunk in chunks]


def embedded(
    chunks: Sequence[Chunk],
    title: str,
    embedder: Embedder,
    at: At,
    *,
    known: Mapping[str, Vectors] = MappingProxyType({}),
) -> Generator[IngestEvent, None, Vectors]:
    """Return a row for each chunk, shape (chunks, dimension); yield how far that is, as `at` puts it.

    What is `known`, by the text that it was made of, is not made again.
    """
    texts = texts_of(chunks, title)
    vectors = np.zeros((len(texts), embedder.dimension), dtype=np.float32)
    new = []
    for place, text in enumerate(texts):
        if text in known:
            vectors[place] = known[text]
        else:
            new.append(place)
    (made,) = yield from embedded_together([([texts[place] for place in new], at)], embedder)
    yield at("embedding", len(new), len(new))
    vectors[new] = made
    return vectors


def embedded_together(
    documents: Sequence[tuple[Sequence[str], At]], embedder: Embedder
) -> Generator[IngestEvent, None, list[Vectors]]:
    """Return a row for each text of each document; yield that each is begun, and then how far the longest is.

    Texts of about one length are embedded together, whatever document they are of, so that they are hardly padded.
    """
    for texts, at in documents:
        yield at("embedding", 0, len(texts))
    of = [number for number, (texts, _) in enumerate(documents) for _ in texts]
    every = [text for texts, _ in documents for text in texts]
    vectors = np.zeros((len(every), embedder.dimension), dtype=np.float32)
    by_length = sorted(range(len(every)), key=lambda place: -len(every[place]))
    longest = max(range(len(documents)), key=lambda number: len(documents[number][0]), default=0)
    done = 0
    for start in range(0, len(every), AT_ONCE):
        if start:
            texts, at = documents[longest]
            yield at("embedding", done, len(texts))
        some = by_length[start : start + AT_ONCE]
        vectors[some] = embedder.embed([every[place] for place in some])
        done += sum(of[place] == longest for place in some)
    ends = list(accumulate(len(texts) for texts, _ in documents))
    return [vectors[end - len(texts) : end] for end, (texts, _) in zip(ends, documents, strict=True)]
