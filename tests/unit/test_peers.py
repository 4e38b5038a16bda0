"""What scripts/lab/peers/bench_peers.py makes of programs' answers: the questions that are asked, what counts, the
table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.everyday.questions import Case, Document, Kind, Labelled
from lab.peers.child import Answered, Measured, Task, measure, on_disk
from lab.peers.environments import environment, python_for
from lab.peers.programs import LOCALCRAG, PEERS
from lab.peers.scoring import COLLECTION, Scored, documents_of, questions_of, scored, shares, table, taken

FEE = Labelled("What does the locker cost?", "fact", ("The locker costs 1 euro a day.",), "1 euro", ("1 euro",), "")
UNSAID = Labelled("Is there a sauna?", "near miss", (), "", (), "no sauna is named")


def documents(number: int = 8) -> list[Document]:
    """Documents with two questions each that they answer, and one that they do not."""
    return [
        Document(
            f"{one}.md",
            f"The locker costs {one} euro a day.",
            tuple(
                Labelled(f"{what} {one}?", "fact", lines, "", (), "")
                for what, lines in (
                    ("Cost of", (f"The locker costs {one} euro a day.",)),
                    ("How much is", (f"The locker costs {one} euro a day.",)),
                    ("Sauna in", ()),
                )
            ),
        )
        for one in range(number)
    ]


def case(labelled: Labelled, kind: Kind = Kind.ANSWERABLE) -> Case:
    return Case("bath.md", labelled, kind, COLLECTION)


def said(text: str, *, silent: bool | None = None) -> Answered:
    return Answered(text, 0.5, 2.0, silent)


def test_the_same_questions_are_asked_each_time_of_both_sorts() -> None:
    chosen = questions_of(documents(), 3, 2)
    assert chosen == questions_of(documents(), 3, 2)
    assert [one.kind is Kind.ANSWERABLE for one in chosen].count(True) == 3
    assert len(chosen) == 5


def test_a_question_is_answered_where_its_document_is_among_those_that_are_added() -> None:
    added = {document.name for document in documents_of(documents())}
    for one in questions_of(documents(), 100, 100):
        assert (one.kind is Kind.ANSWERABLE) == (one.document in added and bool(one.labelled.lines))


ANSWERS = {
    "the line": (said("The locker costs 1 euro a day [1]."), True, (True,), (True,)),
    "the fact alone": (said("1 euro"), True, (False,), (True,)),
    "something else": (said("The locker is free of charge for all visitors."), True, (False,), (False,)),
    "no answer, in words": (said("The documents do not say that."), False, (False,), (False,)),
    "no answer, as the program says": (said("The locker costs 1 euro a day.", silent=True), False, (True,), (True,)),
    "the prompt's own words for none": (said("I don’t know."), False, (False,), (False,)),
    "none, and then some": (said("I cannot find it. It may cost 1 euro."), False, (False,), (True,)),
    "nothing found to be asked about": (said("Empty Response"), False, (False,), (False,)),
    "nothing": (said(""), False, (False,), (False,)),
}  # fmt: skip


@pytest.mark.parametrize(("answered", "answers", "lines", "short"), ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_is_worth_what_it_says(
    answered: Answered, answers: bool, lines: tuple[bool, ...], short: tuple[bool, ...]
) -> None:
    assert scored(case(FEE), answered) == Scored(Kind.ANSWERABLE, answers, lines, short)


def test_evidence_below_what_is_said_to_be_no_answer_does_not_count() -> None:
    found = shares([scored(case(FEE), said("The locker costs 1 euro a day.", silent=True))])
    held = found["answers with all gold evidence"]
    assert held is not None
    assert held.mean == 0.0


def test_an_answer_to_what_the_documents_do_not_answer_is_an_invention() -> None:
    near, removed = case(UNSAID, Kind.NEAR_MISS), case(FEE, Kind.REMOVED)
    marks = [
        scored(near, said("Yes, the sauna opens at nine.")),
        scored(near, said("I don't know.")),
        scored(removed, said("The locker costs 5 euro.")),
        scored(case(FEE), said("The locker costs 1 euro a day.")),
    ]
    found = shares(marks)
    inventions, held = found["inventions"], found["answers with all gold evidence"]
    assert inventions is not None
    assert held is not None
    assert inventions.mean == pytest.approx(2 / 3)
    assert (inventions.n, held.mean, held.n) == (3, 1.0, 1)


def test_the_table_has_a_column_for_each_program() -> None:
    measured = Measured(1.5, 20.25, 1234.4, 6.5, (said("The locker costs 1 euro a day."), said("1 euro")))
    marks = [scored(case(FEE), one) for one in measured.answers]
    one = (taken(measured), shares(marks))
    assert table({"ours": one, "theirs": (one[0], shares([]))}).splitlines() == [
        "| | ours | theirs |",
        "| --- | --: | --: |",
        "| models loaded, s | 1.50 | 1.50 |",
        "| documents added, s | 20.2 | 20.2 |",
        "| first token, s | 0.50 | 0.50 |",
        "| last token, s | 2.00 | 2.00 |",
        "| peak memory, MiB | 1,234 | 1,234 |",
        "| disk, MiB | 6.50 | 6.50 |",
        "| answers with all gold evidence | 0.50 (0.00 to 1.00) | – |",
        "| answers with all short facts | 1.00 (1.00 to 1.00) | – |",
        "| answerable, and no answer | 0.00 (0.00 to 0.00) | – |",
        "| inventions | – | – |",
    ]


class Parrot:
    """A program that writes a file, and answers with the question in two pieces."""

    def __init__(self, task: Task) -> None:
        self._data = Path(task.data)

    def add(self) -> None:
        (self._data / "store").write_bytes(b"0" * 2**20)
        (self._data / "cache").mkdir()
        (self._data / "cache" / "model").write_bytes(b"0" * 2**21)

    def answer(self, question: str) -> Iterator[str]:
        yield ""
        yield question[:4]
        yield question[4:]

    def shown(self) -> tuple[str | None, bool | None]:
        return None, None


def test_a_program_is_asked_every_question_and_its_files_are_counted_without_models(tmp_path: Path) -> None:
    task = Task(str(tmp_path), str(tmp_path), "", "", 16, 1, ("First question?", "Second?"))
    measured = measure(Parrot, task)
    assert [one.text for one in measured.answers] == ["First question?", "Second?"]
    assert all(0 < one.first <= one.last and one.silent is None for one in measured.answers)
    assert measured.disk == on_disk(tmp_path) == 1.0


def test_our_own_program_needs_no_other_environment() -> None:
    assert python_for(LOCALCRAG.packages, Path("nowhere")) == Path(sys.executable)


def test_programs_are_pinned_and_neither_report_to_their_makers_nor_ask_a_hub() -> None:
    assert [package for peer in PEERS for package in peer.packages if "==" not in package] == []
    given = environment([Path("tree"), Path("scripts")])
    assert (given["ANONYMIZED_TELEMETRY"], given["LANGSMITH_TRACING"], given["HF_HUB_OFFLINE"]) == (
        "False",
        "false",
        "1",
    )
