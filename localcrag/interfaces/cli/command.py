"""Helpers for all commands: open the app, add shared options, and print results.

The app that a command opens is closed when the command ends.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from localcrag.text.translation import counted, whole_number

if TYPE_CHECKING:
    from localcrag.app.assembly import Assembly
    from localcrag.records.restriction import Restriction
    from localcrag.settings import Settings


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
        print(
            "localcrag: the old bytes of changed or removed data are still in the data folder. Run `localcrag forget` "
            f"to overwrite them, or let the app do so. {why}",
            file=sys.stderr,
        )


def index_warnings(assembly: Assembly) -> list[str]:
    """Return the reasons why index files could not be written after a change, and print them on stderr."""
    warnings = list(assembly.collections.opened.index_errors.values())
    for one in warnings:
        print(f"localcrag: {one}", file=sys.stderr)
    return warnings


POLICIES = ("max", "fraction", "ratio", "count")
WEB_MODES = ("never", "ask", "always")
CONFLICT_RULES = ("documents", "web", "newer", "more-relevant", "show-both")
PRESETS = ("general", "medical", "legal", "news", "fast", "strict", "balanced", "lenient", "documents-only")
STRIP_MODES = ("sentence", "multi-sentence", "paragraph", "window", "adaptive")
STRICTNESS = {"supported-only": "strict", "mark-partial": "balanced", "show-all": "lenient"}
"""Names of the strictness levels on the command line, with the values that settings and runs store."""
REFINERS = ("strips", "llm")
ACTIONS = ("CORRECT", "AMBIGUOUS", "INCORRECT")
ROLES = ("embedder", "relevance", "llm")


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


def setting(name: str) -> Callable[[str], float]:
    """Return argparse's type for a numeric setting: a number within the setting's limits."""

    def value(text: str) -> float:
        # Import this here, because it takes a moment and `localcrag --help` must not wait for it.
        from localcrag.settings import parse_number

        try:
            return parse_number(name, text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return value


__all__ = ["at_least_one", "counted", "print_json", "print_result"]


def print_json(result: Any) -> None:
    """Print a result as one JSON document."""
    print(json.dumps(result, ensure_ascii=False, indent=2, default=str))


def print_result(result: Any, parsed: argparse.Namespace, text: str | None) -> None:
    """Print a result as JSON if --json was given, otherwise as text, if there is any."""
    if parsed.json:
        print_json(result)
    elif text is not None:
        print(text)


def at_least_one(what: str) -> Callable[[str], int]:
    """Return argparse's type for a whole number of at least 1; `what` names it in errors: "a number of runs"."""

    def number(text: str) -> int:
        found = whole_number(text)
        if not found:
            raise argparse.ArgumentTypeError(f"{text} is not {what}. Give a whole number from 1 on")
        return found

    return number


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
    group.add_argument(
        "--since", metavar="DAY", help="use only documents from this day on: 2024-01-31, 2024-01 or 2024"
    )
    group.add_argument("--until", metavar="DAY", help="use only documents up to this day")


def parse_restriction(parsed: argparse.Namespace) -> Restriction:
    """Return the restriction that the options describe. Raises QuestionError for an invalid day."""
    from localcrag.records.restriction import Restriction
    from localcrag.text.words import replace_surrogates

    lists = {name: [replace_surrogates(value) for value in getattr(parsed, name)] for name, _, _ in _LISTS.values()}
    return Restriction.of({**lists, "since": parsed.since, "until": parsed.until})
