"""Web addresses in an answer: only those that the evidence shows to a reader are kept.

An address that a model puts together may carry what was asked to somebody else's server; one that stands in the
evidence, letter by letter, carries nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from localcrag.records.passages import Evidence
from localcrag.text.sanitize import quotable

LEFT_OUT = "(address left out)"
_ADDRESS = re.compile(r"(?:\bhttps?:|\bwww\.|(?<!\w)//)[^\s<>()\[\]“”\"']+", re.IGNORECASE)
_SENTENCE_END = ".,;:!?*_`’。…"
"""What stands behind an address and is none of it: also marks of Markdown."""


def only_known(answer: str, evidence: Sequence[Evidence]) -> str:
    """Return the answer, images out of it, and "(address left out)" for each address that no evidence shows."""
    known = {address for piece in evidence for address in addresses(quotable(piece.text))}
    # Line breaks stay: an answer may be a list.
    lines = "\n".join(quotable(line, citations=True) for line in answer.split("\n"))
    return _ADDRESS.sub(lambda found: _kept(found[0], known), lines)


def addresses(text: str) -> list[str]:
    """Return the web addresses in a text, without a sentence's end behind them."""
    return [found.rstrip(_SENTENCE_END) for found in _ADDRESS.findall(text)]


def _kept(found: str, known: set[str]) -> str:
    address = found.rstrip(_SENTENCE_END)
    return found if address in known else LEFT_OUT + found[len(address) :]
