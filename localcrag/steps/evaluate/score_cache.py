"""A cache of scores: the same question and text are scored once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from cachetools import LRUCache

from localcrag.records.protocols import Calibration, Scorer, Vectors
from localcrag.text.span import Span

MOST = 20_000
"""Logits kept. A question takes about 80 (6 passages, 5 results of the web, their sentences), so these are the last 250
questions'; a key and a number are about 200 bytes, all together 4 MB."""
KEY_BYTES = 16


class ScoreCache:
    """Stands before one scorer and answers for it what it has answered before. May be used by several threads."""

    def __init__(self, scorer: Scorer, most: int = MOST) -> None:
        """Keep up to `most` logits; those that were not asked for the longest go first."""
        self.scorer = scorer
        self._most = most
        self._lock = threading.Lock()
        self._known: LRUCache[bytes, float] = LRUCache(most)

    def emptied(self) -> ScoreCache:
        """Return one before the same scorer that remembers nothing yet."""
        return ScoreCache(self.scorer, self._most)

    @property
    def name(self) -> str:
        """The scorer's."""
        return self.scorer.name

    @property
    def calibration(self) -> Calibration:
        """The scorer's."""
        return self.scorer.calibration

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        """Return one raw logit per text, shape (len(texts),). New texts are scored, each once. Raises ModelError."""
        keys = {text: _key(question, text) for text in texts}
        found: dict[str, float] = {}
        with self._lock:
            for text, key in keys.items():
                if (logit := self._known.get(key)) is not None:
                    found[text] = logit
        if new := [text for text in keys if text not in found]:
            # Without the lock: who asks for what is known does not wait for a model at work.
            found.update(zip(new, self.scorer.logits(question, new).tolist(), strict=True))
            with self._lock:
                self._known.update((keys[text], found[text]) for text in new)
        return np.array([found[text] for text in texts], dtype=np.float32)

    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> list[Vectors]:
        """Return for each text one raw logit per strip of it. Texts with a new strip are scored. Raises ModelError."""
        keys = [
            [_key(question, f"{span.start}-{span.end} {text}") for span in spans]
            for text, spans in zip(texts, strips, strict=True)
        ]
        with self._lock:
            found = [[self._known.get(key) for key in row] for row in keys]
        new = [row for row, logits in enumerate(found) if None in logits]
        if new:
            parts = self.scorer.strip_logits(question, [texts[row] for row in new], [strips[row] for row in new])
            with self._lock:
                for row, logits in zip(new, parts, strict=True):
                    found[row] = logits.tolist()
                    self._known.update(zip(keys[row], logits.tolist(), strict=True))
        return [np.array(row, dtype=np.float32) for row in found]


def _key(question: str, text: str) -> bytes:
    """Return a digest of both, so that what is kept for a text of a million characters is small as well."""
    digest = blake2b(str(len(question)).encode(), digest_size=KEY_BYTES)
    # Lone surrogates come in with undecodable bytes.
    digest.update(f":{question}{text}".encode("utf-8", "surrogatepass"))
    return digest.digest()
