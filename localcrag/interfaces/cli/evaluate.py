"""`localcrag eval`: measure answers on evaluation sets under several configurations.

Slow imports happen only when a subcommand runs, so that `localcrag --help` stays fast.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from localcrag.interfaces.cli.command import Commands, add_count, add_number, index_warnings, print_result, say
from localcrag.records.errors import EvaluationError, SettingsError
from localcrag.text.translation import counted

if TYPE_CHECKING:
    from localcrag.evaluation.plan import Configuration
    from localcrag.evaluation.results import Evaluation
    from localcrag.settings import Settings


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


def add_commands(commands: Commands) -> None:
    """Add `eval`."""
    layout: dict[str, Any] = {"epilog": EXAMPLES, "formatter_class": argparse.RawDescriptionHelpFormatter}
    command = commands.add("eval", _run, "measure answers on an evaluation set", collection=True, **layout)
    words = "folders that contain documents/ and questions.jsonl"
    command.add_argument("sets", nargs="*", type=Path, metavar="SET", help=words)
    command.add_argument("--pinned", action="store_true", help="evaluate the collection's pinned questions instead")
    command.add_argument("--ablate", action="store_true", help="measure plain RAG, and what each step adds to it")
    command.add_argument("--policy", dest="policies", choices=["all"], help="compare the four policies")
    words = "vary a setting: SETTING=FIRST:LAST:STEP or SETTING=V1,V2 (repeatable)"
    command.add_argument("--sweep", action="append", default=[], metavar="SETTING=VALUES", help=words)
    command.add_argument("--no-plain", action="store_true", help="leave plain RAG out")
    add_count(command, "--questions", "a number of questions", "use only N questions, drawn with a fixed seed")
    words = "discard the results of this evaluation and ask all questions again"
    command.add_argument("--again", action="store_true", help=words)
    words = "folder for the report (default: next to the results)"
    command.add_argument("--output", type=Path, metavar="FOLDER", help=words)
    command.add_argument("--list", action="store_true", help="list the evaluations made so far")
    words = "write the report of an evaluation again, also of an unfinished one"
    command.add_argument("--show", metavar="RUN", help=words)
    words = "compare two evaluations question by question"
    command.add_argument("--compare", nargs=2, metavar=("RUN_A", "RUN_B"), help=words)
    for name in ("k", "upper", "lower", "strip"):
        add_number(command, name, "N", argparse.SUPPRESS)
    command.add_argument("--llm", metavar="NAME", help="language model for the evaluation")


def _run(parsed: argparse.Namespace, settings: Settings) -> None:
    chosen = [bool(parsed.sets), parsed.pinned, parsed.list, bool(parsed.show), bool(parsed.compare)]
    if sum(chosen) != 1:
        raise SettingsError("Name evaluation sets, or give one of --pinned, --list, --show and --compare.")
    if parsed.list:
        _list(parsed, settings)
    elif parsed.compare:
        _compare(parsed, settings)
    elif parsed.show:
        _report(_find(parsed.show, settings), parsed, settings)
    else:
        _evaluate(parsed, settings)


def _list(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.evaluation import results as store

    made = [store.read(_folder(settings) / name) for name in store.ids(_folder(settings))]
    lines = []
    for one in made:
        what = f"{counted(len(one.questions), 'question')}, {', '.join(one.configurations)}"
        missing = f"  ({one.missing} runs missing)" if one.missing else ""
        lines.append(f"{one.about.id}  {one.about.created_at}  {what}{missing}")
    result = [{**dataclasses.asdict(one.about), "missing": one.missing} for one in made]
    print_result(result, parsed, "\n".join(lines) or "No evaluations yet. Run one with `localcrag eval SET`.")


def _compare(parsed: argparse.Namespace, settings: Settings) -> None:
    before, after = (_side(name, settings) for name in parsed.compare)
    from localcrag.evaluation import report

    # A configuration's name may contain characters that a folder's cannot.
    names = (f"{one.about.id}-{hashlib.sha256(name.encode()).hexdigest()[:6]}" for one, name in (before, after))
    folder = parsed.output or _folder(settings) / "comparisons" / "_".join(names)
    written = report.write_comparison(before, after, folder)
    print(written[-1].read_text("utf-8") if parsed.json else report.comparison_summary(before, after))
    say(f"Report: {written[0]}")


def _side(name: str, settings: Settings) -> tuple[Evaluation, str]:
    """Return an evaluation and one of its configurations: the one in RUN:CONFIGURATION, or else the last one."""
    run, _, configuration = name.partition(":")
    found = _find(run, settings)
    configuration = configuration or found.configurations[-1]
    found.pairs(configuration)
    return found, configuration


def _find(name: str, settings: Settings) -> Evaluation:
    """Return the evaluation with this id or beginning of an id, or in this folder. Raises EvaluationError."""
    from localcrag.evaluation import results as store

    if Path(name).is_dir():
        return store.read(Path(name))
    fitting = [one for one in store.ids(_folder(settings)) if one.startswith(name)]
    if name in fitting or len(fitting) == 1:
        return store.read(_folder(settings) / (name if name in fitting else fitting[0]))
    if fitting:
        several = f"“{name}” is the beginning of several evaluations: {', '.join(fitting)}."
        raise EvaluationError(f"{several} Give more of the name.")
    raise EvaluationError(f"There is no evaluation “{name}”. `localcrag eval --list` lists all evaluations.")


def _evaluate(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.app import evaluations as evaluation_runner
    from localcrag.app.assembly import Assembly
    from localcrag.evaluation import plan
    from localcrag.evaluation import results as store
    from localcrag.evaluation.recorded_search import recorded_search
    from localcrag.interfaces.cli import terminal
    from localcrag.records import evaluation_set

    configurations = _configurations(parsed, settings)
    sets = [evaluation_set.read(folder) for folder in parsed.sets]
    with contextlib.closing(Assembly(settings)) as own:
        own.collections.require()
        calibration = own.calibrations.active()
        pinned = own.learning.pinned_questions() if parsed.pinned else ()
    if parsed.pinned:
        planned, data_dir = plan.plan_for_pins(pinned, settings.collection), settings.data_dir
    else:
        planned, data_dir = plan.plan_for_sets(sets, settings), _folder(settings) / BENCH_FOLDER
    if parsed.questions:
        planned = planned.drawn(parsed.questions)
    # Recorded web results take the place of the network, so that an evaluation never asks the web itself.
    with recorded_search([result for question in planned.questions for result in question.web]) as web:
        bench = evaluation_runner.settings_for(settings, data_dir)
        with contextlib.closing(Assembly(bench)) as assembly:
            assembly.web.transport = web
            for one, folder in zip(sets, parsed.sets, strict=True):
                say(f"{one.name}: {counted(len(one.questions), 'question')}, {counted(len(one.files), 'document')}")
                collection = plan.collection_for_set(one, settings)
                terminal.show_ingest(evaluation_runner.add_documents(assembly, folder, collection), quiet=True)
            index_warnings(assembly)
            texts = {name: assembly.collections.texts(name) for name in set(planned.collections.values())}
            asked = [(one, texts[planned.collections[one.id]]) for one in planned.questions]
            resolved = tuple(evaluation_runner.resolve_holder(one, held) for one, held in asked)
            planned = dataclasses.replace(planned, questions=resolved)
            evaluation, own_folder = plan.open_evaluation(
                planned, configurations, settings, _folder(settings), calibration=calibration, again=parsed.again
            )
            missing, total = evaluation.missing, len(evaluation.questions) * len(evaluation.configurations)
            _print_warnings(evaluation, total)
            if missing:
                assembly.warm_up()
                with store.open_for_runs(own_folder) as writer:
                    asking = evaluation_runner.ask_all(
                        evaluation, configurations, writer, assembly=assembly, collections=planned.collections,
                        calibration=calibration,
                    )  # fmt: skip
                    terminal.show_evaluation(asking, done=total - missing, total=total)
    _report(store.read(own_folder), parsed, settings)


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


def _print_warnings(evaluation: Evaluation, total: int) -> None:
    """Print an evaluation's warnings, and which of its `total` runs an earlier one has made already."""
    from localcrag.evaluation import plan

    for warning in evaluation.about.warnings:
        say(f"warning: {warning}")
    if evaluation.missing < total:
        missing = f"{evaluation.missing} of {total} runs are missing"
        say(f"Continuing an earlier evaluation: {missing}. To ask all questions again, add --again.")
        if evaluation.about.code != plan.code_digest():
            say("warning: localcrag's code has changed since that evaluation began. To ask all again, add --again.")


def _report(evaluation: Evaluation, parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.evaluation import report

    written = report.write(evaluation, parsed.output or _folder(settings) / evaluation.about.id)
    print(written[-1].read_text("utf-8") if parsed.json else report.summary(evaluation))
    say(f"Report: {written[0]}")


def _folder(settings: Settings) -> Path:
    return settings.data_dir / FOLDER
