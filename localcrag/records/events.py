"""Events that the pipeline yields while it answers a question; `Event` is their union.

The web interface, the command line and the stored run are all built from these events; none repeats the flow.
"""

from __future__ import annotations

from dataclasses import dataclass

from localcrag.records.enums import Action, Policy
from localcrag.records.passages import Evidence, GradedPassage, Passage, Source, Strip
from localcrag.records.restriction import SearchScope
from localcrag.records.run import Computation, Conflict, Reading, Run, StepCost, Support, WebUse


@dataclass(frozen=True, slots=True)
class RunStarted:
    """Work on a question begins; `run` contains what is known before the first step."""

    run: Run


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step begins; `detail` describes in words what it does."""

    name: str
    detail: str


@dataclass(frozen=True, slots=True)
class Condensed:
    """The follow-up as a question that stands alone; if that was doubtful, both readings, one of which is kept."""

    standalone_question: str
    cost: StepCost
    readings: tuple[Reading, ...] = ()


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Passages retrieved from the documents, best fused rank first; `scope` tells which documents were searched."""

    passages: tuple[Passage, ...]
    cost: StepCost
    scope: SearchScope


@dataclass(frozen=True, slots=True)
class GradePiece:
    """The next piece of a passage's grading, as the language model writes it."""

    text: str


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The passages with relevance and grade, in the order of retrieval; after a retry, the best of both attempts.

    `read` is the number of passages that were scored, or used without a score if none is scored; 0 after a retry.
    """

    passages: tuple[GradedPassage, ...]
    cost: StepCost
    read: int = 0


@dataclass(frozen=True, slots=True)
class Decided:
    """The action and, in words, the rule that led to it; `query` is the last query to the documents."""

    query: str
    action: Action
    policy: Policy
    rule: str
    cost: StepCost


@dataclass(frozen=True, slots=True)
class Retried:
    """The documents were searched a second time; `passages` are those that the first attempt had not found."""

    query: str
    passages: tuple[Passage, ...]
    cost: StepCost


@dataclass(frozen=True, slots=True)
class Computed:
    """The question was answered by computing on a table of the documents, or was found not to be exactly computable.

    The action becomes CORRECT, whatever was decided on the passages; `rule` says so in words. `passages` are parts of
    the table that had not been retrieved and are evaluated now; strips and evidence are the table's rows.
    """

    computation: Computation
    rule: str
    passages: tuple[GradedPassage, ...]
    strips: tuple[Strip, ...]
    evidence: tuple[Evidence, ...]
    sources: tuple[Source, ...]
    cost: StepCost


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The question names a numbered place, such as clause 10.4, and asks for nothing but its text.

    The action becomes CORRECT; `rule` says so in words. `passages` are parts of the place that had not been retrieved.
    """

    rule: str
    passages: tuple[GradedPassage, ...]
    strips: tuple[Strip, ...]
    evidence: tuple[Evidence, ...]
    sources: tuple[Source, ...]
    cost: StepCost


@dataclass(frozen=True, slots=True)
class SearchBegun:
    """A web query was sent before the decision; unless Searched follows, its results are discarded."""

    query: str


@dataclass(frozen=True, slots=True)
class QueryProposed:
    """The exact query that will be sent if the user allows it; the user is asked now."""

    query: str


@dataclass(frozen=True, slots=True)
class Searched:
    """The web query and its results; `passages` are the results, evaluated like local passages."""

    web: WebUse
    passages: tuple[GradedPassage, ...]
    cost: StepCost


@dataclass(frozen=True, slots=True)
class PointPiece:
    """The next piece of a passage's key points, as the language model writes them."""

    text: str


@dataclass(frozen=True, slots=True)
class Refined:
    """All strips with their relevance, and the evidence made of the kept ones."""

    strips: tuple[Strip, ...]
    evidence: tuple[Evidence, ...]
    sources: tuple[Source, ...]
    cost: StepCost


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The contradictions between documents and web, and the remaining evidence, which keeps its numbers."""

    conflicts: tuple[Conflict, ...]
    evidence: tuple[Evidence, ...]
    cost: StepCost


@dataclass(frozen=True, slots=True)
class PlainPromptCounted:
    """The length of the prompt that plain RAG would have sent, with every retrieved passage in full; for comparison."""

    tokens: int


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """The next piece of the answer as the model writes it."""

    text: str


@dataclass(frozen=True, slots=True)
class Generated:
    """The model has finished its answer; which sentences may be shown is checked next."""

    cost: StepCost


@dataclass(frozen=True, slots=True)
class Verified:
    """How far the evidence backs each sentence that the model wrote, and which sentences may be shown."""

    support: tuple[Support, ...]
    cost: StepCost


@dataclass(frozen=True, slots=True)
class Answered:
    """The final answer, in which every citation exists; it replaces the pieces shown before."""

    answer: str
    abstained: bool
    uncertain: bool = False


@dataclass(frozen=True, slots=True)
class Warned:
    """Something failed without ending the run; `message` says what, and what to do."""

    message: str


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The complete run, as it was stored."""

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
    | LookedUp
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
