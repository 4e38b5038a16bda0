"""Records of a run (one question with everything that happened to it) and of chats."""

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
    """The results of a search, and the engines that failed during it, as (name, reason).

    `cached_at` is the time of the original search if the answer comes from the cache, else None.
    """

    results: tuple[WebResult, ...]
    failed_engines: tuple[tuple[str, str], ...] = ()
    cached_at: str | None = None


@dataclass(frozen=True, slots=True)
class WebUse:
    """The web's part in a run: the exact query and its results, or the reason why there are none.

    `query` was sent, unless `cached_at` (the results come from the cache) or `not_asked` (the reason) is set.
    `discarded` is True if the query was sent before the decision and its results were not used.
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
    """A row of a table: its cells in the order of the table's header, and its offsets in the document's text.

    `number` is the row number as in SheetRow; None outside of sheets.
    """

    cells: tuple[str, ...]
    page: int | None
    start: int
    end: int
    number: int | None = None


@dataclass(frozen=True, slots=True)
class SkippedRows:
    """The number of rows that a computation left out for one reason."""

    rows: int
    why: str


@dataclass(frozen=True, slots=True)
class ResultGroup:
    """The result for a group of rows; `name` is the value that they share, `rows` their number."""

    name: str
    result: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    """An exact operation on one table of a document, or the reason in `refused` why it was not done.

    `table` is the table's name, empty if it has none. `total_rows` is its number of rows without totals and labels, and
    `row_count` the number of rows that the operation used; `rows` are the first of those, as many as a run stores.
    `column` names what was computed with, None if rows were counted or listed; `filters` are the conditions in words.
    `values` are the distinct values of a column that were listed or counted. `result` is a number with its unit, or
    empty. `few` is how many highest or lowest values the question asked for.

    `groups` are the results for each value of the column `by`, or for each `period` ("month") of its dates. If `pick`
    asks for the highest or lowest group, `result` is that group's name. For a difference, `groups` are its two sides;
    for a share, the part and the whole. A difference with `pick` compares two columns within each row, and picks the
    highest or lowest difference. `notes` are remarks about the result.
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
    total_rows: int
    row_count: int
    rows: tuple[TableRow, ...]
    result: str = ""
    values: tuple[str, ...] = ()
    left_out: tuple[SkippedRows, ...] = ()
    notes: tuple[str, ...] = ()
    refused: str = ""
    few: int = 1
    by: str | None = None
    period: str = ""
    pick: Operation | None = None
    groups: tuple[ResultGroup, ...] = ()


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
    """The cost of one step of the flow; tokens are the language model's, `estimated` if they were not counted."""

    name: str
    seconds: float
    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class RetrievalAttempt:
    """One search of the documents: the query, and the decision on all passages found so far."""

    query: str
    action: Action
    rule: str
    passages: int
    max_relevance: float | None


@dataclass(frozen=True, slots=True)
class Reading:
    """One interpretation of a question whose words do not show whether it is a follow-up.

    `question` is the question searched for; `follows` is the earlier question that it refers to, empty if it stands
    alone. `relevance` is that of its best passage to the question as asked. The interpretation with the higher
    relevance is `kept`; if neither passage helps, the one that stands alone is.
    """

    question: str
    follows: str
    relevance: float
    kept: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """One side of a conflict: a statement from the evidence numbered `n`, and the part of it that `differs`.

    `differs` is empty if the language model found the conflict. `source` is a Source's id, `dated` its date. `rows`
    are the sheet rows that the evidence consists of, if it comes from a sheet.
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
    """Two statements that cannot both be true; `resolution` describes in words how it was resolved.

    Without a `winner`, both sides stay in the evidence and the answer. With a winner, the other side is in neither.
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
    """How far a sentence of the answer is backed by the evidence it cites; `why` says what is missing.

    `relevance` is that of the best evidence behind it. `shown` is False for a sentence removed from the answer.
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
    """One question with everything that happened to it: what `ask --json` prints and the database stores.

    `settings` contains the settings that shaped the answer (settings.RUN_SETTINGS). `history` contains the earlier
    turns that the question may refer to. `replays` is the id of the run that this one repeats, `forced_from` the id of
    the run whose sentences a person selected. `plain_prompt_tokens` is the length of the prompt that plain RAG would
    have sent, with every retrieved passage in full.

    `abstained` means that there is no answer. `uncertain` means that no answer is certain: the likeliest passages are
    shown, with or without a tentative answer above them. `readings` are the two interpretations of a question that may
    be a follow-up; empty for other questions. `scope` tells which documents were searched, once that is known.
    `computation` is the operation on a table that gave the answer, if any.
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
    attempts: tuple[RetrievalAttempt, ...] = ()
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
        """Return the HTML that a notebook shows; it is rendered in runs/, because records know no templates."""
        from localcrag.runs.for_programs import html  # noqa: PLC0415

        return html(self)

    @property
    def answered(self) -> bool:
        """True if there is an answer that is not marked as uncertain."""
        return not (self.abstained or self.uncertain)

    @property
    def without_answer(self) -> bool:
        """True if no sentence of an answer is shown; at most there are the nearest passages."""
        return self.abstained or (self.uncertain and not any(support.shown for support in self.support))


UNTITLED = "New chat"
TITLE_CHARACTERS = 60


class TurnState(StrEnum):
    """The state of a question in a chat."""

    ASKED = "asked"
    """The question is being answered, or the app ended before it was answered."""
    ANSWERED = "answered"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a turn: its number and the state of its question."""

    number: int
    state: TurnState


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurn:
    """A question of a chat, its answer or the reason why there is none, and the run behind it.

    `parent` is the number of the turn that this one follows; None for the first turn of a chat. Turns with the same
    parent are versions of one turn: the question was edited or answered again. `versions` lists all of them in the
    order in which they were asked; it is empty if there is only one.
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
    """A conversation. `preset` and `llm`, unless None, override the collection's preset and the settings' model.

    `restriction` selects the documents that its questions are answered from. Times are ISO 8601 in UTC. `turns` is the
    number of turns in the visible branch.
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


def chat_title(question: str) -> str:
    """Return a chat's title, made from its first question."""
    return shorten(one_line(question), TITLE_CHARACTERS) or UNTITLED


def history(turns: Sequence[ChatTurn]) -> list[Turn]:
    """Return the answered turns, as the history for the next question."""
    return [Turn(turn.question, turn.answer) for turn in turns if turn.state is TurnState.ANSWERED]
