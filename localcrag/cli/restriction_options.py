"""The options that choose documents, for commands that ask or list some of them only."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localcrag.records.restriction import Restriction

_LISTS = {
    "--document": ("documents", "NAME", "of this name; * stands for anything"),
    "--folder": ("folders", "NAME", "in this folder or archive"),
    "--tag": ("tags", "TAG", "with this tag"),
    "--kind": ("kinds", "KIND", "of this kind: PDF, Word, Excel, E-mail, …"),
}


def add_restriction(command: argparse.ArgumentParser) -> None:
    """Add the options; each but the days can be given more than once, and one of them is enough."""
    group = command.add_argument_group("only documents")
    for option, (name, value, words) in _LISTS.items():
        group.add_argument(option, dest=name, metavar=value, action="append", default=[], help=words)
    group.add_argument("--since", metavar="DAY", help="of this day or later: 2024-01-31, 2024-01 or 2024")
    group.add_argument("--until", metavar="DAY", help="of this day or earlier")


def restriction_of(parsed: argparse.Namespace) -> Restriction:
    """Return what the options ask for. Raises QuestionError for a day that is none."""
    from localcrag.records.restriction import Restriction  # noqa: PLC0415
    from localcrag.text.words import valid  # noqa: PLC0415

    lists = {name: [valid(value) for value in getattr(parsed, name)] for name, _, _ in _LISTS.values()}
    return Restriction.of({**lists, "since": parsed.since, "until": parsed.until})
