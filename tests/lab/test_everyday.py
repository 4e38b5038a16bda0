"""What counts as a whole answer, and the everyday scripts run on two documents and one table of our own."""

from __future__ import annotations

import gzip
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lab.everyday import measure_tables
from lab.everyday.lines import Text, normalised, stands_in
from lab.everyday.measure_tables import QUESTIONS, is_number, is_right
from lab.everyday.other_sets import words_held
from lab.everyday.outcomes import Outcome, Shown, figures
from lab.everyday.questions import Case, Document, Kind, Labelled, halves, laid_out, rows, sample

from localcrag.records.enums import Action, Operation
from localcrag.records.run import Computation, ResultGroup, TableRow
from tests.support.scripts import run_script

pytestmark = pytest.mark.lab

BATH = """\
# Swimming bath of Ellerby

## Tickets

| Ticket | Adults | Children |
|---|---|---|
| Single | 4.20 | 2.00 |
| Ten visits | 36.00 | 17.00 |

## Lockers

A locker costs 1 euro. The coin is given back when you return the key.
"""
FERRY = """\
Ferry to Sorrel Island

The ferry leaves Tarn harbour at 8:15 and at 16:40.

When it does not sail because of fog, ring the harbour office on 0200 55 and wait for its call.
"""


def question(text: str, *evidence: str, answer: str = "", short: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"question": text, "type": "fact", "evidence": evidence, "answer": answer, "short": short}


def packed(documents: list[dict[str, Any]]) -> bytes:
    return gzip.compress("".join(json.dumps(one) + "\n" for one in documents).encode())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("everyday")
    bath = [
        question("What does a locker cost at the Ellerby swimming bath?", "A locker costs 1 euro.", short=("1 euro",)),
        question("How warm is the water at the Ellerby swimming bath?"),
    ]
    leaves = "The ferry leaves Tarn harbour at 8:15 and at 16:40."
    ferry = [
        question("When does the ferry to Sorrel Island leave Tarn harbour?", leaves, short=("8:15", "16:40")),
    ]
    (folder / "everyday").mkdir()
    documents: list[dict[str, Any]] = [
        {"id": "bath", "kind": "tariff", "text": BATH, "questions": bath},
        {"id": "ferry", "kind": "leaflet", "plain": True, "text": FERRY, "questions": ferry},
    ]
    (folder / "everyday" / "dev.jsonl.gz").write_bytes(packed(documents))
    return folder


def test_questions_are_asked_and_every_figure_is_printed(data: Path, tmp_path: Path) -> None:
    failures = tmp_path / "questions.jsonl"
    done = run_script(
        "lab/everyday/eval_everyday", str(data), "--types", "--failures", str(failures), "--questions", "3"
    )
    assert done.returncode == 0, done.stderr
    (one,) = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found = one["figures"]["all"]
    assert 0 <= found["needed lines among the passages"] <= 1
    assert found["seconds a question, plain RAG"] > 0
    assert "| needed lines among the passages | " in done.stdout
    asked = [json.loads(line) for line in failures.read_text("utf-8").splitlines()]
    assert all(row["passages"] and row["shown"]["text"] for row in asked)


def test_a_folder_without_the_data_is_named(tmp_path: Path) -> None:
    done = run_script("lab/everyday/eval_everyday", str(tmp_path))
    assert done.returncode == 1
    assert "dev.jsonl.gz cannot be read" in done.stderr


TARIFF = """\
# Tariff of the swimming bath

## Tickets

| Ticket | Adults | Children |
|---|---|---|
| Single | 4.20 | 2.00 |
| Ten times | 36 | 17 |

Locker: 1 euro. It is given back.
"""


@pytest.mark.parametrize(
    ("written", "also"),
    [
        pytest.param("We pay 20 % back.", "We pay 20% back.", id="percent"),
        pytest.param("Click **Trouble** or `Help`.", "Click Trouble or Help.", id="emphasis and code"),
        pytest.param("1. Enter the _name_.", "- Enter the name.", id="list markers"),
        pytest.param("## Opening – hours", "Opening - hours", id="headings and dashes"),
        pytest.param("Say “yes”; don’t wait.", "Say \"yes\"; don't wait.", id="quotation marks"),
        pytest.param("See [the list](list.html) first.", "See the list first.", id="links"),
        pytest.param("Bring towels [1], [2, 3] and [4](#s4).", "Bring towels, and.", id="citations"),
        pytest.param("```bash\nmake all\n```\n<b>Then</b> wait", "make all\nThen wait", id="code blocks and tags"),
        pytest.param(r"Costs 5 \* 3 \| a \$ &amp; b", "Costs 5 3 a $ & b", id="escapes"),
        pytest.param("| a | b |\n|---|---|\n| c | d |", "a b c d", id="tables"),
        pytest.param("in the mean-\ntime  and\nlater", "in the meantime and later", id="line ends"),
    ],
)  # fmt: skip
def test_texts_are_compared_without_what_is_only_form(written: str, also: str) -> None:
    assert normalised(written) == normalised(also)


@pytest.mark.parametrize(
    ("line", "text", "there"),
    [
        pytest.param("Locker: 1 euro.", TARIFF, True, id="word for word"),
        pytest.param("| Single | 4.20 | 2.00 |", TARIFF, True, id="row"),
        pytest.param("| Single | 4.20 | 2.00 |", "Ticket: Single; Adults: 4.20; Children: 2.00", True, id="its cells"),
        pytest.param("| Single | 4.20 | 2.00 |", "Single: 4.20\nChildren: 2.00", False, id="cells on two lines"),
        pytest.param("| Single | 4.20 | 2.00 |", "Single 14.20 2.00", False, id="a cell is part of a number"),
        pytest.param(
            "Locker: 1 euro. It is given back.", "It is given back. […] Locker: 1 euro.", True, id="sentences"
        ),
        pytest.param("Locker: 1 euro. It is given back.", "Locker: 1 euro.", False, id="one sentence of two"),
        pytest.param("to 3", "to 3.5", False, id="the number goes on"),
    ],
)
def test_a_line_stands_in_a_text_word_for_word_or_with_all_cells_of_its_row(line: str, text: str, there: bool) -> None:
    assert stands_in(line, [Text.of(text)]) is there


def labelled(text: str, *lines: str, kind: str = "fact") -> Labelled:
    return Labelled(text, kind, lines, "", (), "")


def outcome(kind: Kind, action: Action, **changes: object) -> Outcome:
    case = Case("a.md", labelled("?", "one", "two"), kind, "one half")
    made = Outcome(case, action, 0.5, (True, True), (True, False), ("p",), ("e",), 100, 40)
    return replace(made, **changes)  # type: ignore[arg-type]


def test_the_figures_are_shares_of_their_own_questions() -> None:
    said = Shown("…", False, True, (True, True), (True,), 1.0)
    half = replace(said, lines=(True, False), short=(False,), abstained=True, answered=False)
    plain = replace(half, seconds=4.0, abstained=False, answered=True)
    found = figures(
        [
            outcome(Kind.ANSWERABLE, Action.CORRECT, relevance=0.9, shown=said, plain=plain),
            outcome(Kind.ANSWERABLE, Action.INCORRECT, relevance=0.2, found=(True, False), kept=(False, False),
                    evidence=(), evidence_tokens=0, shown=half, plain=plain),
            outcome(Kind.NEAR_MISS, Action.CORRECT, relevance=0.5),
            outcome(Kind.NEAR_MISS, Action.INCORRECT, relevance=0.1),
            outcome(Kind.REMOVED, Action.AMBIGUOUS),
        ]
    )  # fmt: skip
    assert found == pytest.approx(
        {
            "needed lines among the passages": 3 / 4,
            "all needed lines of a question among them": 1 / 2,
            "passages a question": 1,
            "answerable: CORRECT": 1 / 2,
            "answerable: not abstained": 1 / 2,
            "near misses wrongly CORRECT": 1 / 2,
            "document taken out: wrongly CORRECT": 0,
            "AUC, answerable against near misses, best passage": 3 / 4,
            "needed lines kept in the evidence, of those in passages": 1 / 3,
            "tokens of evidence / of passages": 40 / 200,
            "needed lines kept in the evidence, of those in passages (questions with evidence)": 1 / 2,
            "tokens of evidence / of passages (questions with evidence)": 40 / 100,
            "all needed lines in the shown answer": 1 / 2,
            "short facts in the shown answer": 1 / 2,
            "share of needed lines in the shown answer": 3 / 4,
            "all needed lines in it, uncertain answers not counted": 1 / 2,
            "short facts in it, uncertain answers not counted": 1 / 2,
            "plain RAG: not abstained": 1,
            "all needed lines in plain RAG's answer": 0,
            "short facts in plain RAG's answer": 0,
            "seconds a question, plain RAG": 4,
            "seconds a question, corrected": 1,
            "corrected / plain RAG, seconds": 1 / 4,
        }
    )


def test_each_question_is_asked_once_in_the_half_that_has_its_document_or_in_the_other() -> None:
    documents = [
        Document(f"{at}.md", "", (labelled("a", "x"), labelled("b", "y"), labelled("c"))) for at in range(10)
    ]  # fmt: skip
    collections = halves(documents, 1)
    cases = laid_out(collections, 1)
    assert len(cases) == 30
    assert [len(some) for some in collections.values()] == [5, 5]
    homes = {document.name: name for name, some in collections.items() for document in some}
    for case in cases:
        assert (case.collection == homes[case.document]) is (case.kind is not Kind.REMOVED)
        assert (case.kind is Kind.NEAR_MISS) is (not case.labelled.lines)
    assert sum(case.kind is Kind.REMOVED for case in cases) == 10
    assert laid_out(halves(documents[::-1], 1), 1) == cases


def test_a_sample_has_its_share_of_every_kind() -> None:
    kinds = [Kind.ANSWERABLE] * 30 + [Kind.NEAR_MISS] * 30 + [Kind.REMOVED] * 30
    cases = [Case(f"{at}.md", labelled("?", "x"), kind, "one half") for at, kind in enumerate(kinds)]
    chosen = sample(cases, 20, 3)
    assert [sum(case.kind is kind for case in chosen) for kind in Kind] == [10, 6, 4]
    assert chosen == sample(cases, 20, 3)


def test_words_of_a_long_answer_are_counted_in_the_answer_that_fares_best() -> None:
    assert words_held(["red brick house", "green meadow"], ["A red house.", "No meadow."]) == pytest.approx(2 / 3)
    assert words_held([], ["anything"]) is None


def test_every_question_about_a_table_says_what_it_must_come_to() -> None:
    tables = list(rows(QUESTIONS))
    assert {table["part"] for table in tables} == {"dev", "held out"}
    for one in (one for table in tables for one in table["questions"]):
        reasons = one["kind"] in ("usual", "refuse")
        assert ("why" in one) is reasons
        assert reasons or len({"number", "rows", "groups", "values"} & one.keys()) == 1


def test_a_table_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = next(table for table in rows(QUESTIONS) if table["part"] == "dev")
    (tmp_path / "questions.jsonl.gz").write_bytes(packed([first | {"questions": first["questions"][:1]}]))
    monkeypatch.setattr(measure_tables, "QUESTIONS", tmp_path / "questions.jsonl.gz")
    monkeypatch.setattr(sys, "argv", ["measure_tables", "--part", "dev"])
    measure_tables.main()
    assert "|" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("result", "label", "same"),
    [
        ("1.535,15 €", "1535.15", True),
        ("€1.6875", "1.6875", True),
        ("13.86 %", "13.8570", True),
        ("13.9 %", "13.8570", True),
        ("13.8 %", "13.8570", False),
        ("-242.00", "-242.00", True),
        ("7", "8", False),
        ("none", "8", False),
    ],
)
def test_a_number_is_read_as_it_is_written(result: str, label: str, same: bool) -> None:
    assert is_number(result, label) is same


def done(**fields: Any) -> Computation:
    given: dict[str, Any] = {
        "document": "a.csv", "title": None, "table": "", "section": "", "pages": (), "header": ("Name", "Fee"),
        "operation": Operation.FILTER, "column": None, "filters": (), "total_rows": 3, "row_count": 1, "rows": (),
    }  # fmt: skip
    return Computation(**{**given, **fields})


def test_rows_values_and_groups_must_be_all_that_are_expected() -> None:
    one, other = TableRow(("Ann", "3"), None, 0, 1), TableRow(("Bo", "4"), None, 1, 2)
    assert is_right(done(rows=(other, one)), {"key": "Name", "rows": ["Ann", "Bo"]})
    assert not is_right(done(rows=(one,)), {"key": "Name", "rows": ["Ann", "Bo"]})
    assert is_right(done(values=("a", "b")), {"values": ["b", "a"]})
    assert is_right(done(groups=(ResultGroup("May 2026", "3.00 €", 1),)), {"groups": {"May": "3"}})
    assert not is_right(done(groups=(ResultGroup("May", "3.00 €", 1),)), {"groups": {"May": "4"}})
    assert not is_right(done(), {"number": "4"})
