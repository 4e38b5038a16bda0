"""Questions that are answered whether anybody looks or not: one at a time, stopped, failed, asked again, kept."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import pytest

from localcrag.app.chats import AnswerJob, AnswerProgress, Conversations
from localcrag.records.errors import ChatBusy, ConsentMissing, GenerationError, QuestionError, StoreError, UnknownChat
from localcrag.records.events import AnswerPiece, Event, Generated, RunFinished, RunStarted, StepStarted, Warned
from localcrag.records.passages import Thresholds
from localcrag.records.protocols import Consent, RunLog
from localcrag.records.run import Chat, Run, StepCost, Turn, TurnState
from localcrag.runs.recording import Recording
from localcrag.storage.chat_store import ChatStore
from localcrag.storage.database import Database
from localcrag.storage.run_store import RunStore
from tests.support.fakes import FakeRunLog

SECONDS = 30.0


def started(question: str) -> Run:
    return Run(
        run_id=f"run {question}", created_at="2026-01-02T03:04:05+00:00", collection="default", question=question,
        standalone_question=question, thresholds=Thresholds(0.5, 0.2, 0.3),
    )  # fmt: skip


class Answerer:
    """Answers "Yes.", piece by piece; between the pieces it waits to be let go on. Not real: its faults are made."""

    def __init__(self) -> None:
        self.goes_on = threading.Event()
        self.begun = threading.Semaphore(0)
        self.at_once = 0
        self.most_at_once = 0
        self.read_with: list[Sequence[Turn]] = []
        self.read_all: list[bool] = []
        self.fails: Exception | None = None

    def __call__(
        self, chat: Chat, question: str, history: Sequence[Turn], consent: Consent, *, read_all: bool = False
    ) -> Recording:
        self.read_all.append(read_all)
        run = started(question)
        return Recording(run, self._events(run, history), FakeRunLog())

    def _events(self, run: Run, history: Sequence[Turn]) -> Generator[Event, None, None]:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.read_with.append(history)
        try:
            yield RunStarted(run)
            yield StepStarted("generate", "writing")
            yield AnswerPiece("Y")
            self.begun.release()
            assert self.goes_on.wait(SECONDS)
            if self.fails:
                raise self.fails
            yield AnswerPiece("es.")
            yield Generated(StepCost("generate", 0.1))
        finally:
            self.at_once -= 1


@pytest.fixture
def chats(tmp_path: Path) -> ChatStore:
    return ChatStore(Database(tmp_path / "chats.sqlite3"))


@pytest.fixture
def answerer() -> Answerer:
    return Answerer()


@pytest.fixture
def conversations(chats: ChatStore, answerer: Answerer) -> Conversations:
    return Conversations(chats, answerer)


def ended(answering: AnswerJob) -> None:
    assert answering.job.wait(SECONDS)


def test_an_answer_is_written_down_though_nobody_reads_it(
    chats: ChatStore, answerer: Answerer, conversations: Conversations
) -> None:
    chat = chats.begin("default")
    answerer.goes_on.set()
    ended(conversations.ask(chat.id, "Who?"))
    ended(conversations.ask(chat.id, "When?"))
    assert [(turn.question, turn.answer, turn.state, turn.run_id) for turn in chats.turns(chat.id)] == [
        ("Who?", "Yes.", TurnState.ANSWERED, "run Who?"),
        ("When?", "Yes.", TurnState.ANSWERED, "run When?"),
    ]
    assert answerer.read_with == [[], [Turn("Who?", "Yes.")]]
    assert conversations.answering(chat.id) is None


def test_a_page_that_comes_later_finds_the_answer_where_it_is(
    chats: ChatStore, answerer: Answerer, conversations: Conversations
) -> None:
    chat = chats.begin("default")
    conversations.ask(chat.id, "Who?")
    assert answerer.begun.acquire(timeout=SECONDS)
    found = conversations.answering(chat.id)
    assert found is not None
    so_far = next(found.job.follow())
    assert isinstance(so_far[-1].event, AnswerPiece)
    answerer.goes_on.set()
    ended(found)
    assert isinstance([one for some in found.job.follow() for one in some][-1].event, RunFinished)


def test_what_was_written_when_it_was_stopped_is_kept(
    chats: ChatStore, answerer: Answerer, conversations: Conversations
) -> None:
    chat = chats.begin("default")
    answering = conversations.ask(chat.id, "Who?")
    assert answerer.begun.acquire(timeout=SECONDS)
    answering.stop()
    answerer.goes_on.set()
    ended(answering)
    (turn,) = chats.turns(chat.id)
    assert (turn.state, turn.answer[:1]) == (TurnState.STOPPED, "Y")


@pytest.mark.parametrize(
    ("error", "said"),
    [(GenerationError("The model ended."), "The model ended."), (ZeroDivisionError("oops"), "the terminal shows")],
)
def test_what_went_wrong_stands_in_the_chat(
    chats: ChatStore, answerer: Answerer, conversations: Conversations, error: Exception, said: str
) -> None:
    chat = chats.begin("default")
    answerer.fails = error
    answerer.goes_on.set()
    answering = conversations.ask(chat.id, "Who?")
    ended(answering)
    (turn,) = chats.turns(chat.id)
    assert turn.state is TurnState.FAILED
    assert said in turn.answer
    with pytest.raises(type(error)):
        list(answering.job.follow())
    # It does not stand in the way of the next one.
    answerer.fails = None
    ended(conversations.ask(chat.id, "Again?"))
    assert chats.turns(chat.id)[1].state is TurnState.ANSWERED


def test_the_models_answer_one_question_at_a_time_and_a_waiting_one_can_be_stopped(
    chats: ChatStore, answerer: Answerer, conversations: Conversations
) -> None:
    first, second, third = (chats.begin("default") for _ in range(3))
    one = conversations.ask(first.id, "One?")
    assert answerer.begun.acquire(timeout=SECONDS)
    two, three = conversations.ask(second.id, "Two?"), conversations.ask(third.id, "Three?")
    assert next(two.job.follow()) == (AnswerProgress(StepStarted("wait", "waiting for another answer to end"), None),)
    three.stop()
    ended(three)
    answerer.goes_on.set()
    ended(one)
    ended(two)
    assert answerer.most_at_once == 1
    states = [chats.turns(chat.id)[0].state for chat in (first, second, third)]
    assert states == [TurnState.ANSWERED, TurnState.ANSWERED, TurnState.STOPPED]


def test_a_chat_is_asked_one_question_at_a_time(
    chats: ChatStore, answerer: Answerer, conversations: Conversations
) -> None:
    chat = chats.begin("default")
    answering = conversations.ask(chat.id, "Who?")
    uses: list[Callable[[], object]] = [
        lambda: conversations.ask(chat.id, "And?"),
        lambda: conversations.ask_again(chat.id, 1),
        lambda: conversations.show(chat.id, 1),
    ]
    for use in uses:
        with pytest.raises(ChatBusy, match="stop it"):
            use()
    answerer.goes_on.set()
    ended(answering)
    assert len(chats.turns(chat.id)) == 1


def test_a_question_is_asked_again_as_it_was_or_in_other_words(
    chats: ChatStore, answerer: Answerer, conversations: Conversations
) -> None:
    chat = chats.begin("default")
    answerer.goes_on.set()
    for question in ("One?", "Two?", "Three?"):
        ended(conversations.ask(chat.id, question))
    ended(conversations.ask_again(chat.id, 3))
    assert [turn.question for turn in chats.turns(chat.id)] == ["One?", "Two?", "Three?"]
    ended(conversations.ask_again(chat.id, 2, "Zwei?"))
    assert [turn.question for turn in chats.turns(chat.id)] == ["One?", "Zwei?"]
    assert answerer.read_with[-1] == [Turn("One?", "Yes.")]
    ended(conversations.ask_again(chat.id, chats.turns(chat.id)[-1].number, read_all=True))
    assert [turn.question for turn in chats.turns(chat.id)] == ["One?", "Zwei?"]
    assert answerer.read_all == [*[False] * 5, True]


def test_a_follow_up_is_read_with_the_visible_branch(
    chats: ChatStore, answerer: Answerer, conversations: Conversations
) -> None:
    chat = chats.begin("default")
    answerer.goes_on.set()
    for question in ("One?", "Two?"):
        ended(conversations.ask(chat.id, question))
    ended(conversations.ask_again(chat.id, 1, "Eins?"))
    ended(conversations.ask(chat.id, "And?"))
    assert answerer.read_with[-1] == [Turn("Eins?", "Yes.")]
    conversations.show(chat.id, 1)
    ended(conversations.ask(chat.id, "And?"))
    assert answerer.read_with[-1] == [Turn("One?", "Yes."), Turn("Two?", "Yes.")]


@pytest.mark.parametrize("read_all", [False, True])
def test_an_answer_once_more_that_is_stopped_leaves_the_finished_one_and_the_later_turns(
    chats: ChatStore, answerer: Answerer, conversations: Conversations, read_all: bool
) -> None:
    chat = chats.begin("default")
    answerer.goes_on.set()
    for question in ("One?", "Two?"):
        ended(conversations.ask(chat.id, question))
        assert answerer.begun.acquire(timeout=SECONDS)
    answerer.goes_on.clear()
    again = conversations.ask_again(chat.id, 1, read_all=read_all)
    assert answerer.begun.acquire(timeout=SECONDS)
    again.stop()
    answerer.goes_on.set()
    ended(again)
    assert [(turn.question, turn.answer) for turn in chats.turns(chat.id)] == [("One?", "Yes."), ("Two?", "Yes.")]
    assert [turn.state for turn in chats.turns(chat.id)] == [TurnState.ANSWERED] * 2


def test_an_edited_question_that_fails_leaves_the_one_before_and_keeps_its_own_words(
    chats: ChatStore, answerer: Answerer, conversations: Conversations
) -> None:
    chat = chats.begin("default")
    answerer.goes_on.set()
    ended(conversations.ask(chat.id, "One?"))
    answerer.fails = GenerationError("The model ended.")
    failed = conversations.ask_again(chat.id, 1, "Eins?")
    ended(failed)
    assert [turn.answer for turn in chats.turns(chat.id)] == ["Yes."]
    conversations.show(chat.id, failed.turn.number)
    assert [(turn.question, turn.answer) for turn in chats.turns(chat.id)] == [("Eins?", "The model ended.")]


def test_a_question_asked_once_more_while_the_store_is_broken_loses_nothing(
    tmp_path: Path, chats: ChatStore, answerer: Answerer, conversations: Conversations
) -> None:
    chat = chats.begin("default")
    answerer.goes_on.set()
    for question in ("One?", "Two?"):
        ended(conversations.ask(chat.id, question))
    with Database(tmp_path / "chats.sqlite3").transaction() as connection:
        connection.execute("CREATE TRIGGER broken BEFORE INSERT ON chat_turns BEGIN SELECT RAISE(ABORT, 'broken'); END")
    with pytest.raises(StoreError, match="broken"):
        conversations.ask_again(chat.id, 1)
    assert [turn.answer for turn in chats.turns(chat.id)] == ["Yes.", "Yes."]
    assert conversations.answering(chat.id) is None


def test_a_turn_that_cannot_be_asked_again_stays_with_what_followed_it(
    chats: ChatStore, answerer: Answerer, conversations: Conversations
) -> None:
    chat = chats.begin("default")
    answerer.goes_on.set()
    for question in ("One?", "Two?"):
        ended(conversations.ask(chat.id, question))
    for number, words in ((1, "  "), (1, "long " * 1000), (7, "Seven?")):
        with pytest.raises(QuestionError):
            conversations.ask_again(chat.id, number, words)
    assert [(turn.question, turn.answer) for turn in chats.turns(chat.id)] == [("One?", "Yes."), ("Two?", "Yes.")]


def test_an_answer_of_a_chat_that_was_deleted_meanwhile_is_dropped(
    chats: ChatStore, answerer: Answerer, conversations: Conversations
) -> None:
    chat = chats.begin("default")
    answering = conversations.ask(chat.id, "Who?")
    chats.delete(chat.id)
    answerer.goes_on.set()
    ended(answering)
    assert chats.chats() == []
    with pytest.raises(UnknownChat):
        conversations.ask(chat.id, "And?")


def test_all_are_ended_and_written_down_at_the_end(
    chats: ChatStore, answerer: Answerer, conversations: Conversations
) -> None:
    some = [chats.begin("default") for _ in range(2)]
    for chat in some:
        conversations.ask(chat.id, "Who?")
    assert answerer.begun.acquire(timeout=SECONDS)
    answerer.goes_on.set()
    conversations.stop_all()
    assert all(chats.turns(chat.id)[0].state is not TurnState.ASKED for chat in some)


def test_while_a_person_thinks_about_a_query_other_chats_are_answered(tmp_path: Path) -> None:
    said: list[str | None] = []
    asked = threading.Event()

    def events(run: Run, consent: Consent) -> Generator[Event, None, None]:
        yield RunStarted(run)
        if run.question == "web":
            asked.set()
            said.append(consent("query"))

    def answer(
        chat: Chat, question: str, history: Sequence[Turn], consent: Consent, *, read_all: bool = False
    ) -> Recording:
        run = started(question)
        return Recording(run, events(run, consent), FakeRunLog())

    store = ChatStore(Database(tmp_path / "chats.sqlite3"))
    conversations = Conversations(store, answer)
    waiting = conversations.ask(store.begin("default").id, "web")
    assert asked.wait(SECONDS)
    assert conversations.ask(store.begin("default").id, "other").job.wait(SECONDS)
    assert waiting.job.running
    waiting.consent.decide("another query")
    assert waiting.job.wait(SECONDS)
    assert said == ["another query"]
    # And the models are free again.
    assert conversations.ask(waiting.chat_id, "next").job.wait(SECONDS)


def test_a_question_that_is_stopped_at_its_query_waits_for_no_other_chat(chats: ChatStore, answerer: Answerer) -> None:
    asked, went_on = threading.Event(), threading.Event()

    def events(run: Run, consent: Consent) -> Generator[Event, None, None]:
        yield RunStarted(run)
        asked.set()
        try:
            consent("query")
        except ConsentMissing as error:
            yield Warned(str(error))
        went_on.set()

    def answer(
        chat: Chat, question: str, history: Sequence[Turn], consent: Consent, *, read_all: bool = False
    ) -> Recording:
        if question != "web":
            return answerer(chat, question, history, consent)
        run = started(question)
        return Recording(run, events(run, consent), FakeRunLog())

    conversations = Conversations(chats, answer)
    waiting = conversations.ask(chats.begin("default").id, "web")
    assert asked.wait(SECONDS)
    other = conversations.ask(chats.begin("default").id, "other")
    assert answerer.begun.acquire(timeout=SECONDS)
    waiting.stop()
    ended(waiting)
    assert not went_on.is_set()
    assert chats.turns(waiting.chat_id)[0].state is TurnState.STOPPED
    # The other one still has the models, and they are free when it has ended.
    third = conversations.ask(waiting.chat_id, "third")
    assert next(third.job.follow()) == (AnswerProgress(StepStarted("wait", "waiting for another answer to end"), None),)
    answerer.goes_on.set()
    ended(other)
    ended(third)
    assert answerer.most_at_once == 1
    assert [turn.state for turn in chats.turns(waiting.chat_id)] == [TurnState.STOPPED, TurnState.ANSWERED]


def test_what_led_to_an_answer_is_given_up_when_another_chat_asks(
    conversations: Conversations, chats: ChatStore, answerer: Answerer
) -> None:
    answerer.goes_on.set()
    first = conversations.ask(chats.begin("default").id, "One?")
    ended(first)
    job = weakref.ref(first.job)
    del first
    ended(conversations.ask(chats.begin("default").id, "Two?"))
    gc.collect()
    assert job() is None


def full(database: Database) -> None:
    """Have its disk be full, as SQLite sees it."""
    database.rows(f"PRAGMA max_page_count = {database.rows('PRAGMA page_count')[0][0]}")


def room(database: Database) -> None:
    database.rows("PRAGMA max_page_count = 100000")


def on_a_disk_that_gets_full(chats: ChatStore, database: Database, log: RunLog) -> tuple[Conversations, AnswerJob]:
    """Return a question whose long answer found no room."""

    def events(run: Run) -> Generator[Event, None, None]:
        yield RunStarted(run)
        yield AnswerPiece("quillwort " * 20_000)
        full(database)
        yield Generated(StepCost("generate", 0.1))

    def answer(
        chat: Chat, question: str, history: Sequence[Turn], consent: Consent, *, read_all: bool = False
    ) -> Recording:
        run = started(question)
        return Recording(run, events(run), log)

    conversations = Conversations(chats, answer)
    answering = conversations.ask(chats.begin("default").id, "Where?")
    with pytest.raises(StoreError, match="is full"):
        for _ in answering.job.follow():
            pass
    return conversations, answering


def stored(database: Database) -> list[tuple[str, int]]:
    rows = database.rows("SELECT state, length(answer) AS long FROM chat_turns ORDER BY number")
    return [(row["state"], row["long"]) for row in rows]


def test_an_answer_that_a_full_disk_kept_out_of_the_list_of_questions_is_told_as_failed_at_once(tmp_path: Path) -> None:
    database = Database(tmp_path / "chats.sqlite3")
    chats = ChatStore(database)
    conversations, answering = on_a_disk_that_gets_full(chats, database, RunStore(database))
    (turn,) = chats.turns(answering.chat_id)
    assert turn.state is TurnState.FAILED
    assert "is full" in turn.answer
    # What is said fits into the room that there is: it is written at once, or as soon as there is more.
    room(database)
    chats.save_unsaved()
    assert stored(database) == [("failed", len(turn.answer))]
    assert conversations.answering(answering.chat_id) is None


def test_a_turn_that_found_no_room_is_shown_all_the_same_and_written_once_there_is_some(tmp_path: Path) -> None:
    database = Database(tmp_path / "chats.sqlite3")
    chats = ChatStore(database)
    _, answering = on_a_disk_that_gets_full(chats, database, FakeRunLog())
    assert stored(database) == [("asked", 0)]
    (turn,) = chats.turns(answering.chat_id)
    assert (turn.state, len(turn.answer)) == (TurnState.ANSWERED, 200_000)
    with pytest.raises(StoreError, match="is full"):
        chats.save_unsaved()
    assert chats.turns(answering.chat_id) == [turn], "a second try that failed loses nothing"
    room(database)
    chats.save_unsaved()
    assert stored(database) == [("answered", 200_000)]
    assert chats.turns(answering.chat_id) == [turn]


def test_the_next_write_brings_a_late_turn_along(tmp_path: Path) -> None:
    database = Database(tmp_path / "chats.sqlite3")
    chats = ChatStore(database)
    _, answering = on_a_disk_that_gets_full(chats, database, FakeRunLog())
    room(database)
    chats.ask(answering.chat_id, "And when?")
    assert stored(database) == [("answered", 200_000), ("asked", 0)]


def test_what_a_late_turn_says_is_forgotten_with_the_documents(tmp_path: Path) -> None:
    database = Database(tmp_path / "chats.sqlite3")
    chats = ChatStore(database)
    _, answering = on_a_disk_that_gets_full(chats, database, FakeRunLog())
    room(database)
    chats.clear_unsaved()
    chats.save_unsaved()
    assert [(turn.state, turn.answer) for turn in chats.turns(answering.chat_id)] == [(TurnState.STOPPED, "")]
