"""A collection grows to a hundred chunks, and is searched in a process of its own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from lab.scale import bench_scale
from lab.scale.scale_plot import draw

from tests.support.other_languages import LEASES

pytestmark = pytest.mark.lab


def test_a_collection_grows_and_its_figures_are_plotted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bench_scale, "BASE", 30)
    monkeypatch.setattr(bench_scale, "QUESTIONS", 5)
    corpus = tmp_path / "corpus.jsonl.gz"
    texts = [f"{text}\n\n{text[::2]}" for text in LEASES.values()]
    lines = [json.dumps({"title": f"Lease {n}", "text": text}) for n, text in enumerate(texts)]
    corpus.write_bytes(gzip.compress("\n".join(lines).encode()))
    folder = tmp_path / "built"
    folder.mkdir()
    first, grown = bench_scale.measure(corpus, [60], folder)
    assert first["embedded chunks"] >= bench_scale.QUESTIONS
    assert grown["chunks"] == 60.0
    assert grown["recall of the 10 nearest"] == 1.0
    assert grown["nearest in 50% of the documents, p95 ms"] > 0
    draw([grown], tmp_path / "growth.svg")
    assert "by words" in (tmp_path / "growth.svg").read_text("utf-8")
