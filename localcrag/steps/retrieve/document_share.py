"""Which documents a question is about: a passage need not name what its document names elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence

from localcrag.records.protocols import ChunkStore
from localcrag.text.lexicon.stems import cut
from localcrag.text.words import is_function_word, words_in


def document_shares(question: str, ids: Sequence[int], store: ChunkStore) -> dict[int, float]:
    """Return for each chunk how much its document has of the question's words, in 0..1: the fullest of these has 1.

    A word counts by its inverse document frequency (Spärck Jones 1972), here over whole documents. A word that very
    many chunks have says nothing, nor does anything where all documents have the same.
    """
    documents = store.documents_of(ids)
    number = store.number_of_documents()
    held = dict.fromkeys(documents.values(), 0.0)
    # As they are written: the index knows endings by itself.
    words = {word.lower() for one in words_in(question) for word in cut(one)}
    for word in (word for word in words if not is_function_word(word)):
        having = store.documents_with(word)
        if having:
            weight = math.log((number + 1) / (len(having) + 0.5))
            for document in having & held.keys():
                held[document] += weight
    most = max(held.values(), default=0.0)
    return {chunk_id: held[document] / most if most else 0.0 for chunk_id, document in documents.items()}
