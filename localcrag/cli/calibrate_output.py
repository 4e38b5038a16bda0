"""What `localcrag calibrate` says of a calibration: in words, and as JSON."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from localcrag.records.errors import EvaluationError

if TYPE_CHECKING:
    from localcrag.app.calibrating import Labelled, Outcome
    from localcrag.evaluation.calibration.criteria import Criterion
    from localcrag.settings import Settings
    from localcrag.steps.evaluate.applied_calibration import StoredCalibration
    from localcrag.steps.evaluate.calibration import FittedCalibration

THRESHOLDS = ("upper", "lower", "strip")
WORSE = (
    "Not applied: on questions that it was not fitted on, the new calibration has a higher log loss than the one in "
    "force. Collect more labels, or apply it all the same with --force."
)


def as_json(settings: Settings, labelled: Labelled, outcome: Outcome, criterion: Criterion) -> dict[str, Any]:
    """Return what was fitted, and whether it was applied."""
    fitted = outcome.fitted
    return {
        "collection": settings.collection,
        "scorer": settings.relevance,
        "criterion": str(criterion),
        "passages": fitted.passages,
        "relevant": fitted.relevant,
        "questions": fitted.questions,
        "answered": fitted.answered,
        "strips": fitted.strips,
        "from_use": labelled.from_use,
        "left_out": labelled.left_out,
        "before": dataclasses.asdict(outcome.before),
        "after": dataclasses.asdict(fitted.calibration),
        "figures": [dataclasses.asdict(change) for change in fitted.changes],
        "worse": fitted.worse,
        "applied": outcome.applied is not None,
        "notes": [*fitted.notes, *overridden(settings)],
        **({"error": WORSE, "kind": EvaluationError.__name__} if outcome.refused else {}),
    }


def in_words(settings: Settings, outcome: Outcome, criterion: Criterion) -> list[str]:
    """Return what was fitted, in lines: the coefficients, and figures before and after."""
    fitted = outcome.fitted
    lines = [
        f"Calibration of {settings.relevance} for the collection “{settings.collection}”, criterion {criterion}.",
        f"{fitted.passages} labelled passages ({fitted.relevant} relevant) and {fitted.strips} strips.",
        f"{fitted.questions} questions, of which the retrieved passages answer {fitted.answered}.",
        "",
        *_coefficients(outcome.before, fitted.calibration),
        "",
        f"{'on questions not fitted on':<27}{'before':>9}{'after':>9}{'change':>9}   95 % interval (standard error)",
    ]
    lines += [
        f"{change.name:<27}{change.before:>9.4f}{change.after:>9.4f}{change.after - change.before:>+9.4f}   "
        f"{change.low:+.4f} to {change.high:+.4f} ({change.error:.4f})"
        for change in fitted.changes
    ]
    lines += ["", *fitted.notes]
    if fitted.worse:
        lines.append(
            "It is worse than what is in force: the log loss is higher on questions that it was not fitted on."
        )
    return [*lines, *overridden(settings)]


def overridden(settings: Settings) -> list[str]:
    """Return what keeps the fitted thresholds from having an effect."""
    given = {name: getattr(settings, name) for name in THRESHOLDS}
    return [
        f"The threshold {name} is set by hand to {value:g}, which wins over any calibration."
        for name, value in given.items()
        if value is not None
    ]


def whose(settings: Settings, applied: StoredCalibration | None) -> str:
    """Return whose calibration is in force in a collection."""
    where = f"In the collection “{settings.collection}”, {settings.relevance} has"
    if applied is None:
        return f"{where} its own calibration."
    return f"{where} a calibration of {applied.made_at}: {fitted_to(applied)}."


def fitted_to(stored: StoredCalibration) -> str:
    """Return what a calibration was fitted to."""
    how = stored.how
    sources = [f"the set {how.from_set}"] if how.from_set else []
    sources += [f"{how.from_use} labels from use"] if how.from_use else []
    return f"{how.passages} passages of {how.questions} questions, from {' and '.join(sources)}"


def _coefficients(before: FittedCalibration, after: FittedCalibration) -> list[str]:
    rows = [(f"threshold {name}", _threshold(before, name), _threshold(after, name)) for name in THRESHOLDS]
    for kind in ("passage", "strip"):
        for name in ("logit", "cosine", "overlap", "bias") if kind == "passage" else ("logit", "bias"):
            values = (getattr(getattr(one, kind), name) for one in (before, after))
            rows.append((f"{kind}: {name}", *values))
    return [f"{'':<27}{'in force':>9}{'fitted':>9}"] + [f"{name:<27}{was:>9.4g}{now:>9.4g}" for name, was, now in rows]


def _threshold(calibration: FittedCalibration, name: str) -> float:
    return float(getattr(calibration.thresholds, name))
