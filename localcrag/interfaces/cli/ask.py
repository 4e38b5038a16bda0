"""`localcrag ask`: ask a question; web queries need consent on the terminal before they are sent."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rich.markup import escape

from localcrag.interfaces.cli.command import (
    CONFLICT_RULES,
    POLICIES,
    PRESETS,
    REFINERS,
    STRICTNESS,
    STRIP_MODES,
    WEB_MODES,
    add_restriction,
    open_app,
    parse_restriction,
    print_result,
    setting,
    strictness,
)

if TYPE_CHECKING:
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def ask_consent(query: str) -> str | None:
    """Show a web query on the terminal; return the query to send, edited or not, or None to send nothing."""
    from localcrag.interfaces.cli.terminal import console

    screen = console()
    screen.print("Your documents do not answer this. Send this query to your SearXNG?")
    screen.print(f"  [bold]{escape(query)}[/]", soft_wrap=True)
    prompt = "> "
    if sys.stdout.isatty():
        arrow = " (press ↑ to edit the query)" if _add_to_history(query) else ""
    else:
        # stdout is a file or a pipe, and `input` would write its prompt into the result.
        prompt, arrow = "", ""
    screen.print(f"Press Enter to send it, type other words to send those instead{arrow}, or type n to send nothing.")
    if not prompt:
        screen.print("> ", end="")
    try:
        reply = input(prompt).strip()
    except EOFError:
        return None
    if reply.lower() in {"n", "no"}:
        return None
    return query if reply.lower() in {"", "y", "yes"} else reply


def _add_to_history(query: str) -> bool:
    """Add the query to the line editor's history, for the up arrow; return whether there is an editor."""
    try:
        import readline  # Windows does not have this module.
    except ImportError:
        return False
    readline.add_history(query)
    return True


DONE = 0
_THRESHOLDS = {
    "upper": "relevance from which a passage counts as correct",
    "lower": "relevance below which a passage counts as incorrect",
    "strip": "relevance from which a sentence of a passage is kept",
}
"""Options of the thresholds, and their help."""


def add_ask_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `ask`; `common` has `--json` and `--data-dir`, `within` has `--collection`."""
    command = subparsers.add_parser("ask", parents=[common, within], help="ask a question")
    command.add_argument("question", metavar="QUESTION")
    add_restriction(command)
    command.add_argument(
        "--read-all",
        action="store_true",
        help="read every passage, not only the best ones (for “list all …”; takes longer)",
    )
    command.add_argument("--policy", choices=POLICIES, help="rule that turns relevances into an action")
    command.add_argument(
        "--preset", choices=PRESETS, help="preset for this question (`localcrag presets` describes them)"
    )
    command.add_argument(
        "--web", choices=WEB_MODES, help="whether to search the web with your SearXNG; ask: you approve each query"
    )
    command.add_argument("--searxng-url", metavar="URL", help="address of the SearXNG for this question")
    command.add_argument(
        "--conflicts",
        choices=CONFLICT_RULES,
        dest="conflict_rule",
        help="which side wins if documents and web contradict each other",
    )
    command.add_argument("--k", type=setting("k"), metavar="N", help="number of passages to retrieve")
    command.add_argument("--llm", metavar="NAME", help="language model for this question")
    command.add_argument(
        "--scorer", choices=["cross-encoder", "llm"], help="model that grades the passages; llm needs a capable model"
    )
    command.add_argument(
        "--strip-mode", choices=STRIP_MODES, help="how to split passages into sentences or larger parts"
    )
    command.add_argument("--refiner", choices=REFINERS, help="how to choose the evidence; llm needs a capable model")
    command.add_argument(
        "--retry",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="search again in other words if the first passages are not enough",
    )
    command.add_argument(
        "--strictness",
        type=strictness,
        metavar="|".join(STRICTNESS),
        help="which sentences to show: only supported ones, doubtful ones too (marked), or all (marked)",
    )
    command.add_argument(
        "--time-budget",
        type=setting("time_budget"),
        metavar="S",
        help="time limit in seconds; steps that do not fit are skipped",
    )
    command.add_argument(
        "--temperature",
        type=setting("temperature"),
        metavar="T",
        help="sampling temperature (0: same answer every time)",
    )
    for name, words in _THRESHOLDS.items():
        command.add_argument(f"--{name}", type=setting(name), metavar="P", help=f"{words} (0 to 1)")
    command.set_defaults(run=_ask)


def _ask(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.interfaces.cli import terminal
    from localcrag.records.enums import Preset
    from localcrag.runs import recording as record

    # Ask for consent on a terminal only: a script would wait for an answer that never comes.
    consent = ask_consent if sys.stdin.isatty() and sys.stderr.isatty() else None
    preset = parsed.preset and Preset(parsed.preset)
    assembly = open_app(settings)
    if parsed.llm:
        # If the named model cannot be loaded, this raises the reason; otherwise the answer would be made without it.
        _ = assembly.models.llm
    asking = assembly.ask(
        parsed.question, preset=preset, consent=consent, restriction=parse_restriction(parsed), read_all=parsed.read_all
    )
    run = terminal.show_run(asking)
    if advice := terminal.advice(run, searxng=settings.searxng_url is not None):
        terminal.console().print(advice)
    print_result(record.to_json(run), parsed, terminal.answer_text(run))
    return DONE
