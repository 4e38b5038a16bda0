"""Conversations: questions run in background threads, take turns with the models, and ask for consent.

Only one answer uses the models at a time; the others queue. A question that waits for the user's consent to a web query
gives up its turn until the user has decided.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Protocol

from localcrag.app.tasks import Job
from localcrag.records.errors import ChatBusy, ConsentMissing, LocalcragError
from localcrag.records.events import Event, RunFinished, StepStarted
from localcrag.records.protocols import Consent
from localcrag.records.run import Chat, ChatTurn, Run, Turn, TurnState, history
from localcrag.runs.recording import Recording, validated_question
from localcrag.storage.chat_store import ChatStore
from localcrag.text.translation import gettext as _

CONSENT_SECONDS = 300.0
"""Seconds to wait for a decision: time enough to read and think, during which the chat's next question waits."""

STOPPED = "The web was not asked: the question was stopped before the query was sent."


class WaitingConsent:
    """The consent for one question: the question's thread blocks in the call until the user presses a button."""

    def __init__(self, seconds: float = CONSENT_SECONDS) -> None:
        self._seconds = seconds
        self._decision: Future[str | None] = Future()

    def __call__(self, query: str) -> str | None:
        """Return the query that the person approved, or None. Raises ConsentMissing on timeout or after `end`."""
        try:
            return self._decision.result(self._seconds)
        except TimeoutError:
            raise ConsentMissing(
                f"The web was not asked: for {self._seconds / 60:g} minutes nobody said whether the query may be sent. "
                "Ask the question again to be asked again."
            ) from None
        except CancelledError:
            raise ConsentMissing(STOPPED) from None

    def decide(self, query: str | None) -> None:
        """Record the decision: the query to send, or None to send nothing. Only the first decision counts."""
        with suppress(InvalidStateError):
            self._decision.set_result(query)

    def end(self) -> None:
        """Stop waiting. A decision that was already made still counts."""
        self._decision.cancel()


POLL_SECONDS = 0.1
"""Seconds between two checks of whether a waiting answer was stopped."""


class AnswerQueue:
    """Queue for the models: the turn that holds them, and the turns that wait."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.waiting: list[ModelTurn] = []
        self.holder: ModelTurn | None = None

    @property
    def busy(self) -> bool:
        """Whether a turn holds the models."""
        return self.holder is not None


class ModelTurn:
    """One answer's turn to use the models. A `long` turn lets others go first, even after it has begun."""

    def __init__(self, turns: AnswerQueue, stopping: threading.Event, *, long: bool = False) -> None:
        self._turns, self._stopping, self._long = turns, stopping, long

    @property
    def should_yield(self) -> bool:
        """Whether a turn with priority over this one is waiting."""
        with self._turns.changed:
            return self._long and any(not one._long for one in self._turns.waiting)

    def enqueue(self) -> bool:
        """Join the queue. Return whether the models are free right away."""
        with self._turns.changed:
            self._turns.waiting.append(self)
            return self._try_acquire()

    def take(self) -> bool:
        """Wait for the models, joining the queue if needed. Return False if the answer is stopped before that."""
        with self._turns.changed:
            if self not in self._turns.waiting:
                self._turns.waiting.append(self)
            while not self._try_acquire():
                if self._stopping.is_set():
                    self.end()
                    return False
                self._turns.changed.wait(POLL_SECONDS)
            return True

    def end(self) -> None:
        """Release the models, or leave the queue."""
        with self._turns.changed:
            if self._turns.holder is self:
                self._turns.holder = None
            elif self in self._turns.waiting:
                self._turns.waiting.remove(self)
            self._turns.changed.notify_all()

    def _try_acquire(self) -> bool:
        turns = self._turns
        # False sorts before True, so the first turn that is not long wins.
        if turns.holder is None and self is min(turns.waiting, key=lambda one: one._long):
            turns.waiting.remove(self)
            turns.holder = self
        return turns.holder is self


@dataclass(frozen=True, slots=True)
class AnswerProgress:
    """An event, and the run at that event; None before the run has begun."""

    event: Event
    run: Run | None


def run_when_model_is_free(
    answer: Callable[[], Recording], models: ModelTurn, any_unloaded: Callable[[], bool] = lambda: False
) -> Generator[AnswerProgress, None, None]:
    """Yield the events of an answer once the models are free; end early if it is stopped while waiting.

    `any_unloaded` returns whether `answer` has to load the models first, which an event then reports. Between two
    steps, a long answer lets waiting questions go first. Raises the errors of `answer` and of its recording.
    """
    try:
        if not models.enqueue():
            yield AnswerProgress(StepStarted("wait", _("waiting for another answer to end")), None)
            if not models.take():
                return
        if any_unloaded():
            yield AnswerProgress(StepStarted("load", _("loading the models, which were unloaded")), None)
        with closing(answer()) as recording:
            for event in recording:
                yield AnswerProgress(event, recording.run)
                # Another question may take the models only between two steps, when this answer computes nothing.
                if isinstance(event, StepStarted) and models.should_yield:
                    yield AnswerProgress(StepStarted("wait", _("another question goes first")), recording.run)
                    models.end()
                    if not models.take():
                        return
                    # Repeat the event, so that the display shows this step again instead of the wait.
                    yield AnswerProgress(event, recording.run)
    finally:
        models.end()


class Ask(Protocol):
    """Answers a question of a chat, given the previous turns; with `read_all`, from every passage."""

    def __call__(
        self, chat: Chat, question: str, history: Sequence[Turn], consent: Consent, *, read_all: bool = False
    ) -> Recording: ...


_Answer = Callable[[Consent], Recording]


@dataclass(frozen=True, slots=True)
class AnswerJob:
    """A question that is being answered, or has been."""

    chat_id: int
    turn: ChatTurn
    job: Job[AnswerProgress]
    consent: WaitingConsent
    stopping: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """Stop before the next event. The part of the answer written so far is kept."""
        self.stopping.set()
        # Stop the job before the wait for consent ends, so that no further step of the flow runs.
        self.job.stop()
        self.consent.end()


class Conversations:
    """The questions of all chats, at most one in progress per chat."""

    def __init__(self, chats: ChatStore, ask: Ask, any_unloaded: Callable[[], bool] = lambda: False) -> None:
        """Prepare the conversations; `any_unloaded` returns whether a question has to load the models first."""
        self._chats, self._ask, self._any_unloaded = chats, ask, any_unloaded
        self._lock = threading.Lock()
        self._models = AnswerQueue()
        self._last: dict[int, AnswerJob] = {}

    def ask(self, chat_id: int, question: str) -> AnswerJob:
        """Add a question to a chat and start answering it. Raises ChatBusy, UnknownChat and StoreError."""
        with self._lock:
            return self._ask_now(chat_id, question, self._chats.turns(chat_id), read_all=False)

    def ask_selection(self, chat_id: int, question: str, answer: Callable[[], Recording]) -> AnswerJob:
        """Add a question that `answer` answers from chosen sentences. Raises ChatBusy, UnknownChat and StoreError."""
        with self._lock:
            return self._begin(chat_id, question, lambda _: answer())

    def ask_again(self, chat_id: int, number: int, question: str | None = None, *, read_all: bool = False) -> AnswerJob:
        """Ask turn `number` again as a new version of that turn, reworded if `question` is given.

        The old version is kept with the turns that follow it; the new version replaces it on screen only once it has an
        answer. With `read_all`, every passage is read.

        Raises ChatBusy, UnknownChat, QuestionError and StoreError; nothing has changed then.
        """
        with self._lock:
            self._require_idle(chat_id)
            *before, turn = self._chats.turns(chat_id, number)
            asked = validated_question(question or turn.question)
            return self._ask_now(chat_id, asked, before, instead_of=number, read_all=read_all)

    def show(self, chat_id: int, number: int) -> None:
        """Show this version of a turn, and the turns that follow it.

        Raises ChatBusy, UnknownChat, QuestionError and StoreError.
        """
        with self._lock:
            self._require_idle(chat_id)
            self._chats.show(chat_id, number)

    def answering(self, chat_id: int) -> AnswerJob | None:
        """Return the question of a chat that is being answered, or None."""
        with self._lock:
            last = self._last.get(chat_id)
        return last if last and last.job.running else None

    @property
    def busy(self) -> bool:
        """Whether an answer is using the models. An answer that waits for the user does not count."""
        return self._models.busy

    def stop_all(self) -> None:
        """Stop every answer, and wait until the partial answers are stored."""
        with self._lock:
            answerings = [one for one in self._last.values() if one.job.running]
        for one in answerings:
            one.stop()
        for one in answerings:
            one.job.wait()

    def _ask_now(
        self, chat_id: int, question: str, before: Sequence[ChatTurn], *, instead_of: int | None = None, read_all: bool
    ) -> AnswerJob:
        chat, read_with = self._chats.chat(chat_id), history(before)

        def answer(consent: Consent) -> Recording:
            return self._ask(chat, question, read_with, consent, read_all=read_all)

        return self._begin(chat_id, question, answer, instead_of=instead_of, long=read_all)

    def _begin(
        self, chat_id: int, question: str, answer: _Answer, *, instead_of: int | None = None, long: bool = False
    ) -> AnswerJob:
        self._require_idle(chat_id)
        turn = self._chats.ask(chat_id, question, instead_of=instead_of)
        consent, stopping = WaitingConsent(), threading.Event()
        models = ModelTurn(self._models, stopping, long=long)

        def aside(query: str) -> str | None:
            # While the user decides, the models are idle, so other chats can use them.
            models.end()
            try:
                return consent(query)
            finally:
                if not models.take():
                    raise ConsentMissing(STOPPED)

        job = Job(lambda: self._answer(chat_id, turn, lambda: answer(aside), models), name=f"answer {chat_id}")
        # Finished answers are stored, so drop them: their events would otherwise stay in memory for every chat.
        self._last = {chat: one for chat, one in self._last.items() if one.job.running}
        self._last[chat_id] = AnswerJob(chat_id, turn, job, consent, stopping)
        return self._last[chat_id]

    def _require_idle(self, chat_id: int) -> None:
        last = self._last.get(chat_id)
        if last and last.job.running:
            raise ChatBusy("This chat's last question is still being answered. Wait for the answer, or stop it.")

    def _answer(
        self, chat_id: int, turn: ChatTurn, answer: Callable[[], Recording], models: ModelTurn
    ) -> Generator[AnswerProgress, None, None]:
        run: Run | None = None
        state, text = TurnState.STOPPED, ""
        try:
            with closing(run_when_model_is_free(answer, models, self._any_unloaded)) as happened:
                for one in happened:
                    run = one.run
                    if isinstance(one.event, RunFinished):
                        state = TurnState.ANSWERED
                    yield one
        except LocalcragError as error:
            state, text = TurnState.FAILED, str(error)
            raise
        except Exception:
            state, text = TurnState.FAILED, "This question ended in an error; the terminal shows which."
            raise
        finally:
            # This also runs when the answer is stopped, which closes this generator: the partial answer is kept.
            text = text or (run.answer if run else "")
            self._chats.put(
                chat_id, dataclasses.replace(turn, answer=text, run_id=run.run_id if run else None, state=state)
            )
