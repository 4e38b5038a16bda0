"""Helpers for all commands: open the app, add shared options, and print results.

The app that a command opens is closed when the command ends.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from localcrag.text.translation import whole_number
from localcrag.text.words import replace_surrogates

if TYPE_CHECKING:
    from localcrag.app.assembly import Assembly
    from localcrag.records.restriction import Restriction
    from localcrag.settings import Settings

    Run = Callable[[argparse.Namespace, Settings], int | None]
    """Function that runs a command; it returns the exit status, or None if the command succeeded."""

DONE, FAILED = 0, 1
"""Exit statuses."""


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands of a parser, or the subcommands of a command.

    Each gets the options of `common` (`--json` and `--data-dir`), and on demand that of `collection_option`
    (`--collection`).
    """

    subparsers: argparse._SubParsersAction[argparse.ArgumentParser]
    common: argparse.ArgumentParser
    collection_option: argparse.ArgumentParser

    def add(
        self, name: str, run: Run, words: str, *arguments: tuple[str, str], collection: bool = False, **options: Any
    ) -> argparse.ArgumentParser:
        """Add a command; `words` are its line of help, and `options` those of its parser.

        `arguments` are required ones, as they are shown in the help, each with its help.
        """
        parents = [self.common, self.collection_option] if collection else [self.common]
        command = self.subparsers.add_parser(name, parents=parents, help=words, **{"description": words, **options})
        command.set_defaults(run=run)
        for shown, help_text in arguments:
            command.add_argument(shown.lower(), metavar=shown, help=help_text)
        return command

    def subcommands(self, command: argparse.ArgumentParser, metavar: str, *, required: bool = False) -> Commands:
        """Return the subcommands of a command, without any yet; if they are not `required`, it runs alone, too."""
        return dataclasses.replace(self, subparsers=command.add_subparsers(metavar=metavar, required=required))


_open_apps: ContextVar[ExitStack] = ContextVar("at the end of the command")


@contextmanager
def close_apps_at_exit() -> Iterator[None]:
    """Close the apps that a command has opened when the command ends, even after an error."""
    with ExitStack() as stack:
        before = _open_apps.set(stack)
        try:
            yield
        finally:
            _open_apps.reset(before)


def open_app(settings: Settings) -> Assembly:
    """Open the app; it is closed when the command ends. Raises StoreError and ModelError."""
    from localcrag.app.assembly import Assembly

    assembly = Assembly(settings)
    # Commands that delete data overwrite it themselves (`finish_secure_deletion`). A command that only reads must not
    # wait for that on closing the app.
    _open_apps.get().callback(assembly.close, overwrites=False)
    return assembly


def open_collection(settings: Settings) -> Assembly:
    """Open the app for an existing collection. Raises UnknownCollection if it does not exist."""
    assembly = open_app(settings)
    assembly.collections.require()
    return assembly


def open_history(parsed: argparse.Namespace, settings: Settings) -> Assembly:
    """Open the app for past questions and labels, of all collections if none is named.

    Questions and labels outlive their collection, so a deleted collection that has some can also be named. Raises
    UnknownCollection.
    """
    assembly = open_app(settings)
    if parsed.collection is not None:
        assembly.collections.require_past(parsed.collection)
    return assembly


def finish_secure_deletion(assembly: Assembly) -> None:
    """Overwrite the bytes of deleted or changed data; if that fails, print the reason."""
    from localcrag.app.collections.deletion import finish_overwriting

    if why := finish_overwriting(assembly.database):
        remedy = "Run `localcrag forget` to overwrite them, or let the app do so."
        say(f"localcrag: the old bytes of changed or removed data are still in the data folder. {remedy} {why}")


def index_warnings(assembly: Assembly) -> list[str]:
    """Return the reasons why index files could not be written after a change, and print them on stderr."""
    warnings = list(assembly.collections.opened.index_errors.values())
    for one in warnings:
        say(f"localcrag: {one}")
    return warnings


STRICTNESS = {"supported-only": "strict", "mark-partial": "balanced", "show-all": "lenient"}
"""Names of the strictness levels on the command line, with the values that settings and runs store."""


def values(choices: type[StrEnum]) -> list[str]:
    """Return the values of an enumeration, to choose from; argparse would show its members in their technical form."""
    return [one.value for one in choices]


def port(text: str) -> int:
    """Return a port from the text of an option. Raises ArgumentTypeError, which argparse reports."""
    number = whole_number(text)
    if number is None or not 1 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port: choose one from 1 to 65535")
    return number


def strictness(text: str) -> str:
    """Return the stored value of a strictness, given its name or the value itself. Raises ArgumentTypeError."""
    chosen = STRICTNESS.get(text, text)
    if chosen not in STRICTNESS.values():
        raise argparse.ArgumentTypeError("must be supported-only, mark-partial or show-all")
    return chosen


def add_number(command: argparse.ArgumentParser, name: str, metavar: str, words: str, dest: str | None = None) -> None:
    """Add the option of a numeric setting, for a number within the setting's limits; `words` are its help."""

    def number(text: str) -> float:
        # Import this here, because it takes a moment and `localcrag --help` must not wait for it.
        from localcrag.settings import parse_number

        try:
            return parse_number(name, text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    command.add_argument(f"--{name.replace('_', '-')}", type=number, dest=dest or name, metavar=metavar, help=words)


def say(text: str) -> None:
    """Print a text on stderr, where it is not part of the result."""
    print(text, file=sys.stderr, flush=True)


def _plain(value: Any) -> Any:
    """Return a record as a dictionary; return anything else that JSON does not know as text."""
    return dataclasses.asdict(value) if dataclasses.is_dataclass(type(value)) else str(value)


def print_result(result: Any, parsed: argparse.Namespace, text: str | None) -> None:
    """Print a result as one JSON document if --json was given, otherwise as text, if there is any."""
    if parsed.json:
        print(json.dumps(result, ensure_ascii=False, indent=2, default=_plain))
    elif text is not None:
        print(text)


def positive_number(what: str) -> Callable[[str], int]:
    """Return argparse's type for a whole number of at least 1; `what` names it in errors: "a number of runs"."""

    def number(text: str) -> int:
        found = whole_number(text)
        if not found:
            raise argparse.ArgumentTypeError(f"{text} is not {what}. Give a whole number from 1 on")
        return found

    return number


def add_count(
    command: argparse.ArgumentParser, option: str, what: str, words: str, *, default: int | None = None
) -> None:
    """Add an option for a whole number from 1 on; `what` names it in the message about another value."""
    command.add_argument(option, type=positive_number(what), metavar="N", default=default, help=words)


_LISTS = {
    "--document": ("documents", "NAME", "use only documents of this name; * matches anything (repeatable)"),
    "--folder": ("folders", "NAME", "use only documents in this folder or archive (repeatable)"),
    "--tag": ("tags", "TAG", "use only documents with this tag (repeatable)"),
    "--kind": ("kinds", "KIND", "use only documents of this kind: PDF, Word, Excel, E-mail, … (repeatable)"),
}


def add_restriction(command: argparse.ArgumentParser) -> None:
    """Add the options that restrict documents; all except the days can be repeated to allow several values."""
    group = command.add_argument_group("restrict the documents")
    for option, (name, value, words) in _LISTS.items():
        group.add_argument(option, dest=name, metavar=value, action="append", default=[], help=words)
    words = "use only documents from this day on: 2024-01-31, 2024-01 or 2024"
    group.add_argument("--since", metavar="DAY", help=words)
    group.add_argument("--until", metavar="DAY", help="use only documents up to this day")


def parse_restriction(parsed: argparse.Namespace) -> Restriction:
    """Return the restriction that the options describe. Raises QuestionError for an invalid day."""
    from localcrag.records.restriction import Restriction

    lists = {name: [replace_surrogates(value) for value in getattr(parsed, name)] for name, _, _ in _LISTS.values()}
    return Restriction.of({**lists, "since": parsed.since, "until": parsed.until})
