"""Heads of letters: a field that Python cannot parse leaves the rest to be read."""

from __future__ import annotations

from email.errors import MessageError
from email.policy import EmailPolicy
from typing import Any

MALFORMED = (ValueError, IndexError, AttributeError, LookupError, TypeError, OverflowError, MessageError)
"""What the parser runs into in heads that are none."""


class HeadPolicy(EmailPolicy):
    """As `email.policy.default`, but for a field that cannot be parsed: that is read without its parameters, or empty.

    A field is parsed when it is asked for, so that each question might fail otherwise.
    """

    def header_fetch_parse(self, name: str, value: str) -> Any:
        """Return a field."""
        for readable in (value, value.partition(";")[0]):
            try:
                return super().header_fetch_parse(name, readable)
            except MALFORMED:
                continue
        return super().header_fetch_parse(name, "")
