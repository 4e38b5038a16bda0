"""Documents in other languages than the models in use were made for."""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.records.documents import Document
from localcrag.settings import ENGLISH_EMBEDDER, Settings
from localcrag.text.lexicon.languages import ENGLISH

ADVICE = (
    "Most documents of this collection are not in English, which the models in use were made for. "
    "`localcrag models get multilingual` brings those for other languages, "
    "`localcrag models use multilingual` chooses them"
)


def mostly_foreign(documents: Sequence[Document], settings: Settings) -> bool:
    """Return whether most documents, of those that tell, are not in English, and the English embedder is in use."""
    told = [document.language for document in documents if document.language]
    return settings.embedder == ENGLISH_EMBEDDER and 2 * sum(one != ENGLISH for one in told) > len(told)
