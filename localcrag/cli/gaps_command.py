"""`localcrag gaps`: what the documents lack; adds a web text that answers it as a document.

Nothing heavy is imported before a subcommand runs, so that `localcrag --help` stays quick.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import TYPE_CHECKING

from localcrag.cli.command_output import at_least_one, print_result
from localcrag.cli.opened import app_for, index_warnings, opened_for_the_past

if TYPE_CHECKING:
    from localcrag.runs.knowledge_gaps import KnowledgeGap
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE, FAILED = 0, 1


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `gaps` and its subcommands; `common` brings `--json` and `--data-dir`, `within` brings `--collection`."""
    gaps = subparsers.add_parser("gaps", parents=[common, within], help="questions that the documents do not answer")
    gaps.set_defaults(run=_list)
    named = gaps.add_subparsers(metavar="list | add")

    command = named.add_parser("list", parents=[common, within], help="those that ended INCORRECT, newest first")
    command.set_defaults(run=_list)

    command = named.add_parser("add", parents=[common], help="add the web text that answered a run as a document")
    command.add_argument("run_id", metavar="RUN")
    command.add_argument(
        "--result",
        type=at_least_one("the number of a result"),
        metavar="N",
        help="the web result of that number (default: the one that answered)",
    )
    command.set_defaults(run=_add)


def _list(parsed: argparse.Namespace, settings: Settings) -> int:
    gaps = opened_for_the_past(parsed, settings).gaps.find(parsed.collection)
    text = "\n".join(map(_lines, gaps)) or "No question ended INCORRECT when it was last asked."
    print_result([dataclasses.asdict(gap) for gap in gaps], parsed, text)
    return DONE


def _add(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.what_is_said_of_files import with_warnings  # noqa: PLC0415
    from localcrag.cli import terminal  # noqa: PLC0415
    from localcrag.records.enums import IngestStatus  # noqa: PLC0415

    assembly = app_for(settings)
    events = assembly.gaps.add_web_text(parsed.run_id, parsed.result)
    (result,) = with_warnings(terminal.show_ingest(events, quiet=parsed.json), index_warnings(assembly))
    if not parsed.json:
        print("This is text of the web: it is screened for prompt injections, and not checked.", file=sys.stderr)
    print_result(dataclasses.asdict(result), parsed, f"{result.document}: {result.error or result.status}")
    return FAILED if result.status is IngestStatus.FAILED else DONE


def _lines(gap: KnowledgeGap) -> str:
    times = "asked once" if gap.asked == 1 else f"asked {gap.asked} times"
    lines = [f"{gap.run_id}  {gap.collection}  {gap.question}  ({times})"]
    lines += [f"    also: {other}" for other in gap.others]
    if gap.answered_by:
        lines.append(f"    answered by the web: localcrag gaps add {gap.answered_by}")
    return "\n".join(lines)
