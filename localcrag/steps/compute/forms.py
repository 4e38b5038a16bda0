"""Forms of a question about a table: groups, the first few, negations, differences and shares.

Each takes its words out of the question, so that what is left is read as a plain one. Positions stay as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from localcrag.records.enums import Operation
from localcrag.steps.compute.versus import MORE, Versus, versus_in
from localcrag.text.words import NUMBER_WORDS, blanked

MOST_ROWS_ASKED = 50
"""Of "the three largest": what is more is another kind of question."""

_WORDS = "|".join(NUMBER_WORDS)
_FEW = rf"(?P<few>\d{{1,2}}|{_WORDS})"
_TOP = re.compile(rf"\b(?P<end>top|bottom) {_FEW}\b", re.IGNORECASE)
_DIFFERENT = re.compile(r"\b(?:different|distinct|unique)\b(?= \w)", re.IGNORECASE)
_COMPARED = re.compile(rf"\bhow (?:much|many) (?P<more>{MORE})\b(?P<between>.*?)\b(?P<than>than)\b", re.IGNORECASE)
_BEYOND, _BY_HOW_MUCH = (
    re.compile(rf"\b{asks}(?P<between> (?:[^,;:]*? )?)(?P<than>(?P<more>{more}))\b", re.IGNORECASE)
    for asks, more in (
        # "How much was paid over the year" is none.
        ("how (?:much|far)", r"above|below|under|(?:(?<=how much )|(?<=how far ))over|exceed(?:s|ed)?"),
        ("by how much", "above|below|under|over|exceed(?:s|ed)?"),
    )
)
_DIFFERENCE = re.compile(
    r"\b(?:what(?:'s| is| was) )?the difference(?P<of> in [\w ]+?)? between\b(?P<between>.*?)\b(?P<than>and)\b",
    re.IGNORECASE,
)
_SHARE = re.compile(
    r"^(?:what|which|how many|how large)?(?:'s| is| was)? ?(?:an? |the )?(?:percentage|per ?cent|share|proportion)"
    r"(?: share)? of\b",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|comes?|came|lives?|lived|has|have|had|goes|go|went|belongs?|fell|falls?)\b", re.IGNORECASE
)
_PER = re.compile(
    r"\b(?:per|(?:for|in|of|on|at|from) (?:each|every)(?: of the)?|each|every|(?:grouped|broken down) by) "
    r"(?P<by>[^\W\d_]+)\b",
    re.IGNORECASE,
)
_BY = re.compile(r"\bby (?P<by>[^\W\d_]+)\W*\Z", re.IGNORECASE)
_NOT = re.compile(
    r"\b(?:(?:(?:is|are|was|were|do|does|did|has|have|had) )?not(?: yet| in| been| have)?|"
    r"(?:is|are|was|were|do|does|did|has|have|had)n't(?: yet| been| have)?|no|without(?: any| an?)?|"
    r"neither|except(?: for)?|excluding|other than)\b",
    re.IGNORECASE,
)
_ABSENT = re.compile(r"^(?:no|without)\b|\bhave$", re.IGNORECASE)
_MISSING = re.compile(r"\b(?:is|are|was|were|has|have)\b(?P<what>[^,;]*?)\b(?:missing|empty|blank)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;]|\bbut\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Forms:
    """What the form of a question adds to its operation. `rest` has blanks where the words for that stood.

    `few` rows are asked for, of which `end` says whether they are the highest or the lowest; None where another word
    says it. `by` is what the groups are of. Words in `negated` places are denied; in those
    that are `absent`, too, it is said that there is none ("no supplier"). `split` is where the second side of a
    difference, or what makes the share, begins; `form` says which of these it is. `more` is the word of a comparison,
    `versus` is one of two columns.
    """

    rest: str
    few: int = 1
    end: Operation | None = None
    by: str = ""
    different: bool = False
    negated: tuple[tuple[int, int], ...] = ()
    absent: tuple[tuple[int, int], ...] = ()
    form: Operation | None = None
    split: int = 0
    more: str = ""
    versus: Versus | None = None


def forms_in(text: str) -> Forms | None:
    """Return the forms of a question whose conditions are blanks; None where they are more than is understood."""
    rest, form, split, more = _two_sides(text)
    rest, versus = (rest, None) if form else versus_in(rest)
    different = _DIFFERENT.search(rest)
    rest = _blank(rest, different)
    top = _TOP.search(rest)
    rest = _blank(rest, top)
    by = _PER.search(rest) or (None if top or form else _BY.search(rest))
    rest = _blank(rest, by)
    if _PER.search(rest):
        return None
    denied = _denied(rest)
    if denied is None:
        return None
    rest, negated, absent = denied
    if versus and (different or top or by or negated):
        return None
    return Forms(
        rest,
        few=number_of(top["few"]) if top else 1,
        end=(Operation.MAXIMUM if top["end"].lower() == "top" else Operation.MINIMUM) if top else None,
        by=by["by"].lower() if by else "",
        different=different is not None,
        negated=negated,
        absent=absent,
        form=form,
        split=split,
        more=more,
        versus=versus,
    )


def few_before(text: str, superlative: str) -> tuple[int, str]:
    """Return how many rows are asked for beside a word like "cheapest", and the text without that number.

    "The three cheapest", "which three clubs have the most points": 1 where no number says it.
    """
    forms = (
        rf"\b{_FEW} (?={re.escape(superlative)}\b)",
        rf"^\W*(?:which|what|list|name|show)(?: are| were)?(?: the)? {_FEW}(?= [^\W\d_])",
        rf"^\W*the {_FEW}(?= [^\W\d_])",
    )
    for form in forms:
        if found := re.search(form, text, re.IGNORECASE):
            return number_of(found["few"]), blanked(text, *found.span("few"))
    return 1, text


def number_of(said: str) -> int:
    """Return a whole number that is said in digits or as a word."""
    return int(NUMBER_WORDS.get(said.lower(), said))


def _two_sides(text: str) -> tuple[str, Operation | None, int, str]:
    """Return the text without the words of a difference or a share, which of them it is, and where it is parted."""
    for pattern in (_COMPARED, _BY_HOW_MUCH, _BEYOND, _DIFFERENCE):
        if (found := pattern.search(text)) and not re.search(r"\bthan\b", text[found.end() :], re.IGNORECASE):
            rest = blanked(text, found.start(), found.start("between"))
            rest = blanked(rest, *found.span("than"))
            if of := found.groupdict().get("of"):
                rest = rest[: found.start("of")] + of + rest[found.end("of") :]
            more = (found.groupdict().get("more") or "").lower()
            return rest, Operation.DIFFERENCE, found.end("than"), more
    if (found := _SHARE.search(text)) and (verb := _VERB.search(text, found.end())):
        rest = blanked(blanked(text, *found.span()), *verb.span())
        return rest, Operation.SHARE, verb.start(), ""
    return text, None, 0, ""


_Places = tuple[tuple[int, int], ...]


def _denied(text: str) -> tuple[str, _Places, _Places] | None:
    """Return the text without the words that deny, what they deny, and what of it is absent; None where not clear."""
    if missing := _MISSING.search(text):
        rest = blanked(text, missing.end("what"), missing.end())
        place = missing.span("what")
        return (rest, (place,), (place,)) if not _NOT.search(rest) else None
    places: list[tuple[int, int]] = []
    absent: list[tuple[int, int]] = []
    rest = text
    for found in list(_NOT.finditer(text)):
        end = next((clause.start() for clause in _CLAUSE.finditer(text, found.end())), len(text))
        if places and found.start() < places[-1][1]:
            return None  # "Not without": what that denies is not for rules.
        places.append((found.end(), end))
        if _ABSENT.search(found[0]):
            absent.append(places[-1])
        rest = blanked(rest, *found.span())
        rest = rest[: found.end()] + re.sub(r"\bnor\b", "or ", rest[found.end() : end]) + rest[end:]
        rest = re.sub(r"\bbut\b", "   ", rest)
    if any(re.search(r"\band\b", rest[start:end], re.IGNORECASE) for start, end in places):
        return None  # "Not red and large" may deny one of them, or both.
    return rest, tuple(places), tuple(absent)


def _blank(text: str, found: re.Match[str] | None) -> str:
    return blanked(text, *found.span()) if found else text
