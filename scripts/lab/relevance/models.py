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
"""Pairs timed: seconds on two cores, and more than one batch."""
TIMED_TOKENS = 160
"""Of the passages timed, about a chunk of the app's."""


@dataclass(frozen=True)
class Model:
    """A model's folder and the number format asked for; `work` is where its scores are kept."""

    folder: Path
    wanted: NumberFormat
    work: Path

    @classmethod
    def named(cls, named: str, work: Path) -> Model:
        """Return the model of FOLDER or FOLDER:FORMAT."""
        folder, _, ending = named.rpartition(":")
        known = folder and ending in list(NumberFormat)
        path, wanted = (folder, NumberFormat(ending)) if known else (named, NumberFormat.AUTO)
        return cls(Path(path).resolve(), wanted, work)

    @cached_property
    def scorer(self) -> CrossEncoder:
        """The loaded model. Raises ModelError."""
        return load_fastest(self.folder.name, self.folder, wanted=self.wanted, threads=0, cache=self.work)

    @cached_property
    def name(self) -> str:
        """Folder and number format in use; for AUTO the model is loaded to know it. Raises ModelError."""
        auto = self.wanted is NumberFormat.AUTO
        return f"{self.folder.name} {self.scorer.number_format if auto else self.wanted}"

    @cached_property
    def scores(self) -> KeptScores:
        """Its scores, computed when first asked for. Raises ModelError."""
        name = f"{self.name.replace(' ', '-')}-{fingerprint(self.folder)}.sqlite3"
        return KeptScores(self.work / name, lambda: self.scorer)

    @cached_property
    def calibration(self) -> FittedCalibration:
        """What lies beside the model, or the fallback. Raises ModelDamaged."""
        return read_calibration(self.folder)

    def speed(self, question: str, texts: Sequence[str]) -> float:
        """Return how many pairs a second are scored: the best of three, after a warm-up. Raises ModelError."""
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
    """Return TIMED passages, those nearest to TIMED_TOKENS tokens; the same ones again where there are too few."""
    lengths = np.array(embedder.count_tokens(passages))
    nearest = np.argsort(np.abs(lengths - TIMED_TOKENS), kind="stable")
    return [passages[int(number)] for number in np.resize(nearest[:TIMED], TIMED)]
