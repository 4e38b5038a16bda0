"""What counts as an answer of localcrag and of the programs beside it, and what is measured of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.everyday.questions import Case, Kind, Labelled
from lab.peers.child import Answered, Task, measure
from lab.peers.environments import environment
from lab.peers.programs import PEERS
from lab.peers.scoring import COLLECTION, Scored, scored, shares

from tests.support.scripts import run_script

pytestmark = pytest.mark.lab

FEE = Labelled("What does the locker cost?", "fact", ("The locker costs 1 euro a day.",), "1 euro", ("1 euro",), "")
UNSAID = Labelled("Is there a sauna?", "near miss", (), "", (), "no sauna is named")


def case(labelled: Labelled, kind: Kind = Kind.ANSWERABLE) -> Case:
    return Case("bath.md", labelled, kind, COLLECTION)


def said(text: str, *, silent: bool | None = None) -> Answered:
    return Answered(text, 0.5, 2.0, silent)


ANSWERS = {
    "the line": (said("The locker costs 1 euro a day [1]."), True, (True,), (True,)),
    "the fact alone": (said("1 euro"), True, (False,), (True,)),
    "something else": (said("The locker is free of charge for all visitors."), True, (False,), (False,)),
    "no answer, in words": (said("The documents do not say that."), False, (False,), (False,)),
    "no answer, as the program says": (said("The locker costs 1 euro a day.", silent=True), False, (True,), (True,)),
    "none, and then some": (said("I cannot find it. It may cost 1 euro."), False, (False,), (True,)),
    "nothing found to be asked about": (said("Empty Response"), False, (False,), (False,)),
    "nothing": (said(""), False, (False,), (False,)),
}  # fmt: skip


@pytest.mark.parametrize(("answered", "answers", "lines", "short"), ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_is_worth_what_it_says(
    answered: Answered, answers: bool, lines: tuple[bool, ...], short: tuple[bool, ...]
) -> None:
    assert scored(case(FEE), answered) == Scored(Kind.ANSWERABLE, answers, lines, short)


def test_an_answer_to_what_the_documents_do_not_answer_is_an_invention() -> None:
    near, removed = case(UNSAID, Kind.NEAR_MISS), case(FEE, Kind.REMOVED)
    marks = [
        scored(near, said("Yes, the sauna opens at nine.")),
        scored(near, said("I don't know.")),
        scored(removed, said("The locker costs 5 euro.")),
        scored(case(FEE), said("The locker costs 1 euro a day.", silent=True)),
    ]
    found = shares(marks)
    inventions, held = found["inventions"], found["answers with all gold evidence"]
    assert inventions is not None
    assert held is not None
    assert inventions.mean == pytest.approx(2 / 3)
    assert held.mean == 0.0, "evidence below what is said to be no answer does not count"


def test_programs_are_pinned_and_neither_report_to_their_makers_nor_ask_a_hub() -> None:
    assert [package for peer in PEERS for package in peer.packages if "==" not in package] == []
    given = environment([Path("tree")])
    reports = [given[name] for name in ("ANONYMIZED_TELEMETRY", "LANGSMITH_TRACING", "HF_HUB_OFFLINE")]
    assert reports == ["False", "false", "1"]


class Parrot:
    """A program that writes a file, and answers with the question in two pieces."""

    def __init__(self, task: Task) -> None:
        self._data = Path(task.data)

    def add(self) -> None:
        (self._data / "store").write_bytes(b"0" * 2**20)
        (self._data / "cache").mkdir()
        (self._data / "cache" / "model").write_bytes(b"0" * 2**21)

    def answer(self, question: str) -> Iterator[str]:
        yield question[:4]
        yield question[4:]

    def shown(self) -> tuple[str | None, bool | None]:
        return None, None


def test_a_program_is_asked_every_question_and_its_files_are_counted_without_models(tmp_path: Path) -> None:
    task = Task(str(tmp_path), str(tmp_path), "", "", 16, 1, ("First question?", "Second?"))
    measured = measure(Parrot, task)
    assert [one.text for one in measured.answers] == ["First question?", "Second?"]
    assert all(0 < one.first <= one.last and one.silent is None for one in measured.answers)
    assert measured.disk == 1.0


def test_a_folder_without_the_data_is_named(tmp_path: Path) -> None:
    done = run_script("lab/peers/bench_peers", str(tmp_path), "--program", "localcrag")
    assert done.returncode == 1
    assert "dev.jsonl.gz" in done.stderr
