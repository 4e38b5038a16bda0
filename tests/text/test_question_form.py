"""What form a question has: how to do something, a list, something to be concluded."""

from __future__ import annotations

import pytest

from localcrag.text.question_form import (
    asks_for_list,
    asks_for_number,
    asks_how,
    asks_two_things,
    asks_yes_or_no,
    needs_inference,
    requested_topic,
    summary_subject,
)


@pytest.mark.parametrize(
    ("question", "how"),
    [
        ("How do I book two weeks off in summer?", True),
        ("how can the filter be cleaned", True),
        ("How to reset the pump?", True),
        ("What do I need to do before I leave the flat?", True),
        ("What should I do if the alarm goes off?", True),
        ("What has to be done with the sails after coming back?", True),
        ("The hub flashes red, what should I try?", True),
        ("What are the steps for a return?", True),
        ("the procedure for returning a book", True),
        ("Walk me through the sign-up.", True),
        ("How much is a single room?", False),
        ("How many days do I get?", False),
        ("How long does it take?", False),
        ("How much does it cost to park?", False),
        ("What is the limit in London?", False),
        ("Who may do this?", False),
        ("What was done on Monday?", False),
    ],
)
def test_a_question_for_a_way_to_do_something_is_told_from_one_for_a_number(question: str, how: bool) -> None:
    assert asks_how(question) is how


@pytest.mark.parametrize(
    ("question", "several"),
    [
        ("Which documents do I need?", True),
        ("What are the opening hours?", True),
        ("Which of the rooms have a view?", True),
        ("List all fees.", True),
        ("What do I have to bring?", True),
        ("what should I pack for the trip", True),
        ("Which hotel limit suits Paris?", False),
        ("What is the hotel limit in London?", False),
        ("What does this cost?", False),
        ("What happens if I am late?", False),
        ("Who orbits the moon?", False),
    ],
)
def test_a_question_for_several_things_is_recognised(question: str, several: bool) -> None:
    assert asks_for_list(question) is several


@pytest.mark.parametrize(
    ("question", "judged"),
    [
        ("Can I bring a dog?", True),
        ("Is breakfast included?", True),
        ("Which of the two tariffs is cheaper?", True),
        ("Is A longer than B?", True),
        ("What is the difference between A and B?", True),
        ("How do I open it?", False),
        ("Which documents do I need?", False),
        ("Can you tell me how to reset the pump?", False),
        ("Could you please list the documents that I need?", False),
        ("Which documents other than the passport must I bring?", False),
        ("Is the ferry dearer than the bus?", True),
    ],
)
def test_what_has_to_be_concluded_is_left_to_the_language_model(question: str, judged: bool) -> None:
    assert needs_inference(question) is judged


@pytest.mark.parametrize(
    ("question", "whether"),
    [
        ("Can I bring a dog?", True),
        ("The forecast is wrong. Is that repaired for free?", True),
        ("power went off last night, will the lock still be on", True),
        ("my poster is upright – does it fit?", True),
        ("What does it cost, is it per night?", False),
        ("When I am late, how much is it?", False),
        ("Can you tell me the fee?", False),
        ("The fee is due.", False),
    ],
)
def test_a_question_for_yes_or_no_may_say_first_what_it_is_about(question: str, whether: bool) -> None:
    assert asks_yes_or_no(question) is whether


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("List all deadlines in these documents", "deadlines"),
        ("How many fees are there for late payment?", "fees for late payment"),
        ("Can you give me a complete list of all suppliers?", "suppliers"),
        ("Find all places where the deposit is mentioned.", "deposit"),
        ("Everything about parking", "parking"),
        ("I am moving out. What are all the deadlines?", "deadlines"),
        ("Summarise the rules about pets", "rules about pets"),
        ("What is the deposit?", None),
        ("Is every tenant insured?", None),
        ("How often is the filter cleaned?", None),
        ("List all", None),
    ],
)
def test_what_all_there_is_of_is_asked_for(question: str, topic: str | None) -> None:
    assert requested_topic(question) == topic


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Summarise this document", set()),
        ("Please give me a short overview of my documents.", set()),
        ("tl;dr", set()),
        ("What is this about?", set()),
        ("Can you summarize the lease in three sentences?", {"lease"}),
        ("What does handbook.md say?", {"handbook.md"}),
        ("What are the main points of the lease?", {"lease"}),
        ("What is the membership agreement about?", {"membership", "agreement"}),
        ("What does the lease say about pets?", None),
        ("How high is the deposit?", None),
        ("What are the key dates?", None),
    ],
)
def test_a_summary_is_asked_for_of_what_is_named(question: str, words: set[str] | None) -> None:
    assert summary_subject(question) == words


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("How long is the notice period?", True),
        ("By when are the fees due?", True),
        ("What year was it founded?", True),
        ("Wie viele Tage dauert es?", True),
        ("Who keeps the mill?", False),
        ("How do I clean the filter?", False),
    ],
)
def test_a_question_whose_answer_has_a_number_is_recognised(question: str, number: bool) -> None:
    assert asks_for_number(question) is number


@pytest.mark.parametrize(
    ("question", "two"),
    [
        ("Where is the office, and since when does it exist?", True),
        ("Who owns the results? Who owns the scans?", True),
        ("When was it founded, and by whom?", False),
        ("What is the rent of the flat and the garage?", False),
    ],
)
def test_a_question_of_two_parts_has_two_question_words(question: str, two: bool) -> None:
    assert asks_two_things(question) is two
