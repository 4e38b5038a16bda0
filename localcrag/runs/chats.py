"""Conversations as they are stored: questions, answers, and the settings they were asked under."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from localcrag.records.enums import Preset
from localcrag.records.restriction import EVERYWHERE, Restriction
from localcrag.records.run import Turn
from localcrag.text.words import one_line, shorten

UNTITLED = "New chat"
TITLE_CHARACTERS = 60


class TurnState(StrEnum):
    """What became of a question."""

    ASKED = "asked"
    """Being answered; or left so, when the server ended in the midst of it."""
    ANSWERED = "answered"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a turn: its number, and what became of its question."""

    number: int
    state: TurnState


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurn:
    """A question of a chat, its answer or why there is none, and the run behind it.

    `parent` is the number of the turn that this one follows; None for the first turn of a chat. Turns with the same
    parent are versions of one turn: the question was edited, or answered once more. `versions` lists all of them in
    the order in which they were asked, and is empty if there is only one.
    """

    number: int
    parent: int | None = None
    question: str
    answer: str = ""
    run_id: str | None = None
    state: TurnState = TurnState.ASKED
    versions: tuple[Version, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """A conversation. `preset` and `llm`: its own; None is what the collection or the settings say.

    Its questions are put to the documents that `restriction` allows.
    Times are ISO 8601, UTC; `turns` is how many turns its visible branch has.
    """

    id: int
    title: str
    collection: str
    preset: Preset | None = None
    llm: str | None = None
    restriction: Restriction = EVERYWHERE
    created_at: str
    changed_at: str
    turns: int = 0


def title_from(question: str) -> str:
    """Return a chat's title, made of its first question."""
    return shorten(one_line(question), TITLE_CHARACTERS) or UNTITLED


def history(turns: Sequence[ChatTurn]) -> list[Turn]:
    """Return what a next question is read with: those of these turns that got an answer."""
    return [Turn(turn.question, turn.answer) for turn in turns if turn.state is TurnState.ANSWERED]
