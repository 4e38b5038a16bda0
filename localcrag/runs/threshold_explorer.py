"""Threshold explorer: what other thresholds would have decided about past questions.

No model is used: relevances are computed from the stored logits with the active calibration, and decisions are made as
in the flow. Only the document passages at the end of a run count. So a question with a second search is decided on the
passages of both searches; web results never decide. One thing is unknown, and ignored: what a second search would have
found for a question that was CORRECT at once, and so had none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

import numpy as np

from localcrag.crag.evaluate import apply_policy
from localcrag.records.enums import Action, Grade, Policy, ScorerKind
from localcrag.records.passages import Thresholds, grade
from localcrag.records.thresholds import FittedCalibration

BINS = 20
"""Number of bins of equal width in the histogram."""
STEP = 0.01
"""Step of the sliders on the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRun:
    """A stored run's scores of local passages, in columns.

    `model` is the model that graded the passages; `scored` is False if no model did. `question` is the standalone
    question. `action` is None for a run that was stopped before a decision.
    """

    run_id: str
    question: str
    action: Action | None
    scorer: ScorerKind
    model: str
    logits: tuple[float, ...]
    cosines: tuple[float, ...]
    overlaps: tuple[float, ...]
    relevances: tuple[float, ...]
    scored: bool = True


class ExclusionReason(StrEnum):
    """The reason why a run cannot be compared."""

    STOPPED = "stopped before they were decided"
    NOT_SCORED = "not scored"
    OTHER_SCORER = "scored by another model"
    ASKED_AGAIN = "asked again later"


@dataclass(frozen=True, slots=True)
class PastQuestion:
    """The latest run of a question, with its relevances under the current calibration."""

    run_id: str
    question: str
    relevances: tuple[float, ...]

    @property
    def best(self) -> float | None:
        """The best relevance; None if no passage was found."""
        return max(self.relevances, default=None)


@dataclass(frozen=True, slots=True)
class DecisionRules:
    """The rules that turn relevances into an action; `enough_relevant` is for the policy `ratio`."""

    policy: Policy
    upper: float
    lower: float
    enough_relevant: float


@dataclass(frozen=True, slots=True)
class ActionChange:
    """A question that would get a different action."""

    run_id: str
    question: str
    best: float | None
    before: Action
    after: Action


@dataclass(frozen=True, slots=True)
class HistogramBin:
    """A bar of the histogram of best relevances: from `low` to `high`, and the number of questions."""

    low: float
    high: float
    number: int


@dataclass(frozen=True, slots=True)
class Exploration:
    """The decisions on past questions under two sets of rules; shares are None without any question.

    `changes` come newest first. The web rate is the share of questions that are not CORRECT: these go to the web, if
    web search is allowed.
    """

    now: DecisionRules
    then: DecisionRules
    questions: int
    left_out: dict[ExclusionReason, int]
    actions_now: dict[Action, int]
    actions_then: dict[Action, int]
    changes: tuple[ActionChange, ...]
    histogram: tuple[HistogramBin, ...]

    @property
    def web_rate_now(self) -> float | None:
        """The web rate under the active rules."""
        return _web_rate(self.actions_now)

    @property
    def web_rate_then(self) -> float | None:
        """The web rate under the other rules."""
        return _web_rate(self.actions_then)


def slider_threshold(value: float | None, now: float) -> float:
    """Return the threshold that a slider's position stands for.

    The active threshold may lie between two steps of the slider, so the position nearest to it stands for the active
    threshold.
    """
    return now if value is None or abs(value - now) <= STEP / 2 + 1e-9 else value


class _Judged(NamedTuple):
    relevance: float
    grade: Grade
    scored: bool = True


def past_questions(
    runs: Iterable[ScoredRun], *, scorer: ScorerKind, model: str, calibration: FittedCalibration
) -> tuple[list[PastQuestion], dict[ExclusionReason, int]]:
    """Return the latest run of each comparable question, oldest first, and the number of other runs by reason.

    `scorer` and `model` are the ones that grade today. A language model's relevances are used unchanged.
    """
    left_out: dict[ExclusionReason, int] = {}
    last: dict[str, ScoredRun] = {}
    for run in runs:
        why = _exclusion_reason(run, scorer, model)
        if why is None:
            key = run.question.casefold()
            # The earlier run of the same question is left out.
            why = ExclusionReason.ASKED_AGAIN if last.pop(key, None) else None
            last[key] = run
        if why is not None:
            left_out[why] = left_out.get(why, 0) + 1
    kept = list(last.values())
    found = [run.relevances for run in kept]
    if scorer is not ScorerKind.LLM:
        # One call for all runs, because a call for each would take longer than everything else.
        logits, cosines, overlaps = (
            np.array([value for run in kept for value in getattr(run, column)], dtype=np.float32)
            for column in ("logits", "cosines", "overlaps")
        )
        relevances = iter(calibration.passages(logits, cosines, overlaps).tolist())
        found = [tuple(islice(relevances, len(run.logits))) for run in kept]
    questions = [PastQuestion(run.run_id, run.question, values) for run, values in zip(kept, found, strict=True)]
    return questions, left_out


class Explorer:
    """Past questions, decided under any rules; the decisions under the active rules are cached."""

    def __init__(self, questions: Sequence[PastQuestion], left_out: dict[ExclusionReason, int]) -> None:
        """Store the result of `past_questions`."""
        self._questions, self._left_out = questions, left_out
        self._histogram = _histogram(questions)
        self._known: dict[DecisionRules, list[Action]] = {}

    def explore(self, now: DecisionRules, then: DecisionRules) -> Exploration:
        """Return what the rules `then` would change for the questions, compared with the active rules `now`."""
        if now not in self._known:
            # Only the decisions under the latest active rules are kept.
            self._known = {now: self._decided(now)}
        before = self._known[now]
        after = before if then == now else self._decided(then)
        changes = [
            ActionChange(question.run_id, question.question, question.best, was, becomes)
            for question, was, becomes in zip(self._questions, before, after, strict=True)
            if was is not becomes
        ]
        return Exploration(
            now=now,
            then=then,
            questions=len(self._questions),
            left_out=self._left_out,
            actions_now=_counted(before),
            actions_then=_counted(after),
            changes=tuple(reversed(changes)),
            histogram=self._histogram,
        )

    def _decided(self, rules: DecisionRules) -> list[Action]:
        return [decide_action(rules, question.relevances) for question in self._questions]


def _exclusion_reason(run: ScoredRun, scorer: ScorerKind, model: str) -> ExclusionReason | None:
    if run.action is None:
        return ExclusionReason.STOPPED
    if not run.scored:
        return ExclusionReason.NOT_SCORED
    if run.logits and (run.scorer is not scorer or run.model != model):
        return ExclusionReason.OTHER_SCORER
    return None


def decide_action(rules: DecisionRules, relevances: Iterable[float]) -> Action:
    """Return the action that the flow would choose under these rules for passages with these relevances."""
    thresholds = Thresholds(rules.upper, rules.lower, strip=0.0)
    passages = [_Judged(relevance, grade(relevance, thresholds)) for relevance in relevances]
    return apply_policy(passages, policy=rules.policy, thresholds=thresholds, enough_relevant=rules.enough_relevant)[0]


def _counted(actions: Sequence[Action]) -> dict[Action, int]:
    return {action: actions.count(action) for action in Action}


def _web_rate(actions: dict[Action, int]) -> float | None:
    whole = sum(actions.values())
    return (whole - actions[Action.CORRECT]) / whole if whole else None


def _histogram(questions: Sequence[PastQuestion]) -> tuple[HistogramBin, ...]:
    numbers, edges = np.histogram([question.best or 0.0 for question in questions], bins=BINS, range=(0.0, 1.0))
    return tuple(
        HistogramBin(float(low), float(high), int(number))
        for low, high, number in zip(edges, edges[1:], numbers, strict=False)
    )
