"""Answers in turn: a question waits for the models, and lets a short one go before a long one."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass

from localcrag.app.model_turns import ModelTurn
from localcrag.records.events import Event, StepStarted
from localcrag.records.run import Run
from localcrag.runs.recording import Recording
from localcrag.text.translation import gettext as _


@dataclass(frozen=True, slots=True)
class Happened:
    """An event, and the run that it led to; None before it has begun."""

    event: Event
    run: Run | None


def answered_in_turn(
    answer: Callable[[], Recording], models: ModelTurn, are_away: Callable[[], bool] = lambda: False
) -> Generator[Happened, None, None]:
    """Yield what happens to a question, once the models are there; ends early when it is stopped while it waits.

    Where they `are_away`, it is said that `answer` loads them first.

    Raises what `answer` and its recording raise.
    """
    try:
        if not models.line_up():
            yield Happened(StepStarted("wait", _("waiting for another answer to end")), None)
            if not models.take():
                return
        if are_away():
            yield Happened(StepStarted("load", _("loading the models, which were put away")), None)
        with closing(answer()) as recording:
            for event in recording:
                yield Happened(event, recording.run)
                if isinstance(event, StepStarted) and models.are_wanted:
                    yield Happened(StepStarted("wait", _("another question goes first")), recording.run)
                    models.end()
                    if not models.take():
                        return
                    yield Happened(event, recording.run)
    finally:
        models.end()
