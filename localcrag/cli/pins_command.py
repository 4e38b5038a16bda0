"""`localcrag pins`: questions with their accepted answers, to be asked again after a change.

Nothing heavy is imported before a subcommand runs, so that `localcrag --help` stays quick.
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from localcrag.cli.command_output import print_result
from localcrag.cli.opened import app_for, opened_for_the_past, overwrite_the_rest
from localcrag.records.errors import SettingsError

if TYPE_CHECKING:
    from localcrag.runs.labelled_question import Pin
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE = 0


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `pins` and its subcommands; `common` brings `--json` and `--data-dir`, `within` brings `--collection`."""
    pins = subparsers.add_parser("pins", parents=[common, within], help="questions asked again after a change")
    pins.set_defaults(run=_list)
    named = pins.add_subparsers(metavar="list | add | remove")

    command = named.add_parser("list", parents=[common, within], help="the pinned questions, oldest first")
    command.set_defaults(run=_list)

    command = named.add_parser("add", parents=[common], help="pin a run's question with what counts as its answer")
    command.add_argument("run_id", metavar="RUN")
    command.add_argument(
        "--answer", nargs="+", default=[], metavar="TEXT",
        help="each one is accepted; default: what is proposed of the run, its shortest backed sentence or strip",
    )  # fmt: skip
    command.add_argument("--unanswerable", action="store_true", help="it has to be left unanswered")
    command.set_defaults(run=_add)

    command = named.add_parser("remove", parents=[common], help="unpin")
    command.add_argument("run_id", metavar="RUN")
    command.set_defaults(run=_remove)


def _list(parsed: argparse.Namespace, settings: Settings) -> int:
    pins = opened_for_the_past(parsed, settings).learning.pins.find(collection=parsed.collection)
    text = "\n".join(map(_line, pins)) or "Nothing pinned yet."
    print_result([dataclasses.asdict(pin) for pin in pins], parsed, text)
    return DONE


def _add(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.runs import labelled_question  # noqa: PLC0415

    if parsed.answer and parsed.unanswerable:
        raise SettingsError("A question is pinned with --answer TEXT or as --unanswerable, not as both.")
    assembly = app_for(settings)
    answers = tuple(parsed.answer) or labelled_question.proposed(assembly.runs.get(parsed.run_id)).answers[:1]
    if not answers and not parsed.unanswerable:
        raise SettingsError(
            f"Nothing can be proposed of the run {parsed.run_id}: say --answer TEXT, or --unanswerable if it has to be "
            "left unanswered."
        )
    pin = assembly.learning.pin(parsed.run_id, () if parsed.unanswerable else answers)
    print_result(dataclasses.asdict(pin), parsed, _line(pin))
    return DONE


def _remove(parsed: argparse.Namespace, settings: Settings) -> int:

    assembly = app_for(settings)
    assembly.learning.pins.remove(parsed.run_id)
    overwrite_the_rest(assembly)
    print_result({"removed": parsed.run_id}, parsed, f"{parsed.run_id}: not pinned any more")
    return DONE


def _line(pin: Pin) -> str:
    answers = " or ".join(f"“{answer}”" for answer in pin.question.answers) or "has to be left unanswered"
    return f"{pin.run_id}  {pin.collection}  {pin.question.question}  →  {answers}"
