"""What the pipeline yields, one typed, frozen event per step; `Event` is their union.

The page, the command line, the stored run: all are consumers of these, and none has a second copy of the flow.
"""

from __future__ import annotations

from dataclasses import dataclass

from localcrag.records.enums import Action, Policy
from localcrag.records.passages import Evidence, GradedPassage, Passage, Source, Strip
from localcrag.records.restriction import SearchScope
from localcrag.records.run import Computation, Conflict, Reading, Run, StepCost, Support, WebUse


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A question was taken up; `run` holds what is known before the first step."""

    run: Run


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step begins; `detail` says in words what it is busy with."""

    name: str
    detail: str


@dataclass(frozen=True, slots=True)
class Condensed:
    """The follow-up as a question that stands alone; where that was doubtful, both readings, one of them kept."""

    standalone_question: str
    cost: StepCost
    readings: tuple[Reading, ...] = ()


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Passages of the documents, best fused rank first; `scope` says which documents were searched."""

    passages: tuple[Passage, ...]
    cost: StepCost
    scope: SearchScope


@dataclass(frozen=True, slots=True)
class GradePiece:
    """The next piece of a passage's grading, as the language model writes it."""

    text: str


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Each passage's relevance and grade, in the order in which they were retrieved; after a retry the best of all.

    `read` is how many were looked at, or taken as they are where none is scored; a second look counts none.
    """

    passages: tuple[GradedPassage, ...]
    cost: StepCost
    read: int = 0


@dataclass(frozen=True, slots=True)
class Decided:
    """The action, and in words the rule that produced it; `query` is what the documents were last searched for."""

    query: str
    action: Action
    policy: Policy
    rule: str
    cost: StepCost


@dataclass(frozen=True, slots=True)
class Retried:
    """The documents were looked through once more; `passages` are those that the first attempt had not found."""

    query: str
    passages: tuple[Passage, ...]
    cost: StepCost


@dataclass(frozen=True, slots=True)
class Computed:
    """The question is answered by computing on a table of the documents, or cannot be exactly.

    The action is CORRECT then, whatever was decided on passages; `rule` says so in words. `passages` are parts of the
    table that had not been retrieved, evaluated now; strips and evidence are its rows.
    """

    computation: Computation
    rule: str
    passages: tuple[GradedPassage, ...]
    strips: tuple[Strip, ...]
    evidence: tuple[Evidence, ...]
    sources: tuple[Source, ...]
    cost: StepCost


@dataclass(frozen=True, slots=True)
class SearchBegun:
    """A query left before the decision; unless Searched follows, what comes back is thrown away."""

    query: str


@dataclass(frozen=True, slots=True)
class QueryProposed:
    """The exact query that leaves if the person allows it, who is asked now."""

    query: str


@dataclass(frozen=True, slots=True)
class Searched:
    """What was asked of the web and what came back; `passages` are the results, evaluated like local ones."""

    web: WebUse
    passages: tuple[GradedPassage, ...]
    cost: StepCost


@dataclass(frozen=True, slots=True)
class PointPiece:
    """The next piece of a passage's key points, as the language model writes them."""

    text: str


@dataclass(frozen=True, slots=True)
class Refined:
    """Every strip with its relevance, and the evidence that the kept ones make."""

    strips: tuple[Strip, ...]
    evidence: tuple[Evidence, ...]
    sources: tuple[Source, ...]
    cost: StepCost


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What contradicts between documents and web, and the evidence that is left of it; its numbers stay."""

    conflicts: tuple[Conflict, ...]
    evidence: tuple[Evidence, ...]
    cost: StepCost


@dataclass(frozen=True, slots=True)
class PlainPromptCounted:
    """How long a prompt plain RAG would have sent: every retrieved passage, whole. Counted, not sent."""

    tokens: int


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """The next piece of the answer as the model writes it."""

    text: str


@dataclass(frozen=True, slots=True)
class Generated:
    """The model has written its answer; what may be shown of it is found out next."""

    cost: StepCost


@dataclass(frozen=True, slots=True)
class Verified:
    """How far each sentence that the model wrote is backed by the evidence, and which may be shown."""

    support: tuple[Support, ...]
    cost: StepCost


@dataclass(frozen=True, slots=True)
class Answered:
    """The whole answer, with citations that exist; it replaces the pieces."""

    answer: str
    abstained: bool
    uncertain: bool = False


@dataclass(frozen=True, slots=True)
class Warned:
    """Something went worse than it should, and the run went on; `message` says what and what to do."""

    message: str


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The whole run, as it was stored."""

    run: Run


Event = (
    RunStarted
    | StepStarted
    | Condensed
    | Retrieved
    | GradePiece
    | Evaluated
    | Decided
    | Retried
    | Computed
    | SearchBegun
    | QueryProposed
    | Searched
    | PointPiece
    | Refined
    | Reconciled
    | PlainPromptCounted
    | AnswerPiece
    | Generated
    | Verified
    | Answered
    | Warned
    | RunFinished
)
