"""A user's week: questions of every kind, changing files, labels, pins, exports, and tidying up."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from lab.soaking.diary import Took
from lab.soaking.page import Page
from lab.soaking.process import worked
from tests.support.scans import picture, png

PLACES = (
    "Lindau", "Bergen", "Porto", "Ravenna", "Galway", "Kotor", "Visby", "Trieste", "Cadiz", "Rostock", "Brest", "Pula",
)  # fmt: skip
TABLE = "berths.csv"
CHATS_KEPT, TURNS = 8, 8
"""Number of chats to keep, and of questions in a chat before the next one begins."""
SCANNED = 60
"""Questions between two scans, which take some seconds to recognise."""
CHANGED = 8
"""Number of files that are changed at once."""
TOTALS = ("Which place has the most passengers?", "What is the total of the passengers?")
WEB = ("How high is Mount Everest above the sea?", "Which is the largest island in the world?")

OUTCOMES = {
    "runs": "1",
    "CORRECT": "action = 'CORRECT'",
    "AMBIGUOUS": "action = 'AMBIGUOUS'",
    "INCORRECT": "action = 'INCORRECT'",
    "with web results": "json_extract(record, '$.web.used')",
    "computed": "json_type(record, '$.computation') = 'object'",
}
"""Outcomes of questions, with the SQL condition on stored runs for each."""


class Week:
    """Uses a page; it reads the data folder for what the page shows only as HTML."""

    def __init__(self, data: Path, seed: int, *, questions: int = 0, files: int = 0) -> None:
        """Continue a week; `questions` and `files` are the numbers from earlier sittings."""
        self._data, self._chosen = data, random.Random(seed + questions)
        self._page: Page | None = None
        self._process = 0
        self._turns, self.questions, self.files = 0, questions, files
        self.outcomes: dict[str, int] = {}
        self._kinds: dict[str, Callable[[], None]] = {
            "documents": lambda: self._ask(f"From which berth does the ferry to {self._place()} leave?"),
            "follow-up": lambda: self._ask(f"And to {self._place()}?"),
            "table": lambda: self._ask(self._chosen.choice(TOTALS)),
            "list": lambda: self._ask("List all places that ferries leave for."),
            "web": lambda: self._ask(self._chosen.choice(WEB)),
            "new web query": lambda: self._ask(f"Who first climbed Mount Everest, guide {self.questions}?"),
            "no answer": lambda: self._ask(f"What does the purple zebra number {self.questions} eat for breakfast?"),
            "stopped": self._stopped,
            "again": self._again,
        }

    @property
    def page(self) -> Page:
        """Return the open tab."""
        if self._page is None:
            raise RuntimeError("No page is open: call `open` with an app's address first.")
        return self._page

    def open(self, address: str, process: int) -> None:
        """Open a tab of an app that has just started, and add documents if there are none."""
        self._page, self._process, self._turns = Page(address), process, 0
        if not self.files:
            page = {f"{place}.md": self._document(place) for place in PLACES}
            self.page.upload(page | {TABLE: self._table()})
            self.files = len(page) + 1

    def step(self) -> Took:
        """Ask a question, then do one of the things between questions; return the question's cost."""
        kinds = [*self._kinds]
        kind = kinds[self.questions % len(kinds)]
        if self._turns >= TURNS:
            self.page.do("lc-new", "click")
            self._turns = 0
        start = worked(self._process)
        self._kinds[kind]()
        took = Took(self.questions, kind, worked(self._process) - start)
        self.questions, self._turns = self.questions + 1, self._turns + 1
        between = (
            self._change_files, self._label, self._look_around, self._change_files, self._pin, self._export,
            self._change_the_table, self._delete_and_add, self._tag, self._tidy,
        )  # fmt: skip
        between[self.questions % len(between)]()
        if self.questions % SCANNED == 0:
            self._read_a_scan()
        return took

    def question(self) -> str:
        """Return a question for another program."""
        asked = (
            f"From which berth does the ferry to {self._place()} leave?", *TOTALS, self._chosen.choice(WEB),
            f"What does the purple zebra number {self.questions} eat for breakfast?",
        )  # fmt: skip
        return self._chosen.choice(asked)

    def count(self) -> None:
        """Count the outcomes of the questions; call it before the database is removed."""
        with closing(sqlite3.connect(f"file:{self._data}/localcrag.sqlite3?mode=ro", uri=True, timeout=30)) as database:
            for what, condition in OUTCOMES.items():
                (number,) = database.execute(f"SELECT count(*) FROM runs WHERE {condition}").fetchone()  # noqa: S608 - ours
                self.outcomes[what] = int(number)

    def _ask(self, question: str) -> None:
        self.page.do("lc-log", "submit", turn=0, question=question)
        self.page.follow()

    def _stopped(self) -> None:
        self.page.do("lc-log", "submit", turn=0, question=f"What do all the documents say of {self._place()}?")
        self.page.do("lc-stop", "click")
        self.page.follow()

    def _again(self) -> None:
        row = self._row("SELECT chat_id, number FROM chat_turns WHERE chat_id = ? ORDER BY number DESC", self._chat())
        if row:
            self.page.do("lc-log", "submit", turn=row[1], question="", read_all=self.questions % 2 == 0)
            self.page.follow()

    def _change_files(self) -> None:
        places = self._chosen.sample(PLACES, CHANGED)
        self.page.upload({f"{place}.md": self._document(place) for place in places})
        self.files += CHANGED

    def _change_the_table(self) -> None:
        self.page.upload({TABLE: self._table()})
        self.files += 1

    def _delete_and_add(self) -> None:
        place = self._place()
        self.page.do("lc-documents", "delete", names=[f"{place}.md"])
        self.page.upload({f"{place}.md": self._document(place)})
        self.files += 1

    def _read_a_scan(self) -> None:
        """Upload a scanned page, and wait until its text is recognised."""
        place, berth = self._place(), self._chosen.randrange(1, 40)
        lines = [f"The night ferry to {place}", f"leaves from berth {berth}."]
        self.page.upload({f"{place}.png": png(picture(lines, size=(1240, 400)))})
        self.files += 1

    def _label(self) -> None:
        if run := self._last_run():
            self.page.do("lc-log", "input", run_id=run, good="yes")
            self.page.do("lc-log", "input", run_id=run, good="")

    def _pin(self) -> None:
        if run := self._last_run():
            self.page.do("lc-panel", "submit", run_id=run, answers="berth 7", unanswerable=False)
            self.page.do("lc-panel", "delete", run_id=run)

    def _export(self) -> None:
        if chat := self._chat():
            for form in ("md", "json", "html"):
                self.page.do("lc-chats", "download", chat=chat, form=form)

    def _look_around(self) -> None:
        self.page.do("lc-chats", "input", words="ferry")
        self.page.do("lc-scope", "expand")
        if run := self._last_run():
            self.page.do("lc-log", "select", run_id=run)

    def _tag(self) -> None:
        name = f"{self._place()}.md"
        self.page.do("lc-documents", "edit", names=[name], put=["port"], take=[])
        self.page.do("lc-documents", "edit", names=[name], put=[], take=["port"])

    def _tidy(self) -> None:
        """Rename a chat, and delete the oldest one."""
        if chat := self._chat():
            self.page.do("lc-chats", "submit", chat=chat, title=f"Ferries {self.questions}")
        older = self._row("SELECT id FROM chats WHERE id <= (SELECT max(id) FROM chats) - ? ORDER BY id", CHATS_KEPT)
        if older:
            self.page.do("lc-chats", "delete", chat=older[0])

    def _chat(self) -> int:
        return int(str(self.page.values.get("lc-where") or 0))

    def _last_run(self) -> str | None:
        found = "SELECT run_id FROM chat_turns WHERE chat_id = ? AND run_id NOT NULL AND state = 'answered'"
        row = self._row(f"{found} ORDER BY number DESC", self._chat())
        return str(row[0]) if row else None

    def _row(self, statement: str, *values: object) -> tuple[Any, ...] | None:
        path = f"file:{self._data}/localcrag.sqlite3?mode=ro"
        with closing(sqlite3.connect(path, uri=True, timeout=30)) as database:
            found: tuple[Any, ...] | None = database.execute(f"{statement} LIMIT 1", values).fetchone()
            return found

    def _place(self) -> str:
        return self._chosen.choice(PLACES)

    def _document(self, place: str) -> bytes:
        berth, hour = self._chosen.randrange(1, 40), self._chosen.randrange(5, 22)
        text = f"# {place}\n\nThe ferry to {place} leaves from berth {berth} at {hour} o'clock. It takes bicycles.\n"
        return text.encode()

    def _table(self) -> bytes:
        rows = (f"{place},{self._chosen.randrange(1, 40)},{self._chosen.randrange(100, 900)}" for place in PLACES)
        return "\n".join(["place,berth,passengers", *rows]).encode()
