"""Protocols: what the steps need from outside; `backends/` implements them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from localcrag.records.documents import Chunk, Document
from localcrag.records.passages import Thresholds
from localcrag.records.run import Message, Run, WebAnswer
from localcrag.text.sentences import Span

Vectors = NDArray[np.float32]
"""Rows are texts; unit length, so that a dot product is a cosine."""
JsonSchema = dict[str, Any]


class Embedder(Protocol):
    """A bi-encoder."""

    @property
    def name(self) -> str:
        """Name and revision, as stored with a collection."""

    @property
    def dimension(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """Tokens of a text beyond which it would be cut off, special tokens not counted."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts to be found, shape (len(texts), dimension)."""

    def embed_questions(self, questions: Sequence[str]) -> Vectors:
        """Return the vectors of what is looked for, shape (len(questions), dimension)."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return each text's length in the embedder's tokens, special tokens not counted."""


class Calibration(Protocol):
    """From a scorer's raw output to probabilities; belongs to one scorer model and is stored with it."""

    @property
    def thresholds(self) -> Thresholds:
        """Defaults that fit this calibration."""

    @property
    def fitted(self) -> bool:
        """False for the named fallback of a scorer that nobody has calibrated."""

    def passages(self, logits: Vectors, cosines: Vectors, overlaps: Vectors) -> Vectors: ...

    def strips(self, logits: Vectors, passage_relevances: Vectors) -> Vectors: ...


class Scorer(Protocol):
    """A cross-encoder."""

    @property
    def name(self) -> str: ...

    @property
    def calibration(self) -> Calibration: ...

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        """Return one raw logit per text, shape (len(texts),), computed in one batch."""

    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> list[Vectors]:
        """Return for each text one raw logit per strip of it, shape (strips,), for `Calibration.strips`.

        A strip's place is in its text, so that a scorer may judge it with what stands around it.
        """


class TokenStream(Protocol):
    """An answer being written. Closing it stops the model; the counts are final when it is exhausted or closed.

    A piece may be empty: a sign that the model is at work, for whoever may want to stop it.
    """

    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    """Whether nobody counted these tokens."""

    def __iter__(self) -> Iterator[str]: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Decoding:
    """How a language model writes: at most `max_tokens` tokens, up to the first of the texts `stop`.

    At `temperature` 0 it is decoded greedily: the same prompt gets the same answer. Above, chance has a part.

    Under a `schema` it is JSON that fits it, with the keys in the schema's order, unless `max_tokens` or `stop` cut it
    off. Schemas are made of objects, strings with a pattern, and enumerations; the limits of a number need not be kept.
    """

    max_tokens: int
    stop: tuple[str, ...] = ()
    schema: JsonSchema | None = None
    temperature: float = 0.0


class LanguageModel(Protocol):
    """A chat model. One stream at a time: a second waits until the first is exhausted or closed."""

    @property
    def name(self) -> str: ...

    @property
    def context_tokens(self) -> int:
        """Prompt and answer together."""

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the length of the prompt these messages make, in tokens."""

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> TokenStream:
        """Start an answer. Raises GenerationError."""


class WebSearch(Protocol):
    def wording(self, query: str) -> str:
        """Return `query` exactly as `search` would send it."""

    def search(self, query: str) -> WebAnswer:
        """Put `query` to the search server. May be used by several threads. Raises SearchError."""


class Consent(Protocol):
    def __call__(self, query: str) -> str | None:
        """Show the exact query to a person; return the one to send, edited or not, or None to send nothing.

        Raises ConsentMissing when the person does not answer.
        """


class WebCache(Protocol):
    def get(self, query: str) -> WebAnswer | None:
        """Return the answer that `query` got before, with its time, or None. Raises StoreError."""

    def put(self, query: str, answer: WebAnswer) -> None:
        """Keep an answer. May be used by several threads. Raises StoreError."""


class RateLimit(Protocol):
    def claim(self, per_minute: int) -> float:
        """Return 0.0 when a query may leave now, which then counts; else the seconds until one may."""

    def pause(self, seconds: float) -> None:
        """Return after so many seconds."""


class VectorIndex(Protocol):
    def nearest(self, vector: Vectors, k: int, within: Collection[int] | None = None) -> list[tuple[int, float]]:
        """Return up to `k` (chunk id, cosine), best first, for a vector of shape (dimension,); of these documents."""


class ChunkStore(Protocol):
    def documents(self) -> Sequence[Document]:
        """Return all documents, by name."""

    def chunk_ids(self, within: Collection[int] | None = None) -> list[int]:
        """Return the ids of all chunks, or of those of the documents `within`, ascending."""

    def number_of_chunks(self, within: Collection[int] | None = None) -> int:
        """Return how many chunks there are, or how many those documents have."""

    def full_text(self, question: str, k: int, within: Collection[int] | None = None) -> list[int]:
        """Return up to `k` chunk ids by BM25, best first, of the documents `within` if they are given."""

    def documents_with(self, word: str) -> frozenset[int] | None:
        """Return the ids of the documents that have a word; None where very many chunks have it."""

    @property
    def languages(self) -> Callable[[], Mapping[str, int]]:
        """Returns how many documents are in each language, as localcrag.text.words says it."""

    def documents_of(self, ids: Sequence[int]) -> dict[int, int]:
        """Return the id of the document of each chunk that still exists."""

    def number_of_documents(self) -> int:
        """Return how many documents there are."""

    def chunks(self, ids: Sequence[int]) -> dict[int, tuple[str, Chunk]]:
        """Return document name and chunk of each id that still exists."""

    def neighbour(self, chunk_id: int, *, behind: bool) -> tuple[int, Chunk] | None:
        """Return the chunk before or behind one in its document, with its id; None where there is none."""

    def excerpt(self, chunk_id: int, start: int, end: int) -> str:
        """Return what stands at these places of a chunk's document; nothing when it is gone."""

    def chunks_within(self, chunk_id: int, start: int, end: int) -> list[int]:
        """Return the ids of the chunks of a chunk's document that have a part of these places, in order."""

    def titles(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the title of each chunk's document."""

    def dates(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the ISO date of each chunk's document, for those that have one."""

    def vectors(self, ids: Sequence[int]) -> dict[int, Vectors]:
        """Return the stored vector, shape (dimension,), of each id that still exists."""


class RunLog(Protocol):
    def save(self, run: Run) -> None:
        """Keep a run, in place of an earlier one of the same id. Raises StoreError."""
