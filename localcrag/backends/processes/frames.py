"""Messages between the app and a process of its own: a JSON line, then as many bytes as it says.

No pickles: what comes from a process that has read what others wrote can be text, numbers and bytes, and nothing that
runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

LONGEST_LINE = 400_000_000
"""Bytes; the longest are what text recognition has read of a document's pages, a few thousand a page."""
MOST_ATTACHED = 2**31
Frame = tuple[dict[str, Any], bytes]


def send(stream: IO[bytes], content: Mapping[str, Any], attached: bytes = b"") -> None:
    """Write a message. Raises OSError when nobody reads it."""
    stream.write(json.dumps({**content, "attached": len(attached)}).encode() + b"\n")
    stream.write(attached)
    stream.flush()


def receive(stream: IO[bytes]) -> Frame | None:
    """Return the next message; None at the end, and for what is none."""
    try:
        content = json.loads(stream.readline(LONGEST_LINE))
        attached = stream.read(min(content["attached"], MOST_ATTACHED))
    except (ValueError, KeyError, TypeError, OSError):
        return None
    return (content, attached) if len(attached) == content["attached"] else None
