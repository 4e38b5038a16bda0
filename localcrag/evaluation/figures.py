"""The records of an evaluation's report: what report.json holds and the other forms show."""

from __future__ import annotations

from dataclasses import dataclass

from localcrag.evaluation import curves
from localcrag.evaluation.results import GROUPS, About
from localcrag.evaluation.statistics import Difference, Estimate

ALL, IN_DOCUMENTS, ON_WEB, NOWHERE = GROUPS
KEYS = (
    ("answer_match", IN_DOCUMENTS),
    ("answer_match", ON_WEB),
    ("invention", NOWHERE),
    ("unmarked_invention", NOWHERE),
    ("action_right", ALL),
    ("support", ALL),
    ("seconds", ALL),
    ("prompt_tokens", ALL),
)
"""The figures that a verdict is made of: metric, and of which questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricUsed:
    """What a metric is, as metrics.py says it."""

    title: str
    definition: str
    source: str
    better: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFigure:
    """One of KEYS under two configurations, over the questions that it applies to in each.

    `ratio` is second / first, over the questions that it applies to in both; None where the first is 0.
    """

    metric: str
    group: str
    title: str
    first: Estimate | None
    second: Estimate | None
    difference: Difference | None
    ratio: float | None
    says: str
    not_proved: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What speaks for one configuration against another."""

    first: str
    second: str
    figures: tuple[KeyFigure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """second - first of every metric on the same questions, by group."""

    first: str
    second: str
    differences: dict[str, dict[str, Difference]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The questions for which one action was decided.

    `accuracy` is the share for which it was right, `speed` their mean seconds as a share of the first configuration's.
    """

    n: int
    share: float
    accuracy: Estimate | None
    answer_match: Estimate | None
    seconds: Estimate | None
    speed: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """What was decided; `confusion` maps who holds the answer, then the action, to a number of questions."""

    decided: dict[str, Decided]
    confusion: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """Seconds a question, and what each step takes of them on average over all questions, with calls and tokens."""

    mean: Estimate
    median: float
    slowest: float
    steps: dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """How many questions were answered right, and where the others were lost; by who holds the answer as well."""

    questions: int
    right: int
    causes: dict[str, int]
    by_holder: dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A text with its relevance, None where nothing scored it; `holds` an accepted answer or not."""

    where: str
    relevance: float | None
    grade: str | None
    text: str
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """A question that went wrong; `first_right` says whether the first configuration got it right, where it differs."""

    id: str
    question: str
    standalone: str
    held_by: str
    accepted: tuple[str, ...]
    answer: str
    abstained: bool
    uncertain: bool
    action: str | None
    rule: str
    cause: str
    why: str
    passage: Shown | None
    evidence: tuple[Shown, ...]
    first_right: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Everything that a report shows. `scored` and `full` name the configurations that curves and causes are of."""

    about: About
    questions: int
    groups: dict[str, int]
    asked: dict[str, int]
    missing: int
    metrics: dict[str, MetricUsed]
    verdicts: tuple[Verdict, ...]
    estimates: dict[str, dict[str, dict[str, Estimate]]]
    against_first: tuple[Paired, ...]
    against_former: tuple[Paired, ...]
    actions: dict[str, Actions]
    scored: str | None
    reliability: curves.Reliability | None
    sweep: curves.Sweep | None
    retention: tuple[curves.Length, ...]
    times: dict[str, Time]
    losses: dict[str, Losses]
    full: str | None
    worst: tuple[Worst, ...]
