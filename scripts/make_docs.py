"""Generate the pages of docs/ that come from the code: the command line and the settings.

    .venv/bin/python scripts/make_docs.py

tests/scripts/test_docs.py fails if a page differs from the code.
"""

from __future__ import annotations

import sys
from argparse import SUPPRESS, Action, ArgumentParser, _SubParsersAction
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from localcrag.interfaces.cli.main import _parser
from localcrag.settings import table

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
OF_EVERY_COMMAND = ("data_dir", "json")
COLLECTION = "collection"
NOT_IN_A_TABLE = (*OF_EVERY_COMMAND, COLLECTION, "help", "version")

CLI = """# The command line

Made by `scripts/make_docs.py` from the commands themselves; a test fails when they differ.

Results go to standard output, progress and errors to standard error. Exit status: 0 done, 1 failed, 2 wrong usage.

{commands}

Every command takes the options of this table. `--collection NAME` names the set of documents, `default` where none is
named; the commands that take it show it.

{everywhere}
"""

SETTINGS = """# Settings

Made by `scripts/make_docs.py` from `localcrag/settings.py`; a test fails when they differ.

Nothing has to be set. A setting comes from the first of these places that has it:

1. the command line, for one command ([cli.md](cli.md));
2. the environment variable: `LOCALCRAG_` and the setting's name in capitals;
3. `settings.json` in the data folder (`localcrag privacy` names it), which the page writes:
   `{"searxng_url": "http://127.0.0.1:8888", "k": 8}`;
4. the default.

A list is written as JSON, in the environment too: `LOCALCRAG_WEB_NEVER_TERMS='["Project Falcon"]'`. Thresholds
that you leave open (`upper`, `lower`, `strip`) are the preset's, on the scale of the relevance model in use. What you
set yourself wins over presets and calibrations; only a preset that never asks the web holds whatever else is set.
"""


class Command(NamedTuple):
    """A command or subcommand with its description (`said`), its one-line help (`line`) and its level, from 1."""

    parser: ArgumentParser
    said: str
    line: str
    depth: int

    @property
    def name(self) -> str:
        return self.parser.prog


def cli_page() -> str:
    """Return the text of docs/cli.md."""
    commands = list(_commands(_parser()))
    listed = [(f"[`{one.name}`](#{one.name.replace(' ', '-')})", one.line) for one in commands if one.depth == 1]
    shared = [action for action in commands[0].parser._actions if action.dest in OF_EVERY_COMMAND]
    parts = [
        CLI.format(
            commands=_table(("command", "what it does"), listed),
            everywhere=_table(("option", "what it does"), map(_option, shared)),
        )
    ]
    for one in commands:
        own = [action for action in one.parser._actions if _has_a_row(action)]
        parts += [f"{'#' * (one.depth + 1)} {one.name}", one.said, f"    {_usage(one.parser)}"]
        parts += [_table(("option", "what it does"), map(_option, own))]
    return _joined(parts)


def settings_page() -> str:
    """Return the text of docs/settings.md."""
    rows = table()
    parts = [SETTINGS]
    for group in dict.fromkeys(row.group for row in rows):
        cells = (
            (
                f"`{row.variable}`",
                row.default,
                ", ".join(f"`{one}`" for one in row.choices) or row.unit,
                row.description,
            )
            for row in rows
            if row.group == group
        )
        parts += [f"## {group}", _table(("variable", "default", "values or unit", "what it does"), cells)]
    return _joined(parts)


PAGES: dict[Path, Callable[[], str]] = {
    DOCS / "cli.md": cli_page,
    DOCS / "settings.md": settings_page,
}


def _commands(parser: ArgumentParser, depth: int = 1) -> Iterator[Command]:
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            said = {listed.dest: listed.help for listed in action._choices_actions}
            for name, inner in action.choices.items():
                line = said.get(name) or ""
                yield Command(inner, _sentence(inner.description or line), _sentence(line), depth)
                yield from _commands(inner, depth + 1)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if not text or text.endswith(".") else ".")


def _has_a_row(action: Action) -> bool:
    shown = action.dest not in NOT_IN_A_TABLE and action.help != SUPPRESS
    return shown and not isinstance(action, _SubParsersAction) and bool(action.option_strings or action.help)


def _usage(parser: ArgumentParser) -> str:
    """Return the command with its required arguments; optional ones are shown as [OPTIONS]."""
    parts, options = [parser.prog], False
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            parts.append("COMMAND" if action.required else "[COMMAND]")
        elif not action.option_strings:
            parts.append(_value(action))
        elif action.required:
            parts.append(f"{action.option_strings[0]} {_value(action)}")
        else:
            options = options or _has_a_row(action)
    parts += ["[OPTIONS]"] if options else []
    if any(action.dest == COLLECTION for action in parser._actions):
        parts.append("[--collection NAME]")
    return " ".join(parts)


def _value(action: Action) -> str:
    """Return the placeholder for an argument's value: its name or its choices."""
    if action.nargs == 0:
        return ""
    named = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    if isinstance(named, tuple):
        return " ".join(named)
    return {"*": f"[{named}…]", "+": f"{named}…", "?": f"[{named}]"}.get(str(action.nargs), named)


def _option(action: Action) -> tuple[str, str]:
    names = ", ".join(f"`{f'{name} {_value(action)}'.strip()}`" for name in action.option_strings)
    return names or f"`{action.metavar or action.dest.upper()}`", action.help or ""


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a Markdown table, or "" if there are no rows."""
    lines = [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", "| --- " * len(head) + "|", *lines]) if lines else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def main() -> int:
    """Write the pages, and print which have changed."""
    for path, made in PAGES.items():
        text = made()
        changed = not path.is_file() or path.read_text("utf-8") != text
        path.write_text(text, "utf-8")
        print(f"{path.relative_to(ROOT)} {'is written' if changed else 'is as it was'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
