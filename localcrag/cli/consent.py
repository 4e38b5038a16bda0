"""Consent on a terminal: the exact query is shown before anything leaves for the web."""

from __future__ import annotations

import sys

from rich.markup import escape

from localcrag.cli.terminal import console


def ask_consent(query: str) -> str | None:
    """Show the query on stderr and read what to send: it, other words, or nothing (None). For terminals."""
    screen = console()
    screen.print("Your documents are not enough. May this be sent to your SearXNG?")
    screen.print(f"  [bold]{escape(query)}[/]", soft_wrap=True)
    prompt = "> "
    if sys.stdout.isatty():
        arrow = " (↑ brings it back to be edited)" if _can_be_edited(query) else ""
    else:
        # `input` would write its prompt into the result.
        prompt, arrow = "", ""
    screen.print(f"Enter sends it, other words go in its place{arrow}, n sends nothing.")
    if not prompt:
        screen.print("> ", end="")
    try:
        said = input(prompt).strip()
    except EOFError:
        return None
    if said.lower() in {"n", "no"}:
        return None
    return query if said.lower() in {"", "y", "yes"} else said


def _can_be_edited(query: str) -> bool:
    """Put the query where the up arrow finds it, where there is a line editor."""
    try:
        import readline  # noqa: PLC0415 - not there on Windows
    except ImportError:
        return False
    readline.add_history(query)
    return True
