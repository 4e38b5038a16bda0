"""What counts as an answer of localcrag and of the programs beside it, and localcrag measured as one of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lab.everyday.questions import Case, Kind, Labelled
from lab.peers.child import Answered
from lab.peers.environments import environment
from lab.peers.programs import PEERS
from lab.peers.scoring import COLLECTION, Scored, scored, shares

from tests.support.compressed_lines import write
from tests.support.scripts import run_script

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


def test_localcrag_is_measured_as_a_program_of_its_own(tmp_path: Path) -> None:
    rows = [
        {"id": name, "kind": "leaflet", "text": f"A locker in {name} costs {fee} euros a day.\n", "questions": [
            {"question": f"What does a locker in {name} cost a day?", "type": "fact", "answer": f"{fee} euros",
             "evidence": [f"A locker in {name} costs {fee} euros a day."], "short": [f"{fee} euros"]},
            {"question": f"What does a towel in {name} cost?", "type": "near miss", "evidence": []},
        ]}
        for name, fee in (("Tarn", 3), ("Ostley", 4))
    ]  # fmt: skip
    write(tmp_path / "everyday" / "dev.jsonl.gz", *rows)
    done = run_script(
        "lab/peers/bench_peers", str(tmp_path), "--answerable", "1", "--unanswerable", "1", "--program", "localcrag",
        "--answers", str(tmp_path / "answers.json"), "--folder", str(tmp_path / "environments"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "| | localcrag |" in done.stdout
    (line, *_) = (tmp_path / "answers.json").read_text("utf-8").splitlines()
    assert json.loads(line)["program"] == "localcrag"
