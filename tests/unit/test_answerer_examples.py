"""What the answering model learns from: sentences cut down, pronouns in place of names, and what is left alone."""

from __future__ import annotations

import random

import pytest
from lab.answerer.examples import (
    Task,
    answer,
    cut_down,
    follow_ups,
    left_alone,
    mixed,
    pronoun,
    queries,
    with_names,
    with_pronoun,
)
from lab.training.pairs import Row, locate

from localcrag.records.passages import Evidence
from localcrag.steps.answer import generate
from localcrag.steps.condense import condense

LONG = (
    "The library was closed for two years, but in 1912 the hall was rebuilt by the architect Ida Moen, who had studied "
    "in Bergen and Oslo before she came to the town."
)


def row(question: str, passage: str, said: str) -> Row:
    return Row("squadshifts_new_wiki", question, passage, (said,), locate(said, passage), None)


def test_what_has_no_word_of_the_question_is_cut_off_a_long_sentence() -> None:
    at = LONG.index("Ida Moen")
    asked = "Who rebuilt the hall in 1912?"
    assert cut_down(LONG, (at, at + 8), asked) == "In 1912 the hall was rebuilt by the architect Ida Moen."


def test_a_clause_with_a_word_of_the_question_stays() -> None:
    at = LONG.index("Ida Moen")
    assert "Bergen" in cut_down(LONG, (at, at + 8), "Which architect who studied in Bergen rebuilt the hall?")


def test_a_short_sentence_stays_whole() -> None:
    assert cut_down("The hall, which is small, was built in 1912.", (39, 43), "When?") == (
        "The hall, which is small, was built in 1912."
    )


def test_an_answer_is_the_sentence_that_says_it_with_its_number() -> None:
    passage = "The lighthouse stands on a rock. Its first keeper was Kari Lund."
    own = [Evidence(3, passage, "chunk-1", "source-1", 0.8)]
    assert answer(row("Who kept it first?", passage, "Kari Lund"), "Who kept it first?", own) == (
        "Its first keeper was Kari Lund [3]."
    )


def test_there_is_no_answer_in_evidence_that_does_not_hold_it() -> None:
    passage = "The lighthouse stands on a rock. Its first keeper was Kari Lund."
    own = [Evidence(1, "The lighthouse stands on a rock.", "chunk-1", "source-1", 0.8)]
    assert answer(row("Who kept it first?", passage, "Kari Lund"), "Who kept it first?", own) is None


def test_what_is_written_where_there_is_no_answer_is_understood_by_the_app() -> None:
    assert generate.says_nothing(generate.NOT_SAID)


@pytest.mark.parametrize(
    ("asked", "made"),
    [
        ("Where was Kari Lund born?", "Where was she born?"),
        ("What was Kari Lund's first post?", "What was her first post?"),
        ("Which ship was saved by Kari Lund?", "Which ship was saved by her?"),
    ],
)
def test_a_name_gives_way_to_the_pronoun_of_its_text(asked: str, made: str) -> None:
    passage = (
        "Kari Lund kept the light for years. She was born in Arvik, and her brother was a pilot. She saved a ship."
    )
    assert pronoun(passage) == ("she", "her")
    assert with_pronoun(asked, "When did Kari Lund come to Halden?", passage) == made


def test_a_question_without_a_shared_name_makes_no_follow_up() -> None:
    assert with_pronoun("Where is the harbour?", "Who is Kari Lund?", "She kept the light.") is None


def test_names_get_the_capitals_that_they_have_in_the_text() -> None:
    assert with_names("when did kari lund come?", "Then Kari Lund came to the light.") == "When did Kari Lund come?"


def test_follow_ups_are_taken_for_such_and_their_target_would_be_accepted() -> None:
    passage = "Kari Lund kept the light from 1840 on. She was born in Arvik. Her house is a museum."
    rows = [
        row("When did Kari Lund begin to keep the light?", passage, "1840"),
        row("Where was Kari Lund born?", passage, "Arvik"),
    ]
    made = list(follow_ups(rows, random.Random(3)))
    assert made
    for example in made:
        assert example.task is Task.CONDENSE
        assert "Kari Lund" in example.target
        assert not condense.stands_alone(example.messages[-1].content.split("User: ")[-1].split("\n")[0])


def test_a_question_on_something_else_is_left_as_it_is() -> None:
    rows = [
        row("When was the lighthouse of Arvik built?", "The lighthouse of Arvik was built in 1840.", "1840"),
        row("Who bakes the bread of Halden?", "The bread of Halden is baked by Nils Dahl.", "Nils Dahl"),
    ]
    for example in left_alone(rows, random.Random(1)):
        assert example.target in {one.question for one in rows}


def test_a_query_is_the_question_without_its_function_words() -> None:
    (made,) = queries([row("Who kept the light of Arvik in 1840?", "Kari Lund.", "Kari Lund")], random.Random(4))
    assert {word.lower() for word in made.target.split()} == {"kept", "light", "arvik", "1840"}


def test_mixed_pieces_keep_their_numbers_and_have_each_others_relevance() -> None:
    pieces = [Evidence(n, f"piece {n}", f"chunk-{n}", "source-1", n / 10) for n in range(1, 9)]
    made = [mixed(pieces, random.Random(seed)) for seed in range(5)]
    assert len({tuple(piece.relevance for piece in one) for one in made}) > 1
    for one in made:
        assert [(piece.n, piece.text) for piece in one] == [(piece.n, piece.text) for piece in pieces]
        assert sorted(piece.relevance for piece in one) == [piece.relevance for piece in pieces]
