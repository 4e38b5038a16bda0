"""`scripts/lab/speed/bench_answers.py` on a small scale: both ways are asked, and what they cost is told apart."""

from __future__ import annotations

import itertools
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from lab.speed import bench_answers

from localcrag.app.assemble import Assembly
from localcrag.settings import load


def test_a_question_is_asked_both_ways_and_its_seconds_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_answers, "CHUNKS", 10)
    ticks = itertools.count()
    monkeypatch.setattr(bench_answers, "clock", lambda: float(next(ticks)))
    files = tmp_path / "files"
    files.mkdir()
    with closing(Assembly(load(data_dir=tmp_path / "data", web="never"))) as assembly:
        cases = bench_answers.own_texts(assembly, files, 2)
        pairs = bench_answers.ask_all(assembly, cases, lambda _: None)
    found = bench_answers.figures(pairs)
    assert found["all"]["questions"] == len(pairs) == 2
    for ours, theirs in pairs:
        assert 0 < ours.first <= ours.last
        assert 0 < theirs.first < theirs.last
        assert ours.spent["relevance model.logits"] > 0
        assert "relevance model.logits" not in theirs.spent
        assert ours.spent[bench_answers.TOKENS] < theirs.spent[bench_answers.TOKENS]
    last = pairs[-1][0].spent
    assert 0 < last[bench_answers.KNOWN] < last[bench_answers.TOKENS]


def test_the_interval_of_a_median_holds_it_and_is_the_same_again() -> None:
    ratios = np.linspace(0.1, 0.3, 41)
    low, high = bench_answers.interval(ratios)
    assert 0.1 <= low < 0.2 < high <= 0.3
    assert bench_answers.interval(ratios) == (low, high)
