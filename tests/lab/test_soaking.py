"""A short week of the real app leaves no threads, connections or files behind; and how growth is told from noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lab.soaking.diary import Diary, Took
from lab.soaking.growth import growth
from lab.soaking.soak import Plan, use

pytestmark = pytest.mark.lab

QUESTIONS, STARTS, A_FEW = 20, 2, 4
"""A few threads and connections come with what is used for the first time; each question's own would be twenty."""
MEMORY = 200 * 2**20
"""Bytes that five questions may add to a process that was just started and still fills its caches."""
STORE = 2 * 2**20
"""Bytes that changed files may add to the database: indexes of full text grow a little, and shrink when they merge."""


def test_a_short_week_leaves_nothing_behind(tmp_path: Path) -> None:
    week, diary = use(tmp_path, Plan(QUESTIONS, STARTS - 1, others=False))
    looks = diary.looks
    assert week.questions == QUESTIONS
    assert week.files > QUESTIONS / 2
    lives = [[look for look in looks if look.life == life] for life in range(STARTS)]
    for life in lives:
        first, last = life[0], life[-1]
        assert last.held.open_files <= first.held.open_files + A_FEW
        assert last.held.threads <= first.held.threads + A_FEW
        assert last.held.processes <= first.held.processes + 1
        assert last.held.memory - first.held.memory < MEMORY
    assert {look.held.temporary_files for look in looks} == {0}
    # Of each life: what lies in the folder of uploads goes with the process.
    assert all(life[-1].held.files <= life[0].held.files + A_FEW for life in lives)
    assert looks[-1].held.files <= lives[0][-1].held.files + A_FEW
    assert looks[-1].held.database_beside_questions - lives[0][0].held.database_beside_questions < STORE
    assert week.outcomes["runs"] > 0
    assert week.outcomes["computed"] > 0


ASKED = np.arange(0, 2_000, 5)
NOISE = np.random.default_rng(1).normal(0.0, 3.0, len(ASKED))
TOLERATED = 16.0


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        pytest.param(500 + NOISE, "flat", id="noise around a level"),
        pytest.param(500 + NOISE + ASKED * 0.05, "GROWS", id="50 a thousand"),
        pytest.param(500 + NOISE + ASKED * 0.005, "flat", id="5 a thousand, which is tolerated"),
        pytest.param(500 + 200 * NOISE, "not told", id="noise beyond what can be told"),
    ],
)
def test_growth_is_a_slope_whose_whole_interval_is_beyond_what_is_tolerated(values: np.ndarray, verdict: str) -> None:
    assert growth(ASKED.tolist(), values.tolist()).verdict(TOLERATED) == verdict


def test_a_week_goes_on_from_its_diary_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "diary.jsonl"
    Diary(path).add(Took(0, "web", 0.5))
    with path.open("a") as file:
        file.write('{"took": {"quest')
    Diary(path).add(Took(1, "list", 0.25))
    assert [one.question for one in Diary(path).took] == [0, 1]
