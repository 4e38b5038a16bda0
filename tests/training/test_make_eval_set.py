"""scripts/make_eval_set.py, really run on a folder of our own sentences, and the rules by which it chooses."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from evaluation_sets.choice import Choice
from evaluation_sets.files import FORMS
from evaluation_sets.followups import follow_up
from evaluation_sets.search import Judge, snippet, text_of
from evaluation_sets.texts import Candidate, Document, Texts, read_texts, says_something, stands_alone, subject

from localcrag.backends.readers.open_document import open_document
from localcrag.records.run import Turn
from localcrag.runs.evaluation_set import EvaluationSet, HeldBy, Question, read
from tests.support.eval_set_data import ISLANDS, write_data_folder

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


NUMBERS = ("--questions", "4", "--follow-ups", "2", "--distractors", "6")


def make(data: Path, out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPTS / "make_eval_set.py"), str(data), str(out), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data_folder(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def made(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a pair of sets, and what was said about it."""
    out = tmp_path_factory.mktemp("sets")
    done = make(data, out, *NUMBERS)
    assert done.returncode == 0, done.stderr
    return out, done.stdout


@pytest.fixture(scope="module")
def sides(made: tuple[Path, str]) -> tuple[EvaluationSet, EvaluationSet]:
    return read(made[0] / "general-1"), read(made[0] / "general-2")


def both(sides: tuple[EvaluationSet, EvaluationSet]) -> list[tuple[Question, EvaluationSet]]:
    return [(question, side) for side in sides for question in side.questions]


def kind(question: Question) -> str:
    return question.id.split("-")[0]


def whole_text(path: Path) -> str:
    return " ".join(" ".join(page.text for page in open_document(path, path.name).pages).split())


def test_each_set_answers_as_many_questions_as_wanted_and_the_other_set_the_rest(
    sides: tuple[EvaluationSet, EvaluationSet],
) -> None:
    for side in sides:
        counts = Counter((kind(question), question.held_by) for question in side.questions)
        for source, number in (("squad", 4), ("natural", 4), ("followup", 2)):
            assert counts[source, HeldBy.DOCUMENTS] == number
            assert counts[source, HeldBy.WEB] == counts[source, HeldBy.NOWHERE] == number / 2

    one, other = ({question.id: question for question in side.questions} for side in sides)
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].question == other[name].question
        assert [one[name].held_by, other[name].held_by].count(HeldBy.DOCUMENTS) == 1


def test_the_named_document_holds_the_answer_and_is_left_out_of_the_other_set(
    sides: tuple[EvaluationSet, EvaluationSet],
) -> None:
    texts = {side.name: {path.name: whole_text(path) for path in side.files} for side in sides}
    stems = {side.name: {path.stem for path in side.files} for side in sides}
    one, other = sides
    for question, side in both(sides):
        if question.held_by is HeldBy.DOCUMENTS:
            (name,) = question.documents
            assert any(answer in texts[side.name][name] for answer in question.answers)
            left_out = (other if side is one else one).name
            assert Path(name).stem not in stems[left_out]
            telling = [answer for answer in question.answers if not answer.isdigit() and not answer.startswith("its ")]
            assert not any(answer in text for answer in telling for text in texts[left_out].values())


def test_recorded_results_hold_the_answer_for_half_of_the_questions_left_out_and_for_no_other(
    sides: tuple[EvaluationSet, EvaluationSet],
) -> None:
    for question, side in both(sides):
        if question.held_by is HeldBy.DOCUMENTS:
            assert not question.web
            continue
        assert len(question.web) == 5
        assert len({web.url for web in question.web}) == 5
        assert all(web.url.startswith(("https://example.org/", "https://notes.example.org/")) for web in question.web)
        assert all(0 < len(web.content) <= 504 for web in question.web)
        answers = question.answers or answers_in_other(sides, side, question)
        holding = [web for web in question.web if any(answer in web.content for answer in answers)]
        assert len(holding) in ((1, 2) if question.held_by is HeldBy.WEB else (0,))


def answers_in_other(
    sides: tuple[EvaluationSet, EvaluationSet], side: EvaluationSet, question: Question
) -> tuple[str, ...]:
    (other,) = (one for one in sides if one is not side)
    (answers,) = (one.answers for one in other.questions if one.id == question.id)
    return answers


def test_what_nobody_is_to_answer_is_answered_by_no_result_recorded_for_another_question(
    sides: tuple[EvaluationSet, EvaluationSet],
) -> None:
    for side in sides:
        recorded = " ".join(web.content for question in side.questions for web in question.web)
        for question in side.questions:
            if question.held_by is HeldBy.NOWHERE and kind(question) == "squad":
                names = [answer for answer in answers_in_other(sides, side, question) if answer[0].isupper()]
                assert not any(name in recorded for name in names)


def test_questions_without_an_answer_and_those_that_point_at_their_passage_are_left_out(
    data: Path, sides: tuple[EvaluationSet, EvaluationSet]
) -> None:
    asked = {question.question for question, _ in both(sides)}
    possible = {candidate.question for candidate in read_texts(data).candidates}
    assert asked <= possible
    assert not any("passage" in question or question.startswith(("Where is", "Who burnt")) for question in possible)


def test_a_follow_up_comes_after_the_question_that_says_what_it_is_about(
    sides: tuple[EvaluationSet, EvaluationSet],
) -> None:
    followups = [question for question, _ in both(sides) if kind(question) == "followup"]
    assert followups
    for question in followups:
        assert question.question == "What was it known for from then on?"
        (turn,) = question.history
        assert turn.question.startswith("When did work on the")
        assert turn.answer.endswith(".")
    assert all(not question.history for question, _ in both(sides) if kind(question) != "followup")


def test_articles_that_stand_by_are_in_both_sets_and_none_has_the_title_of_one_that_is_asked_about(
    sides: tuple[EvaluationSet, EvaluationSet],
) -> None:
    one, other = ({path.stem for path in side.files} for side in sides)
    assert len(one & other) == 6
    assert not any(island.lower() in one & other for island in ISLANDS)


def test_what_was_written_is_said(made: tuple[Path, str]) -> None:
    out, said = made
    assert f"{out / 'general-1'}: 20 questions, " in said
    assert all(form in said for form in FORMS)
    assert "Passed over:" in said
    assert "What was it known for from then on? (its " in said


def test_the_same_arguments_give_the_same_files_and_another_seed_others(
    data: Path, sides: tuple[EvaluationSet, EvaluationSet], tmp_path: Path
) -> None:
    for folder, seed in ((tmp_path / "same", "5"), (tmp_path / "other", "6")):
        assert make(data, folder, *NUMBERS, "--seed", seed).returncode == 0
    assert read(tmp_path / "same" / "general-1").digest == sides[0].digest
    assert read(tmp_path / "same" / "general-2").digest == sides[1].digest
    assert read(tmp_path / "other" / "general-1").digest != sides[0].digest


def test_a_set_that_is_there_is_not_written_over(data: Path, made: tuple[Path, str]) -> None:
    done = make(data, made[0], *NUMBERS)
    assert done.returncode == 1
    assert (
        done.stderr == f"make_eval_set: {made[0] / 'general-1'} is there already. Delete it, or give another --name.\n"
    )


@pytest.mark.parametrize("lacking", ["dev/squad2", "dev/nq_oracle", "corpora/wikipedia"])
def test_a_folder_without_its_files_is_refused_by_name(lacking: str, tmp_path: Path) -> None:
    folder = write_data_folder(tmp_path / "data")
    path = folder / f"{lacking}.jsonl.gz"
    path.unlink()
    done = make(folder, tmp_path / "out")
    assert done.returncode == 1
    assert str(path) in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_number_below_zero_is_wrong_usage(tmp_path: Path) -> None:
    assert make(tmp_path, tmp_path / "out", "--questions", "-1").returncode == 2


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
