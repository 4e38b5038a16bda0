"""`localcrag calibrate`: fit, show and undo a collection's calibration.

Nothing heavy is imported before it runs, so that `localcrag --help` stays quick.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from localcrag.cli import calibrate_output
from localcrag.cli.command_output import print_json
from localcrag.cli.opened import index_warnings, opened
from localcrag.records.errors import EvaluationError, SettingsError

if TYPE_CHECKING:
    from localcrag.app.assemble import Assembly
    from localcrag.app.calibrating import Labelled
    from localcrag.evaluation.calibration.criteria import Criterion
    from localcrag.settings import Settings

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
    if (named := next(iter(parsed.what), "")) in (SHOW, UNDO):
        if parsed.from_use or parsed.apply or len(parsed.what) > 1:
            raise SettingsError(f"`calibrate {named}` fits nothing: leave sets, --from-use and --apply away.")
        return (_show if named == SHOW else _undo)(parsed, opened(settings))
    if not parsed.what and not parsed.from_use:
        raise SettingsError("Name the folder of an evaluation set, or --from-use, or both.")
    return _fit(parsed, opened(settings), _criterion(parsed))


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
    from localcrag.app.calibrating import Labelled, fit  # noqa: PLC0415

    labelled = Labelled()
    if parsed.from_use:
        labelled.add_use(assembly)
        if labelled.left_out:
            scorer = assembly.settings.relevance
            print(f"{labelled.left_out} labels left out: their scores are not of {scorer}.", file=sys.stderr)
    for folder in map(Path, parsed.what):
        _add_set(labelled, assembly, folder)
    print(f"fitting to {len(labelled.scores)} passages and {len(labelled.strips)} strips", file=sys.stderr)
    outcome = fit(assembly, labelled, criterion, apply=parsed.apply, force=parsed.force)
    if parsed.json:
        print_json(calibrate_output.as_json(assembly.settings, labelled, outcome, criterion))
        if outcome.refused:  # Within the one object, not after it.
            print(f"localcrag: {calibrate_output.WORSE}", file=sys.stderr)
            return FAILED
        return DONE
    print("\n".join(calibrate_output.in_words(assembly.settings, outcome, criterion)))
    if outcome.refused:
        raise EvaluationError(calibrate_output.WORSE)
    print(
        f"Applied to the collection “{assembly.settings.collection}”. `localcrag calibrate undo` takes it back."
        if outcome.applied
        else "Nothing was changed. --apply puts it in force for the collection."
    )
    return DONE


def _add_set(labelled: Labelled, assembly: Assembly, folder: Path) -> None:
    """Add the labelled scores of an evaluation set, whose documents are added to a data folder of their own."""
    from localcrag.app.calibrating import folder_of_set  # noqa: PLC0415
    from localcrag.app.evaluation_runner import add_documents  # noqa: PLC0415
    from localcrag.cli import terminal  # noqa: PLC0415
    from localcrag.runs.evaluation_set import read  # noqa: PLC0415

    evaluation_set = read(folder)
    with folder_of_set(assembly, evaluation_set) as own:
        terminal.show_ingest(add_documents(own, folder, own.settings.collection), quiet=True)
        index_warnings(own)
        for done, total in labelled.add_set(assembly, own, folder, evaluation_set):
            if done % 10 == 0 or done == total:
                print(f"{done} of {total} questions scored", file=sys.stderr, flush=True)


def _show(parsed: argparse.Namespace, assembly: Assembly) -> int:
    applied = assembly.calibrations.applied()
    calibration = applied.calibration if applied else assembly.calibrations.own
    history = assembly.calibrations.history()
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
    print(calibrate_output.whose(assembly.settings, applied))
    limits = calibration.thresholds
    print(f"Thresholds: upper {limits.upper:g}, lower {limits.lower:g}, strip {limits.strip:g}.")
    if not calibration.fitted:
        print("Nobody has fitted it: relevances are a plain sigmoid.")
    print("\n".join(calibrate_output.overridden(assembly.settings)) or "No threshold is set by hand.")
    for one in history:
        state = f"undone {one.undone_at}" if one.undone_at else "in force" if one == applied else "replaced"
        print(f"  {one.made_at}  {state}: {calibrate_output.fitted_to(one)}; criterion {one.how.criterion}")
    return DONE


def _undo(parsed: argparse.Namespace, assembly: Assembly) -> int:
    undone = assembly.calibrations.undo()
    if undone is None:
        raise EvaluationError(
            f"There is nothing to undo: {assembly.settings.relevance} has its own calibration in the collection "
            f"“{assembly.settings.collection}”."
        )
    applied = assembly.calibrations.applied()
    if parsed.json:
        print_json(
            {
                "collection": assembly.settings.collection,
                "undone": dataclasses.asdict(undone),
                "own": applied is None,
                "in_force": dataclasses.asdict(assembly.calibrations.in_force()),
            }
        )
        return DONE
    whose = calibrate_output.whose(assembly.settings, applied)
    print(f"The calibration of {undone.made_at} is no longer in force. {whose}")
    return DONE
