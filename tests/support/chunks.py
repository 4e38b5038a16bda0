"""Documents cut into chunks at once, with any way of counting tokens."""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.documents.chunking import CountTokens, chunks_from_units, find_units
from localcrag.records.documents import Chunk, Page


def split_into_chunks(
    pages: Sequence[Page], count_tokens: CountTokens, *, title: str = "", target: int, limit: int
) -> list[Chunk]:
    """Return the chunks of a document, in order, of about `target` tokens and at most `limit`."""
    target = min(target, limit)
    found = find_units(pages, count_tokens, title=title, target=target, limit=limit)
    return chunks_from_units(pages, [unit for some in found for unit in some], target=target, limit=limit)
