"""Two versions measured in turn: who is asked for what, in which order, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from lab.speed.comparison import (
    FULL,
    SHOWN,
    SMALL,
    Materials,
    Plan,
    Round,
    compare,
    materials,
    mixed,
    slower,
    table,
    throughput,
)
from lab.speed.ratios import LEAST_PAIRS
from lab.speed.versions import Unmeasured

QUESTIONS = 8
ASKED = tuple(Round("corrected", f"{number}?") for number in range(QUESTIONS))


@dataclass
class Stand:
    """A version that takes the seconds it was told, and writes down what it is asked."""

    name: str
    calls: list[tuple[str, str, str]]
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    lacks: frozenset[str] = frozenset()

    def measured(self, what: str, given: str) -> dict[str, float]:
        self.calls.append((self.name, what, given))
        if what in self.lacks:
            raise Unmeasured(f"ImportError: no {what}")
        return {"evaluate": 1.0, "seconds": 1.0, **self.figures.get(what, {})}


def two(**given: Mapping[str, Mapping[str, float]]) -> tuple[Stand, Stand, list[tuple[str, str, str]]]:
    """An earlier version and this one; `given` are the figures of each, by `before` and `now`."""
    calls: list[tuple[str, str, str]] = []
    return Stand("a1b2c3d", calls, given.get("before", {})), Stand("now", calls, given.get("now", {})), calls


def timed(*rounds: Round) -> Materials:
    return Materials((), rounds)


def standing() -> Callable[[], float]:
    """A clock that stands still."""
    return lambda: 0.0


def test_the_versions_take_turns_and_who_comes_first_changes() -> None:
    before, now, calls = two()
    compare(before, now, timed(*ASKED[:4]), seconds=1)
    assert [name for name, _, _ in calls] == [
        "a1b2c3d", "now", "now", "a1b2c3d", "a1b2c3d", "now", "now", "a1b2c3d",
    ]  # fmt: skip
    assert [given for _, _, given in calls] == ["0?", "0?", "1?", "1?", "2?", "2?", "3?", "3?"]


def test_pairs_are_the_earlier_versions_seconds_and_this_ones() -> None:
    before, now, _ = two(before={"corrected": {"evaluate": 2.0}}, now={"corrected": {"evaluate": 3.0}})
    found = compare(before, now, timed(*ASKED[:3]), seconds=1)
    assert found.pairs == {"evaluate": [(2.0, 3.0)] * 3}


def test_what_is_done_before_is_not_timed() -> None:
    before, now, calls = two()
    found = compare(before, now, Materials(ASKED[:2], ASKED[2:4]), seconds=1)
    assert len(calls) == 8
    assert len(found.pairs["evaluate"]) == 2


def test_what_the_earlier_version_lacks_is_left_out_with_its_reason_and_the_rest_goes_on() -> None:
    before, now, calls = two()
    before.lacks = frozenset({"plain"})
    found = compare(before, now, timed(Round("plain", "?"), ASKED[0], Round("plain", "??"), ASKED[1]), seconds=1)
    assert found.left_out["plain"] == "a1b2c3d lacks what that needs (ImportError: no plain)"
    assert len(found.pairs["evaluate"]) == 2
    assert [what for _, what, _ in calls].count("plain") == 1, "and it is not asked again"


def test_a_step_that_one_of_them_has_not_is_left_out() -> None:
    before, now, _ = two(now={"corrected": {"refine": 1.0}})
    found = compare(before, now, timed(ASKED[0]), seconds=1)
    assert "refine" not in found.pairs
    assert found.left_out["refine"] == "only one has that step"


def test_what_this_version_cannot_do_is_an_error_that_says_what() -> None:
    before, now, _ = two()
    now.lacks = frozenset({"corrected"})
    with pytest.raises(Unmeasured, match=r"now could not be measured \(corrected\): ImportError: no corrected"):
        compare(before, now, timed(ASKED[0]), seconds=1)


def test_after_its_time_only_what_has_too_few_pairs_is_measured() -> None:
    before, now, _ = two()
    late = iter([0.0, *[100.0] * 1000])
    rounds = mixed([ASKED, [Round("help")] * 30])
    found = compare(before, now, timed(*rounds), seconds=1, clock=lambda: next(late))
    assert {step: len(pairs) for step, pairs in found.pairs.items()} == {
        "evaluate": LEAST_PAIRS,
        "localcrag --help": LEAST_PAIRS,
    }


def test_rounds_of_each_kind_are_spread_over_the_whole() -> None:
    rounds = mixed([[Round("a")] * 4, [Round("b")] * 2])
    assert [one.what for one in rounds] == ["a", "b", "a", "a", "b", "a"]


@pytest.mark.parametrize("plan", [SMALL, FULL], ids=["small", "full"])
def test_every_kind_that_is_measured_has_enough_rounds(plan: Plan, tmp_path: Path) -> None:
    given = materials(plan, tmp_path)
    kinds = [one.what for one in given.timed]
    assert {kind: kinds.count(kind) for kind in set(kinds) if kinds.count(kind) < LEAST_PAIRS} == {}
    assert set(kinds) <= {what for what, _ in SHOWN}


def test_no_document_and_no_question_comes_twice(tmp_path: Path) -> None:
    given = materials(SMALL, tmp_path)
    files = [path.name for path in tmp_path.rglob("*.txt")]
    asked = [one.given for one in (*given.before, *given.timed) if one.what == "corrected"]
    assert len(files) == len(set(files)) == (SMALL.chunks + SMALL.batches * SMALL.batch) // 10
    assert len(asked) == len(set(asked)) == SMALL.questions + 2


def test_the_same_plan_gives_the_same_documents(tmp_path: Path) -> None:
    for name in ("one", "other"):
        materials(SMALL, tmp_path / name)
    one, other = ([path.read_text() for path in sorted((tmp_path / name).rglob("*.txt"))] for name in ("one", "other"))
    assert one == other


def test_what_is_slower_is_said_in_a_sentence_with_step_ratio_and_interval() -> None:
    before, now, _ = two(now={"corrected": {"evaluate": 1.6}})
    ratios = compare(before, now, timed(*ASKED), seconds=1).ratios()
    (sentence,) = slower(ratios, "a1b2c3d")
    assert sentence.startswith(
        "evaluate takes 1.60 times as long as in a1b2c3d: 95 % interval 1.60 to 1.60 of 8 pairs, where up to 1.25 is"
    )
    assert "“Slower: evaluate”" in sentence
    assert slower(ratios, "a1b2c3d", frozenset({"evaluate"})) == []


def test_what_is_as_fast_or_cannot_be_told_is_no_failure() -> None:
    before, now, _ = two()
    assert slower(compare(before, now, timed(*ASKED), seconds=1).ratios(), "a1b2c3d") == []


def test_the_table_has_a_row_for_each_step_in_the_order_of_the_flow() -> None:
    before, now, _ = two(
        before={"corrected": {"retrieve": 0.01}}, now={"corrected": {"retrieve": 0.02}, "help": {"seconds": 0.5}}
    )
    found = compare(before, now, timed(*mixed([[Round("help")] * QUESTIONS, ASKED])), seconds=1, clock=standing())
    assert table(found.ratios(), "a1b2c3d").splitlines() == [
        "| step | a1b2c3d, s | now, s | now / a1b2c3d | 95 % interval | pairs | |",
        "| --- | --: | --: | --: | --: | --: | --- |",
        "| retrieve | 0.010 | 0.020 | 2.00 | 2.00 to 2.00 | 8 | slower |",
        "| evaluate | 1.000 | 1.000 | 1.00 | 1.00 to 1.00 | 8 | as fast |",
        "| localcrag --help | 1.000 | 0.500 | 0.50 | 0.50 to 0.50 | 8 | faster |",
    ]


def test_ingest_is_also_told_in_chunks_a_second() -> None:
    chunks = {"chunks": 30.0}
    before, now, _ = two(before={"ingested": chunks}, now={"ingested": {**chunks, "seconds": 0.5}})
    found = compare(before, now, timed(Round("ingested", "a"), Round("ingested", "b")), seconds=1)
    assert throughput(found, "a1b2c3d") == "Ingest: 30.0 chunks a second in a1b2c3d, 60.0 now."
    assert throughput(compare(before, now, timed(), seconds=1), "a1b2c3d") == ""
