"""What scripts/lab/everyday/eval_everyday.py counts: lines that stand in a text, and figures of many questions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lab.everyday.lines import Text, blocks, is_said_in, needed_lines, normalised, says_fact, stands_in
from lab.everyday.other_sets import words_held
from lab.everyday.outcomes import Outcome, Shown, by_type, figures, table
from lab.everyday.questions import Case, Document, Kind, Labelled, halves, laid_out, sample

from localcrag.records.enums import Action

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


def test_case_and_words_are_not_form() -> None:
    assert normalised("Not before 6") != normalised("not before 6")
    assert normalised("snake_case stays") == "snake_case stays"


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


def test_sentences_of_a_line_may_stand_in_two_pieces() -> None:
    pieces = [Text.of("Locker: 1 euro."), Text.of("It is given back.")]
    assert stands_in("Locker: 1 euro. It is given back.", pieces)
    assert not stands_in("Locker: 1 euro. It is given back.", pieces[:1])


def test_an_answer_says_a_line_with_nearly_all_its_words_in_one_item() -> None:
    line = "Call the harbour office before eight on the day of the crossing."
    assert is_said_in(line, Text.of("- On the day of crossing, call the harbour office before 8 [1]."))
    apart = Text.of("- Call the harbour office.\n- Before eight, on the day of the crossing.")
    assert not is_said_in(line, apart)
    assert not is_said_in("Not today.", Text.of("Today it is open.")), "one word is chance"


def test_blocks_are_paragraphs_rows_and_items() -> None:
    text = "A first line\ngoes on.\n\n- one\n  of two lines\n- two\n| a | b |\n| c | d |"
    assert blocks(text) == ["A first line\ngoes on.", "- one\n  of two lines", "- two", "| a | b |", "| c | d |"]


def test_headings_and_header_rows_are_not_needed() -> None:
    evidence = ["## Tickets", "| Ticket | Adults | Children |", "| Ten times | 36 | 17 |"]
    assert needed_lines(evidence, TARIFF) == ("| Ten times | 36 | 17 |",)
    assert needed_lines(["## Tickets"], TARIFF) == ("## Tickets",), "it is all there is"
    plain = "Name | Mon\nAyla | early\n\nTel. 12 | Fax 13\n"
    assert needed_lines(["Name | Mon", "Ayla | early", "Tel. 12 | Fax 13"], plain) == (
        "Ayla | early",
        "Tel. 12 | Fax 13",
    )


def test_short_facts_count_in_any_case_and_whole() -> None:
    answer = Text.of("At most 25 % back, or 1.40 euros; RETIRED.")
    assert says_fact("25%", answer)
    assert says_fact("retired", answer)
    assert not says_fact("40", answer)


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


def test_without_a_language_model_there_are_no_figures_of_answers() -> None:
    found = figures([outcome(Kind.ANSWERABLE, Action.CORRECT)])
    assert not [name for name in found if "answer" in name and not name.startswith(("answerable", "AUC"))]
    assert found["near misses wrongly CORRECT"] is None
    assert found["AUC, answerable against near misses, best passage"] is None


def test_the_table_has_a_column_for_each_type() -> None:
    some = outcome(Kind.ANSWERABLE, Action.CORRECT)
    columns = {"all": figures([some]), **{name: figures(one) for name, one in by_type([some]).items()}}
    lines = table(columns).splitlines()
    assert lines[0] == "| | all | fact |"
    assert "| needed lines among the passages | 1.00 | 1.00 |" in lines
    assert "| near misses wrongly CORRECT | – | – |" in lines


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
    assert len(sample(cases[:30], 20, 3)) == 20, "of one kind, all are of that"
    assert len(sample(cases, None, 3)) == 90


def test_words_of_a_long_answer_are_counted_in_the_answer_that_fares_best() -> None:
    assert words_held(["red brick house", "green meadow"], ["A red house.", "No meadow."]) == pytest.approx(2 / 3)
    assert words_held([], ["anything"]) is None
