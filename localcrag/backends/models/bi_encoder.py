"""The embedder: a sentence-transformers bi-encoder from a local folder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from localcrag.backends.models.precision import blame, knows_words, pick_device, pick_dtype
from localcrag.backends.models.sentence_encoders import SentenceTransformer, without_circle
from localcrag.records.errors import ModelDamaged
from localcrag.records.protocols import Vectors
from localcrag.text.words import valid

BATCH = 32
"""Texts at once; larger ones are no faster on a processor and take more memory."""


class BiEncoder:
    """A loaded embedder."""

    def __init__(self, name: str, folder: Path) -> None:
        """Load the model in `folder`. Raises ModelDamaged."""
        # A question may be asked while documents go in, and a tokenizer cannot be used by two threads at once.
        self._lock, self._counting = threading.Lock(), threading.Lock()
        self._counter: Tokenizer | None = None
        device = pick_device()
        try:
            self._model = without_circle(
                SentenceTransformer(
                    str(folder),
                    device=device,
                    local_files_only=True,
                    # Weights in pickled files (.bin) can run anything when they are read.
                    model_kwargs={"dtype": pick_dtype(device), "use_safetensors": True},
                )
            )
            if not knows_words(self._model.tokenizer):
                raise ValueError("its tokenizer.json is missing or knows no words")
        except Exception as error:  # Whatever the libraries stumble over in a damaged file, from TypeError on.
            raise ModelDamaged(
                f"The embedder in {folder} cannot be loaded: {blame(folder)}{error}. Check it with `localcrag models "
                f"verify {name}`, get it again with `localcrag models get {name}`, or choose another with `localcrag "
                "models use NAME`."
            ) from error
        self.name = name
        self.dimension = int(self._model.get_embedding_dimension() or 0)
        special = self._model.tokenizer.num_special_tokens_to_add()
        self.max_tokens = int(self._model.max_seq_length or 512) - special

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of texts to be found, shape (len(texts), dimension)."""
        return self._embed(texts, self._model.encode_document)

    def embed_questions(self, questions: Sequence[str]) -> Vectors:
        """Return unit vectors of what is looked for, shape (len(questions), dimension).

        An embedder with prompts of its own (“query: ”, “passage: ”) reads these in front of its texts.
        """
        return self._embed(questions, self._model.encode_query)

    def _embed(self, texts: Sequence[str], encode: Callable[..., Any]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        with self._lock:
            encoded = encode(
                [valid(text) for text in texts], batch_size=BATCH, show_progress_bar=False, convert_to_numpy=True
            )
        vectors = encoded.astype(np.float32)
        # Normalised here, in float32: normalised in bfloat16 they are up to 0.2 % off unit length.
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return each text's length in tokens, special tokens not counted. Does not wait for what is being embedded."""
        if not texts:
            return []
        with self._counting:
            if self._counter is None:
                self._counter = _counter(self._model.tokenizer)
            return [
                len(one.ids)
                for one in self._counter.encode_batch_fast([valid(text) for text in texts], add_special_tokens=False)
            ]


def _counter(tokenizer: Any) -> Tokenizer:
    """Return a copy that reads texts to their end: the model's own cuts and pads, and is in use meanwhile."""
    copy = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    copy.no_truncation()
    copy.no_padding()
    return copy
