"""The command line: read the arguments, run one command, and report errors.

Results go to stdout (with --json, as one JSON document), progress and everything else to stderr. The exit status is 0
if the command succeeded, 1 if it failed, 2 for wrong usage, and 130 if it was interrupted. Slow modules are imported
only when needed, because --help must answer at once.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from localcrag import __version__
from localcrag.interfaces.cli.command import DONE, FAILED, Commands, close_apps_at_exit
from localcrag.privacy.guard import guard
from localcrag.records.errors import LocalcragError, QuestionError, SettingsError

if TYPE_CHECKING:
    from localcrag.settings import Settings


WRONG_USAGE, INTERRUPTED = 2, 130
_MESSAGE_REPLACEMENTS = {
    "^the following arguments are required: ": "Missing: ",
    "^argument ([^:]+): (?=must be )": r"\1 ",
}
"""Patterns for the beginnings of argparse's messages, and their replacements."""
_MODULES = "ingest ask start documents folders collections models runs feedback evaluate calibrate maintenance".split()
"""The modules of the commands, in the order in which the reference and errors list them."""
COMMAND_GROUPS = {
    "Use": ("ui", "desktop", "ask", "ingest", "serve", "mcp"),
    "Manage": ("documents", "forget", "folder", "collection", "presets", "web", "models"),
    "Improve": ("runs", "labels", "pins", "gaps", "eval", "calibrate"),
    "System": ("doctor", "privacy", "backup", "restore"),
}
"""The commands by group, as `localcrag --help` lists them."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    guard()
    try:
        parsed = _parser().parse_args(arguments)
    except SettingsError as error:
        return _report_error(error, WRONG_USAGE, as_json=any(map(_is_json, arguments)))
    try:
        with close_apps_at_exit():
            status: int = parsed.run(parsed, _settings(parsed)) or DONE
        sys.stdout.flush()
        return status
    except (SettingsError, QuestionError) as error:
        return _report_error(error, WRONG_USAGE, as_json=parsed.json)
    except LocalcragError as error:
        status = _report_error(error, FAILED, as_json=parsed.json)
        parsed.on_failure(parsed, error)
        return status
    except BrokenPipeError:
        # The reader of the output has closed it (`| head`). Without this replacement, Python would report a second
        # broken pipe when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        print("Interrupted. Everything that was reported as done is kept.", file=sys.stderr)
        return INTERRUPTED


class _CommandParser(argparse.ArgumentParser):
    """A parser that raises SettingsError instead of exiting, so that its errors are JSON with --json.

    The subcommands' parsers also have this class.
    """

    def error(self, message: str) -> NoReturn:
        """Raise SettingsError with one line that names the problem and points to the help."""
        for begins, instead in _MESSAGE_REPLACEMENTS.items():
            message = re.sub(begins, instead, message)
        raise SettingsError(f"{message.rstrip('.')}. See `{self.prog} --help`.")


class _MainParser(_CommandParser):
    """The parser of `localcrag` itself, whose help lists the commands in groups."""

    def format_help(self) -> str:
        """Return the help: usage, description, the commands by group, and the options."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        (commands,) = (one for one in self._actions if isinstance(one, argparse._SubParsersAction))
        listed = {one.dest: one for one in commands._choices_actions}
        for group, names in COMMAND_GROUPS.items():
            formatter.start_section(group)
            formatter.add_arguments([listed[name] for name in names])
            formatter.end_section()
        formatter.start_section("Options")
        formatter.add_arguments([one for one in self._actions if one.option_strings])
        formatter.end_section()
        formatter.add_text("For the options of a command, see `localcrag COMMAND --help`.")
        return formatter.format_help()


def _is_json(argument: str) -> bool:
    """Return whether an argument is `--json`, or an abbreviation of it that argparse accepts."""
    return argument.startswith("--j") and "--json".startswith(argument)


def _report_error(error: LocalcragError, status: int, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"error": str(error), "kind": type(error).__name__}, ensure_ascii=False))
    print(f"localcrag: {error}", file=sys.stderr)
    return status


def _settings(parsed: argparse.Namespace) -> Settings:
    from localcrag.app.facade import begin

    names = ("data_dir", "collection", "policy", "web", "k", "scorer", "upper", "lower", "strip", "searxng_url", "llm")
    more = ("strip_mode", "refiner", "conflict_rule", "strictness", "retry", "time_budget", "temperature", "workers")
    return begin(**{name: getattr(parsed, name, None) for name in (*names, *more)})


def _parser() -> argparse.ArgumentParser:
    # SUPPRESS is needed: otherwise the defaults of `list` would overwrite the option in `runs --json list`.
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("--data-dir", metavar="DIR", help="folder for all data (also LOCALCRAG_DATA_DIR)")
    common.add_argument("--json", action="store_true", help="print the result as JSON")
    one_collection = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    one_collection.add_argument("--collection", metavar="NAME", help="collection of documents (default: “default”)")

    description = "Answer questions from your own documents, on your own computer."
    description += " localcrag checks what it finds before it answers."
    parser: argparse.ArgumentParser = _MainParser(prog="localcrag", description=description)
    parser.add_argument("--version", action="version", version=f"localcrag {__version__}")
    parser.set_defaults(json=False, data_dir=None, collection=None, on_failure=lambda _parsed, _error: None)
    subparser: type[argparse.ArgumentParser] = _CommandParser
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=subparser)
    for name in _MODULES:
        import_module(f"localcrag.interfaces.cli.{name}").add_commands(Commands(subparsers, common, one_collection))
    return parser
