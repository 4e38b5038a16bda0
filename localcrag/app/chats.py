"""A consent that waits for a person: the question’s thread stands still until they have answered."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Protocol

from localcrag.app.tasks import Job
from localcrag.records.errors import ChatBusy, ConsentMissing, LocalcragError
from localcrag.records.events import Event, RunFinished, StepStarted
from localcrag.records.protocols import Consent
from localcrag.records.run import Chat, ChatTurn, Run, Turn, TurnState, history
from localcrag.runs.recording import Recording, checked
from localcrag.text.translation import gettext as _

WAIT_SECONDS = 300.0
"""Long enough to read, think and come back with a coffee; the next question waits behind this one."""

STOPPED = "The web was not asked: the question was stopped before the query was sent."


class WaitingConsent:
    """One question's Consent: its thread waits in the call, and the page's buttons end the wait."""

    def __init__(self, seconds: float = WAIT_SECONDS) -> None:
        self._seconds = seconds
        self._said = threading.Event()
        self._query: str | None = None
        self._ended = False

    def __call__(self, query: str) -> str | None:
        """Return what the person said about `query`. Raises ConsentMissing when nothing, or when the wait was ended."""
        if not self._said.wait(self._seconds):
            raise ConsentMissing(
                f"The web was not asked: for {self._seconds / 60:g} minutes nobody said whether the query may be sent. "
                "Ask the question again to be asked again."
            )
        if self._ended:
            raise ConsentMissing(STOPPED)
        return self._query

    def say(self, query: str | None) -> None:
        """Send this query, or none."""
        self._query = query
        self._said.set()

    def end(self) -> None:
        """Wait no longer; what was said before this counts."""
        if not self._said.is_set():
            self._ended = True
            self._said.set()


LOOK = 0.1
"""Seconds between two looks whether an answer that waits was stopped."""


class ModelTurns:
    """Who has the models, and who waits for them."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.waiting: list[ModelTurn] = []
        self.holder: ModelTurn | None = None

    @property
    def busy(self) -> bool:
        """Whether anybody has the models."""
        return self.holder is not None


class ModelTurn:
    """One answer's hold on the models. One that is `long` lets others go first, also once it has begun."""

    def __init__(self, turns: ModelTurns, stopping: threading.Event, *, long: bool = False) -> None:
        self._turns, self._stopping, self._long = turns, stopping, long

    @property
    def are_wanted(self) -> bool:
        """Whether others wait that go before this one."""
        with self._turns.changed:
            return self._long and any(not one._long for one in self._turns.waiting)

    def line_up(self) -> bool:
        """Stand behind those who wait; return whether the models are there at once."""
        with self._turns.changed:
            self._turns.waiting.append(self)
            return self._has_come()

    def take(self) -> bool:
        """Wait until the models are there, in line already or not; return False when the answer is stopped first."""
        with self._turns.changed:
            if self not in self._turns.waiting:
                self._turns.waiting.append(self)
            while not self._has_come():
                if self._stopping.is_set():
                    self.end()
                    return False
                self._turns.changed.wait(LOOK)
            return True

    def end(self) -> None:
        """Let others have the models, if this answer has them, or wait no longer."""
        with self._turns.changed:
            if self._turns.holder is self:
                self._turns.holder = None
            elif self in self._turns.waiting:
                self._turns.waiting.remove(self)
            self._turns.changed.notify_all()

    def _has_come(self) -> bool:
        turns = self._turns
        if turns.holder is None and self is min(turns.waiting, key=lambda one: one._long):
            turns.waiting.remove(self)
            turns.holder = self
        return turns.holder is self


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


class Ask(Protocol):
    """Answers a chat's question, read with the turns before it; with `read_all` from every passage."""

    def __call__(
        self, chat: Chat, question: str, history: Sequence[Turn], consent: Consent, *, read_all: bool = False
    ) -> Recording: ...


_Answer = Callable[[Consent], Recording]


class Chats(Protocol):
    """Where conversations are kept; see backends/chat_store.py."""

    def chat(self, chat_id: int) -> Chat: ...

    def turns(self, chat_id: int, to: int | None = None) -> list[ChatTurn]: ...

    def ask(self, chat_id: int, question: str, *, instead_of: int | None = None) -> ChatTurn: ...

    def put(self, chat_id: int, turn: ChatTurn) -> None: ...

    def show(self, chat_id: int, number: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Answering:
    """A question that is being answered, or was."""

    chat_id: int
    turn: ChatTurn
    job: Job[Happened]
    consent: WaitingConsent
    stopping: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """End it before its next event; what is there of the answer is kept."""
        self.stopping.set()
        # Before the wait for a person ends: nothing of the flow comes after it.
        self.job.stop()
        self.consent.end()


class Conversations:
    """The questions of all chats."""

    def __init__(self, chats: Chats, ask: Ask, are_away: Callable[[], bool] = lambda: False) -> None:
        """`are_away` tells whether a question loads the models first."""
        self._chats, self._ask, self._are_away = chats, ask, are_away
        self._lock = threading.Lock()
        self._models = ModelTurns()
        self._last: dict[int, Answering] = {}

    def ask(self, chat_id: int, question: str) -> Answering:
        """Add a question to a chat and begin to answer it. Raises ChatBusy, UnknownChat and StoreError."""
        with self._lock:
            return self._ask_now(chat_id, question, self._chats.turns(chat_id))

    def ask_selection(self, chat_id: int, question: str, answer: Callable[[], Recording]) -> Answering:
        """Add a question that `answer` answers, from what a person chose. Raises ChatBusy, UnknownChat, StoreError."""
        with self._lock:
            return self._begin(chat_id, question, lambda _: answer())

    def ask_again(self, chat_id: int, number: int, question: str | None = None, *, read_all: bool = False) -> Answering:
        """Ask turn `number` once more, in the words of `question` if there are any, as another version of that turn.

        The version before stays, with the turns that follow it, and gives way to the new one only when that has an
        answer. With `read_all` every passage is read.

        Raises ChatBusy, UnknownChat, QuestionError and StoreError, and changes nothing then.
        """
        with self._lock:
            self._require_idle(chat_id)
            *before, turn = self._chats.turns(chat_id, number)
            asked = checked(question or turn.question)
            return self._ask_now(chat_id, asked, before, instead_of=number, read_all=read_all)

    def show(self, chat_id: int, number: int) -> None:
        """Show this version of a turn, and the turns that follow it.

        Raises ChatBusy, UnknownChat, QuestionError and StoreError.
        """
        with self._lock:
            self._require_idle(chat_id)
            self._chats.show(chat_id, number)

    def answering(self, chat_id: int) -> Answering | None:
        """Return the question of a chat that is being answered."""
        with self._lock:
            last = self._last.get(chat_id)
        return last if last and last.job.running else None

    @property
    def busy(self) -> bool:
        """Whether a question is being answered, by the models and not by waiting for a person."""
        return self._models.busy

    def stop_all(self) -> None:
        """End every answer, and wait until what there is of them is written down."""
        with self._lock:
            answerings = [one for one in self._last.values() if one.job.running]
        for one in answerings:
            one.stop()
        for one in answerings:
            one.job.wait()

    def _ask_now(
        self,
        chat_id: int,
        question: str,
        before: Sequence[ChatTurn],
        *,
        instead_of: int | None = None,
        read_all: bool = False,
    ) -> Answering:
        chat, read_with = self._chats.chat(chat_id), history(before)

        def answer(consent: Consent) -> Recording:
            return self._ask(chat, question, read_with, consent, read_all=read_all)

        return self._begin(chat_id, question, answer, instead_of=instead_of, long=read_all)

    def _begin(
        self, chat_id: int, question: str, answer: _Answer, *, instead_of: int | None = None, long: bool = False
    ) -> Answering:
        self._require_idle(chat_id)
        turn = self._chats.ask(chat_id, question, instead_of=instead_of)
        consent, stopping = WaitingConsent(), threading.Event()
        models = ModelTurn(self._models, stopping, long=long)

        def aside(query: str) -> str | None:
            # Nobody needs the models while a person thinks: other chats go on.
            models.end()
            try:
                return consent(query)
            finally:
                if not models.take():
                    raise ConsentMissing(STOPPED)

        job = Job(lambda: self._answer(chat_id, turn, lambda: answer(aside), models), name=f"answer {chat_id}")
        # What has ended is written down; all that was found on its way would stay in memory, for every chat.
        self._last = {chat: one for chat, one in self._last.items() if one.job.running}
        self._last[chat_id] = Answering(chat_id, turn, job, consent, stopping)
        return self._last[chat_id]

    def _require_idle(self, chat_id: int) -> None:
        last = self._last.get(chat_id)
        if last and last.job.running:
            raise ChatBusy("This chat's last question is still being answered. Wait for the answer, or stop it.")

    def _answer(
        self,
        chat_id: int,
        turn: ChatTurn,
        answer: Callable[[], Recording],
        models: ModelTurn,
    ) -> Generator[Happened, None, None]:
        run: Run | None = None
        state, said = TurnState.STOPPED, ""
        try:
            with closing(answered_in_turn(answer, models, self._are_away)) as happened:
                for one in happened:
                    run = one.run
                    if isinstance(one.event, RunFinished):
                        state = TurnState.ANSWERED
                    yield one
        except LocalcragError as error:
            state, said = TurnState.FAILED, str(error)
            raise
        except Exception:
            state, said = TurnState.FAILED, "This question ended in an error; the terminal shows which."
            raise
        finally:
            # Also when it is stopped, which closes this generator: nothing of the answer is lost.
            said = said or (run.answer if run else "")
            self._chats.put(
                chat_id, dataclasses.replace(turn, answer=said, run_id=run.run_id if run else None, state=state)
            )
