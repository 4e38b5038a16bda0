"""Cache logits and vectors on disk, so that an interrupted run resumes and nothing is scored twice.

The key of a score is the bytes of a model's folder and a number format, so that a changed model gets its own scores.
The versions of the libraries are not in the key: remove the folder after updating them.
"""

from __future__ import annotations

import functools
import hashlib
import sqlite3
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from localcrag.records.protocols import Embedder, Scorer, Vectors
from localcrag.text.sentences import Span

Pair = tuple[str, str]
"""A question and a text."""
NOT_THE_MODEL = ("calibration.json", "CARD.md", "README.md")
SAID_EVERY = 15.0
"""Seconds between two lines of progress."""


def fingerprint(folder: Path) -> str:
    """Return a checksum of all files in a model's folder that its scores depend on."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in NOT_THE_MODEL:
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


class KeptScores:
    """Cache of the logits of one model in one format; they are computed when first requested."""

    def __init__(self, path: Path, scorer: Callable[[], Scorer]) -> None:
        """Open or create the file at `path`; `scorer` is called at most once, when a score is missing."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._load = functools.cache(scorer)
        self._label = path.stem
        self._database = sqlite3.connect(path)
        self._database.execute("CREATE TABLE IF NOT EXISTS logits (pair BLOB PRIMARY KEY, logit REAL) WITHOUT ROWID")
        self._known: dict[bytes, float] = dict(self._database.execute("SELECT pair, logit FROM logits"))

    def compute(self, pairs: Sequence[Pair]) -> None:
        """Score the pairs that are not cached, question by question; an interruption loses no finished question."""
        missing: dict[str, dict[bytes, str]] = {}
        for question, text in pairs:
            if _key(question, text) not in self._known:
                missing.setdefault(question, {})[_key(question, text)] = text
        if not missing:
            return
        scorer = self._load()
        progress = Progress(self._label, sum(len(text) for texts in missing.values() for text in texts.values()))
        for question, texts in missing.items():
            logits = scorer.logits(question, list(texts.values()))
            self._put(list(zip(texts, logits.tolist(), strict=True)))
            progress.advance(sum(len(text) for text in texts.values()))

    def compute_strips(self, asked: Sequence[tuple[str, str, Sequence[Span]]]) -> None:
        """Score the strips that are not cached, text by text; `asked` has questions, texts and their strips."""
        missing = {
            (question, text): strips
            for question, text, strips in asked
            if any(_strip_key(question, text, strip) not in self._known for strip in strips)
        }
        if not missing:
            return
        scorer = self._load()
        progress = Progress(f"{self._label}, strips", sum(len(text) for _, text in missing))
        for (question, text), strips in missing.items():
            (logits,) = scorer.strip_logits(question, [text], [strips])
            keys = [_strip_key(question, text, strip) for strip in strips]
            self._put(list(zip(keys, logits.tolist(), strict=True)))
            progress.advance(len(text))

    def of_strips(self, question: str, text: str, strips: Sequence[Span]) -> Vectors:
        """Return the logits of a text's strips, shape (len(strips),)."""
        self.compute_strips([(question, text, strips)])
        return np.array([self._known[_strip_key(question, text, strip)] for strip in strips], dtype=np.float32)

    def _put(self, rows: Sequence[tuple[bytes, float]]) -> None:
        with self._database:
            self._database.executemany("INSERT OR REPLACE INTO logits VALUES (?, ?)", rows)
        self._known.update(rows)

    def of(self, question: str, texts: Sequence[str]) -> Vectors:
        """Return the logits of texts, shape (len(texts),)."""
        self.compute([(question, text) for text in texts])
        return np.array([self._known[_key(question, text)] for text in texts], dtype=np.float32)

    def close(self) -> None:
        self._database.close()


class KeepingScorer:
    """A scorer that caches its logits in a file."""

    def __init__(self, scorer: Scorer, path: Path) -> None:
        """Cache the logits of `scorer` in the file at `path`."""
        self.name, self.calibration = scorer.name, scorer.calibration
        self._kept = KeptScores(path, lambda: scorer)

    def logits(self, question: str, texts: Sequence[str]) -> Vectors:
        """Return one raw logit per text, shape (len(texts),)."""
        return self._kept.of(question, texts)

    def strip_logits(self, question: str, texts: Sequence[str], strips: Sequence[Sequence[Span]]) -> list[Vectors]:
        """Return for each text one raw logit per strip, shape (strips,)."""
        return [self._kept.of_strips(question, text, own) for text, own in zip(texts, strips, strict=True)]


class Progress:
    """Prints progress and remaining time of a task of known size to stderr."""

    def __init__(self, label: str, total: int) -> None:
        self._label, self._total, self._done = label, total, 0
        self._started = self._said = time.monotonic()

    def advance(self, amount: int) -> None:
        self._done += amount
        now = time.monotonic()
        if now - self._said >= SAID_EVERY or self._done >= self._total:
            self._said = now
            left = (now - self._started) * (self._total / self._done - 1)
            print(f"{self._label}: {self._done / self._total:.0%}, about {left / 60:.1f} minutes left", file=sys.stderr)


def kept_vectors(folder: Path, embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return the unit vectors of texts, from the cache in `folder` if they were computed before."""
    digest = hashlib.sha256("\0".join([embedder.name, *texts]).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    path = folder / f"vectors-{digest}.npy"
    if path.exists():
        return np.asarray(np.load(path), dtype=np.float32)
    folder.mkdir(parents=True, exist_ok=True)
    print(f"embedding {len(texts)} texts", file=sys.stderr)
    vectors = embedder.embed(texts)
    # It has another name until it is complete, so that an interrupted run leaves no file that looks finished.
    temporary = path.with_suffix(".part.npy")
    np.save(temporary, vectors)
    temporary.replace(path)
    return vectors


def _key(question: str, text: str) -> bytes:
    joined = f"{len(question)}\0{question}{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=16).digest()


def _strip_key(question: str, text: str, strip: Span) -> bytes:
    return _key(question, f"{strip.start}-{strip.end}\0{text}")
