"""`localcrag ask`: ask a question; web queries need consent on the terminal before they are sent."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rich.markup import escape

from localcrag.interfaces.cli import command as cli
from localcrag.records.enums import ConflictRule, Policy, Preset, RefinerKind, ScorerKind, StripMode, WebMode

if TYPE_CHECKING:
    from localcrag.settings import Settings


def ask_consent(query: str) -> str | None:
    """Show a web query on the terminal; return the query to send, edited or not, or None to send nothing."""
    from localcrag.interfaces.cli.terminal import console

    screen = console()
    screen.print("Your documents do not answer this. Send this query to your SearXNG?")
    screen.print(f"  [bold]{escape(query)}[/]", soft_wrap=True)
    # If stdout is a file or a pipe, `input` would write its prompt into the result.
    is_terminal = sys.stdout.isatty()
    arrow = " (press ↑ to edit the query)" if is_terminal and _add_to_history(query) else ""
    screen.print(f"Press Enter to send it, type other words to send those instead{arrow}, or type n to send nothing.")
    if not is_terminal:
        screen.print("> ", end="")
    try:
        reply = input("> " if is_terminal else "").strip()
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


def add_commands(commands: cli.Commands) -> None:
    """Add `ask`."""
    command = commands.add("ask", _ask, "ask a question", collection=True)
    command.add_argument("question", metavar="QUESTION")
    cli.add_restriction(command)
    words = "read every passage, not only the best ones (for “list all …”; takes longer)"
    command.add_argument("--read-all", action="store_true", help=words)
    command.add_argument("--policy", choices=cli.values(Policy), help="rule that turns relevances into an action")
    words = "preset for this question (`localcrag presets` describes them)"
    command.add_argument("--preset", choices=cli.values(Preset), help=words)
    words = "whether to search the web with your SearXNG; ask: you approve each query"
    command.add_argument("--web", choices=cli.values(WebMode), help=words)
    command.add_argument("--searxng-url", metavar="URL", help="address of the SearXNG for this question")
    words = "which side wins if documents and web contradict each other"
    command.add_argument("--conflicts", choices=cli.values(ConflictRule), dest="conflict_rule", help=words)
    cli.add_number(command, "k", "N", "number of passages to retrieve")
    command.add_argument("--llm", metavar="NAME", help="language model for this question")
    words = "model that grades the passages; llm needs a capable model"
    command.add_argument("--scorer", choices=cli.values(ScorerKind), help=words)
    words = "how to split passages into sentences or larger parts"
    command.add_argument("--strip-mode", choices=cli.values(StripMode), help=words)
    words = "how to choose the evidence; llm needs a capable model"
    command.add_argument("--refiner", choices=cli.values(RefinerKind), help=words)
    words = "search again in other words if the first passages are not enough"
    command.add_argument("--retry", action=argparse.BooleanOptionalAction, default=None, help=words)
    words = "which sentences to show: only supported ones, doubtful ones too (marked), or all (marked)"
    command.add_argument("--strictness", type=cli.strictness, metavar="|".join(cli.STRICTNESS), help=words)
    cli.add_number(command, "time_budget", "S", "time limit in seconds; steps that do not fit are skipped")
    cli.add_number(command, "temperature", "T", "sampling temperature (0: same answer every time)")
    cli.add_number(command, "upper", "P", "relevance from which a passage counts as correct (0 to 1)")
    cli.add_number(command, "lower", "P", "relevance below which a passage counts as incorrect (0 to 1)")
    cli.add_number(command, "strip", "P", "relevance from which a sentence of a passage is kept (0 to 1)")


def _ask(parsed: argparse.Namespace, settings: Settings) -> None:
    from localcrag.interfaces.cli import terminal
    from localcrag.runs import recording as record

    # Ask for consent on a terminal only: a script would wait for an answer that never comes.
    consent = ask_consent if sys.stdin.isatty() and sys.stderr.isatty() else None
    preset = parsed.preset and Preset(parsed.preset)
    assembly = cli.open_app(settings)
    if parsed.llm:
        # If the named model cannot be loaded, this raises the reason; otherwise the answer would be made without it.
        _ = assembly.models.llm
    options = {"restriction": cli.parse_restriction(parsed), "read_all": parsed.read_all}
    run = terminal.show_run(assembly.ask(parsed.question, preset=preset, consent=consent, **options))
    if advice := terminal.advice(run, searxng=settings.searxng_url is not None):
        terminal.console().print(advice)
    cli.print_result(record.to_json(run), parsed, terminal.answer_text(run))
