"""How a week of use is divided among lives of the process and nights, and goes on from what was written down."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.soaking.diary import Diary, Look, Night, Took
from lab.soaking.other_programs import ProgramHeld
from lab.soaking.process import Held
from lab.soaking.soak import Plan, arguments

HELD = Held(
    memory=1, memory_of_children=2, open_files=3, threads=4, processes=5, files=6, temporary_files=7, database=8,
    database_beside_questions=9,
)  # fmt: skip


def test_the_first_half_is_one_life_and_the_second_many() -> None:
    plan = Plan(1000, restarts=10)
    assert [plan.life(number) for number in (0, 499, 500, 549, 550, 999)] == [0, 0, 1, 1, 2, 10]
    assert [plan.end(life) for life in (0, 1, 10)] == [500, 550, 1000]
    assert (Plan(1000).life(999), Plan(1000).end(0)) == (0, 1000)


def test_nights_are_between_days_of_the_same_length() -> None:
    plan = Plan(80, nights=3)
    assert [number for number in range(1, 81) if plan.night_after(number)] == [20, 40, 60]
    assert not any(Plan(80).night_after(number) for number in range(1, 81))


def test_a_week_goes_on_from_what_was_written_down_before_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "diary.jsonl"
    diary = Diary(path)
    assert diary.sitting == 0
    seen = (
        Took(0, "web", 0.5),
        Look(1, 13, 0, diary.sitting, HELD, {"serve": ProgramHeld(memory=1, open_files=2, threads=3)}),
        Night(1, {"serve": [900.0, 500.0]}),
    )
    for one in seen:
        diary.add(one)
    with path.open("a") as file:
        file.write('{"took": {"quest')
    again = Diary(path)
    assert (*again.took, *again.looks, *again.nights) == seen
    assert again.sitting == 1
    again.add(Took(1, "list", 0.25))
    assert [one.question for one in Diary(path).took] == [0, 1]


def test_a_week_in_a_folder_is_refused_with_a_server_that_ends_with_the_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        arguments(["--folder", str(tmp_path / "week"), "--postgresql"])
    said = capsys.readouterr().err
    assert refused.value.code == 2
    assert f"A week in {tmp_path / 'week'} would not go on with --postgresql" in said
    assert "Leave --folder out" in said
    assert not (tmp_path / "week").exists()
    assert arguments(["--postgresql", "--questions", "30"]).postgresql
