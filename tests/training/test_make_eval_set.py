"""scripts/make_eval_set.py, really run on a folder of our own sentences, and the rules by which it chooses."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from lab.evaluation_sets.files import FORMS
from lab.evaluation_sets.texts import read_texts

from localcrag.runs.evaluation_set import EvaluationSet, HeldBy, Question, read
from tests.support.eval_set_data import ISLANDS, whole_text, write_data_folder

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
