"""Which documents a request for a summary means, by their names."""

from __future__ import annotations

import re
from dataclasses import dataclass

from localcrag.steps.context import Context
from localcrag.text.words import words_in


@dataclass(frozen=True, slots=True)
class Named:
    """A document: its id, its file's name and its length in characters."""

    id: int
    name: str
    characters: int


def documents_meant(words: frozenset[str], context: Context) -> tuple[Named, ...]:
    """Return the documents that have all these words in name or title; without words, all that are searched.

    Raises StoreError.
    """
    store, within = context.parts.store, context.within
    documents = [
        Named(one.id, one.name, one.characters)
        for one in store.documents()
        if one.chunks and (within is None or one.id in within)
    ]
    if not words or not documents:
        return tuple(documents)
    titles = _titles(context)
    return tuple(one for one in documents if words <= _words(one.name, titles.get(one.id, "")))


def _titles(context: Context) -> dict[int, str]:
    """Return the title of each document that is searched, by its id."""
    store = context.parts.store
    first: dict[int, int] = {}
    for chunk, document in sorted(store.documents_of(store.chunk_ids(context.within)).items()):
        first.setdefault(document, chunk)
    titles = store.titles(list(first.values()))
    return {document: titles.get(chunk, "") for document, chunk in first.items()}


def _words(name: str, title: str) -> frozenset[str]:
    """Return the words that a document goes by: of its file's name, whole and in parts, and of its title."""
    file = name.rsplit("/", 1)[-1]
    parts = re.sub(r"[-_./]+", " ", file)
    return frozenset(word.lower() for text in (file, parts, title) for word in words_in(text))
