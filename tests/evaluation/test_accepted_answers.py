"""Accepted answers are looked for as SQuAD compares them."""

from __future__ import annotations

import pytest

from localcrag.evaluation.metrics import contains_answer, normalised


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("The  Ferry, at 7:45!", "ferry at 745", id="case, articles, punctuation and spaces"),
        pytest.param("an a the", "", id="nothing but articles"),
        pytest.param("a.b.c.", "abc", id="punctuation goes before articles are looked for"),
        pytest.param("Ærø's café", "ærøs café", id="letters of other languages stay"),
    ],
)
def test_a_text_is_normalised(text: str, words: str) -> None:
    assert normalised(text) == words


@pytest.mark.parametrize(
    ("text", "answers", "held"),
    [
        pytest.param("It leaves from the north pier.", ["North Pier"], True, id="inside a sentence"),
        pytest.param("It leaves from the northern piers.", ["north pier"], False, id="whole words only"),
        pytest.param("In 1984 it burned.", ["1884", "1984"], True, id="any of them"),
        pytest.param("The end.", ["the", "..."], False, id="an answer of no words is none"),
        pytest.param("Anything", [], False, id="no answers"),
    ],
)
def test_a_text_holds_an_accepted_answer(text: str, answers: list[str], held: bool) -> None:
    assert contains_answer(text, answers) is held
