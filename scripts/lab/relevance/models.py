"""The rerankers that a command names, with their cached scores, calibration and speed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import platformdirs

from lab.relevance.scores import KeptScores, fingerprint
from localcrag.models.encoders import BiEncoder, read_calibration
from localcrag.models.reranker import CrossEncoder
from localcrag.models.reranker_format import load_fastest
from localcrag.records.enums import NumberFormat
from localcrag.records.protocols import Embedder
from localcrag.records.thresholds import FittedCalibration

ROOT = Path(__file__).resolve().parents[3]
EMBEDDER = ROOT / "models" / "all-minilm-l6-v2"
WORK = platformdirs.user_cache_path("localcrag", appauthor=False) / "relevance-scores"
TIMED = 128
"""Pairs that are timed: they take seconds on two cores, and are more than one batch."""
TIMED_TOKENS = 160
"""Tokens of the passages that are timed, about the length of the app's chunks."""


@dataclass(frozen=True)
class Model:
    """A model's folder and the requested number format; `work` is the folder that caches its scores."""

    folder: Path
    wanted: NumberFormat
    work: Path

    @classmethod
    def named(cls, named: str, work: Path) -> Model:
        """Return the model named FOLDER or FOLDER:FORMAT."""
        folder, _, ending = named.rpartition(":")
        known = folder and ending in list(NumberFormat)
        path, wanted = (folder, NumberFormat(ending)) if known else (named, NumberFormat.AUTO)
        return cls(Path(path).resolve(), wanted, work)

    @cached_property
    def scorer(self) -> CrossEncoder:
        """Return the loaded model. Raises ModelError."""
        return load_fastest(self.folder.name, self.folder, wanted=self.wanted, threads=0, cache=self.work)

    @cached_property
    def name(self) -> str:
        """Return folder and number format in use; for AUTO, this loads the model. Raises ModelError."""
        auto = self.wanted is NumberFormat.AUTO
        return f"{self.folder.name} {self.scorer.number_format if auto else self.wanted}"

    @cached_property
    def scores(self) -> KeptScores:
        """Return its scores, which are computed when first requested. Raises ModelError."""
        name = f"{self.name.replace(' ', '-')}-{fingerprint(self.folder)}.sqlite3"
        return KeptScores(self.work / name, lambda: self.scorer)

    @cached_property
    def calibration(self) -> FittedCalibration:
        """Return the calibration in the model's folder, or the fallback. Raises ModelDamaged."""
        return read_calibration(self.folder)

    def speed(self, question: str, texts: Sequence[str]) -> float:
        """Return the pairs scored per second, the best of three rounds after a warm-up. Raises ModelError."""
        self.scorer.logits(question, texts[:16])
        seconds = []
        for _ in range(3):
            started = time.perf_counter()
            self.scorer.logits(question, texts)
            seconds.append(time.perf_counter() - started)
        return len(texts) / min(seconds)


def load_embedder(folder: Path) -> Embedder:
    """Return the bi-encoder. Raises ModelDamaged."""
    return BiEncoder(folder.name, folder)


def texts_to_time(passages: Sequence[str], embedder: Embedder) -> list[str]:
    """Return the TIMED passages nearest to TIMED_TOKENS tokens, repeated if there are too few."""
    lengths = np.array(embedder.count_tokens(passages))
    nearest = np.argsort(np.abs(lengths - TIMED_TOKENS), kind="stable")
    return [passages[int(number)] for number in np.resize(nearest[:TIMED], TIMED)]
