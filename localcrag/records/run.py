"""A run, one question with everything that happened, and the records that only it consists of."""

from __future__ import annotations

from dataclasses import dataclass, field

from localcrag.records.computation import Computation
from localcrag.records.enums import Action, Backing, ConflictJudge, Origin, Policy, Preset, ScorerKind
from localcrag.records.passages import Evidence, GradedPassage, Source, Strip, Thresholds
from localcrag.records.restriction import SearchScope
from localcrag.records.web import WebUse
from localcrag.text.sheet_rows import SheetRow


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
        from localcrag.runs.notebook import html  # noqa: PLC0415

        return html(self)

    @property
    def answered(self) -> bool:
        """Whether an answer was given that is not said to be uncertain."""
        return not (self.abstained or self.uncertain)

    @property
    def without_answer(self) -> bool:
        """Whether there is at most what comes nearest: no answer, and no sentence above it."""
        return self.abstained or (self.uncertain and not any(support.shown for support in self.support))
