"""A run, one question with everything that happened; and the turns of a chat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from localcrag.records.enums import (
    Action,
    Backing,
    ConflictJudge,
    NotAsked,
    Operation,
    Origin,
    Policy,
    Preset,
    ScorerKind,
)
from localcrag.records.passages import Evidence, GradedPassage, Source, Strip, Thresholds
from localcrag.records.restriction import EVERYWHERE, Restriction, SearchScope
from localcrag.text.places import SheetRow
from localcrag.text.words import one_line, shorten


@dataclass(frozen=True, slots=True)
class WebResult:
    """One result of a web search, as plain text."""

    title: str
    url: str
    content: str
    published: str | None = None


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """What a search gave, and which engines failed meanwhile (name and reason).

    `cached_at` is the time of the search when the answer was kept from an earlier one, else None.
    """

    results: tuple[WebResult, ...]
    failed_engines: tuple[tuple[str, str], ...] = ()
    cached_at: str | None = None


@dataclass(frozen=True, slots=True)
class WebUse:
    """The web's part in a run: the exact query, its results, or why there are none.

    `query` left, unless `cached_at` (the results are those of that time) or `not_asked` (why it stayed) is set.
    `discarded`: it left before the decision, and what came back was not used.
    """

    used: bool = False
    query: str | None = None
    results: tuple[WebResult, ...] = ()
    error: str | None = None
    cached_at: str | None = None
    not_asked: NotAsked | None = None
    discarded: bool = False


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table: its cells under the table's header, and its place in the document's text, in characters.

    `number` is that of a sheet's row, as in SheetRow; None elsewhere.
    """

    cells: tuple[str, ...]
    page: int | None
    start: int
    end: int
    number: int | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows that were not computed with, how many, and why."""

    rows: int
    why: str


@dataclass(frozen=True, slots=True)
class Group:
    """What comes out for some of the rows, by the name of what they have in common; `rows` is how many they are."""

    name: str
    result: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    """An operation on one table of a document, done exactly, or `refused` with the reason why it cannot be.

    `table` is what the table is called, empty where it has no name; `of_rows` is how many rows it has, without totals
    and labels, and `row_count` how many of them the operation is over. `rows` are those, but at most as many as a run
    keeps. `column` is what was computed with, None where rows are counted or listed; `filters` are the conditions in
    words. `values` are the different ones of a column that was asked for whole, or of which they were counted. `result`
    is a number with its unit, or empty. `few` is of how many rows the highest or lowest values were asked for.

    `groups` are the results for each value of the column `by`, or for each `period` ("month") of its dates; where
    `pick` asks for the highest or lowest of them, `result` is its name. Of a difference, `groups` are the two sides; of
    a share the part and the whole. A difference with a `pick` is the highest or lowest one of two columns of a row.
    `notes` are what else has to be said of the result.
    """

    document: str
    title: str | None
    table: str
    section: str
    pages: tuple[int, ...]
    header: tuple[str, ...]
    operation: Operation
    column: str | None
    filters: tuple[str, ...]
    of_rows: int
    row_count: int
    rows: tuple[TableRow, ...]
    result: str = ""
    values: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    refused: str = ""
    few: int = 1
    by: str | None = None
    period: str = ""
    pick: Operation | None = None
    groups: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier question and its answer."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message for the language model; `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class StepCost:
    """What one step of the flow took; tokens are the language model's own, `estimated` where nobody counted them."""

    name: str
    seconds: float
    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """One look into the documents: what was looked for, and what was decided on all that had been found by then."""

    query: str
    action: Action
    rule: str
    passages: int
    max_relevance: float | None


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a question of which the words do not tell whether it is a follow-up.

    `question` is what is looked for, `follows` the earlier question that it hangs on: empty for a question of its own.
    `relevance` is what its best passage has to the question as it was asked; the reading with the higher one is `kept`,
    the question's own where neither passage helps.
    """

    question: str
    follows: str
    relevance: float
    kept: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """One side of a conflict: a statement of the evidence numbered `n`, and the part of it that `differs`.

    `differs` is empty where the language model found the conflict. `source` is a Source's id, `dated` its day. `rows`
    are those of a sheet that the evidence is.
    """

    text: str
    differs: str
    n: int
    source: str
    dated: str | None
    relevance: float
    rows: tuple[SheetRow, ...] = ()


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two statements that cannot both be true; `resolution` says in words what was done about it.

    Without a `winner` both sides are in the evidence and in the answer; with one, the other side's piece is in neither.
    """

    local: Claim
    web: Claim
    found_by: ConflictJudge
    resolution: str = ""
    winner: Origin | None = None

    @property
    def loser(self) -> Claim | None:
        """The side that was left out."""
        return {Origin.LOCAL: self.web, Origin.WEB: self.local}[self.winner] if self.winner else None


@dataclass(frozen=True, slots=True)
class Support:
    """How far a sentence of the answer is backed by the evidence it cites; `why` says what it lacks.

    `relevance` is that of the best piece of evidence behind it. `shown` is False for a sentence that was taken out.
    """

    sentence: str
    supported: bool
    citations: tuple[int, ...]
    relevance: float
    backing: Backing
    why: str = ""
    starts_line: bool = False
    shown: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One question with everything that happened to it: what `ask --json` prints and the store keeps.

    `settings` are those it was answered under (settings.OF_A_RUN), `history` the earlier turns it was read with,
    `replays` the id of the run that it repeats, `forced_from` of the one whose sentences a person put in or took out,
    `plain_prompt_tokens` the length of the prompt that plain RAG would have sent: every retrieved passage, whole.
    `abstained`: there is no answer; `uncertain`: none is sure, and the likeliest passages are shown, below one or
    alone. `readings` are the two that a doubtful question has; none for others. `scope` says which documents were
    searched, once that is known. `computation` is what was computed on a table, where that is the
    answer.
    """

    run_id: str
    created_at: str
    collection: str
    question: str
    standalone_question: str
    action: Action | None = None
    preset: Preset = Preset.GENERAL
    policy: Policy = Policy.MAX
    rule: str = ""
    attempts: tuple[Attempt, ...] = ()
    scorer: ScorerKind = ScorerKind.CROSS_ENCODER
    thresholds: Thresholds
    answer: str = ""
    abstained: bool = False
    uncertain: bool = False
    stopped: bool = False
    sources: tuple[Source, ...] = ()
    passages: tuple[GradedPassage, ...] = ()
    max_relevance: float | None = None
    relevance_ratio: float | None = None
    strips: tuple[Strip, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    web: WebUse = field(default_factory=WebUse)
    conflicts: tuple[Conflict, ...] = ()
    support: tuple[Support, ...] = ()
    steps: tuple[StepCost, ...] = ()
    warnings: tuple[str, ...] = ()
    models: dict[str, str] = field(default_factory=dict)
    # A field that comes after 0.1.0 needs a default: runs that were stored without it must stay readable.
    settings: dict[str, bool | int | float | str | None] = field(default_factory=dict)
    history: tuple[Turn, ...] = ()
    replays: str | None = None
    forced_from: str | None = None
    plain_prompt_tokens: int | None = None
    readings: tuple[Reading, ...] = ()
    scope: SearchScope | None = None
    computation: Computation | None = None

    def _repr_html_(self) -> str:
        """Return what a notebook shows. The look of it is a floor above, where there are words and templates."""
        from localcrag.runs.for_programs import html  # noqa: PLC0415

        return html(self)

    @property
    def answered(self) -> bool:
        """Whether an answer was given that is not said to be uncertain."""
        return not (self.abstained or self.uncertain)

    @property
    def without_answer(self) -> bool:
        """Whether there is at most what comes nearest: no answer, and no sentence above it."""
        return self.abstained or (self.uncertain and not any(support.shown for support in self.support))


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
