"""`localcrag eval`: ask evaluation sets under several configurations, and report; list, show and compare evaluations.

Nothing heavy is imported before a subcommand runs, so that `localcrag --help` stays quick.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from localcrag.errors import SettingsError

if TYPE_CHECKING:

    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DONE = 0
FOLDER = "evaluations"
BENCH = "documents"
"""Within it: the data folder that the sets' documents are taken into."""
EXAMPLES = """\
  localcrag eval SET                         plain RAG against localcrag
  localcrag eval SET --ablate                what each step is worth
  localcrag eval SET --policy all            the four policies
  localcrag eval SET --sweep upper=0.2:0.5:0.1
  localcrag eval --pinned                    the questions that you pinned
  localcrag eval --list
  localcrag eval --compare RUN_A RUN_B       two evaluations of the same set (RUN:CONFIGURATION picks one of it)
"""


def add_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `eval`; `common` brings `--json` and `--data-dir`, `within` brings `--collection`."""
    command = subparsers.add_parser(
        "eval",
        parents=[common, within],
        help="measure answers on labelled questions",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("sets", nargs="*", type=Path, metavar="SET", help="folders with documents/ and questions.jsonl")
    command.add_argument("--pinned", action="store_true", help="ask the collection's pinned questions instead")
    command.add_argument("--ablate", action="store_true", help="plain RAG, and what each step adds to it")
    command.add_argument("--policy", metavar="all|NAME", help="all: compare the policies; else ask under this one")
    command.add_argument(
        "--sweep", action="append", default=[], metavar="SETTING=FIRST:LAST:STEP", help="or SETTING=VALUE,VALUE; again"
    )
    command.add_argument("--no-plain", action="store_true", help="leave plain RAG out")
    command.add_argument("--questions", type=_number, metavar="N", help="only so many, drawn by a fixed seed")
    command.add_argument("--again", action="store_true", help="forget what was asked of this evaluation, ask anew")
    command.add_argument("--output", type=Path, metavar="FOLDER", help="where the report goes (default: beside the runs)")
    command.add_argument("--list", action="store_true", help="list the evaluations made so far")
    command.add_argument("--show", metavar="RUN", help="report on an evaluation again, as far as it came")
    command.add_argument("--compare", nargs=2, metavar=("RUN_A", "RUN_B"), help="two evaluations, question by question")
    for name in ("k", "upper", "lower", "strip"):
        command.add_argument(f"--{name}", type=int if name == "k" else float, help=argparse.SUPPRESS)
    command.add_argument("--llm", metavar="NAME", help="the language model")
    command.set_defaults(run=_run)


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number of questions: 1 or more")
    return int(text)


def _run(parsed: argparse.Namespace, settings: Settings) -> int:
    chosen = [bool(parsed.sets), parsed.pinned, parsed.list, bool(parsed.show), bool(parsed.compare)]
    if sum(chosen) != 1:
        raise SettingsError("Name evaluation sets, or one of --pinned, --list, --show and --compare.")
    if parsed.list:
        return _list(parsed, settings)
    if parsed.compare:
        return _compare(parsed, settings)
    if parsed.show:
        return _report(_stored(parsed.show, settings), parsed, settings)
    return _evaluate(parsed, settings)
