"""`localcrag calibrate`: fit, show and undo a collection's calibration. Results go to stdout, progress to stderr.

Nothing heavy is imported before it runs, so that `localcrag --help` stays quick.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from localcrag.cli.command_output import print_json
from localcrag.records.errors import EvaluationError, SettingsError

if TYPE_CHECKING:
    from localcrag.app.assemble import Assembly
    from localcrag.evaluation.calibration.calibrate import Fitted
    from localcrag.evaluation.calibration.criteria import Criterion
    from localcrag.runs.labelled_scores import LabelledScore, LabelledStrip
    from localcrag.settings import Settings
    from localcrag.steps.evaluate.applied_calibration import StoredCalibration
    from localcrag.steps.evaluate.calibration import FittedCalibration

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE, FAILED = 0, 1
CRITERIA = ("f1", "web-rate", "cost")
SHOW, UNDO = "show", "undo"


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `calibrate`; `common` brings `--json` and `--data-dir`, `within` brings `--collection`."""
    command = subparsers.add_parser(
        "calibrate",
        parents=[common, within],
        help="fit relevances and thresholds to labelled questions",
        description="Fit a collection's calibration and thresholds to an evaluation set, to labels from use, or both. "
        "Nothing changes without --apply.",
    )
    command.add_argument(
        "what",
        nargs="*",
        default=[],
        metavar="SET | show | undo",
        help="folders of evaluation sets; show: what is in force; undo: back to the calibration before it",
    )
    command.add_argument("--from-use", action="store_true", help="take the labels that passages got in use")
    command.add_argument("--criterion", choices=CRITERIA, default="f1", help="what the threshold upper is chosen by")
    command.add_argument("--target", type=float, metavar="SHARE", help="for web-rate: questions that may go to the web")
    command.add_argument("--cost", type=float, metavar="N", help="for cost: of a wrong CORRECT, in needless fallbacks")
    command.add_argument("--apply", action="store_true", help="put it in force for the collection")
    command.add_argument("--force", action="store_true", help="also when it is worse than what is in force")
    command.set_defaults(run=_calibrate)


def _calibrate(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.assemble import Assembly  # noqa: PLC0415

    if (named := next(iter(parsed.what), "")) in (SHOW, UNDO):
        if parsed.from_use or parsed.apply or len(parsed.what) > 1:
            raise SettingsError(f"`calibrate {named}` fits nothing: leave sets, --from-use and --apply away.")
        return (_show if named == SHOW else _undo)(parsed, Assembly(settings))
    if not parsed.what and not parsed.from_use:
        raise SettingsError("Name the folder of an evaluation set, or --from-use, or both.")
    return _fit(parsed, Assembly(settings), _criterion(parsed))


def _criterion(parsed: argparse.Namespace) -> Criterion:
    """Return the named criterion. Raises SettingsError for numbers that are none of it."""
    from localcrag.evaluation.calibration.criteria import Criterion, CriterionKind  # noqa: PLC0415

    for name, kind in (("target", "web-rate"), ("cost", "cost")):
        if getattr(parsed, name) is not None and parsed.criterion != kind:
            raise SettingsError(f"--{name} is for --criterion {kind}.")
    given = {name: getattr(parsed, name) for name in ("target", "cost") if getattr(parsed, name) is not None}
    try:
        return Criterion(CriterionKind(parsed.criterion), **given)
    except ValueError as error:
        raise SettingsError(f"Not a valid criterion: {error}.") from error


def _fit(parsed: argparse.Namespace, assembly: Assembly, criterion: Criterion) -> int:
    from localcrag.evaluation.calibration.calibrate import fit_calibration  # noqa: PLC0415
    from localcrag.steps.evaluate.applied_calibration import HowFitted  # noqa: PLC0415

    if parsed.apply:
        assembly.require_collection()  # Before the work, not after it.
    scores: list[LabelledScore] = []
    strips: list[LabelledStrip] = []
    from_use = left_out = 0
    if parsed.from_use:
        scores, left_out = _from_use(assembly)
        from_use = len(scores)
        if left_out:
            print(
                f"{left_out} labels left out: their scores are not of {assembly.settings.relevance}.", file=sys.stderr
            )
    for folder in map(Path, parsed.what):
        of_set, of_its_strips = _from_set(assembly, folder)
        # Two sets may ask the same question of other documents.
        scores += [dataclasses.replace(one, question=f"{folder}/{one.question}") for one in of_set]
        strips += [dataclasses.replace(one, question=f"{folder}/{one.question}") for one in of_its_strips]
    print(f"fitting to {len(scores)} passages and {len(strips)} strips", file=sys.stderr)
    before = assembly.calibration()
    fitted = fit_calibration(scores, strips, in_force=before, criterion=criterion)
    how = HowFitted(
        criterion=str(criterion),
        passages=fitted.passages,
        relevant=fitted.relevant,
        questions=fitted.questions,
        strips=fitted.strips,
        from_set=", ".join(Path(folder).resolve().name for folder in parsed.what) or None,
        from_use=from_use,
        figures={change.name: (change.before, change.after) for change in fitted.changes},
    )
    refused = parsed.apply and fitted.worse and not parsed.force
    applied = assembly.apply_calibration(fitted.calibration, how) if parsed.apply and not refused else None
    overridden = _overridden(assembly)
    if parsed.json:
        print_json(
            {
                "collection": assembly.settings.collection,
                "scorer": assembly.settings.relevance,
                "criterion": str(criterion),
                "passages": fitted.passages,
                "relevant": fitted.relevant,
                "questions": fitted.questions,
                "answered": fitted.answered,
                "strips": fitted.strips,
                "from_use": from_use,
                "left_out": left_out,
                "before": dataclasses.asdict(before),
                "after": dataclasses.asdict(fitted.calibration),
                "figures": [dataclasses.asdict(change) for change in fitted.changes],
                "worse": fitted.worse,
                "applied": applied is not None,
                "notes": [*fitted.notes, *overridden],
                **({"error": _WORSE, "kind": EvaluationError.__name__} if refused else {}),
            }
        )
        if refused:  # Within the one object, not after it.
            print(f"localcrag: {_WORSE}", file=sys.stderr)
            return FAILED
        return DONE
    print("\n".join([*_in_words(assembly, fitted, before, criterion), *overridden]))
    if refused:
        raise EvaluationError(_WORSE)
    print(
        f"Applied to the collection “{assembly.settings.collection}”. `localcrag calibrate undo` takes it back."
        if applied
        else "Nothing was changed. --apply puts it in force for the collection."
    )
    return DONE


_WORSE = (
    "Not applied: on questions that it was not fitted on, the new calibration has a higher log loss than the one in "
    "force. Collect more labels, or apply it all the same with --force."
)


def _from_use(assembly: Assembly) -> tuple[list[LabelledScore], int]:
    """Return the scores of the labels that passages of the collection got, and how many have another scorer's."""
    from localcrag.evaluation.calibration.use_scores import scores_of_labels  # noqa: PLC0415
    from localcrag.runs.labels import LabelKind  # noqa: PLC0415

    labels = assembly.labels.find(collection=assembly.settings.collection, kind=LabelKind.PASSAGE)
    return scores_of_labels(labels, assembly.settings.relevance)


def _from_set(assembly: Assembly, folder: Path) -> tuple[list[LabelledScore], list[LabelledStrip]]:
    """Return the labelled scores of an evaluation set, whose documents are taken into a data folder of their own."""
    from localcrag.app.evaluation_runner import take_in  # noqa: PLC0415
    from localcrag.cli import terminal  # noqa: PLC0415
    from localcrag.evaluation.calibration.set_scores import Retrieval, score_question  # noqa: PLC0415
    from localcrag.runs.evaluation_set import read  # noqa: PLC0415

    evaluation_set = read(folder)
    scores: list[LabelledScore] = []
    strips: list[LabelledStrip] = []
    settings = assembly.settings.under(assembly.preset())
    with assembly.for_set(evaluation_set.digest) as own:
        terminal.show_ingest(take_in(own, folder, own.settings.collection), quiet=True)
        parts = Retrieval(own.embedder, own.scorer, own.index(), own.store())
        kept = own.kept_scores(settings)
        for number, question in enumerate(evaluation_set.questions, start=1):
            scored = kept.of(question.id)
            if scored is None:
                scored = score_question(question, parts, settings)
                kept.keep(question.id, scored)
            scores += scored[0]
            strips += scored[1]
            if number % 10 == 0 or number == len(evaluation_set.questions):
                print(f"{number} of {len(evaluation_set.questions)} questions scored", file=sys.stderr, flush=True)
    return scores, strips


def _overridden(assembly: Assembly) -> list[str]:
    """Return what keeps the fitted thresholds from having an effect."""
    settings = assembly.settings
    given = {name: getattr(settings, name) for name in ("upper", "lower", "strip")}
    return [
        f"The threshold {name} is set by hand to {value:g}, which wins over any calibration."
        for name, value in given.items()
        if value is not None
    ]


def _in_words(assembly: Assembly, fitted: Fitted, before: FittedCalibration, criterion: Criterion) -> list[str]:
    settings = assembly.settings
    lines = [
        f"Calibration of {settings.relevance} for the collection “{settings.collection}”, criterion {criterion}.",
        f"{fitted.passages} labelled passages ({fitted.relevant} relevant) and {fitted.strips} strips.",
        f"{fitted.questions} questions, of which the retrieved passages answer {fitted.answered}.",
        "",
        *_coefficients(before, fitted.calibration),
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
    return lines


def _coefficients(before: FittedCalibration, after: FittedCalibration) -> list[str]:
    rows = [(f"threshold {name}", _threshold(before, name), _threshold(after, name)) for name in _THRESHOLDS]
    for kind in ("passage", "strip"):
        for name in ("logit", "cosine", "overlap", "bias") if kind == "passage" else ("logit", "bias"):
            values = (getattr(getattr(one, kind), name) for one in (before, after))
            rows.append((f"{kind}: {name}", *values))
    return [f"{'':<27}{'in force':>9}{'fitted':>9}"] + [f"{name:<27}{was:>9.4g}{now:>9.4g}" for name, was, now in rows]


_THRESHOLDS = ("upper", "lower", "strip")


def _threshold(calibration: FittedCalibration, name: str) -> float:
    return float(getattr(calibration.thresholds, name))


def _show(parsed: argparse.Namespace, assembly: Assembly) -> int:
    applied = assembly.applied_calibration()
    calibration = applied.calibration if applied else assembly.own_calibration
    history = assembly.calibrations.history(assembly.scorer_identity, assembly.settings.collection)
    if parsed.json:
        print_json(
            {
                "collection": assembly.settings.collection,
                "scorer": assembly.settings.relevance,
                "own": applied is None,
                "in_force": dataclasses.asdict(calibration),
                "since": applied and applied.made_at,
                "how": applied and dataclasses.asdict(applied.how),
                "history": [dataclasses.asdict(one) for one in history],
            }
        )
        return DONE
    print(_whose(assembly, applied))
    limits = calibration.thresholds
    print(f"Thresholds: upper {limits.upper:g}, lower {limits.lower:g}, strip {limits.strip:g}.")
    if not calibration.fitted:
        print("Nobody has fitted it: relevances are a plain sigmoid.")
    print("\n".join(_overridden(assembly)) or "No threshold is set by hand.")
    for one in history:
        state = f"undone {one.undone_at}" if one.undone_at else "in force" if one == applied else "replaced"
        print(f"  {one.made_at}  {state}: {_labels(one)}; criterion {one.how.criterion}")
    return DONE


def _undo(parsed: argparse.Namespace, assembly: Assembly) -> int:
    undone = assembly.undo_calibration()
    if undone is None:
        raise EvaluationError(
            f"There is nothing to undo: {assembly.settings.relevance} has its own calibration in the collection "
            f"“{assembly.settings.collection}”."
        )
    applied = assembly.applied_calibration()
    if parsed.json:
        print_json(
            {
                "collection": assembly.settings.collection,
                "undone": dataclasses.asdict(undone),
                "own": applied is None,
                "in_force": dataclasses.asdict(assembly.calibration()),
            }
        )
        return DONE
    print(f"The calibration of {undone.made_at} is no longer in force. {_whose(assembly, applied)}")
    return DONE


def _whose(assembly: Assembly, applied: StoredCalibration | None) -> str:
    where = f"In the collection “{assembly.settings.collection}”, {assembly.settings.relevance} has"
    if applied is None:
        return f"{where} its own calibration."
    return f"{where} a calibration of {applied.made_at}: {_labels(applied)}."


def _labels(stored: StoredCalibration) -> str:
    how = stored.how
    sources = [f"the set {how.from_set}"] if how.from_set else []
    sources += [f"{how.from_use} labels from use"] if how.from_use else []
    return f"{how.passages} passages of {how.questions} questions, from {' and '.join(sources)}"
