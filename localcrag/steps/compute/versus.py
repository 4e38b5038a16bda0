"""A question that compares two columns of a row: "above budget", "most over budget"."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from localcrag.records.enums import Operation
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
_LEAST = ("least", "smallest", "lowest")
_ENDS = (
    re.compile(
        r"\b(?:the )?(?P<end>furthest|farthest|most|least) (?=(?:over|above|under|below|exceed(?:s|ed|ing)?)\b)",
        re.IGNORECASE,
    ),
    re.compile(
        r"\bby (?:the )?(?P<end>most|least|(?:largest|biggest|greatest|highest|smallest|lowest) "
        r"(?:amount|margin|(?P<percent>percentage)))\b",
        re.IGNORECASE,
    ),
    re.compile(r"\b(?:the )?(?P<end>most|furthest|farthest|least)\W*\Z", re.IGNORECASE),
)
_PERCENT = re.compile(r"\b(?:in|by|as an?) (?:per ?cent|percentage(?: terms)?)\b", re.IGNORECASE)
_GAP = re.compile(
    r"\b(?:the )?(?P<end>largest|biggest|greatest|highest|smallest|lowest) (?:difference|gap) between\b"
    r"(?:\W+(?:the|their|its)\b)?(?P<between>.*?)\b(?P<than>and)\b(?:\W+(?:the|their|its)\b)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Versus:
    """How the column said before `split` must stand to the one behind it; `word` says so, beginning at `start`.

    `end` asks for the rows with the greatest or smallest difference, as a percentage if it is `in_percent`; there the
    relation may be None: a difference in either direction.
    """

    relation: Relation | None
    word: str
    start: int
    split: int
    end: Operation | None = None
    in_percent: bool = False


def versus_in(text: str) -> tuple[str, Versus | None]:
    """Return the text without the words that compare two columns, and what they say; None where none do."""
    percent = _PERCENT.search(text)
    rest = blanked(text, *percent.span()) if percent else text
    if gap := _GAP.search(rest):
        rest = blanked(blanked(rest, gap.start(), gap.start("between")), gap.start("than"), gap.end())
        return rest, Versus(None, "", gap.start(), gap.end("than"), _end(gap), percent is not None)
    end = next((said for form in _ENDS if (said := form.search(rest))), None)
    if end is None:
        return _compared(text)
    shorter, versus = _compared(blanked(rest, *end.span()))
    in_percent = percent is not None or end.groupdict().get("percent") is not None
    return (shorter, replace(versus, end=_end(end), in_percent=in_percent)) if versus else (text, None)


def _end(found: re.Match[str]) -> Operation:
    return Operation.MINIMUM if found["end"].lower().startswith(_LEAST) else Operation.MAXIMUM


def _compared(text: str) -> tuple[str, Versus | None]:
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
