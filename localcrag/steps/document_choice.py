"""Which documents a question is put to."""

from __future__ import annotations

from dataclasses import dataclass, replace

from localcrag.records.errors import QuestionError
from localcrag.records.protocols import ChunkStore
from localcrag.records.restriction import Restriction, SearchScope
from localcrag.steps.other_names import OtherNames, no_others


@dataclass(frozen=True, slots=True)
class DocumentChoice:
    """The documents of a restricted question, by their ids; `missing` says what of the restriction no document has."""

    ids: frozenset[int]
    scope: SearchScope
    missing: tuple[str, ...]


def choose(restriction: Restriction, store: ChunkStore, other_names: OtherNames = no_others) -> DocumentChoice | None:
    """Return the documents that a restriction allows, by any of their names; None where it asks for nothing.

    Raises QuestionError where it allows none, and StoreError.
    """
    if not restriction:
        return None
    documents = store.documents()
    also = other_names([one.name for one in documents]) if restriction.documents or restriction.folders else {}
    documents = [replace(one, also=also[one.name]) if one.name in also else one for one in documents]
    allowed = [document for document in documents if restriction.allows(document)]
    missing = restriction.without_effect(documents)
    if not allowed:
        why = f": {', '.join(missing)}" if missing else ""
        raise QuestionError(
            f"No document fits “{restriction.in_words()}”{why}. Ask without it, or choose others; "
            "localcrag documents lists names, tags and kinds."
        )
    scope = SearchScope(len(allowed), len(documents), restriction)
    return DocumentChoice(frozenset(document.id for document in allowed), scope, missing)
