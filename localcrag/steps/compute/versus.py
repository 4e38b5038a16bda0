"""A question that compares two columns of a row: "above budget", "later than promised"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from localcrag.steps.compute.said_conditions import Relation
from localcrag.text.words import blanked

MORE = (
    r"more expensive|less expensive|more|less|fewer|higher|lower|cheaper|dearer|longer|shorter|taller|heavier|lighter|"
    r"larger|bigger|smaller|greater"
)
"""Words of a comparison."""
_LESS = frozenset(("below", "under", "before", "earlier"))
_LESS_THAN = re.compile(r"less|fewer|lower|cheaper|shorter|lighter|smaller", re.IGNORECASE)
_ASKS_FOR_ROWS = re.compile(
    r"^\W*(?:which|what|who|how many|(?:list|show|name|count|find)\b|the number of|what(?:'s| is) the number of)\b",
    re.IGNORECASE,
)
_THAN = re.compile(
    rf"\b(?:an? )?(?P<word>{MORE}|later|earlier)\b(?P<between>[^,;:]*?)\b(?P<than>than)\b", re.IGNORECASE
)
_AS = re.compile(r"\b(?P<word>as (?:many|much|high|large))\b(?P<between>[^,;:]*?)\b(?P<than>as)\b", re.IGNORECASE)
_STANDS = re.compile(
    r"\b(?:(?:stay(?:s|ed)?|lies?|lay|went|goes|go|came|comes) )?"
    r"(?P<than>(?P<word>above|over|below|under|exceed(?:s|ed|ing)?|after|before|equals?|equal to|the same as))\b",
    re.IGNORECASE,
)
_FORMS = (_THAN, _AS, _STANDS)
_FILLS = re.compile(
    r"(?:\W+(?:the|their|its|his|her|our|they|it|he|she|we|what|was|were|is|are|had|has|been)\b)*", re.IGNORECASE
)
"""Words behind a comparison that do not say with what."""


@dataclass(frozen=True, slots=True)
class Versus:
    """How the column said before `split` must stand to the one behind it; `word` says so, beginning at `start`."""

    relation: Relation
    word: str
    start: int
    split: int


def versus_in(text: str) -> tuple[str, Versus | None]:
    """Return the text without the words that compare two columns, and what they say; None where none do."""
    found = next((said for form in _FORMS if (said := form.search(text))), None)
    if found is None or not _ASKS_FOR_ROWS.match(text):
        return text, None
    split = found.end("than")
    filled = _FILLS.match(text, split)
    rest = blanked(text, split, filled.end()) if filled else text
    for start, end in (found.span("word"), found.span("than")):
        rest = blanked(rest, start, end)
    rest = blanked(rest, found.start(), found.start("word"))
    if found["word"].lower() == "exceeded" and not rest[split:].strip():
        split = 0  # "Was the budget exceeded": it is what the other column is compared with.
    return rest, Versus(_relation(found), found["word"].lower(), found.start(), split)


def _relation(found: re.Match[str]) -> Relation:
    word = found["word"].lower()
    if word.startswith(("as ", "equal", "the same")):
        return Relation.EQUAL
    is_less = word in _LESS or _LESS_THAN.match(word)
    return Relation.BELOW if is_less else Relation.ABOVE
