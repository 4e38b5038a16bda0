"""What a relevance model learns from, as numbers: what its tokenizer makes of each pair, and its lines' tokens."""

from __future__ import annotations

import math
from typing import Any

import pytest
from lab.training.pairs import Group, Pair
from lab.training.tokenised import MOST_TOKENS, Tokenised
from transformers import AutoTokenizer

from localcrag.settings import REPOSITORY_MODELS

QUESTION = "What does the ferry to Ytterholm cost?"
FARES = "Fares of the ferry\nA grown-up pays nine crowns. Bicycles travel free; mopeds don't. "
LINES = tuple(
    (FARES.index(line), FARES.index(line) + len(line), line.startswith("A grown-up"))
    for line in ("A grown-up pays nine crowns.", "Bicycles travel free; mopeds don't.")
)
OTHER = "The Hübnerstraße is closed, naïve as it sounds: 1,234 m of it."


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(REPOSITORY_MODELS / "all-minilm-l6-v2")


def groups() -> list[Group]:
    passages = (Pair(QUESTION, FARES, True, lines=LINES), Pair(QUESTION, OTHER, False), Pair(QUESTION, "", False))
    taught = (Pair("ferry", OTHER, False, wanted=-1.5), Pair("ferry", FARES * 40, False, wanted=0.0))
    return [Group("one", passages, (Pair("ferry", "Nine crowns.", True),)), Group("two", taught, ())]


def test_a_step_holds_what_the_tokenizer_makes_of_each_pair(tokenizer: Any) -> None:
    tokenised = Tokenised.of(groups(), tokenizer)
    lesson = tokenised.lesson([1, 0], at_once=2)
    pairs = [pair for group in (groups()[1], groups()[0]) for pair in (*group.passages, *group.strips)]
    assert lesson.lengths.tolist() == [2, 3, 1]
    assert lesson.relevant.tolist() == [pair.relevant for pair in pairs]
    assert [None if math.isnan(one) else one for one in lesson.wanted.tolist()] == [pair.wanted for pair in pairs]
    assert len(lesson.shares) == 3
    assert sorted(place for share in lesson.shares for place in share.places.tolist()) == list(range(len(pairs)))
    for share in lesson.shares:
        for row, place in enumerate(share.places.tolist()):
            of_pair = tokenizer(
                [pairs[place].question], [pairs[place].text], truncation="only_second", max_length=MOST_TOKENS
            )
            count = len(of_pair["input_ids"][0])
            for name, (values,) in of_pair.items():
                assert share.inputs[name][row, :count].tolist() == values
                assert not share.inputs[name][row, count:].any()
    assert lesson.tokens == sum(share.tokens for share in lesson.shares)
    assert [tokenised.pairs_of(number) for number in range(len(tokenised))] == [4, 2]


def test_each_line_has_the_tokens_that_it_is_written_with(tokenizer: Any) -> None:
    (share,) = Tokenised.of(groups()[:1], tokenizer).lesson([0], at_once=8).shares
    assert share.needed.tolist() == [1, 0]
    assert share.weight.tolist() == [0.5, 0.5]
    assert share.marked == 1
    (row,) = (row for row, place in enumerate(share.places.tolist()) if place == 0)
    said = [tokenizer.decode(share.inputs["input_ids"][row][share.line[row] == number]) for number in range(len(LINES))]
    assert said == ["a grown - up pays nine crowns.", "bicycles travel free ; mopeds don ' t."]
    assert (share.line[[n for n in range(len(share.line)) if n != row]] == len(LINES)).all(), "others have none"


def test_a_line_beyond_the_window_counts_for_nothing(tokenizer: Any) -> None:
    text = "word " * MOST_TOKENS + FARES
    lines = ((0, 100, True), (len(text) - len(FARES), len(text), True))
    (share,) = (
        Tokenised.of([Group("one", (Pair(QUESTION, text, True, lines=lines),), ())], tokenizer)
        .lesson([0], at_once=8)
        .shares
    )
    assert share.weight.tolist() == [1, 0]
    assert share.inputs["input_ids"].shape == (1, MOST_TOKENS)


def test_steps_of_about_so_many_tokens_hold_groups_of_one_length_and_each_once(tokenizer: Any) -> None:
    texts = ("word " * count for count in (5, 200, 6, 190, 7, 210))
    tokenised = Tokenised.of([Group("one", (Pair("why", text, True),), ()) for text in texts], tokenizer)
    steps = tokenised.steps([5, 4, 3, 2, 1, 0], tokens=450)
    assert [sorted(step) for step in steps] == [[0, 2, 4], [1, 3], [5]]
    by_threes = tokenised.steps([5, 4, 3, 2, 1, 0], tokens=450, window=3)
    assert [sorted(step) for step in by_threes] == [[3, 4], [5], [0, 2], [1]]
    (share,) = tokenised.lesson(steps[1], at_once=8, multiple=32).shares
    assert share.inputs["input_ids"].shape == (2, 224)
