"""Output of commands on stdout, numbers with their nouns, and the types of numeric arguments."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from localcrag.text.decimals import counted, whole_number

__all__ = ["at_least_one", "counted", "print_json", "print_result"]


def print_json(result: Any) -> None:
    """Print a result as one JSON document."""
    print(json.dumps(result, ensure_ascii=False, indent=2, default=str))


def print_result(result: Any, parsed: argparse.Namespace, text: str | None) -> None:
    """Print a result: as JSON when asked, else as text, where there is any."""
    if parsed.json:
        print_json(result)
    elif text is not None:
        print(text)


def at_least_one(what: str) -> Callable[[str], int]:
    """Return argparse's type for a whole number from 1 on; `what` it is, for the message: "a number of runs"."""

    def number(text: str) -> int:
        found = whole_number(text)
        if not found:
            raise argparse.ArgumentTypeError(f"{text} is not {what}: 1 or more")
        return found

    return number
