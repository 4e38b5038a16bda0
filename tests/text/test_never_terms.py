"""Terms that may never be sent: found however they are written, and taken out with the words they are in."""

from __future__ import annotations

import pytest

from localcrag.text.sanitize import contains_term, is_term, remove_terms

TABLE = [
    ("falcon budget 2026", ["falcon"], "budget 2026", "a word"),
    ("FALCON Budget", ["falcon"], "Budget", "upper case in the query"),
    ("falcon budget", ["FALCON"], "budget", "upper case in the term"),
    ("the megafalcons budget", ["falcon"], "the budget", "inside a longer word"),
    ("fal-con budget", ["falcon"], "budget", "hyphenated"),
    ("fal\u2011con budget", ["falcon"], "budget", "a hyphen that does not break"),
    ("fal\u00adcon budget", ["falcon"], "budget", "a soft hyphen"),
    ("fal\u200bcon budget", ["falcon"], "budget", "a space of no width"),
    ("fal con budget", ["falcon"], "budget", "two words"),
    ("“fal” (con) budget", ["falcon"], "budget", "two words with signs between"),
    ("blueheron blue-heron Blue  Heron blue_heron rent", ["blue heron"], "rent", "a term of two words"),
    ("blue heron rent", ["blue-heron"], "rent", "a term with a hyphen"),
    ("blue heron rent", ["Blue Heron Ltd."], "blue heron rent", "only part of a term"),
    ("STRASSE map", ["straße"], "map", "sharp s"),
    ("Ｆａｌｃｏｎ map", ["falcon"], "map", "letters of full width"),
    ("ﬁnch map", ["finch"], "map", "a ligature"),
    ("Mu\u0308ller map", ["müller"], "map", "a letter and its dots"),
    ("Müller map", ["Mu\u0308ller"], "map", "the same the other way round"),
    ("ΣΊΣΥΦΟΣ map", ["σίσυφος"], "map", "a final sigma"),
    ("東京タワーの高さ", ["タワー"], "", "a script without spaces"),
    ("राम के घर", ["राम"], "के घर", "vowel signs"),
    ("anna@acme.example phone", ["acme.example"], "phone", "within an address"),
    ("C++ tips", ["c++"], "tips", "a symbol"),
    ("c tips", ["c++"], "c tips", "a symbol that is missing"),
    ("one falcon two heron three", ["falcon", "heron"], "one two three", "two terms"),
    ("fal falcon con budget", ["falcon"], "budget", "what comes together when a word goes"),
    ("budget for the year", ["falcon"], "budget for the year", "nothing"),
    ("  budget  for ", ["falcon"], "  budget  for ", "nothing is changed where nothing is found"),
    ("budget", [], "budget", "no terms"),
    ("", ["falcon"], "", "no query"),
]


@pytest.mark.parametrize(("query", "terms", "left"), [pytest.param(*row[:3], id=row[3]) for row in TABLE])
def test_words_that_hold_a_term_are_taken_out(query: str, terms: list[str], left: str) -> None:
    assert remove_terms(query, terms) == left
    assert contains_term(query, terms) == (left != query)
    assert not contains_term(left, terms)


@pytest.mark.parametrize(
    ("text", "fit"), [("falcon", True), ("AI", True), ("7b", True), ("C#", False), ("", False), ("--", False)]
)
def test_a_term_needs_two_letters_or_digits(text: str, fit: bool) -> None:
    assert is_term(text) is fit
