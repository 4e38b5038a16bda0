"""What every RunLog promises."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from localcrag.records.passages import Thresholds
from localcrag.records.protocols import RunLog
from localcrag.records.run import Run
from localcrag.storage.database import Database
from localcrag.storage.run_store import RunStore
from tests.support.fakes import FakeRunLog
from tests.support.hostile_texts import HOSTILE

pytestmark = pytest.mark.contract

RUN = Run(
    run_id="r1", created_at="2026-01-01T00:00:00+00:00", collection="default", question="Why?",
    standalone_question="Why?", thresholds=Thresholds(0.7, 0.3, 0.5), warnings=("careful",), models={"llm": "x"},
)  # fmt: skip

Bench = tuple[RunLog, Callable[[], list[Run]]]


@pytest.fixture(params=["fake", "real"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    if request.param == "fake":
        fake = FakeRunLog()
        return fake, lambda: fake.runs[::-1]
    real = RunStore(Database(tmp_path / "db.sqlite3"))
    return real, lambda: [real.get(summary.run_id) for summary in real.newest(99)]


def test_runs_are_kept_as_they_were(bench: Bench) -> None:
    log, kept = bench
    other = dataclasses.replace(RUN, run_id="r2", answer="Therefore.", stopped=True)
    log.save(RUN)
    log.save(other)
    assert kept() == [other, RUN]


def test_a_run_takes_the_place_of_an_earlier_one_of_the_same_id(bench: Bench) -> None:
    log, kept = bench
    log.save(RUN)
    log.save(dataclasses.replace(RUN, answer="Therefore."))
    assert [run.answer for run in kept()] == ["Therefore."]


@pytest.mark.parametrize("text", [text for text in HOSTILE if "surrogate" not in str(text.id)])
def test_any_text_is_kept(bench: Bench, text: str) -> None:
    log, kept = bench
    run = dataclasses.replace(RUN, question=text, answer=text)
    log.save(run)
    assert kept() == [run]
