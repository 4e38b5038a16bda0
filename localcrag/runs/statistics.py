"""Statistics over stored runs: actions, web rate, abstentions, knowledge gaps, time.

They are computed from one line per run, not from whole runs, so that ten thousand runs take a second. Replays do not
count, because they repeat earlier questions.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from localcrag.records.enums import Action
from localcrag.records.protocols import Vectors
from localcrag.records.run import StepCost
from localcrag.text.words import content_words, names, numbers

MOST_WEB = 0.2
"""Share of questions sent to the web above which a warning says that the documents have gaps."""
FEWEST_RUNS = 5
"""Minimum number of runs for the warning: with fewer, a single question exceeds MOST_WEB."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """The part of a run used for statistics; `question` is the standalone question."""

    run_id: str
    created_at: str
    collection: str
    question: str
    action: Action | None
    abstained: bool
    web_used: bool
    steps: tuple[StepCost, ...] = ()
    uncertain: bool = False


@dataclass(frozen=True, slots=True)
class Gap:
    """A question that the documents alone did not answer when it was last asked."""

    question: str
    collection: str
    action: Action
    run_id: str
    created_at: str


@dataclass(frozen=True, slots=True)
class Aggregates:
    """Figures over runs; shares refer to the `decided` runs, and are None if there are none.

    `runs` also counts runs that were stopped before a decision. `seconds` are medians per step, `usual_seconds` is the
    median of a whole run, `llm_calls` are means per run. `gaps` come newest first, each question once.
    """

    runs: int
    decided: int
    actions: dict[Action, int]
    web_rate: float | None
    abstention_rate: float | None
    uncertain_rate: float | None
    seconds: dict[str, float]
    usual_seconds: float | None
    llm_calls: dict[Action, float]
    collections: dict[str, dict[Action, int]]
    gaps: tuple[Gap, ...]

    @property
    def warning(self) -> str | None:
        """The warning that too many questions go to the web; None if there is no reason to warn."""
        if self.web_rate is None or self.decided < FEWEST_RUNS or self.web_rate <= MOST_WEB:
            return None
        return (
            f"{self.web_rate:.0%} of the questions went to the web, more than {MOST_WEB:.0%}: the documents have gaps. "
            "Add documents that answer the questions listed."
        )


def aggregate(runs: Sequence[RunLine]) -> Aggregates:
    """Return the aggregates of runs, given oldest first."""
    decided = [run for run in runs if run.action is not None]
    seconds = defaultdict(list)
    for step in (step for run in runs for step in run.steps):
        seconds[step.name].append(step.seconds)
    whole = [sum(step.seconds for step in run.steps) for run in runs if run.steps]
    actions = _actions(decided)
    calls = {
        action: sum(step.llm_calls for run in decided if run.action is action for step in run.steps)
        for action in Action
    }
    return Aggregates(
        runs=len(runs),
        decided=len(decided),
        actions=actions,
        web_rate=_share([run.web_used for run in decided]),
        abstention_rate=_share([run.abstained for run in decided]),
        uncertain_rate=_share([run.uncertain for run in decided]),
        seconds={name: statistics.median(values) for name, values in seconds.items()},
        usual_seconds=statistics.median(whole) if whole else None,
        llm_calls={action: calls[action] / number for action, number in actions.items() if number},
        collections={
            name: _actions([run for run in decided if run.collection == name])
            for name in sorted({run.collection for run in decided})
        },
        gaps=_gaps(decided),
    )


def _actions(runs: Sequence[RunLine]) -> dict[Action, int]:
    return {action: sum(run.action is action for run in runs) for action in Action}


def _share(happened: Sequence[bool]) -> float | None:
    return sum(happened) / len(happened) if happened else None


def _gaps(runs: Sequence[RunLine]) -> tuple[Gap, ...]:
    """Return the questions whose latest run was not CORRECT; a later CORRECT run fills a gap."""
    return tuple(
        Gap(last.question, last.collection, last.action, last.run_id, last.created_at)
        for *_, last in _runs_by_question(runs)
        if last.action is not None and last.action is not Action.CORRECT
    )


def _runs_by_question(runs: Sequence[RunLine]) -> Iterable[list[RunLine]]:
    """Return the decided runs of each question, oldest first; the question with the newest run comes first."""
    found: dict[tuple[str, str], list[RunLine]] = {}
    for run in reversed(runs):
        if run.action is not None:
            found.setdefault((run.collection, run.question.casefold()), []).insert(0, run)
    return found.values()


MIN_SAME_COSINE = 0.83
"""Minimum cosine (all-MiniLM-L6-v2) at which two questions count as the same. Among 24 pairs, it joined 10 of the 12
that were the same (0.67 to 0.99), and 1 of the 12 that only shared a topic (0.39 to 0.94; "When" and "Who found
penicillin?")."""


@dataclass(frozen=True, slots=True)
class KnowledgeGap:
    """A question that the documents did not answer when it was last asked, and other wordings of it.

    `question`, `run_id` and `created_at` belong to the newest run. `asked` counts all runs of these questions. `others`
    are the other wordings, newest first. `answered_by` is the newest run answered from the web, None if there is none.
    """

    question: str
    collection: str
    run_id: str
    created_at: str
    asked: int
    others: tuple[str, ...] = ()
    answered_by: str | None = None


def open_questions(runs: Sequence[RunLine]) -> list[KnowledgeGap]:
    """Return the questions whose latest run was INCORRECT, newest first, each wording as a gap of its own.

    `runs` come oldest first, without replays.
    """
    found = []
    for own in _runs_by_question(runs):
        last = own[-1]
        if last.action is Action.INCORRECT:
            by_web = (run.run_id for run in reversed(own) if run.web_used and not (run.abstained or run.uncertain))
            web = next(by_web, None)
            found.append(
                KnowledgeGap(last.question, last.collection, last.run_id, last.created_at, len(own), answered_by=web)
            )
    return found


def group_gaps(questions: Sequence[KnowledgeGap], vectors: Vectors | None = None) -> tuple[KnowledgeGap, ...]:
    """Return the knowledge gaps, newest first.

    `vectors` are the questions' embeddings of unit length, shape (questions, dimension). A question joins the first
    group in its collection whose newest question is the same. Without vectors, questions are the same if their content
    words are.
    """
    texts = [question.question for question in questions]
    read = [_Words({*content_words(text)}, {*names(text)}, {*numbers(text)}) for text in texts]
    cosines = None if vectors is None else vectors @ vectors.T
    groups: list[list[int]] = []
    for number, question in enumerate(questions):
        for group in groups:
            first = group[0]
            if questions[first].collection != question.collection:
                continue
            if cosines is None:
                same = read[first].content == read[number].content
            else:
                same = bool(cosines[first, number] >= MIN_SAME_COSINE) and _names_agree(read[first], read[number])
            if same:
                group.append(number)
                break
        else:
            groups.append([number])
    return tuple(_gap([questions[number] for number in group]) for group in groups)


@dataclass(frozen=True, slots=True)
class _Words:
    content: set[str]
    names: set[str]
    numbers: set[str]


def _names_agree(one: _Words, other: _Words) -> bool:
    """Return whether each question has the names and numbers of the other; names may lack their capital letter."""
    return one.numbers == other.numbers and one.names <= other.content and other.names <= one.content


def _gap(members: Sequence[KnowledgeGap]) -> KnowledgeGap:
    """Return gaps of the same question, newest first, as one."""
    return replace(
        members[0],
        asked=sum(member.asked for member in members),
        others=tuple(member.question for member in members[1:]),
        answered_by=next((member.answered_by for member in members if member.answered_by), None),
    )
