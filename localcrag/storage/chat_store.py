"""Conversations, stored in SQLite as trees of turns."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from pydantic import TypeAdapter

from localcrag.records.enums import Preset
from localcrag.records.errors import QuestionError, StoreError, UnknownChat
from localcrag.records.restriction import EVERYWHERE, Restriction
from localcrag.records.run import UNTITLED, Chat, ChatTurn, TurnState, chat_title
from localcrag.storage.database import Database

_CHAT, _TURN = TypeAdapter(Chat), TypeAdapter(ChatTurn)
_Row = Any
"""A stored turn, or only the columns that give its place in the tree: `number`, `parent` and `chosen`."""
_POSITIONS = "SELECT chat_id, number, parent, chosen FROM chat_turns"
_TURNS = "SELECT * FROM chat_turns WHERE chat_id = ? ORDER BY number"


class ChatStore:
    """The chats of a database. Every method raises StoreError; methods that take an id also raise UnknownChat.

    The turns of a chat are a tree: a question that is edited or answered again becomes another version of its turn, and
    each version keeps the turns that follow it. The visible branch leads from the first turn to the last one, through
    the chosen version of each.

    If the outcome of a question cannot be written (the disk is full), it is kept in memory and shown as if it were
    stored. The next write that succeeds stores it as well.
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
        """Create an empty chat."""
        with self._writing() as connection:
            now = _next_timestamp(connection)
            sql = (
                "INSERT INTO chats (title, collection, preset, llm, restriction, created_at, changed_at) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)"
            )
            made = connection.execute(sql, (UNTITLED, collection, preset, llm, _restriction_json(restriction), now))
        return self.chat(made.lastrowid or 0)

    def chats(self, words: str = "") -> list[Chat]:
        """Return the chats with `words` in their title or in any version of a turn, most recently changed first."""
        rows = self._database.rows("SELECT * FROM chats ORDER BY changed_at DESC, id DESC")
        if query := words.strip().casefold():
            # Compare in Python, because SQLite's LIKE ignores case for ASCII letters only.
            sql = "SELECT chat_id, group_concat(question || char(10) || answer, char(10)) FROM chat_turns GROUP BY 1"
            texts = dict[int, str](map(tuple, self._database.rows(sql)))
            rows = [row for row in rows if query in f"{row['title']}\n{texts.get(row['id'], '')}".casefold()]
        places = self._database.rows(f"{_POSITIONS} ORDER BY chat_id")
        turns = {chat_id: len(_branch([*some])) for chat_id, some in groupby(places, lambda row: row["chat_id"])}
        return [_chat(row, turns.get(row["id"], 0)) for row in rows]

    def chat(self, chat_id: int) -> Chat:
        """Return a chat."""
        rows = self._database.rows("SELECT * FROM chats WHERE id = ?", chat_id)
        if not rows:
            raise UnknownChat(f"The chat {chat_id} no longer exists. Choose another from the list, or start a new one.")
        turns = _branch(self._database.rows(f"{_POSITIONS} WHERE chat_id = ?", chat_id))
        return _chat(rows[0], len(turns))

    def turns(self, chat_id: int, to: int | None = None) -> list[ChatTurn]:
        """Return the turns of a chat's visible branch, in order; with `to`, only up to and including turn `to`.

        Raises QuestionError if there is no turn `to`.
        """
        self.chat(chat_id)
        rows = [dict(row) for row in self._database.rows(_TURNS, chat_id)]
        for row in rows:
            late = self._late.get((chat_id, row["number"]))
            # Only a question that is not answered yet can get a late outcome.
            if late and row["state"] == TurnState.ASKED and row["question"] == late.question:
                row |= {"answer": late.answer, "run_id": late.run_id, "state": late.state}
                if _becomes_visible(row, rows):
                    row["chosen"] = _next_choice(rows)
        versions = _group_by_parent(rows)
        for row in rows:
            row["versions"] = versions[row["parent"]] if len(versions[row["parent"]]) > 1 else ()
        return [_TURN.validate_python(row) for row in (_branch(rows) if to is None else _path_to(rows, to))]

    def ask(self, chat_id: int, question: str, *, instead_of: int | None = None) -> ChatTurn:
        """Add a question to the visible branch, or as another version of the turn `instead_of`.

        That turn stays visible until `put` stores the new version's answer. The first question becomes the title of an
        untitled chat. Raises QuestionError if there is no turn `instead_of`.
        """
        with self._writing() as connection:
            self._touch(connection, chat_id)
            rows = connection.execute(f"{_POSITIONS} WHERE chat_id = ?", (chat_id,)).fetchall()
            if instead_of is None:
                branch = _branch(rows)
                parent, chosen = branch[-1]["number"] if branch else None, _next_choice(rows)
            else:
                # With 0, the new version stays hidden until `put` chooses it.
                parent, chosen = _path_to(rows, instead_of)[-1]["parent"], 0
                # Another tab may have chosen another branch since; the new answer would then be hidden.
                if parent is not None:
                    _choose(connection, chat_id, parent)
            number = max((row["number"] for row in rows), default=0) + 1
            turn = ChatTurn(number=number, parent=parent, question=question)
            connection.execute(
                "INSERT INTO chat_turns (chat_id, number, parent, chosen, question, answer, state) "
                "VALUES (?, ?, ?, ?, ?, '', ?)",
                (chat_id, number, parent, chosen, question, turn.state),
            )
            connection.execute(
                "UPDATE chats SET title = ? WHERE id = ? AND title = ?", (chat_title(question), chat_id, UNTITLED)
            )
        return turn

    def put(self, chat_id: int, turn: ChatTurn) -> None:
        """Store the outcome of a question, unless its turn has been removed.

        A new version of a turn becomes visible if it was answered, or if the visible version was not answered either.
        """
        try:
            with self._writing() as connection:
                _put(connection, chat_id, turn)
        except StoreError:
            self._late[chat_id, turn.number] = turn
            raise

    def save_unsaved(self) -> None:
        """Store the outcomes that could not be written earlier."""
        if self._late:
            with self._writing():
                pass

    def clear_unsaved(self) -> None:
        """Clear the answers that are not saved yet, because they may quote deleted documents."""
        for place, turn in [*self._late.items()]:
            self._late[place] = dataclasses.replace(turn, answer="", run_id=None, state=TurnState.STOPPED)

    def show(self, chat_id: int, number: int) -> None:
        """Make the visible branch lead through this version of a turn. Raises QuestionError if it does not exist."""
        self.chat(chat_id)
        with self._writing() as connection:
            _choose(connection, chat_id, number)

    def change(self, chat: Chat) -> None:
        """Store a chat's title and settings, except for its collection, which never changes.

        If the title is empty, the chat's first question becomes the title.
        """
        turns = self.turns(chat.id)
        title = chat.title.strip() or (chat_title(turns[0].question) if turns else UNTITLED)
        with self._writing() as connection:
            self._touch(connection, chat.id)
            connection.execute(
                "UPDATE chats SET title = ?, preset = ?, llm = ?, restriction = ? WHERE id = ?",
                (title, chat.preset, chat.llm, _restriction_json(chat.restriction), chat.id),
            )

    def delete(self, chat_id: int) -> None:
        """Remove a chat with its turns. Their runs stay."""
        with self._writing() as connection:
            self._touch(connection, chat_id)
            connection.execute("DELETE FROM chats WHERE id = ?", (chat_id,))

    def settle(self) -> int:
        """Mark the turns that were being answered when the server ended as stopped; return their number."""
        return self._database.run("UPDATE chat_turns SET state = ? WHERE state = ?", TurnState.STOPPED, TurnState.ASKED)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Begin a transaction that also stores the late outcomes; if it fails, keep them for the next one."""
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
        now = _next_timestamp(connection)
        if not connection.execute("UPDATE chats SET changed_at = ? WHERE id = ?", (now, chat_id)).rowcount:
            self.chat(chat_id)  # raises UnknownChat


def delete_turn(connection: sqlite3.Connection, chat_id: int, number: int) -> None:
    """Remove one version of a turn; the turns after it then follow the turn before it."""
    connection.execute(
        "UPDATE chat_turns SET parent = (SELECT parent FROM chat_turns WHERE chat_id = ?1 AND number = ?2) "
        "WHERE chat_id = ?1 AND parent = ?2",
        (chat_id, number),
    )
    connection.execute("DELETE FROM chat_turns WHERE chat_id = ? AND number = ?", (chat_id, number))


def _put(connection: sqlite3.Connection, chat_id: int, turn: ChatTurn) -> None:
    put = connection.execute(
        "UPDATE chat_turns SET answer = ?, run_id = ?, state = ? WHERE chat_id = ? AND number = ? AND question = ? "
        "AND state = ?",
        (turn.answer, turn.run_id, turn.state, chat_id, turn.number, turn.question, TurnState.ASKED),
    )
    if put.rowcount:
        rows = connection.execute(_TURNS, (chat_id,)).fetchall()
        if any(row["number"] == turn.number and _becomes_visible(row, rows) for row in rows):
            _choose(connection, chat_id, turn.number)
    connection.execute("UPDATE chats SET changed_at = ? WHERE id = ?", (_next_timestamp(connection), chat_id))


def _choose(connection: sqlite3.Connection, chat_id: int, number: int) -> None:
    """Make the visible branch lead to a turn: choose the turn and each turn before it among their versions."""
    rows = connection.execute(f"{_POSITIONS} WHERE chat_id = ?", (chat_id,)).fetchall()
    versions = _group_by_parent(rows)
    # SQLite rewrites a whole row with its texts, so rows that are already visible are left alone.
    hidden = [row for row in _path_to(rows, number) if row is not _visible(versions[row["parent"]])]
    connection.executemany(
        "UPDATE chat_turns SET chosen = ? WHERE chat_id = ? AND number = ?",
        [(_next_choice(rows), chat_id, row["number"]) for row in hidden],
    )


def _group_by_parent(rows: Sequence[_Row]) -> dict[int | None, list[_Row]]:
    """Group turns by the number of the turn before; each group has the versions of a turn, in the order of asking."""
    versions: dict[int | None, list[_Row]] = {}
    for row in sorted(rows, key=lambda row: int(row["number"])):
        versions.setdefault(row["parent"], []).append(row)
    return versions


def _visible(versions: Sequence[_Row]) -> _Row:
    """Return the visible version of a turn: the one that was chosen last."""
    return max(versions, key=lambda row: (row["chosen"], row["number"]))


def _branch(rows: Sequence[_Row]) -> list[_Row]:
    """Return the visible branch of a chat with these turns."""
    versions = _group_by_parent(rows)
    branch: list[_Row] = []
    at: int | None = None
    while at in versions:
        # pop visits each turn only once, even if the turns of a damaged database follow each other in a circle.
        branch.append(_visible(versions.pop(at)))
        at = branch[-1]["number"]
    return branch


def _path_to(rows: Sequence[_Row], number: int) -> list[_Row]:
    """Return the turns from the first one to this turn, inclusive. Raises QuestionError if it does not exist."""
    by_number: dict[int | None, _Row] = {row["number"]: row for row in rows}
    path: list[_Row] = []
    at: int | None = number
    while at in by_number:
        path.insert(0, by_number.pop(at))
        at = path[0]["parent"]
    if not path:
        raise QuestionError("That question is not in this chat any more. Load the page again to see what is.")
    return path


def _becomes_visible(turn: _Row, rows: Sequence[_Row]) -> bool:
    """Return whether a finished version becomes visible: an answered version gives way only to an answered one."""
    shown = _visible(_group_by_parent(rows)[turn["parent"]])
    return bool(turn["state"] == TurnState.ANSWERED or shown["state"] != TurnState.ANSWERED)


def _next_choice(rows: Sequence[_Row]) -> int:
    return max((int(row["chosen"]) for row in rows), default=0) + 1


def _chat(row: sqlite3.Row, turns: int) -> Chat:
    restriction = Restriction.of(json.loads(row["restriction"])) if row["restriction"] else EVERYWHERE
    return _CHAT.validate_python({**row, "restriction": restriction, "turns": turns})


def _restriction_json(restriction: Restriction) -> str | None:
    return json.dumps(restriction.plain(), ensure_ascii=False) if restriction else None


def _next_timestamp(connection: sqlite3.Connection) -> str:
    """Return the current time, or a later one if needed to come after every chat, in case the clock was set back."""
    now = datetime.now(UTC)
    last = connection.execute("SELECT max(changed_at) FROM chats").fetchone()[0]
    if last is not None:
        now = max(now, datetime.fromisoformat(last) + timedelta(microseconds=1))
    return now.isoformat(timespec="microseconds")
