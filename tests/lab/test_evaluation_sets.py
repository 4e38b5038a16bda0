"""Evaluation sets are made from a folder of our own sentences, and no document of a set answers what it must not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from lab.evaluation_sets.files import FORMS
from lab.evaluation_sets.followups import follow_up
from lab.evaluation_sets.search import Judge, text_of
from lab.evaluation_sets.texts import Candidate, Document

from localcrag.records.evaluation_set import AnswerLocation, EvaluationSet, Question, read
from tests.support.eval_set_data import whole_text, write_data_folder
from tests.support.scripts import run_script

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data_folder(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def made(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a pair of sets, and what was said about it."""
    out = tmp_path_factory.mktemp("sets")
    done = run_script(
        "make_eval_set", str(data), str(out), "--questions", "4", "--follow-ups", "2", "--distractors", "6"
    )
    assert done.returncode == 0, done.stderr
    return out, done.stdout


@pytest.fixture(scope="module")
def sides(made: tuple[Path, str]) -> tuple[EvaluationSet, EvaluationSet]:
    return read(made[0] / "general-1"), read(made[0] / "general-2")


def both(sides: tuple[EvaluationSet, EvaluationSet]) -> list[tuple[Question, EvaluationSet]]:
    return [(question, side) for side in sides for question in side.questions]


def kind(question: Question) -> str:
    return question.id.split("-")[0]


def test_each_set_answers_as_many_questions_as_wanted_and_the_other_set_the_rest(
    sides: tuple[EvaluationSet, EvaluationSet],
) -> None:
    for side in sides:
        counts = Counter((kind(question), question.held_by) for question in side.questions)
        for source, number in (("squad", 4), ("natural", 4), ("followup", 2)):
            assert counts[source, AnswerLocation.DOCUMENTS] == number
            assert counts[source, AnswerLocation.WEB] == counts[source, AnswerLocation.NOWHERE] == number / 2

    one, other = ({question.id: question for question in side.questions} for side in sides)
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].question == other[name].question
        assert [one[name].held_by, other[name].held_by].count(AnswerLocation.DOCUMENTS) == 1


def test_the_named_document_holds_the_answer_and_is_left_out_of_the_other_set(
    sides: tuple[EvaluationSet, EvaluationSet],
) -> None:
    texts = {side.name: {path.name: whole_text(path) for path in side.files} for side in sides}
    stems = {side.name: {path.stem for path in side.files} for side in sides}
    one, other = sides
    for question, side in both(sides):
        if question.held_by is AnswerLocation.DOCUMENTS:
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
        if question.held_by is AnswerLocation.DOCUMENTS:
            assert not question.web
            continue
        assert len(question.web) == 5
        assert len({web.url for web in question.web}) == 5
        assert all(web.url.startswith(("https://example.org/", "https://notes.example.org/")) for web in question.web)
        assert all(0 < len(web.content) <= 504 for web in question.web)
        answers = question.answers or answers_in_other(sides, side, question)
        holding = [web for web in question.web if any(answer in web.content for answer in answers)]
        assert len(holding) in ((1, 2) if question.held_by is AnswerLocation.WEB else (0,))


def answers_in_other(
    sides: tuple[EvaluationSet, EvaluationSet], side: EvaluationSet, question: Question
) -> tuple[str, ...]:
    (other,) = (one for one in sides if one is not side)
    (answers,) = (one.answers for one in other.questions if one.id == question.id)
    return answers


def test_a_folder_without_its_files_is_refused_by_name(data: Path, tmp_path: Path) -> None:
    done = run_script("make_eval_set", str(tmp_path), str(tmp_path / "out"))
    assert done.returncode == 1
    assert "dev/squad2.jsonl.gz" in done.stderr
    assert not (tmp_path / "out").exists()


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
        ("Warsaw", "Where is Warsaw?", "Who lived in Warsaw in 1901?", "", "Who lived there in 1901?"),
        ("Islam", "Where was the club of Iqbal?", "What did Iqbal join?", IQBAL, "What did he join?"),
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
        ("Rhine", "Who led the Confederation of the Rhine?", "When was the Rhine straightened?", ""),
        ("Islam", "What did Iqbal and Sana found?", "What did Iqbal join?", IQBAL),  # he could be another
        ("Islam", "What did Iqbal join?", "When did Iqbal die?", "Iqbal met Sana. He liked her."),  # he or she
        ("Law", "What does the Prime Minister do?", "When did the Prime Minister resign?", ""),  # no thing
    ],
)
def test_where_no_rule_is_sure_there_is_no_follow_up(title: str, first: str, second: str, passage: str) -> None:
    assert follow_up(first, second, title, passage) is None


def candidate(question: str, *answers: str) -> Candidate:
    return Candidate("x-1", "squad", question, answers, "x", "", "Sandholm", ())


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
