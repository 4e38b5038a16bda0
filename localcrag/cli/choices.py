"""Choices that several commands offer.

Written out and compared by a test: the enums themselves are imported later, so that `localcrag --help` stays quick.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from localcrag.text.decimals import whole_number

POLICIES = ("max", "fraction", "ratio", "count")
WEB_MODES = ("never", "ask", "always")
CONFLICT_RULES = ("documents", "web", "newer", "more-relevant", "show-both")
PRESETS = ("general", "medical", "legal", "news", "fast", "strict", "balanced", "lenient", "documents-only")
STRIP_MODES = ("sentence", "multi-sentence", "paragraph", "window", "adaptive")
STRICTNESS = ("strict", "balanced", "lenient")
REFINERS = ("strips", "llm")
ACTIONS = ("CORRECT", "AMBIGUOUS", "INCORRECT")
ROLES = ("embedder", "relevance", "llm")


def port(text: str) -> int:
    """Return argparse's value for a port."""
    number = whole_number(text)
    if number is None or not 1 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port: choose one from 1 to 65535")
    return number


def setting(name: str) -> Callable[[str], float]:
    """Return argparse's type for an option that sets a numeric setting: a number within the limits of its field."""

    def value(text: str) -> float:
        # Here, and not above: it takes a moment to import, and `localcrag --help` must not wait for it.
        from localcrag.settings.limits import number_of  # noqa: PLC0415

        try:
            return number_of(name, text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return value
