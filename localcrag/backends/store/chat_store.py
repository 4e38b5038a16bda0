"""Conversations, in SQLite."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from localcrag.backends.store.database import Database
from localcrag.records.enums import Preset
from localcrag.records.errors import StoreError, UnknownChat
from localcrag.records.restriction import EVERYWHERE, Restriction
from localcrag.runs.chats import UNTITLED, Chat, ChatTurn, TurnState, title_from

_CHATS = """
SELECT k.*, (SELECT count(*) FROM chat_turns t WHERE t.chat_id = k.id) AS turns FROM chats k
"""


class ChatStore:
    """The chats of a database. Every method raises StoreError; those that take an id, UnknownChat.

    What became of a question and could not be written down (the disk is full) is kept here, and read as if it were,
    until a write goes well: that one writes it too.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._late: dict[tuple[int, int], ChatTurn] = {}

    def begin(
        self,
        collection: str,
        *,
        preset: Preset | None = None,
        llm: str | None = None,
        restriction: Restriction = EVERYWHERE,
    ) -> Chat:
        """Make an empty chat."""
        with self._writing() as connection:
            now = _after_all(connection)
            made = connection.execute(
                "INSERT INTO chats (title, collection, preset, llm, restriction, created_at, changed_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (UNTITLED, collection, preset, llm, _written(restriction), now, now),
            ).lastrowid
        return self.chat(made or 0)

    def chats(self, words: str = "") -> list[Chat]:
        """Return the chats that say `words` in their title, a question or an answer; the last changed one first."""
        rows = self._database.rows(f"{_CHATS} ORDER BY k.changed_at DESC, k.id DESC")
        if sought := words.strip().casefold():
            said = self._said()
            rows = [row for row in rows if sought in f"{row['title']}\n{said.get(row['id'], '')}".casefold()]
        return [_chat(row) for row in rows]

    def _said(self) -> dict[int, str]:
        # Here and not by LIKE, which knows upper and lower case in English alone.
        rows = self._database.rows(
            "SELECT chat_id, group_concat(question || char(10) || answer, char(10)) AS said FROM chat_turns "
            "GROUP BY chat_id"
        )
        return {row["chat_id"]: row["said"] for row in rows}

    def chat(self, chat_id: int) -> Chat:
        """Return a chat."""
        rows = self._database.rows(f"{_CHATS} WHERE k.id = ?", chat_id)
        if not rows:
            raise UnknownChat(f"There is no chat {chat_id} any more. Choose another from the list, or begin a new one.")
        return _chat(rows[0])

    def turns(self, chat_id: int) -> list[ChatTurn]:
        """Return a chat's turns, in order."""
        self.chat(chat_id)
        rows = self._database.rows("SELECT * FROM chat_turns WHERE chat_id = ? ORDER BY number", chat_id)
        turns = [_turn(row) for row in rows]
        late = [self._late.get((chat_id, turn.number)) for turn in turns]
        return [new if new and _is_of(new, old) else old for new, old in zip(late, turns, strict=True)]

    def ask(self, chat_id: int, question: str) -> ChatTurn:
        """Add a question; the first one names a chat that has no name yet."""
        with self._writing() as connection:
            self._touch(connection, chat_id)
            last = connection.execute("SELECT max(number) FROM chat_turns WHERE chat_id = ?", (chat_id,)).fetchone()[0]
            turn = ChatTurn(number=(last or 0) + 1, question=question)
            connection.execute(
                "INSERT INTO chat_turns VALUES (?, ?, ?, '', NULL, ?)", (chat_id, turn.number, question, turn.state)
            )
            connection.execute(
                "UPDATE chats SET title = ? WHERE id = ? AND title = ?", (title_from(question), chat_id, UNTITLED)
            )
        return turn

    def put(self, chat_id: int, turn: ChatTurn) -> None:
        """Write down what became of a question; nothing, when it has been taken out meanwhile."""
        try:
            with self._writing() as connection:
                _put(connection, chat_id, turn)
        except StoreError:
            self._late[chat_id, turn.number] = turn
            raise

    def catch_up(self) -> None:
        """Write down what could not be written when it was time to."""
        if self._late:
            with self._writing():
                pass

    def forget_late(self) -> None:
        """Forget what was said in answers that could not be written down: documents that they quote may be gone."""
        for place, turn in [*self._late.items()]:
            self._late[place] = dataclasses.replace(turn, answer="", run_id=None, state=TurnState.STOPPED)

    def take_out(self, chat_id: int, number: int) -> None:
        """Remove the turns from `number` on: they are asked anew, or in other words."""
        with self._writing() as connection:
            self._touch(connection, chat_id)
            sql = "DELETE FROM chat_turns WHERE chat_id = ? AND number >= ?"
            connection.execute(sql, (chat_id, number))

    def change(self, chat: Chat) -> None:
        """Take over what was chosen for a chat; an empty title is made of its first question."""
        turns = self.turns(chat.id)
        title = chat.title.strip() or (title_from(turns[0].question) if turns else UNTITLED)
        with self._writing() as connection:
            self._touch(connection, chat.id)
            connection.execute(
                "UPDATE chats SET title = ?, collection = ?, preset = ?, llm = ?, restriction = ? WHERE id = ?",
                (title, chat.collection, chat.preset, chat.llm, _written(chat.restriction), chat.id),
            )

    def delete(self, chat_id: int) -> None:
        """Remove a chat with its turns. Their runs stay."""
        with self._writing() as connection:
            self._touch(connection, chat_id)
            connection.execute("DELETE FROM chats WHERE id = ?", (chat_id,))

    def settle(self) -> int:
        """Mark what was being answered when the server ended as stopped; return how many there were."""
        with self._database.transaction() as connection:
            return connection.execute(
                "UPDATE chat_turns SET state = ? WHERE state = ?", (TurnState.STOPPED, TurnState.ASKED)
            ).rowcount

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Begin to write, with what is late."""
        late: dict[tuple[int, int], ChatTurn] = {}
        try:
            with self._database.transaction() as connection:
                late |= self._late
                self._late.clear()
                for (chat_id, _), turn in late.items():
                    _put(connection, chat_id, turn)
                yield connection
        except BaseException:
            self._late.update(late)
            raise

    def _touch(self, connection: sqlite3.Connection, chat_id: int) -> None:
        now = _after_all(connection)
        if not connection.execute("UPDATE chats SET changed_at = ? WHERE id = ?", (now, chat_id)).rowcount:
            self.chat(chat_id)  # which says that there is none


def _put(connection: sqlite3.Connection, chat_id: int, turn: ChatTurn) -> None:
    connection.execute(
        "UPDATE chat_turns SET answer = ?, run_id = ?, state = ? WHERE chat_id = ? AND number = ? AND question = ? "
        "AND state = ?",
        (turn.answer, turn.run_id, turn.state, chat_id, turn.number, turn.question, TurnState.ASKED),
    )
    connection.execute("UPDATE chats SET changed_at = ? WHERE id = ?", (_after_all(connection), chat_id))


def _is_of(turn: ChatTurn, asked: ChatTurn) -> bool:
    """Whether a turn is what became of one as it is stored."""
    return asked.state is TurnState.ASKED and asked.question == turn.question


def _chat(row: sqlite3.Row) -> Chat:
    fields = dict(row)
    preset, restriction = fields["preset"], fields["restriction"]
    read = {
        "preset": Preset(preset) if preset else None,
        "restriction": Restriction.of(json.loads(restriction)) if restriction else EVERYWHERE,
    }
    return Chat(**{**fields, **read})


def _written(restriction: Restriction) -> str | None:
    return json.dumps(restriction.plain(), ensure_ascii=False) if restriction else None


def _turn(row: sqlite3.Row) -> ChatTurn:
    fields = {field.name: row[field.name] for field in dataclasses.fields(ChatTurn)}
    return ChatTurn(**{**fields, "state": TurnState(fields["state"])})


def _after_all(connection: sqlite3.Connection) -> str:
    """Return the time, after those of all chats: where the clock was set back, what is new still stands first."""
    now = datetime.now(UTC)
    last = connection.execute("SELECT max(changed_at) FROM chats").fetchone()[0]
    if last is not None:
        now = max(now, datetime.fromisoformat(last) + timedelta(microseconds=1))
    return now.isoformat(timespec="microseconds")
