"""Replay: ask a stored run's question again, and compare the two runs.

A replay uses today's documents, models and calibration, but the run's collection, preset, policy and other settings.
The web is not searched unless the user requests it, so by default a replay sends no web query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from localcrag.records.enums import Action, Grade, WebMode
from localcrag.records.passages import GradedPassage, Strip
from localcrag.records.run import Run
from localcrag.text.places import place_name
from localcrag.text.translation import format_decimals
from localcrag.text.words import shorten

Key = TypeVar("Key")
Value = TypeVar("Value")
MIN_RELEVANCE_CHANGE = 0.005
"""Change of a relevance below which it counts as equal: it looks the same in two digits."""
NO_WEB = "The web was not asked, so that the replay sends nothing; `--web always` asks it."


def replay_settings(run: Run, *, web: WebMode) -> dict[str, Any]:
    """Return the settings for the replay of a run.

    Thresholds that the user set are kept; others follow the preset and the model.
    """
    return {**run.settings, "collection": run.collection, "preset": run.preset, "web": web}


@dataclass(frozen=True, slots=True)
class PassageChange:
    """A passage that is new (`before` is None), missing (`after` is None), or has a different relevance."""

    where: str
    text: str
    before: float | None
    after: float | None
    grade_before: Grade | None
    grade_after: Grade | None


@dataclass(frozen=True, slots=True)
class RunDifference:
    """The differences between a run and its replay; pairs are (before, after).

    `models` and `thresholds` contain only what differs, `seconds` every step of either run.
    """

    action: tuple[Action | None, Action | None]
    rule: tuple[str, str]
    standalone_question: tuple[str, str]
    answer: tuple[str, str]
    answered: tuple[bool, bool]
    web_used: tuple[bool, bool]
    passages: tuple[PassageChange, ...]
    kept_strips: tuple[int, int]
    strips_gained: tuple[str, ...]
    strips_lost: tuple[str, ...]
    models: dict[str, tuple[str | None, str | None]]
    thresholds: dict[str, tuple[float, float]]
    seconds: dict[str, tuple[float | None, float | None]]

    @property
    def same(self) -> bool:
        """Whether action, answer, passages, strips, models and thresholds are equal; the time always differs."""
        pairs = (self.action, self.standalone_question, self.answer, self.answered, self.web_used)
        lists = (self.passages, self.strips_gained, self.strips_lost, self.models, self.thresholds)
        return all(before == after for before, after in pairs) and not any(lists)


def compare(before: Run, after: Run) -> RunDifference:
    """Return the differences between two runs. Passages and strips are matched by place and text, not by id."""
    kept_before, kept_after = _kept(before.strips), _kept(after.strips)
    thresholds = _attribute_pairs(before.thresholds, after.thresholds, "upper", "lower", "strip")
    models = _paired(before.models, after.models)
    return RunDifference(
        **_attribute_pairs(before, after, "action", "rule", "standalone_question", "answer", "answered"),
        web_used=(before.web.used, after.web.used),
        passages=_changed(before.passages, after.passages),
        kept_strips=(len(kept_before), len(kept_after)),
        strips_gained=tuple(text for text in kept_after if text not in kept_before),
        strips_lost=tuple(text for text in kept_before if text not in kept_after),
        models={role: pair for role, pair in models.items() if pair[0] != pair[1]},
        thresholds={name: pair for name, pair in thresholds.items() if pair[0] != pair[1]},
        seconds=_paired(_seconds(before), _seconds(after)),
    )


def describe(difference: RunDifference) -> list[str]:
    """Return the differences as lines of text."""
    lines = ["Nothing but the time differs."] if difference.same else []
    for role, (was, now) in difference.models.items():
        lines.append(f"model for {role}: {was or 'none'} → {now or 'none'}")
    for name, (low, high) in difference.thresholds.items():
        lines.append(f"threshold {name}: {format_decimals(low)} → {format_decimals(high)}")
    if difference.answered[0] != difference.answered[1]:
        lines.append("answered: {} → {}".format(*("yes" if answered else "no" for answered in difference.answered)))
    if difference.standalone_question[0] != difference.standalone_question[1]:
        lines.append("understood as: “{}” → “{}”".format(*difference.standalone_question))
    if difference.action[0] != difference.action[1]:
        was, now = (action or "none" for action in difference.action)
        lines.append(f"action: {was} ({difference.rule[0]}) → {now} ({difference.rule[1]})")
    lines += [_describe_passage(change) for change in difference.passages]
    lines += [f"sentence gained: “{shorten(text)}”" for text in difference.strips_gained]
    lines += [f"sentence lost: “{shorten(text)}”" for text in difference.strips_lost]
    if difference.web_used[0] != difference.web_used[1]:
        lines.append("web: asked → not asked" if difference.web_used[0] else "web: not asked → asked")
    if difference.answer[0] != difference.answer[1]:
        lines += [f"answer before: {difference.answer[0]}", f"answer now: {difference.answer[1]}"]
    steps = (
        f"{name} {_format_seconds(was)} → {_format_seconds(now)}" for name, (was, now) in difference.seconds.items()
    )
    return [*lines, f"seconds: {', '.join(steps)}"]


def _describe_passage(change: PassageChange) -> str:
    what = f"{change.where}: “{shorten(change.text, 80)}”"
    if change.before is None:
        return f"passage came, {change.after:.2f} {change.grade_after}: {what}"
    if change.after is None:
        return f"passage went, {change.before:.2f} {change.grade_before}: {what}"
    return f"passage {change.before:.2f} {change.grade_before} → {change.after:.2f} {change.grade_after}: {what}"


def _changed(before: Sequence[GradedPassage], after: Sequence[GradedPassage]) -> tuple[PassageChange, ...]:
    had = {(_passage_place(passage), passage.text): passage for passage in before}
    has = {(_passage_place(passage), passage.text): passage for passage in after}
    changes = []
    for key, (was, now) in _paired(had, has).items():
        if was and now and was.grade is now.grade and abs(was.relevance - now.relevance) < MIN_RELEVANCE_CHANGE:
            continue
        # A passage that one of the runs did not find has neither relevance nor grade there.
        values = [getattr(one, name, None) for name in ("relevance", "grade") for one in (was, now)]
        changes.append(PassageChange(*key, *values))
    return tuple(changes)


def _attribute_pairs(before: object, after: object, *names: str) -> dict[str, tuple[Any, Any]]:
    """Return the attributes of these names of both objects."""
    return {name: (getattr(before, name), getattr(after, name)) for name in names}


def _paired(before: Mapping[Key, Value], after: Mapping[Key, Value]) -> dict[Key, tuple[Value | None, Value | None]]:
    """Return for each key of either mapping its values in both."""
    return {key: (before.get(key), after.get(key)) for key in dict.fromkeys([*before, *after])}


def _passage_place(passage: GradedPassage) -> str:
    if passage.document is None:
        return passage.url or passage.id
    return place_name(passage.document, passage.page)


def _kept(strips: Sequence[Strip]) -> list[str]:
    return [strip.text for strip in strips if strip.kept]


def _seconds(run: Run) -> dict[str, float]:
    """Return each step's seconds, summed for a step that ran twice."""
    seconds: dict[str, float] = {}
    for step in run.steps:
        seconds[step.name] = round(seconds.get(step.name, 0.0) + step.seconds, 4)
    return seconds


def _format_seconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:.2f}"
