"""Training groups from whole documents, made with the app's own chunks and retrieval."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab.training import everyday
from lab.training.pairs import Pair

from tests.support.compressed_lines import write

LODGE = """# Tarn Lodge: house rules

## Boat hire

A rowing boat is ten euros an hour. The oars are in the shed behind the house. Whoever brings one back late pays another
hour, and nobody takes a boat out after dark.

## Sauna

It is heated from four to eight, on Sundays for women alone. How to light it in winter:

1. Open the flue.
2. Put in two baskets of birch.
3. Close the door when the fire is red.

| Wood | Basket |
|---|---|
| birch | 12 euros |
| pine | 8 euros |
"""
LIBRARY = """# Library of Ostley: how to borrow

## Cards

A card is free for everybody who lives in Ostley, and eight euros a year for all others. Bring a passport and a letter
with your address.

## Loans

Books are lent for four weeks, films for one. You can have them for longer twice, on the telephone or at the desk.
"""
STEPS = ["1. Open the flue.", "2. Put in two baskets of birch.", "3. Close the door when the fire is red."]
ROWS = [
    {"id": "lodge", "text": LODGE, "questions": [
        {"question": "what do I owe for taking the boat out for an hour", "type": "fact",
         "evidence": ["A rowing boat is ten euros an hour."], "also": "price of a boat"},
        {"question": "how do I get the sauna going", "type": "how-to",
         "evidence": STEPS},
        {"question": "price of a basket of pine", "type": "table",
         "evidence": ["| Wood | Basket |", "| pine | 8 euros |"]},
        {"question": "may I bring my dog into the sauna", "type": "yes-no", "evidence": []},
    ]},
    {"id": "library", "text": LIBRARY, "questions": [
        {"question": "how long may I keep a film", "type": "fact",
         "evidence": ["Books are lent for four weeks, films for one."]},
    ]},
]  # fmt: skip


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[everyday.Collection]:
    folder = tmp_path_factory.mktemp("documents")
    write(folder / "everyday.jsonl.gz", *ROWS)
    made = everyday.collect([folder / "everyday.jsonl.gz"], folder)
    yield made
    made.assembly.close()


def pairs_of(collection: everyday.Collection, number: int) -> list[Pair]:
    question = collection.questions[number]
    found = everyday.find(collection, question, question.text)
    made = everyday.groups(found, question.text, random.Random(1), source="documents")
    return [pair for group in made for pair in group.passages]


def test_the_passage_with_the_needed_lines_comes_first_under_its_headings(collection: everyday.Collection) -> None:
    first, *others = pairs_of(collection, 0)
    assert first.relevant
    assert "Tarn Lodge: house rules" in first.text.split("\n")[0]
    assert "ten euros an hour" in first.text
    assert others
    assert not any(pair.relevant for pair in others)
    assert not any("ten euros an hour" in pair.text for pair in others), "cut out, where it is the same passage"


def test_every_needed_line_is_marked_at_its_place(collection: everyday.Collection) -> None:
    (steps, *_), (table, *_) = pairs_of(collection, 1), pairs_of(collection, 2)
    needed = {pair: [pair.text[start:end] for start, end, needs in pair.lines if needs] for pair in (steps, table)}
    assert needed[steps] == STEPS
    # The lodge is one of the documents whose tables are in columns.
    assert needed[table] == ["Wood  Basket", "pine  8 euros"]


def test_all_that_is_found_for_a_question_without_an_answer_is_not_relevant(collection: everyday.Collection) -> None:
    found = pairs_of(collection, 3)
    assert found
    assert not any(pair.relevant for pair in found)


def test_in_its_other_words_a_question_is_not_held_against_other_documents(collection: everyday.Collection) -> None:
    question = collection.questions[0]
    found = everyday.find(collection, question, question.also)
    assert {passage.document for passage in found.passages} == {"lodge.md", "library.md"}
    made = everyday.groups(found, question.also, random.Random(1), source="documents")
    assert not any("Library of Ostley" in pair.text for group in made for pair in group.passages)


def test_a_question_is_put_as_people_type_it_the_same_for_all_its_passages(collection: everyday.Collection) -> None:
    question = collection.questions[1]
    (group, *_) = everyday.groups(
        everyday.find(collection, question, question.text), question.text, random.Random(1), source="documents"
    )
    chosen = random.Random(1)
    ways = [{pair.question for pair in everyday.dressed(group, chosen).passages} for _ in range(40)]
    assert {len(way) for way in ways} == {1}
    assert {way.pop() for way in ways} == {
        "How do I get the sauna going?", "how do I get the sauna going", "how do i get the sauna going",
        "get sauna going",
    }  # fmt: skip


def test_a_text_without_its_needed_lines_looks_as_it_did() -> None:
    spans = everyday.strips_of("One is kept. Two is cut.\n\n- three\n- four")
    assert everyday.without("One is kept. Two is cut.\n\n- three\n- four", [spans[1], spans[3]]) == (
        "One is kept. - three"
    )


def test_a_table_in_columns_looks_as_the_reader_of_pdf_files_writes_it() -> None:
    text = "Fees - all of them\n\n| Room | Price a day |\n|:---|---:|\n| Attic | 30 |\n| Hall | 90 |\n\nIn euros.\n"
    assert everyday.in_columns(text) == "Fees - all of them\n\nRoom  Price a day\nAttic  30\nHall  90\n\nIn euros.\n"


def test_near_misses_become_pairs_that_are_not_relevant(tmp_path: Path) -> None:
    passage = "The tower was built in 1822. Its lamp burns oil."
    row = {
        "passage": passage,
        "answered": [{"question": "age of the tower", "sentence": "The tower was built in 1822."}],
        "not_answered": ["who built the tower", "what did the lamp cost"],
    }
    write(tmp_path / "near.jsonl.gz", row)
    answered, missed = everyday.near_miss_groups(tmp_path / "near.jsonl.gz", random.Random(1))
    assert [(pair.text, pair.relevant) for pair in answered.passages] == [
        (passage, True), ("Its lamp burns oil.", False),
    ]  # fmt: skip
    assert sorted(json.dumps([pair.question, pair.relevant]) for pair in missed.passages) == [
        '["what did the lamp cost", false]', '["who built the tower", false]',
    ]  # fmt: skip
