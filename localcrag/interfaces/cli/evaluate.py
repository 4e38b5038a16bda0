"""`localcrag eval`: measure answers on evaluation sets under several configurations.

Slow imports happen only when a subcommand runs, so that `localcrag --help` stays fast.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from localcrag.interfaces.cli.command import at_least_one, counted, index_warnings, print_json, setting
from localcrag.records.errors import EvaluationError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from localcrag.app.evaluations import QuestionAsked
    from localcrag.evaluation.plan import Configuration
    from localcrag.evaluation.results import Evaluation, RunWriter
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


DONE = 0
FOLDER = "evaluations"
"""Name of the folder of evaluations in the data folder."""
BENCH_FOLDER = "documents"
"""Name of the folder in FOLDER that is the data folder for the documents of evaluation sets."""
EXAMPLES = """\
  localcrag eval SET                         plain RAG against localcrag
  localcrag eval SET --ablate                what each step adds
  localcrag eval SET --policy all            compare the four policies
  localcrag eval SET --sweep upper=0.2:0.5:0.1
  localcrag eval --pinned                    the questions that you pinned
  localcrag eval --list
  localcrag eval --compare RUN_A RUN_B       two evaluations of the same set (RUN:CONFIGURATION picks a configuration)
"""


def add_eval_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `eval`; `common` has `--json` and `--data-dir`, `within` has `--collection`."""
    command = subparsers.add_parser(
        "eval",
        parents=[common, within],
        help="measure answers on an evaluation set",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "sets", nargs="*", type=Path, metavar="SET", help="folders that contain documents/ and questions.jsonl"
    )
    command.add_argument("--pinned", action="store_true", help="evaluate the collection's pinned questions instead")
    command.add_argument("--ablate", action="store_true", help="measure plain RAG, and what each step adds to it")
    command.add_argument("--policy", dest="policies", choices=["all"], help="compare the four policies")
    command.add_argument(
        "--sweep",
        action="append",
        default=[],
        metavar="SETTING=VALUES",
        help="vary a setting: SETTING=FIRST:LAST:STEP or SETTING=V1,V2 (repeatable)",
    )
    command.add_argument("--no-plain", action="store_true", help="leave plain RAG out")
    command.add_argument(
        "--questions",
        type=at_least_one("a number of questions"),
        metavar="N",
        help="use only N questions, drawn with a fixed seed",
    )
    command.add_argument(
        "--again", action="store_true", help="discard the results of this evaluation and ask all questions again"
    )
    command.add_argument(
        "--output", type=Path, metavar="FOLDER", help="folder for the report (default: next to the results)"
    )
    command.add_argument("--list", action="store_true", help="list the evaluations made so far")
    command.add_argument(
        "--show", metavar="RUN", help="write the report of an evaluation again, also of an unfinished one"
    )
    command.add_argument(
        "--compare", nargs=2, metavar=("RUN_A", "RUN_B"), help="compare two evaluations question by question"
    )
    for name in ("k", "upper", "lower", "strip"):
        command.add_argument(f"--{name}", type=setting(name), help=argparse.SUPPRESS)
    command.add_argument("--llm", metavar="NAME", help="language model for the evaluation")
    command.set_defaults(run=_run)


def _run(parsed: argparse.Namespace, settings: Settings) -> int:
    chosen = [bool(parsed.sets), parsed.pinned, parsed.list, bool(parsed.show), bool(parsed.compare)]
    if sum(chosen) != 1:
        raise SettingsError("Name evaluation sets, or give one of --pinned, --list, --show and --compare.")
    if parsed.list:
        return _list(parsed, settings)
    if parsed.compare:
        return _compare(parsed, settings)
    if parsed.show:
        return _report(_find(parsed.show, settings), parsed, settings)
    return _evaluate(parsed, settings)


def _list(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.evaluation import results as store

    made = [store.read(_folder(settings) / name) for name in store.ids(_folder(settings))]
    if parsed.json:
        print_json([{**dataclasses.asdict(one.about), "missing": one.missing} for one in made])
    else:
        lines = [
            f"{one.about.id}  {one.about.created_at}  {counted(len(one.questions), 'question')}, "
            f"{', '.join(one.configurations)}{f'  ({one.missing} runs missing)' if one.missing else ''}"
            for one in made
        ]
        print("\n".join(lines) or "No evaluations yet. Run one with `localcrag eval SET`.")
    return DONE


def _compare(parsed: argparse.Namespace, settings: Settings) -> int:
    before, after = (_side(name, settings) for name in parsed.compare)
    from localcrag.evaluation import report

    names = (f"{one.about.id}-{_digest(name)}" for one, name in (before, after))
    folder = parsed.output or _folder(settings) / "comparisons" / "_".join(names)
    written = report.write_comparison(before, after, folder)
    if parsed.json:
        print(written[-1].read_text("utf-8"))
    else:
        print(report.comparison_summary(before, after))
    _say(f"Report: {written[0]}")
    return DONE


def _side(name: str, settings: Settings) -> tuple[Evaluation, str]:
    """Return an evaluation and one of its configurations: the one in RUN:CONFIGURATION, or else the last one."""
    run, _, configuration = name.partition(":")
    found = _find(run, settings)
    configuration = configuration or found.configurations[-1]
    found.pairs(configuration)
    return found, configuration


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]


def _find(name: str, settings: Settings) -> Evaluation:
    """Return the evaluation with this id or beginning of an id, or in this folder. Raises EvaluationError."""
    from localcrag.evaluation import results as store

    if Path(name).is_dir():
        return store.read(Path(name))
    fitting = [one for one in store.ids(_folder(settings)) if one.startswith(name)]
    if name in fitting or len(fitting) == 1:
        return store.read(_folder(settings) / (name if name in fitting else fitting[0]))
    if fitting:
        raise EvaluationError(
            f"“{name}” is the beginning of several evaluations: {', '.join(fitting)}. Give more of the name."
        )
    raise EvaluationError(f"There is no evaluation “{name}”. `localcrag eval --list` lists all evaluations.")


def _evaluate(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app import evaluations as evaluation_runner
    from localcrag.app.assembly import Assembly
    from localcrag.evaluation import plan
    from localcrag.evaluation import results as store
    from localcrag.interfaces.cli import terminal
    from localcrag.records import evaluation_set

    configurations = _configurations(parsed, settings)
    sets = [evaluation_set.read(folder) for folder in parsed.sets]
    with contextlib.closing(Assembly(settings)) as own:
        own.collections.require()
        calibration = own.calibrations.in_force()
        pinned = own.learning.pinned_questions() if parsed.pinned else ()
    if parsed.pinned:
        planned, data_dir = plan.plan_for_pins(pinned, settings.collection), settings.data_dir
    else:
        planned, data_dir = plan.plan_for_sets(sets, settings), _folder(settings) / BENCH_FOLDER
    if parsed.questions:
        planned = planned.drawn(parsed.questions)
    # A local address serves the recorded web results, so that an evaluation never searches the web itself.
    with evaluation_runner.recorded_web(planned.questions) as address:
        bench = evaluation_runner.settings_for(settings, data_dir, address)
        with contextlib.closing(Assembly(bench)) as assembly:
            for one, folder in zip(sets, parsed.sets, strict=True):
                _say(f"{one.name}: {counted(len(one.questions), 'question')}, {counted(len(one.files), 'document')}")
                terminal.show_ingest(
                    evaluation_runner.add_documents(assembly, folder, plan.collection_for_set(one, settings)),
                    quiet=True,
                )
            index_warnings(assembly)
            texts = {name: assembly.collections.texts(name) for name in set(planned.collections.values())}
            questions = tuple(
                evaluation_runner.resolve_holder(one, texts[planned.collections[one.id]]) for one in planned.questions
            )
            planned = dataclasses.replace(planned, questions=questions)
            evaluation, own_folder = plan.open_evaluation(
                planned, configurations, settings, _folder(settings), calibration=calibration, again=parsed.again
            )
            _ask(
                evaluation,
                own_folder,
                lambda writer: evaluation_runner.ask_all(
                    evaluation,
                    configurations,
                    writer,
                    assembly=assembly,
                    collections=planned.collections,
                    calibration=calibration,
                ),
                warm_up=assembly.warm_up,
            )
    return _report(store.read(own_folder), parsed, settings)


def _configurations(parsed: argparse.Namespace, settings: Settings) -> tuple[Configuration, ...]:
    """Return the configurations that the options request. Raises EvaluationError."""
    from localcrag.evaluation import plan as known

    chosen: list[Configuration] = []
    if parsed.ablate:
        chosen += known.ablations()
    elif not parsed.no_plain:
        chosen.append(known.plain_rag())
    if parsed.policies:
        chosen += known.policies()
    for text in parsed.sweep:
        chosen += known.sweep(text)
    if not parsed.ablate and not parsed.policies and not parsed.sweep:
        chosen.append(known.Configuration(known.FULL))
    known.check(chosen, settings)
    return tuple(chosen)


def _ask(
    evaluation: Evaluation,
    folder: Path,
    asking: Callable[[RunWriter], Iterator[QuestionAsked]],
    *,
    warm_up: Callable[[], None],
) -> None:
    """Make the missing runs of an evaluation and show progress; first print its warnings and the existing runs."""
    from localcrag.evaluation import plan
    from localcrag.evaluation import results as store
    from localcrag.interfaces.cli import terminal

    total = len(evaluation.questions) * len(evaluation.configurations)
    for warning in evaluation.about.warnings:
        _say(f"warning: {warning}")
    if evaluation.missing < total:
        _say(
            f"Continuing an earlier evaluation: {evaluation.missing} of {total} runs are missing. To ask all questions "
            "again, add --again."
        )
        if evaluation.about.code != plan.code_digest():
            _say("warning: localcrag's code has changed since that evaluation began. To ask all again, add --again.")
    if evaluation.missing:
        warm_up()
        with store.open_for_runs(folder) as writer:
            terminal.show_evaluation(asking(writer), done=total - evaluation.missing, total=total)


def _report(evaluation: Evaluation, parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.evaluation import report

    written = report.write(evaluation, parsed.output or _folder(settings) / evaluation.about.id)
    if parsed.json:
        print(written[-1].read_text("utf-8"))
    else:
        print(report.summary(evaluation))
    _say(f"Report: {written[0]}")
    return DONE


def _folder(settings: Settings) -> Path:
    return settings.data_dir / FOLDER


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
