"""`localcrag calibrate`: fit relevances and thresholds to labelled questions."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localcrag.interfaces.cli import command as cli
from localcrag.records.errors import EvaluationError, SettingsError
from localcrag.text.translation import counted

if TYPE_CHECKING:
    from localcrag.app.assembly import Assembly
    from localcrag.app.evaluations import EvaluationOutcome, LabelledData
    from localcrag.evaluation.calibration import Criterion
    from localcrag.records.thresholds import FittedCalibration, StoredCalibration
    from localcrag.settings import Settings


THRESHOLDS = ("upper", "lower", "strip")
WORSE = (
    "Not applied: on questions that it was not fitted on, the new calibration has a higher log loss than the active "
    "one. Collect more labels, or apply it anyway with --force."
)


def as_json(
    settings: Settings, labelled: LabelledData, outcome: EvaluationOutcome, criterion: Criterion
) -> dict[str, Any]:
    """Return a fitted calibration as JSON, and whether it was applied."""
    fitted = outcome.fitted
    return {
        "collection": settings.collection,
        "scorer": settings.relevance,
        "criterion": str(criterion),
        **{name: getattr(fitted, name) for name in ("passages", "relevant", "questions", "answered", "strips")},
        "from_use": labelled.from_use,
        "left_out": labelled.left_out,
        "before": outcome.before,
        "after": fitted.calibration,
        "figures": fitted.changes,
        "worse": fitted.worse,
        "applied": outcome.applied is not None,
        "notes": [*fitted.notes, *override_notes(settings)],
        **({"error": WORSE, "kind": EvaluationError.__name__} if outcome.refused else {}),
    }


def as_lines(settings: Settings, outcome: EvaluationOutcome, criterion: Criterion) -> list[str]:
    """Return a fitted calibration as lines to print: its coefficients, and the figures before and after."""
    fitted = outcome.fitted
    lines = [
        f"Calibration of {settings.relevance} for the collection “{settings.collection}”, criterion {criterion}.",
        f"{counted(fitted.passages, 'labelled passage')}, {fitted.relevant} of them relevant.",
        f"{counted(fitted.strips, 'labelled strip')}.",
        f"{counted(fitted.questions, 'question')}; the retrieved passages answer {fitted.answered}.",
        "",
        *_coefficients(outcome.before, fitted.calibration),
        "",
        f"{'on questions not fitted on':<27}{'before':>9}{'after':>9}{'change':>9}   95 % interval (standard error)",
    ]
    for one in fitted.changes:
        figures = f"{one.before:>9.4f}{one.after:>9.4f}{one.after - one.before:>+9.4f}"
        lines.append(f"{one.name:<27}{figures}   {one.low:+.4f} to {one.high:+.4f} ({one.error:.4f})")
    lines += ["", *fitted.notes]
    worse = "It is worse than the active calibration: its log loss is higher on questions that it was not fitted on."
    return [*lines, *[worse] * fitted.worse, *override_notes(settings)]


def override_notes(settings: Settings) -> list[str]:
    """Return a line for each threshold that the user set, which overrides the calibration."""
    text = "The threshold {} is set to {:g} in the settings, which overrides any calibration."
    chosen = [(name, getattr(settings, name)) for name in THRESHOLDS]
    return [text.format(name, value) for name, value in chosen if value is not None]


def describe_active(settings: Settings, applied: StoredCalibration | None) -> str:
    """Return a sentence on the collection's active calibration: the model's own, or a fitted one."""
    where = f"In the collection “{settings.collection}”, {settings.relevance} has"
    if applied is None:
        return f"{where} its own calibration."
    return f"{where} a calibration of {applied.made_at}: {describe_source(applied)}."


def describe_source(stored: StoredCalibration) -> str:
    """Describe the data that a calibration was fitted to."""
    how = stored.how
    sources = [f"the set {how.from_set}"] if how.from_set else []
    sources += [f"{counted(how.from_use, 'label')} from use"] if how.from_use else []
    fitted_to = f"{counted(how.passages, 'passage')} of {counted(how.questions, 'question')}"
    return f"{fitted_to}, from {' and '.join(sources)}"


def _coefficients(before: FittedCalibration, after: FittedCalibration) -> list[str]:
    rows = [
        (f"threshold {name}", getattr(before.thresholds, name), getattr(after.thresholds, name)) for name in THRESHOLDS
    ]
    for kind in ("passage", "strip"):
        for name in ("logit", "cosine", "overlap", "bias") if kind == "passage" else ("logit", "bias"):
            values = (getattr(getattr(one, kind), name) for one in (before, after))
            rows.append((f"{kind}: {name}", *values))
    return [f"{'':<27}{'active':>9}{'fitted':>9}"] + [f"{name:<27}{was:>9.4g}{now:>9.4g}" for name, was, now in rows]


CRITERIA = ("f1", "web-rate", "cost")
SHOW, UNDO = "show", "undo"
_ABOUT = (
    "Fit a collection's calibration and thresholds to an evaluation set, to your feedback, or both. Nothing changes "
    "without --apply."
)


def add_commands(commands: cli.Commands) -> None:
    """Add `calibrate`."""
    words = "fit relevances and thresholds to labelled questions"
    command = commands.add("calibrate", _calibrate, words, collection=True, description=_ABOUT)
    words = "folders of evaluation sets; show: the active calibration; undo: return to the previous calibration"
    command.add_argument("what", nargs="*", default=[], metavar="SET | show | undo", help=words)
    command.add_argument("--from-use", action="store_true", help="use the feedback that you gave on passages")
    command.add_argument("--criterion", choices=CRITERIA, default="f1", help="how to choose the threshold upper (f1)")
    words = "with --criterion web-rate: share of questions that may go to the web"
    command.add_argument("--target", type=float, metavar="SHARE", help=words)
    words = "with --criterion cost: how many needless web searches one wrong CORRECT is worth"
    command.add_argument("--cost", type=float, metavar="N", help=words)
    command.add_argument("--apply", action="store_true", help="activate the new calibration for the collection")
    command.add_argument("--force", action="store_true", help="apply it even if it is worse than the active one")


def _calibrate(parsed: argparse.Namespace, settings: Settings) -> int:
    if (named := next(iter(parsed.what), "")) in (SHOW, UNDO):
        if parsed.from_use or parsed.apply or len(parsed.what) > 1:
            raise SettingsError(f"`calibrate {named}` fits nothing. Leave out sets, --from-use and --apply.")
        (_show if named == SHOW else _undo)(parsed, cli.open_collection(settings))
        return cli.DONE
    if not parsed.what and not parsed.from_use:
        raise SettingsError("Name the folder of an evaluation set, or give --from-use, or both.")
    return _fit(parsed, cli.open_collection(settings), _criterion(parsed))


def _criterion(parsed: argparse.Namespace) -> Criterion:
    """Return the named criterion. Raises SettingsError for numbers that do not match it."""
    from localcrag.evaluation.calibration import Criterion, CriterionKind

    given = {name: getattr(parsed, name) for name in ("target", "cost") if getattr(parsed, name) is not None}
    for name in given:
        if parsed.criterion != (kind := "web-rate" if name == "target" else name):
            raise SettingsError(f"--{name} needs --criterion {kind}.")
    try:
        return Criterion(CriterionKind(parsed.criterion), **given)
    except ValueError as error:
        raise SettingsError(f"Not a valid criterion: {error}.") from error


def _fit(parsed: argparse.Namespace, assembly: Assembly, criterion: Criterion) -> int:
    from localcrag.app.evaluations import LabelledData, fit

    labelled = LabelledData()
    if parsed.from_use:
        labelled.add_use(assembly)
        if labelled.left_out:
            why = f"another model than {assembly.settings.relevance} scored their passages"
            cli.say(f"{counted(labelled.left_out, 'label')} left out: {why}.")
    for folder in map(Path, parsed.what):
        _add_set(labelled, assembly, folder)
    cli.say(f"fitting to {counted(len(labelled.scores), 'passage')} and {counted(len(labelled.strips), 'strip')}")
    outcome = fit(assembly, labelled, criterion, apply=parsed.apply, force=parsed.force)
    lines = as_lines(assembly.settings, outcome, criterion)
    if outcome.applied:
        name = assembly.settings.collection
        lines.append(f"Applied to the collection “{name}”. `localcrag calibrate undo` reverts it.")
    elif not outcome.refused:
        lines.append("Nothing was changed. Add --apply to activate it for the collection.")
    cli.print_result(as_json(assembly.settings, labelled, outcome, criterion), parsed, "\n".join(lines))
    if outcome.refused:  # The error is in the JSON document already; a second document would not parse.
        cli.say(f"localcrag: {WORSE}")
        return cli.FAILED
    return cli.DONE


def _add_set(labelled: LabelledData, assembly: Assembly, folder: Path) -> None:
    """Score an evaluation set and add its labels; its documents go to a separate data folder."""
    from localcrag.app.evaluations import add_documents, set_assembly
    from localcrag.interfaces.cli import terminal
    from localcrag.records.evaluation_set import read

    evaluation_set = read(folder)
    with set_assembly(assembly, evaluation_set) as own:
        terminal.show_ingest(add_documents(own, folder, own.settings.collection), quiet=True)
        cli.index_warnings(own)
        for done, total in labelled.add_set(assembly, own, folder, evaluation_set):
            if done % 10 == 0 or done == total:
                cli.say(f"{done} of {total} questions scored")


def _show(parsed: argparse.Namespace, assembly: Assembly) -> None:
    applied = assembly.calibrations.applied()
    calibration = applied.calibration if applied else assembly.calibrations.default
    settings, history = assembly.settings, assembly.calibrations.history()
    result = {"collection": settings.collection, "scorer": settings.relevance, "own": applied is None}
    since = {"since": applied and applied.made_at, "how": applied and applied.how, "history": history}
    limits = calibration.thresholds
    lines = [describe_active(settings, applied)]
    lines.append(f"Thresholds: upper {limits.upper:g}, lower {limits.lower:g}, strip {limits.strip:g}.")
    if not calibration.fitted:
        lines.append("It is not fitted: relevances are a plain sigmoid of the model's scores.")
    lines += override_notes(settings) or ["The settings override no threshold."]
    for one in history:
        state = f"undone {one.undone_at}" if one.undone_at else "active" if one == applied else "replaced"
        lines.append(f"  {one.made_at}  {state}: {describe_source(one)}; criterion {one.how.criterion}")
    cli.print_result({**result, "in_force": calibration, **since}, parsed, "\n".join(lines))


def _undo(parsed: argparse.Namespace, assembly: Assembly) -> None:
    undone, collection = assembly.calibrations.undo(), assembly.settings.collection
    if undone is None:
        own = f"{assembly.settings.relevance} has its own calibration in the collection “{collection}”"
        raise EvaluationError(f"There is nothing to undo: {own}.")
    applied, in_force = assembly.calibrations.applied(), assembly.calibrations.active()
    result = {"collection": collection, "undone": undone, "own": applied is None, "in_force": in_force}
    active = describe_active(assembly.settings, applied)
    cli.print_result(result, parsed, f"The calibration of {undone.made_at} is no longer active. {active}")
