"""The rules by which scripts/make_eval_set.py chooses questions, documents and follow-ups."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab.evaluation_sets.choice import Choice
from lab.evaluation_sets.files import FORMS
from lab.evaluation_sets.followups import follow_up
from lab.evaluation_sets.search import Judge, snippet, text_of
from lab.evaluation_sets.texts import Candidate, Document, Texts, says_something, stands_alone, subject

from localcrag.records.run import Turn
from tests.support.eval_set_data import whole_text


@pytest.mark.parametrize("form", FORMS)
def test_every_form_keeps_all_paragraphs_as_they_are(form: str, tmp_path: Path) -> None:
    document = Document(
        "orrin",
        "Orrin & its <trams>",
        ("First: 3 < 4 & 5 > 4, “quoted” – at 12 °C.", "## Lines", "Line 2's end, 1,250 kg."),
    )
    path = tmp_path / f"orrin.{form}"
    path.write_bytes(FORMS[form](document))
    text = whole_text(path)
    for paragraph in (document.title, *document.paragraphs):
        assert paragraph.removeprefix("## ") in text


IQBAL = "While studying in Kiel, Iqbal joined a club. He then went home."


@pytest.mark.parametrize(
    ("title", "first", "second", "passage", "expected"),
    [
        ("Warsaw", "Where is Warsaw?", "When did Warsaw become the capital?", "", "When did it become the capital?"),
        ("Warsaw", "Where is Warsaw?", "What is Warsaw's population?", "", "What is its population?"),
        ("Warsaw", "Where is Warsaw?", "Who lived in Warsaw in 1901?", "", "Who lived there in 1901?"),
        ("Rhine", "Where does the Rhine begin?", "What is the length of the Rhine?", "", "What is its length?"),
        ("Rhine", "Where does the Rhine begin?", "When was the Rhine straightened?", "", "When was it straightened?"),
        ("Huguenot", "Where did Huguenots settle?", "What did the Huguenots build?", "", "What did they build?"),
        ("Islam", "Where was the club of Iqbal?", "What did Iqbal join?", IQBAL, "What did he join?"),
        ("Islam", "When was Iqbal born?", "What were Iqbal's books?", IQBAL, "What were his books?"),
        ("Law", "Who leads the Hanse Court?", "When was the Hanse Court founded?", "", "When was it founded?"),
    ],
)  # fmt: skip
def test_a_question_becomes_a_follow_up(title: str, first: str, second: str, passage: str, expected: str) -> None:
    made = follow_up(first, second, title, passage)
    assert made is not None
    assert made.question == expected


@pytest.mark.parametrize(
    ("title", "first", "second", "passage"),
    [
        ("Warsaw", "Where is Gdansk?", "When did Warsaw become the capital?", ""),  # the first is about another
        ("Warsaw", "When was the Warsaw Uprising?", "When did Warsaw become the capital?", ""),  # part of a name
        ("Warsaw", "Where is Warsaw?", "Who led the Warsaw Uprising?", ""),
        ("Warsaw", "Where is Warsaw?", "How is Warsaw governed, and who founded Warsaw?", ""),  # twice
        ("Rhine", "Who led the Confederation of the Rhine?", "When was the Rhine straightened?", ""),
        ("Islam", "What did Iqbal and Sana found?", "What did Iqbal join?", IQBAL),  # he could be another
        ("Islam", "What did Iqbal join?", "When did Iqbal die?", "Iqbal met Sana. He liked her."),  # he or she
        ("Islam", "What did Iqbal join?", "When did Iqbal die?", "Iqbal met a friend."),  # nobody says he
        ("Law", "What does the Prime Minister do?", "When did the Prime Minister resign?", ""),  # no thing
    ],
)
def test_where_no_rule_is_sure_there_is_no_follow_up(title: str, first: str, second: str, passage: str) -> None:
    assert follow_up(first, second, title, passage) is None


@pytest.mark.parametrize(
    ("question", "title", "expected"),
    [
        ("Who designed the harbour of Sandholm?", "Sandholm", True),
        ("What do ctenophores eat?", "Ctenophora", True),
        ("What happened in 1871?", "Sandholm", True),
        ("What was the name of the book?", "Sandholm", False),
        ("What did he say about Sandholm?", "Sandholm", False),
        ("What did Moen say about his island?", "Sandholm", True),
        ("What does this paragraph say about Sandholm?", "Sandholm", False),
        ("Which of the following is on Sandholm?", "Sandholm", False),
    ],
)
def test_a_question_stands_alone_when_it_says_what_it_is_about(question: str, title: str, expected: bool) -> None:
    assert stands_alone(question, title) is expected


@pytest.mark.parametrize(
    ("question", "answers", "title", "expected"),
    [
        ("Who lit the lamp?", ["Liv Moen"], "Sandholm", True),
        ("Which gas is in the air of Sandholm?", ["pure oxygen"], "Oxygen", False),  # as all of its article
        ("Is the harbour or the pier older?", ["the pier", "pier"], "Sandholm", False),  # the question says it
        ("Is the harbour or the pier older?", ["the pier of 1871"], "Sandholm", True),
    ],
)
def test_an_answer_that_the_question_or_the_title_tells_says_nothing(
    question: str, answers: list[str], title: str, expected: bool
) -> None:
    assert says_something(question, answers, title) is expected


@pytest.mark.parametrize(
    ("passage", "expected"),
    [
        ("The Red Badge of Courage is a war novel.", "The Red Badge of Courage"),
        ("John Bull (born 1562) was a composer.", "John Bull"),
        ("height of its rule in India, the company had an army.", "Height of its rule in India"),
    ],
)
def test_a_passage_without_a_title_is_called_by_its_subject(passage: str, expected: str) -> None:
    assert subject(passage) == expected


def candidate(question: str, *answers: str, paragraph: str = "", history: tuple[Turn, ...] = ()) -> Candidate:
    return Candidate("x-1", "squad", question, answers, "x", paragraph, "Sandholm", history)


FILLING = [f"The {thing} of Orrin is painted in colour {number}." for number, thing in enumerate(["pier", "mill"] * 60)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Liv Moen was never there.", True, id="a-telling-answer-anywhere"),
        pytest.param("She paid 41 crowns for a coat.", False, id="a-number-about-something-else"),
        pytest.param("The lighthouse of Sandholm has 41 steps.", True, id="a-number-about-the-same"),
        pytest.param("The lighthouse of Sandholm is high.", False, id="the-same-without-an-answer"),
        pytest.param("LIV MOEN'S house", False, id="part-of-another-word"),
        pytest.param("the “Liv Moen”, a ship", True, id="punctuation-and-case-do-not-matter"),
    ],
)
def test_a_text_may_answer_by_its_words(text: str, expected: bool) -> None:
    judge = Judge([text_of(paragraph) for paragraph in [*FILLING, text]])
    asked = judge.asked(candidate("How many steps has the lighthouse of Sandholm?", "41", "Liv Moen"))
    assert judge.may_answer(asked, text_of(text)) is expected


def test_an_answer_that_stands_in_many_texts_says_nothing_by_itself() -> None:
    judge = Judge([text_of(paragraph) for paragraph in FILLING])
    asked = judge.asked(candidate("What stands at the end of the harbour of Sandholm?", "the pier"))
    assert not judge.may_answer(asked, text_of(FILLING[0]))


def test_what_a_follow_up_is_about_is_known_from_the_conversation() -> None:
    judge = Judge([text_of(paragraph) for paragraph in FILLING])
    turn = Turn("Who designed the lighthouse of Sandholm?", "Liv Moen.")
    asked = judge.asked(candidate("When was it built?", "1871", history=(turn,)))
    assert judge.may_answer(asked, text_of("The lighthouse of Sandholm was built in 1871."))
    assert not judge.may_answer(asked, text_of("The bakery burnt down in 1871."))


@pytest.mark.parametrize(
    ("elsewhere", "why"),
    [
        ("The harbour lamp of Sandholm was lit by Liv Moen.", "another document may answer it in the set"),
        ("Sandholm's harbour lamp was first lit by a boy.", "all of its words in one sentence"),
        ("The boys of Sandholm like the harbour. A lamp was lit.", None),
    ],
)
def test_a_question_that_another_document_may_answer_is_passed_over(elsewhere: str, why: str | None) -> None:
    own = "The harbour lamp of Sandholm was lit for the first time by Liv Moen."
    asked = Candidate(
        "squad-1", "squad", "Who lit the harbour lamp of Sandholm?", ("Liv Moen",), "own", own, "Sandholm"
    )
    documents = (Document("own", "Own", (own,)), Document("other", "Other", (elsewhere,)))
    wanted = {"squad": 1, "natural": 0, "followup": 0}
    pair = Choice(Texts(documents, (), (asked,)), wanted=wanted, distractors=0, seed=1).make()
    assert [why is not None and why in reason for reason in pair.passed_over] == [True] * (why is not None)
    assert sum(len(side.questions) for side in pair.sides) == (2 if why is None else 0)


def test_a_snippet_is_the_sentences_about_the_question_and_never_longer_than_an_engine_shows() -> None:
    sentences = [f"Sentence number {number} tells of wind and weather at sea." for number in range(30)]
    sentences[17] = "The lighthouse of Sandholm was lit in 1871."
    paragraph = " ".join(sentences)
    judge = Judge([text_of(sentence) for sentence in sentences])
    asked = judge.asked(candidate("When was the lighthouse of Sandholm lit?", "1871", paragraph=paragraph))

    held = snippet(asked, paragraph, judge, answering=True)
    assert held is not None
    assert sentences[17] in held
    assert held.startswith("… ")
    assert held.endswith(" …")
    assert 200 <= len(held) <= 504
    without = snippet(asked, paragraph, judge, answering=False)
    assert without is not None
    assert "1871" not in without


def test_an_answer_of_figures_is_not_found_in_other_figures() -> None:
    paragraph = "The steak of 72 ounces is free to anyone who eats it within an hour."
    judge = Judge([text_of(paragraph)])
    assert snippet(judge.asked(candidate("what is the price", "$72")), paragraph, judge, answering=True) is None
