"""A name is a name in any alphabet: what begins with a capital letter, and what does not."""

from __future__ import annotations

import re

import pytest

from localcrag.crag import condense
from localcrag.crag.answer.support import judge
from localcrag.crag.condense import FollowUpStatus, follow_up_status
from localcrag.records.enums import Backing
from localcrag.records.run import Turn
from localcrag.text.blocks import is_capitals
from localcrag.text.lexicon import CAPITAL, SMALL, comparing_in_language
from localcrag.text.words import names

NAMES = ["Étienne", "Özil", "Łukasz", "Škoda", "Ørsted", "Þór", "Ñandú", "Žižek", "Жанна", "Ωmega", "Đoković", "Ǆemal"]
NO_NAMES = ["école", "über", "łosoś", "šála", "ørken", "дом", "ǆ", "5", "_", "日本"]


@pytest.mark.parametrize("letter", [name[0] for name in NAMES])
def test_a_capital_of_any_alphabet_is_a_capital(letter: str) -> None:
    assert re.fullmatch(f"[{CAPITAL}]", letter)
    assert not re.fullmatch(f"[{SMALL}]", letter)


@pytest.mark.parametrize("letter", [word[0] for word in NO_NAMES])
def test_nothing_else_is_a_capital(letter: str) -> None:
    assert not re.fullmatch(f"[{CAPITAL}]", letter)


@pytest.mark.parametrize("name", NAMES)
def test_a_word_with_a_capital_inside_an_english_sentence_is_a_name(name: str) -> None:
    assert names(f"The contract was signed by {name} in March.") >= {name.lower().removesuffix("s")}


@pytest.mark.parametrize("name", ["Łukasz", "Škoda", "Şahin", "Çelik"])
def test_a_word_with_a_capital_inside_a_french_sentence_is_a_name(name: str) -> None:
    with comparing_in_language("fr"):
        assert names(f"Le contrat est signé par {name} en mars.")


@pytest.mark.parametrize("word", NO_NAMES)
def test_a_word_without_a_capital_is_no_name(word: str) -> None:
    assert not names(f"they walked to {word} again")


def test_a_person_whom_the_evidence_does_not_name_is_found_in_an_answer() -> None:
    evidence = "The lease was signed by Paul Marchand in the spring of 2021."
    said = judge("The lease was signed by Étienne Marchand in the spring of 2021.", evidence, "Who signed it?", "")
    assert said.backing is Backing.NOT
    assert "étienne" in said.why


@pytest.mark.parametrize("name", NAMES)
def test_a_name_takes_the_place_of_a_name_in_a_follow_up(name: str) -> None:
    history = (Turn("What did we pay to Świątek?", "300 euros."),)
    assert condense.rewrite_by_rule(f"And to {name}?", history) == f"What did we pay to {name}?"


def test_who_else_with_a_name_is_a_question_that_stands_alone() -> None:
    assert (
        follow_up_status("What else did Łukasz discover?")
        is follow_up_status("What else did Marie discover?")
        is FollowUpStatus.ALONE
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ПЕРВЫЙ РАЗДЕЛ", True),
        ("Первый раздел", False),
        ("ŽÁDOST O ŠKODU", True),
        ("ABC škoda", False),
        ("ARTIGO 5.º DIREITOS", True),
        ("ABC ćma", False),
    ],
)
def test_a_line_in_capitals_is_one_in_any_alphabet(line: str, expected: bool) -> None:
    assert is_capitals(line) is expected
