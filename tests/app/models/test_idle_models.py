"""Models that nobody uses are put away, really, and come back with the next question; the real models."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from localcrag.app.assembly import Assembly
from localcrag.app.chats import AnswerQueue, ModelTurn, run_when_model_is_free
from localcrag.app.models.lifecycle import IdleModelUnloader
from localcrag.app.uploads import uploads_from
from localcrag.models.encoders import BiEncoder
from localcrag.models.reranker import CrossEncoder
from localcrag.records.events import AnswerPiece, RunFinished, StepStarted
from localcrag.records.protocols import Decoding
from localcrag.records.run import Message
from localcrag.settings import load
from tests.support.app_process import resident
from tests.support.first_start import started_before

pytestmark = [pytest.mark.models, pytest.mark.slow]

MINUTE = 60.0
TEXT = "# Ferry\n\nThe ferry to Lindau leaves from berth 7 at nine in the morning. It carries bicycles for 4 euros.\n"
QUESTION = "From which berth does the ferry to Lindau leave?"
MODELS_AT_LEAST = 100 * 2**20
"""Bytes that are given back; the three embedded models take about three times that."""

PIECE = 40_000
"""Bytes that the C library keeps for itself when they are free between others."""


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def goes_on(self, minutes: float) -> None:
        self.now += minutes * MINUTE


@pytest.fixture
def assembly(tmp_path: Path) -> Iterator[Assembly]:
    (tmp_path / "ferry.md").write_text(TEXT)
    with closing(Assembly(load(data_dir=started_before(tmp_path / "data")))) as made:
        for _ in made.ingest(uploads_from([tmp_path / "ferry.md"])):
            pass
        made.warm_up()
        yield made


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def idle(assembly: Assembly, clock: Clock) -> IdleModelUnloader:
    return IdleModelUnloader(assembly.models, assembly.current_settings, clock=clock)


def test_they_go_when_nobody_used_them_for_the_time_that_is_set(
    assembly: Assembly, idle: IdleModelUnloader, clock: Clock
) -> None:
    clock.goes_on(9)
    assert not idle.unload_if_idle()
    assembly.search(QUESTION)
    clock.goes_on(2)
    assert not idle.unload_if_idle(), "they were used two minutes ago"
    clock.goes_on(9)
    assert not idle.unload_if_idle()
    clock.goes_on(1)
    before = resident(os.getpid())
    assert idle.unload_if_idle()
    assert assembly.models.any_unloaded()
    assert before - resident(os.getpid()) > MODELS_AT_LEAST
    assert "unloaded" in assembly.models.describe_hardware()
    clock.goes_on(10)
    assert not idle.unload_if_idle(), "there is nothing left to put away"


def test_what_calls_left_free_between_other_things_goes_back_while_they_are_used(
    assembly: Assembly, idle: IdleModelUnloader
) -> None:
    pieces = [bytearray(PIECE) for _ in range(4_000)]
    del pieces[::2]
    assembly.search(QUESTION)
    before = resident(os.getpid())
    assert not idle.unload_if_idle()
    assert before - resident(os.getpid()) > len(pieces) * PIECE / 2


def test_the_next_question_says_that_it_loads_them_and_is_answered(assembly: Assembly, idle: IdleModelUnloader) -> None:
    with closing(assembly.ask(QUESTION)) as first:
        before = next(event for event in first if isinstance(event, RunFinished)).run
    assert assembly.models.unload()
    turn = ModelTurn(AnswerQueue(), threading.Event())
    happened = list(run_when_model_is_free(partial(assembly.ask, QUESTION), turn, assembly.models.any_unloaded))
    assert happened[0].event == StepStarted("load", "loading the models, which were unloaded")
    after = happened[-1].run
    assert after is not None
    assert after.answer == before.answer
    assert "berth 7" in after.answer
    assert not assembly.models.any_unloaded()


def test_they_stay_while_an_answer_is_written_however_long_it_takes(
    assembly: Assembly, idle: IdleModelUnloader, clock: Clock
) -> None:
    with closing(assembly.ask(QUESTION)) as recording:
        next(event for event in recording if isinstance(event, AnswerPiece))
        clock.goes_on(100)
        assert not idle.unload_if_idle()
        clock.goes_on(100)
        assert not idle.unload_if_idle()
        assert any(isinstance(event, RunFinished) for event in recording)
    for _ in range(2):  # Where the last step used one, ten minutes begin with the first look.
        clock.goes_on(10)
        idle.unload_if_idle()
    assert assembly.models.any_unloaded()


def test_whoever_holds_one_that_was_put_away_can_go_on_with_it(assembly: Assembly) -> None:
    parts = assembly.parts(assembly.settings)
    before = parts.scorer.logits("a question", ["a text"])
    tokens = parts.llm.count_tokens([Message("user", "Hello")])
    assert assembly.models.unload()
    assert parts.embedder.dimension == 384
    assert assembly.models.any_unloaded(), "what a model is, is known without it"
    assert parts.embedder.embed(["text"]).shape == (1, 384)
    assert parts.scorer.logits("another question", ["a text"]).shape == before.shape
    assert parts.llm.count_tokens([Message("user", "Hello")]) == tokens


def test_an_answer_that_is_closed_or_let_go_of_keeps_no_model(assembly: Assembly) -> None:
    llm, asked = assembly.models.llm, [Message("user", "Tell me about ferries.")]
    closed = llm.stream(asked, Decoding(max_tokens=50))
    next(iter(closed))
    assert assembly.models.is_busy()
    closed.close()
    assert not assembly.models.is_busy()
    let_go = llm.stream(asked, Decoding(max_tokens=50))
    next(iter(let_go))
    del let_go
    assert not assembly.models.is_busy()


def test_nothing_is_put_away_where_the_time_is_zero(assembly: Assembly, idle: IdleModelUnloader, clock: Clock) -> None:
    assembly.change(idle_minutes=0)
    clock.goes_on(100_000)
    assert not idle.unload_if_idle()
    assembly.change(idle_minutes=0.5)
    assert idle.unload_if_idle()


def test_looking_at_documents_and_deleting_one_loads_nothing(assembly: Assembly) -> None:
    assert assembly.models.unload()
    assert [one.name for one in assembly.collections.documents()] == ["ferry.md"]
    assembly.collections.delete_document("ferry.md")
    assert assembly.models.any_unloaded()


def test_a_closed_app_holds_no_model_any_more_before_python_collects_anything(assembly: Assembly) -> None:
    parts = assembly.parts(assembly.settings)
    held = [weakref.ref(one._model) for one in assembly.models._unloadable]
    held += [weakref.ref(one._model) for one in (ref() for ref in held) if isinstance(one, BiEncoder | CrossEncoder)]
    assert len(held) == 5
    before = resident(os.getpid())
    gc.disable()
    try:
        assembly.close()
        assert not [ref() for ref in held if ref() is not None]
        assert before - resident(os.getpid()) > MODELS_AT_LEAST
    finally:
        gc.enable()
    assert parts.embedder.embed(["text"]).shape == (1, 384), "whoever still has one can go on with it"
