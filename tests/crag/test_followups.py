"""Follow-ups: which questions are left alone, and what the others become (the model's part: crag/test_steps.py)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localcrag.crag import condense
from localcrag.crag.condense import FollowUpStatus, follow_up_status
from localcrag.records.run import Turn
from localcrag.text.words import content_words
from tests.support.dialogues import DIALOGUES, Asked

TURNS = [
    pytest.param(turn, id=f"{dialogue.name}: {turn.question}") for dialogue in DIALOGUES for turn in dialogue.turns
]
LONDON = (Turn("What is the hotel limit in London?", "195 euros."),)


@pytest.mark.parametrize("turn", TURNS)
def test_a_turn_is_left_alone_or_gets_the_words_it_leans_on(turn: Asked) -> None:
    if not turn.history:
        return
    leans_on = condense.context_turns(turn.question, turn.history, turns=3)
    assert bool(leans_on) is turn.dependent
    if turn.dependent:
        understood = condense.rewrite_by_rule(turn.question, leans_on) or condense.accept("", turn.question, leans_on)
        assert turn.names <= content_words(understood), understood


@pytest.mark.parametrize(
    ("question", "alone"),
    [
        pytest.param("Is it safe to take cover under a tree during an earthquake?", True, id="it means nothing"),
        pytest.param("Is it dangerous?", False, id="it means something"),
        pytest.param("Is there a ferry to Calais?", True, id="there is"),
        pytest.param("How many people live there?", False, id="there, a place"),
        pytest.param("What is a health care proxy and what are their duties?", True, id="a pronoun for its own words"),
        pytest.param("What are their duties?", False, id="a pronoun for others"),
        pytest.param("Can you name the actions that generate domain events?", True, id="that opens a clause"),
        pytest.param("Does the tenant pay for that?", False, id="that stands for something"),
        pytest.param("How do I switch that off?", False, id="that, which is switched off"),
        pytest.param("Which rules apply to those who cross the border?", True, id="those who"),
        pytest.param("What do those cost per month?", False, id="those"),
        pytest.param("How can one upgrade the command line tools?", True, id="one, anybody"),
        pytest.param("How can I create one?", False, id="one of them"),
        pytest.param("When was season one of Stranger Things filmed?", True, id="one, a number"),
        pytest.param("Why are rentals in California expensive compared to other states?", True, id="other states"),
        pytest.param("What other factors matter?", False, id="what other"),
        pytest.param("What is more beautiful, the juniper or the cheese bush?", True, id="more beautiful"),
        pytest.param("Which is more important?", False, id="which of them"),
        pytest.param("Do gas stations charge the same price in the same area?", True, id="the same area"),
        pytest.param("The same for Paris", False, id="the same for another"),
        pytest.param("What is EBT?", True, id="a definition"),
        pytest.param("What is the price?", False, id="the price of something"),
        pytest.param("Thank you!", True, id="thanks"),
        pytest.param("Okay, great. When was it built?", False, id="a question behind an okay"),
        pytest.param("What else did Marie Curie discover?", True, id="else, with a name"),
        pytest.param("Who else was there?", False, id="else"),
        pytest.param("Compare the two", False, id="the two"),
        pytest.param("Can you explain in more detail?", False, id="more detail of something"),
        pytest.param("Give me an example", False, id="an example of something"),
        pytest.param("Summarize your answer", False, id="the answer before"),
        pytest.param("What is the difference between net and gross pay?", True, id="a difference of its own words"),
        pytest.param("", True, id="nothing"),
    ],
)  # fmt: skip
def test_words_point_back_only_where_they_stand_for_something_else(question: str, alone: bool) -> None:
    assert condense.stands_alone(question) is alone


ALONE, DOUBTFUL, FOLLOW_UP = FollowUpStatus


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        pytest.param("When my tenant leaves, must he paint the walls?", ALONE, id="he, named before"),
        pytest.param("can a member bring their dog", ALONE, id="their, of somebody before"),
        pytest.param("if the guest pays late does she owe interest", ALONE, id="she, without a comma"),
        pytest.param("customer with a hearing aid says it squeals, what do I tell them", ALONE, id="it, somebody says"),
        pytest.param("how long does the glue keep after it's been opened", ALONE, id="it, behind after"),
        pytest.param("it's raining, does the market take place", ALONE, id="it rains"),
        pytest.param("It's 16.30 and the journey is tomorrow. Can the ward still book it?", ALONE, id="it, the clock"),
        pytest.param("its my week, how does the friday cleaning go", ALONE, id="its for it's"),
        pytest.param("is it allowed to grill on the balcony", ALONE, id="it is allowed"),
        pytest.param("how long does it take to get a permit", ALONE, id="it takes"),
        pytest.param("what does it cost to extend the family grave", ALONE, id="it costs"),
        pytest.param("does it matter whether i link the library statically", ALONE, id="it matters"),
        pytest.param("Which strains are in this year's flu vaccine?", ALONE, id="this year"),
        pytest.param("why can't I use those bags in the brown bin any more", DOUBTFUL, id="any more, those bags"),
        pytest.param("there's a leak in the cellar, who pays for the repair", ALONE, id="there's"),
        pytest.param("When do they do the windows in staircase 26?", DOUBTFUL, id="they, with a number"),
        pytest.param("What income did they base the 2023 tax on?", DOUBTFUL, id="they, with much else"),
        pytest.param("can they fine me?", DOUBTFUL, id="they, who have to do with me"),
        pytest.param("What is Cardovet for?", DOUBTFUL, id="one word, a name"),
        pytest.param("When must I be quiet?", DOUBTFUL, id="one word, and somebody who has to do it"),
        pytest.param("What do I need?", FOLLOW_UP, id="a need of something"),
        pytest.param("Can you explain?", FOLLOW_UP, id="who answers"),
        pytest.param("Same illness put me back in hospital 40 days later, is the first day paid?", DOUBTFUL, id="same"),
        pytest.param("What do they charge?", FOLLOW_UP, id="they, with nothing else"),
        pytest.param("how do I undo that?", FOLLOW_UP, id="that, with nothing else"),
        pytest.param("what if it was 50 euros?", DOUBTFUL, id="it is so much"),
        pytest.param("do they sell any more?", FOLLOW_UP, id="more of them"),
        pytest.param("In Bergen?", FOLLOW_UP, id="a name, no question"),
        pytest.param("How can I create one?", FOLLOW_UP, id="one of them"),
    ],
)
def test_a_question_with_much_of_its_own_is_doubtful_and_one_that_explains_its_words_is_not(
    question: str, expected: FollowUpStatus
) -> None:
    assert follow_up_status(question) is expected


def test_most_follow_ups_on_everyday_documents_are_seen_by_their_words() -> None:
    lines = (Path(__file__).parents[1] / "data" / "followups.jsonl").read_text("utf-8").splitlines()
    asked = [json.loads(line)["question"] for line in lines]
    assert sum(follow_up_status(question) is not ALONE for question in asked) >= 50


@pytest.mark.parametrize(
    ("question", "understood"),
    [
        pytest.param("And in Bergen?", "What is the hotel limit in Bergen?", id="and in"),
        pytest.param("In New York?", "What is the hotel limit in New York?", id="in"),
        pytest.param("What about Bergen?", "What is the hotel limit in Bergen?", id="what about"),
        pytest.param("The same for Paris, please.", "What is the hotel limit in Paris?", id="the same for"),
        pytest.param("And on Saturdays?", None, id="another preposition"),
        pytest.param("What about breakfast?", None, id="no name"),
        pytest.param("Why?", None, id="no new word"),
        pytest.param("And in Bergen, how much is breakfast?", None, id="more than a name"),
        pytest.param("Norway?", None, id="a bare name"),
        pytest.param("And in 2025?", None, id="a year is no place"),
        pytest.param("And in January?", None, id="a month is no place"),
        pytest.param("In German please", None, id="a language for the answer"),
    ],
)
def test_another_name_takes_the_place_of_the_former_one(question: str, understood: str | None) -> None:
    assert condense.rewrite_by_rule(question, LONDON) == understood


def test_an_article_that_is_there_already_is_not_said_twice() -> None:
    history = (Turn("How long is the warranty of the KX-40?", "Two years."),)
    assert condense.rewrite_by_rule("And the KX-50?", history) == "How long is the warranty of the KX-50?"


@pytest.mark.parametrize(
    ("former", "question", "understood"),
    [
        ("How do I print in Windows 10?", "And in Windows 11?", "How do I print in Windows 11?"),
        ("What is the limit in May 2024?", "And in June 2024?", "What is the limit in June 2024?"),
        ("What is the limit in May 2024?", "And in June?", "What is the limit in June 2024?"),
        ("How long may I stay in Zone A in Oslo?", "And in Zone B?", "How long may I stay in Zone B in Oslo?"),
        ("When is Form A due in Norway?", "And Form B?", "When is Form B due in Norway?"),
        ("Who is the CEO of Apple?", "And Microsoft?", None),
        ("What is the VAT rate in Germany?", "And the GDP?", None),
        ("What does Anna do at Google?", "And Bob?", None),
    ],
)
def test_a_name_takes_the_place_of_one_like_it_or_of_the_only_one(
    former: str, question: str, understood: str | None
) -> None:
    assert condense.rewrite_by_rule(question, (Turn(former, "So it is."),)) == understood


def test_a_name_has_no_place_to_take_in_a_question_without_one() -> None:
    assert condense.rewrite_by_rule("And in Bergen?", (Turn("What is the limit for hotels?", "195 euros."),)) is None


@pytest.mark.parametrize(
    ("turns", "seen"),
    [
        pytest.param(0, [], id="none"),
        pytest.param(1, ["Why?"], id="the last"),
        pytest.param(2, ["Who built the Eiffel Tower?", "Why?"], id="the topic and the last"),
        pytest.param(9, ["Who built the Eiffel Tower?", "When was it built?", "How tall is it?", "Why?"], id="all"),
    ],
)
def test_a_chain_of_follow_ups_is_read_with_the_question_it_hangs_on(turns: int, seen: list[str]) -> None:
    questions = ("Who built the Eiffel Tower?", "When was it built?", "How tall is it?", "Why?")
    history = [Turn(question, "Yes.") for question in questions]
    leans_on = condense.context_turns("And then?", history, turns=turns)
    assert [turn.question for turn in leans_on] == seen


def test_the_names_of_the_answer_come_along_for_he_and_she() -> None:
    history = (Turn("Who painted The Scream?", "Edvard Munch painted it in Norway."),)
    assert condense.with_topic("Where was he born?", history) == (
        "Who painted The Scream? Edvard Munch, Norway Where was he born?"
    )
    assert condense.with_topic("Where is it?", history) == "Who painted The Scream? Where is it?"


def test_a_rewriting_that_brings_in_nothing_of_the_topic_is_refused_but_for_persons() -> None:
    history = (Turn("Who built the Eiffel Tower?", "A company in France."),)
    refused = condense.accept("When was it built?", "When was it built?", history)
    assert refused == "Who built the Eiffel Tower? When was it built?"
    elsewhere = condense.accept("When was the company in France built?", "When was it built?", history)
    assert elsewhere == refused
    person = condense.accept(
        "Where was Edvard Munch born?", "Where was he born?", (Turn("Who painted The Scream?", "Edvard Munch."),)
    )
    assert person == "Where was Edvard Munch born?"
