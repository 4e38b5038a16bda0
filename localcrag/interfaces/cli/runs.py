"""`localcrag runs`: list, show, export and replay past questions, and explore thresholds.

Slow imports happen only when a subcommand runs, so that `localcrag --help` stays fast.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from localcrag.interfaces.cli.command import (
    ACTIONS,
    POLICIES,
    at_least_one,
    counted,
    open_app,
    open_history,
    print_json,
    setting,
)
from localcrag.records.errors import ReportError

if TYPE_CHECKING:
    from localcrag.runs.statistics import Aggregates
    from localcrag.runs.threshold_explorer import Exploration
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


DONE = 0
NEWEST_RUNS = 20


def add_runs_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `runs` and its subcommands; `common` has `--json` and `--data-dir`, `within` has `--collection`."""
    runs = subparsers.add_parser("runs", parents=[common], help="list, show, export and replay past questions")
    runs.set_defaults(run=_list, number=NEWEST_RUNS, action=None)
    named = runs.add_subparsers(metavar="list | show | export | replay | stats | thresholds")

    command = named.add_parser("list", parents=[common, within], help="list the newest runs")
    command.add_argument(
        "--number",
        type=at_least_one("a number of runs"),
        default=NEWEST_RUNS,
        metavar="N",
        help="number of runs to list (default 20)",
    )
    command.add_argument("--action", type=str.upper, choices=ACTIONS, help="list only runs with this action")
    command.set_defaults(run=_list)

    command = named.add_parser("show", parents=[common], help="show everything that happened in a run")
    command.add_argument("run_id", metavar="RUN")
    command.set_defaults(run=_show)

    command = named.add_parser(
        "export", parents=[common, within], help="export runs as JSON lines or as readable reports"
    )
    command.add_argument("run_ids", nargs="*", metavar="RUN", help="ids of runs (default: all, oldest first)")
    command.add_argument(
        "--format", choices=["jsonl", "markdown"], default="jsonl", help="format of the export (default: jsonl)"
    )
    command.add_argument("--output", type=Path, metavar="FILE", help="file to write (default: stdout)")
    command.set_defaults(run=_export)

    command = named.add_parser("replay", parents=[common], help="ask a run's question again and show the difference")
    command.add_argument("run_id", metavar="RUN")
    command.add_argument(
        "--web",
        choices=["never", "always"],
        default="never",
        help="whether to search the web (default: never; no query is sent)",
    )
    command.set_defaults(run=_replay)

    command = named.add_parser("stats", parents=[common, within], help="show statistics of past questions")
    command.set_defaults(run=_stats)

    command = named.add_parser(
        "thresholds", parents=[common, within], help="show how other thresholds would change past decisions"
    )
    # These options do not share the settings' names, because the comparison needs the active settings.
    command.add_argument(
        "--upper",
        type=setting("upper"),
        dest="then_upper",
        metavar="U",
        help="relevance from which a passage counts as correct (0 to 1)",
    )
    command.add_argument(
        "--lower",
        type=setting("lower"),
        dest="then_lower",
        metavar="L",
        help="relevance below which a passage counts as incorrect (0 to 1)",
    )
    command.add_argument(
        "--policy", choices=POLICIES, dest="then_policy", help="rule that turns relevances into an action"
    )
    command.set_defaults(run=_thresholds)


def _list(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.records.enums import Action

    action = parsed.action and Action(parsed.action)
    store = open_history(parsed, settings).runs
    newest = store.newest(parsed.number, collection=parsed.collection, action=action)
    if parsed.json:
        print_json([dataclasses.asdict(run) for run in newest])
    else:
        lines = [f"{run.run_id}  {run.action or '–':<9}  {run.question}" for run in newest]
        print("\n".join(lines) or "No matching questions yet.")
    return DONE


def _show(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.interfaces.cli import terminal
    from localcrag.runs import recording as record

    run = open_app(settings).runs.get(parsed.run_id)
    if parsed.json:
        print_json(record.to_json(run))
    else:
        terminal.show_details(run)
        print(terminal.answer_text(run))
    return DONE


def _export(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.runs import export as report
    from localcrag.runs import recording as record

    store = open_history(parsed, settings).runs
    wanted = parsed.run_ids or [run.run_id for run in reversed(store.newest(collection=parsed.collection))]
    # Read the first run before opening the file, so that an unknown id does not empty an existing file.
    runs = (store.get(run_id) for run_id in wanted)
    first = next(runs, None)
    written = 0
    with _output(parsed.output) as file:
        while first is not None:
            if parsed.format == "markdown":
                file.write(("\n---\n\n" if written else "") + report.markdown(first))
            else:
                file.write(json.dumps(record.to_json(first), ensure_ascii=False) + "\n")
            written += 1
            first = next(runs, None)
    print(f"{counted(written, 'run')} exported{f' to {parsed.output}' if parsed.output else ''}.", file=sys.stderr)
    return DONE


@contextlib.contextmanager
def _output(path: Path | None) -> Iterator[TextIO]:
    """Open the file to export to, or stdout. Raises ReportError."""
    if path is None:
        yield sys.stdout
        return
    try:
        with path.open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise ReportError(
            f"The runs could not be written to {path}: {error.strerror}. Choose another file with --output."
        ) from error


def _replay(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.interfaces.cli import terminal
    from localcrag.records.enums import WebMode
    from localcrag.runs import recording as record
    from localcrag.runs import replay

    assembly = open_app(settings)
    before = assembly.runs.get(parsed.run_id)
    web = WebMode(parsed.web)
    if web is WebMode.NEVER and before.web.used:
        print(replay.NO_WEB, file=sys.stderr)
    after = terminal.show_run(assembly.replay(before, web=web))
    difference = replay.compare(before, after)
    if parsed.json:
        print_json(
            {
                "replays": before.run_id,
                "run_id": after.run_id,
                "same": difference.same,
                "difference": dataclasses.asdict(difference),
                "run": record.to_json(after),
            }
        )
    else:
        lines = [f"Run {before.run_id} asked again as {after.run_id}:", *replay.describe(difference)]
        print("\n".join(lines))
    return DONE


def _stats(parsed: argparse.Namespace, settings: Settings) -> int:
    found = open_history(parsed, settings).past_questions.aggregates(parsed.collection)
    if parsed.json:
        print_json({**dataclasses.asdict(found), "warning": found.warning})
    else:
        print("\n".join(_stats_lines(found)))
    return DONE


def _stats_lines(found: Aggregates) -> list[str]:
    if found.web_rate is None or found.abstention_rate is None or found.uncertain_rate is None:
        return ["No questions yet."]
    lines = [
        f"{counted(found.runs, 'question')}, {found.decided} of them decided",
        "actions: " + _shares(found.actions),
        f"web: {found.web_rate:.0%}, uncertain: {found.uncertain_rate:.0%}, abstained: {found.abstention_rate:.0%}",
        f"median seconds: {found.usual_seconds or 0:.2f} in all, "
        + ", ".join(f"{name} {seconds:.2f}" for name, seconds in found.seconds.items()),
        "model calls a question: " + ", ".join(f"{action} {calls:.1f}" for action, calls in found.llm_calls.items()),
    ]
    if len(found.collections) > 1:
        lines += [f"collection {name}: {_shares(actions)}" for name, actions in found.collections.items()]
    if found.warning:
        lines.append(f"warning: {found.warning}")
    if found.gaps:
        lines.append("questions that the documents alone did not answer, newest first:")
        lines += [f"  {gap.action:<9}  {gap.question}" for gap in found.gaps[:NEWEST_RUNS]]
        if len(found.gaps) > NEWEST_RUNS:
            lines.append(f"  and {len(found.gaps) - NEWEST_RUNS} more (--json lists all)")
    return lines


def _thresholds(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.records.enums import Policy

    policy = parsed.then_policy and Policy(parsed.then_policy)
    questions = open_history(parsed, settings).past_questions
    found = questions.explore(upper=parsed.then_upper, lower=parsed.then_lower, policy=policy)
    if parsed.json:
        rates = {"web_rate_now": found.web_rate_now, "web_rate_then": found.web_rate_then}
        print_json({"collection": settings.collection, **dataclasses.asdict(found), **rates})
    else:
        print("\n".join(_exploration_lines(found)))
    return DONE


def _exploration_lines(found: Exploration) -> list[str]:
    left_out = [f"left out, {why}: {number}" for why, number in found.left_out.items()]
    if found.web_rate_now is None or found.web_rate_then is None:
        return ["There are no past questions to compare.", *left_out]
    lines = [f"{counted(found.questions, 'question')}, each as it was last asked", *left_out]
    for name, rules, actions in (("now", found.now, found.actions_now), ("then", found.then, found.actions_then)):
        lines.append(
            f"{name + ':':<5} policy {rules.policy}, upper {rules.upper:g}, lower {rules.lower:g}: {_shares(actions)}"
        )
    lines.append(f"not CORRECT, so the web would be searched: {found.web_rate_now:.0%} → {found.web_rate_then:.0%}")
    lines.append(f"questions that would change: {len(found.changes)}")
    for change in found.changes:
        best = "nothing found" if change.best is None else f"{change.best:.2f}"
        lines.append(f"  {change.before:<9} → {change.after:<9}  {best}  {change.question}")
    return lines


def _shares(actions: Any) -> str:
    whole = sum(actions.values())
    return ", ".join(f"{action} {number} ({number / whole:.0%})" for action, number in actions.items())
