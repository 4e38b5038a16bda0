"""Protocols: the models, stores and services that the steps need; other packages implement them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from localcrag.records.documents import Chunk, Document, ScannedPage
from localcrag.records.ingest import OriginalFile
from localcrag.records.run import Message, Run, WebAnswer
from localcrag.records.thresholds import FittedCalibration
from localcrag.text.sentences import Span

Vectors = NDArray[np.float32]
"""Array of float32; embeddings have one row per text, of unit length, so that a dot product is a cosine."""
JsonSchema = dict[str, Any]


class Embedder(Protocol):
    """A bi-encoder, which turns texts and questions into vectors."""

    @property
    def name(self) -> str:
        """The model's name and revision, as stored with a collection."""

    @property
    def dimension(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """Maximum length of a text in tokens, without special tokens; longer texts are truncated."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts to index, shape (len(texts), dimension)."""

    def embed_questions(self, questions: Sequence[str]) -> Vectors:
        """Return the vectors of questions to search with, shape (len(questions), dimension)."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return each text's length in the model's tokens, without special tokens."""


class Scorer(Protocol):
    """A cross-encoder, which scores texts against a question."""

    @property
    def name(self) -> str: ...

    @property
    def calibration(self) -> FittedCalibration: ...

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        """Return one raw logit per text, shape (len(texts),), computed in one batch."""

    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> list[Vectors]:
        """Return for each text one raw logit per strip, shape (strips,), as input to `FittedCalibration.strips`.

        Strips are spans of their text, so that a scorer can take the surrounding text into account.
        """


@dataclass(slots=True)
class TokenUsage:
    """Numbers of tokens of an answer and its prompt; `cached_tokens` of the prompt did not have to be read again.

    `estimated`: the numbers are estimates because the tokens were not counted.
    """

    prompt_tokens: int
    completion_tokens: int = 0
    cached_tokens: int = 0
    estimated: bool = False


class TokenStream(Protocol):
    """An answer being generated. Closing it stops the model; the usage is final once it is exhausted or closed.

    A piece may be empty. It shows that the model is still working, and gives the caller a chance to stop it.
    """

    usage: TokenUsage

    def __iter__(self) -> Iterator[str]: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Decoding:
    """Options for generation: at most `max_tokens` tokens, up to the first occurrence of a text in `stop`.

    At `temperature` 0 decoding is greedy, so the same prompt gets the same answer; above 0 it is random.

    With a `schema`, the output is JSON that matches it, with the keys in the schema's order, unless `max_tokens` or
    `stop` cut it off. Schemas consist of objects, strings with a pattern, and enumerations; models need not respect
    the limits of numbers.
    """

    max_tokens: int
    stop: tuple[str, ...] = ()
    schema: JsonSchema | None = None
    temperature: float = 0.0


class LanguageModel(Protocol):
    """A chat model. It runs one stream at a time; a second one waits until the first is exhausted or closed."""

    @property
    def name(self) -> str: ...

    @property
    def context_tokens(self) -> int:
        """Size of the context window in tokens, for prompt and answer together."""

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the length in tokens of the prompt made from these messages."""

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> TokenStream:
        """Start an answer. Raises GenerationError."""


class WebSearch(Protocol):
    def wording(self, query: str) -> str:
        """Return `query` exactly as `search` would send it."""

    def search(self, query: str) -> WebAnswer:
        """Send `query` to the search server and return its answer. Thread-safe. Raises SearchError."""


class Consent(Protocol):
    def __call__(self, query: str) -> str | None:
        """Show the exact query to the user; return the query to send, edited or not, or None to send nothing.

        Raises ConsentMissing if the user does not answer.
        """


class WebCache(Protocol):
    def get(self, query: str) -> WebAnswer | None:
        """Return the cached answer to `query`, with its time, or None. Raises StoreError."""

    def put(self, query: str, answer: WebAnswer) -> None:
        """Store an answer. Thread-safe. Raises StoreError."""


class RateLimit(Protocol):
    def claim(self, per_minute: int) -> float:
        """Return 0.0 and count the query if it may be sent now; otherwise return the seconds to wait."""

    def pause(self, seconds: float) -> None:
        """Wait for this number of seconds."""


class VectorIndex(Protocol):
    def nearest(self, vector: Vectors, k: int, within: Collection[int] | None = None) -> list[tuple[int, float]]:
        """Return up to `k` (chunk id, cosine), best first, for a vector of shape (dimension,).

        If `within` is given, only chunks of those documents are searched.
        """


class ChunkStore(Protocol):
    def documents(self) -> Sequence[Document]:
        """Return all documents, sorted by name."""

    def chunk_ids(self, within: Collection[int] | None = None) -> list[int]:
        """Return the ids of all chunks, or of the chunks of the documents `within`, in ascending order."""

    def number_of_chunks(self, within: Collection[int] | None = None) -> int:
        """Return the number of chunks, in all documents or in the documents `within`."""

    def full_text(self, question: str, k: int, within: Collection[int] | None = None) -> list[int]:
        """Return up to `k` chunk ids by BM25, best first, from all documents or from the documents `within`."""

    def documents_containing(self, word: str) -> frozenset[int] | None:
        """Return the ids of the documents that contain a word; None if very many chunks contain it."""

    @property
    def languages(self) -> Callable[[], Mapping[str, int]]:
        """A function that returns the number of documents per language code (localcrag.text.words)."""

    def documents_of(self, ids: Sequence[int]) -> dict[int, int]:
        """Return the document id of each chunk that still exists, by chunk id."""

    def number_of_documents(self) -> int:
        """Return the number of documents."""

    def chunks(self, ids: Sequence[int]) -> dict[int, tuple[str, Chunk]]:
        """Return the document name and the chunk for each id that still exists."""

    def neighbour(self, chunk_id: int, *, behind: bool) -> tuple[int, Chunk] | None:
        """Return the id and the chunk before or, if `behind`, after one in its document; None if there is none."""

    def excerpt(self, chunk_id: int, start: int, end: int) -> str:
        """Return the text from `start` to `end` of a chunk's document; empty if the document is gone."""

    def chunks_within(self, chunk_id: int, start: int, end: int) -> list[int]:
        """Return the ids of the chunks of a chunk's document that overlap `start` to `end`, in order."""

    def titles(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the title of each chunk's document."""

    def dates(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the ISO date of each chunk's document, for those that have one."""

    def vectors(self, ids: Sequence[int]) -> dict[int, Vectors]:
        """Return the stored vector, shape (dimension,), for each id that still exists."""


class SavableIndex(Protocol):
    """A vector index that is kept up to date with the stored documents."""

    def refresh(self) -> None:
        """Update the index to the content of the collection. Raises StoreError."""

    def save(self) -> None:
        """Write the index file if enough has changed. Raises StoreError."""


class DocumentShelf(Protocol):
    """The documents of a collection, to which files are added."""

    def twin(self, sha256: str, but: str) -> str | None:
        """Return the first name, in order, of a document other than `but` with that checksum, or None."""

    def put(
        self,
        name: str,
        *,
        sha256: str,
        media_type: str,
        pages: int | None,
        text: str,
        chunks: Sequence[Chunk],
        vectors: Vectors,
        title: str | None = None,
        dated: str | None = None,
        original: OriginalFile | None = None,
        unread: Sequence[int] = (),
    ) -> None:
        """Store a document in one transaction, replacing an earlier one of the same name. Raises StoreError."""


class ScannedPages(Protocol):
    """The scanned pages of a collection's documents."""

    def documents(self) -> list[Document]:
        """Return the documents with pages to recognise or to add to the text."""

    def original(self, document: Document) -> bytes | None:
        """Return a document's file, or None if it was not kept."""

    def text(self, document: Document) -> str: ...

    def waiting(self, document: Document) -> list[int]:
        """Return the pages of a document that wait for text recognition."""

    def read(self, document: Document) -> dict[int, ScannedPage]:
        """Return the recognised pages of a document."""

    def keep(self, document: Document, page: int, read: ScannedPage, seconds: float) -> None:
        """Store the content of a page, and how long its recognition took."""

    def record_failure(self, document: Document, page: int, error: str) -> None:
        """Store the reason why a page could not be recognised."""

    def retry_failed(self) -> None:
        """Let pages that could not be recognised wait again."""

    def vectors(self, document: Document) -> dict[str, Vectors]:
        """Return the vectors of a document's chunks, by the text that was embedded."""

    def replace_text(
        self,
        document: Document,
        *,
        text: str,
        chunks: Sequence[Chunk],
        vectors: Vectors,
        title: str,
        pages: Sequence[int],
    ) -> None:
        """Replace a document's text and chunks by those with its recognised `pages`, in one transaction."""


class RunLog(Protocol):
    def save(self, run: Run) -> None:
        """Store a run, replacing an earlier one with the same id. Raises StoreError."""
