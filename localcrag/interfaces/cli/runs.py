"""`localcrag runs`: list, show, export and replay past questions, and explore thresholds.

Slow imports happen only when a subcommand runs, so that `localcrag --help` stays fast.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from localcrag.interfaces.cli import command as cli
from localcrag.records.enums import Action, Policy, WebMode
from localcrag.records.errors import ReportError
from localcrag.text.translation import counted

if TYPE_CHECKING:
    from localcrag.runs.statistics import Aggregates
    from localcrag.runs.threshold_explorer import Exploration
    from localcrag.settings import Settings


NEWEST_RUNS = 20


def add_commands(commands: cli.Commands) -> None:
    """Add `runs` and its subcommands."""
    runs = commands.add("runs", _list, "list, show, export and replay past questions")
    runs.set_defaults(number=NEWEST_RUNS, action=None)
    named = commands.subcommands(runs, "list | show | export | replay | stats | thresholds")

    command = named.add("list", _list, "list the newest runs", collection=True)
    words = f"number of runs to list (default {NEWEST_RUNS})"
    cli.add_count(command, "--number", "a number of runs", words, default=NEWEST_RUNS)
    command.add_argument("--action", type=str.upper, choices=cli.values(Action), help="list only runs with this action")

    named.add("show", _show, "show everything that happened in a run").add_argument("run_id", metavar="RUN")

    command = named.add("export", _export, "export runs as JSON lines or as readable reports", collection=True)
    command.add_argument("run_ids", nargs="*", metavar="RUN", help="ids of runs (default: all, oldest first)")
    words = "format of the export (default: jsonl)"
    command.add_argument("--format", choices=["jsonl", "markdown"], default="jsonl", help=words)
    command.add_argument("--output", type=Path, metavar="FILE", help="file to write (default: stdout)")

    command = named.add("replay", _replay, "ask a run's question again and show the difference")
    command.add_argument("run_id", metavar="RUN")
    words = "whether to search the web (default: never; no query is sent)"
    command.add_argument("--web", choices=["never", "always"], default="never", help=words)

    named.add("stats", _stats, "show statistics of past questions", collection=True)

    words = "show how other thresholds would change past decisions"
    command = named.add("thresholds", _thresholds, words, collection=True)
    # These options do not have the settings' names, because the active settings are needed for the comparison.
    cli.add_number(command, "upper", "U", "relevance from which a passage counts as correct (0 to 1)", "then_upper")
    cli.add_number(command, "lower", "L", "relevance below which a passage counts as incorrect (0 to 1)", "then_lower")
    words = "rule that turns relevances into an action"
    command.add_argument("--policy", choices=cli.values(Policy), dest="then_policy", help=words)


def _list(parsed: argparse.Namespace, settings: Settings) -> None:
    action = parsed.action and Action(parsed.action)
    store = cli.open_history(parsed, settings).runs
    newest = store.newest(parsed.number, collection=parsed.collection, action=action)
    lines = [f"{run.run_id}  {run.action or '–':<9}  {run.question}" for run in newest]
    cli.print_result(newest, parsed, "\n".join(lines) or "No matching questions yet.")


def _show(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.interfaces.cli import terminal
    from localcrag.runs import recording as record

    run = cli.open_app(settings).runs.get(parsed.run_id)
    if not parsed.json:
        terminal.show_details(run)
    cli.print_result(record.to_json(run), parsed, terminal.answer_text(run))


def _export(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.runs import export as report
    from localcrag.runs import recording as record

    store = cli.open_history(parsed, settings).runs
    wanted = parsed.run_ids or [run.run_id for run in reversed(store.newest(collection=parsed.collection))]
    # Read the first run before opening the file, so that an unknown id does not empty an existing file.
    runs = (store.get(run_id) for run_id in wanted)
    first = list(itertools.islice(runs, 1))
    with _output(parsed.output) as file:
        for number, run in enumerate(itertools.chain(first, runs)):
            if parsed.format == "markdown":
                file.write(("\n---\n\n" if number else "") + report.markdown(run))
            else:
                file.write(json.dumps(record.to_json(run), ensure_ascii=False) + "\n")
    cli.say(f"{counted(len(wanted), 'run')} exported{f' to {parsed.output}' if parsed.output else ''}.")


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
        why = f"The runs could not be written to {path}: {error.strerror}."
        raise ReportError(f"{why} Choose another file with --output.") from error


def _replay(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.interfaces.cli import terminal
    from localcrag.runs import recording as record
    from localcrag.runs import replay

    assembly = cli.open_app(settings)
    before = assembly.runs.get(parsed.run_id)
    web = WebMode(parsed.web)
    if web is WebMode.NEVER and before.web.used:
        cli.say(replay.NO_WEB)
    after = terminal.show_run(assembly.replay(before, web=web))
    difference = replay.compare(before, after)
    ids = {"replays": before.run_id, "run_id": after.run_id}
    result = ids | {"same": difference.same, "difference": difference, "run": record.to_json(after)}
    lines = [f"Run {before.run_id} asked again as {after.run_id}:", *replay.describe(difference)]
    cli.print_result(result, parsed, "\n".join(lines))


def _stats(parsed: argparse.Namespace, settings: Settings) -> None:
    found = cli.open_history(parsed, settings).past_questions.aggregates(parsed.collection)
    cli.print_result({**dataclasses.asdict(found), "warning": found.warning}, parsed, "\n".join(_stats_lines(found)))


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
        more = len(found.gaps) - NEWEST_RUNS
        lines += [f"  and {more} more (--json lists all)"] if more > 0 else []
    return lines


def _thresholds(parsed: argparse.Namespace, settings: Settings) -> None:
    policy = parsed.then_policy and Policy(parsed.then_policy)
    questions = cli.open_history(parsed, settings).past_questions
    found = questions.explore(upper=parsed.then_upper, lower=parsed.then_lower, policy=policy)
    rates = {"web_rate_now": found.web_rate_now, "web_rate_then": found.web_rate_then}
    result = {"collection": settings.collection, **dataclasses.asdict(found), **rates}
    cli.print_result(result, parsed, "\n".join(_exploration_lines(found)))


def _exploration_lines(found: Exploration) -> list[str]:
    left_out = [f"left out, {why}: {number}" for why, number in found.left_out.items()]
    if found.web_rate_now is None or found.web_rate_then is None:
        return ["There are no past questions to compare.", *left_out]
    lines = [f"{counted(found.questions, 'question')}, each as it was last asked", *left_out]
    for name, rules, actions in (("now: ", found.now, found.actions_now), ("then:", found.then, found.actions_then)):
        limits = f"policy {rules.policy}, upper {rules.upper:g}, lower {rules.lower:g}"
        lines.append(f"{name} {limits}: {_shares(actions)}")
    lines.append(f"not CORRECT, so the web would be searched: {found.web_rate_now:.0%} → {found.web_rate_then:.0%}")
    lines.append(f"questions that would change: {len(found.changes)}")
    for change in found.changes:
        best = "nothing found" if change.best is None else f"{change.best:.2f}"
        lines.append(f"  {change.before:<9} → {change.after:<9}  {best}  {change.question}")
    return lines


def _shares(actions: Any) -> str:
    whole = sum(actions.values())
    return ", ".join(f"{action} {number} ({number / whole:.0%})" for action, number in actions.items())
