"""What a question asks to be computed, by its words alone: operation and conditions.

It knows no table, and is strict: whatever else a question says must be found in the table (plan.py), and one with words
that change what is asked for ("not", "each", "if", "I") asks for nothing here. To miss a computation costs little: the
usual flow answers. To see one where there is none gives a wrong number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum

from localcrag.records.enums import Operation
from localcrag.steps.compute.amounts import Amount, Mark, amount_of, mark_of
from localcrag.steps.compute.moments import Moment, moment_at
from localcrag.steps.compute.vocabulary import SUPERLATIVES, Superlative
from localcrag.text.quantities import CURRENCIES, UNITS
from localcrag.text.question_form import asks_yes_or_no
from localcrag.text.words import NUMBER_WORDS, one_line

MOST_CHARACTERS = 200
"""Of a question that may be one; what is longer tells a story."""


class Relation(Enum):
    """How a value must stand to that of a condition. WITHIN has two bounds, both in it."""

    ABOVE = "more than"
    BELOW = "less than"
    AT_LEAST = "at least"
    AT_MOST = "at most"
    EQUAL = "exactly"
    WITHIN = "between"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on amounts or on moments, with the place of its words in the request's text.

    `high` is the upper bound of WITHIN.
    """

    relation: Relation
    low: Amount | Moment
    start: int
    end: int
    high: Amount | Moment | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What a question asks for. `rest` is its text with blanks where operation and conditions stood.

    `asks` is the word that says the operation. `target` is where the words begin that say what is counted or listed,
    in `rest`; None where the operation is of a column. `everything`: all rows are asked for in so many words.
    """

    operation: Operation
    text: str
    rest: str
    asks: str
    target: int | None = None
    superlative: Superlative | None = None
    conditions: tuple[Condition, ...] = ()
    everything: bool = False


_POLITE = re.compile(
    r"^\W*(?:please,? )?(?:(?:can|could|would|will) you (?:please )?)?"
    r"(?:tell me|show me|give me|let me know|do you know)?[ ,:]*",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|except|excluding|besides|other|others|another|else|or|if|why|how|each|"
    r"every|per|either|both|half|share|percentage|proportion|ratio|difference|differ|compared?|versus|vs|than|median|"
    r"i|i'm|i've|my|mine|me|you|your|he|she|his|her|they|their|should|must|may|might|can|could|would|need|allowed|"
    r"second|third|fourth|top|top-most|next|last|first|again|already|yet|now|today|only|same|change[ds]?|"
    r"increase[ds]?|decrease[ds]?|rise|rose|grow[ns]?|grew|more|less|fewer|until|because|when|where)\b"
    r"|n't\b|[?!.;:]\s+\w",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"\bhow many\b|\b(?:what(?:'s| is| was) )?(?:the )?(?:total |overall )?(?:number|count) of\b"
    r"|^count\b(?: of| the| all)*",
    re.IGNORECASE,
)
_HOW_MUCH = re.compile(r"\bhow much\b", re.IGNORECASE)
_SUM = re.compile(
    r"\b(?:in total|in all|in sum|all together|altogether|combined|all in all|add(?:s|ed)? up(?: to)?|"
    r"(?:grand |sum )?total(?: sum)?(?: of)?|sum(?: total)?(?: of)?|overall)\b",
    re.IGNORECASE,
)
_AVERAGE = re.compile(r"\b(?:on average|average|mean(?= of| \w+ (?:is|of|in|for)))(?: of)?\b", re.IGNORECASE)
_SUPERLATIVE = re.compile(
    rf"\b(?:the )?({'|'.join(sorted(SUPERLATIVES, key=len, reverse=True))})\b(?! (?:of|all)\b)", re.IGNORECASE
)
_LIST = re.compile(
    r"^\W*(?:(?:list|show|name|give|display|find|enumerate)(?: me| us)?\b(?: all| every)?(?: of)?(?: the)?"
    r"|(?:which|what)(?: are(?: all)?(?: the)?)?|who(?= \w+s?\b)|(?:every|all)(?: the)?)",
    re.IGNORECASE,
)
_EVERYTHING = re.compile(
    r"^\W*(?:list|name|enumerate|show|give|display)\b.*\b(?:all|every)\b|\bare there\b|^\W*(?:what|which) are all\b",
    re.IGNORECASE,
)

_UNIT = "|".join(
    sorted(
        {re.escape(unit) for unit in (*CURRENCIES, *UNITS, *(f"{unit}s" for unit in UNITS.values()), *UNITS.values())},
        key=len,
        reverse=True,
    )
)
_WORDS = "|".join(NUMBER_WORDS)
_NUMBER = (
    rf"(?:[€$£][ \u00a0]?)?[-−]?(?:\d(?:[\d.,'’]*\d)?|(?:{_WORDS})\b)"
    rf"(?:[ \u00a0]?(?:%|per ?cent\b|(?:{_UNIT})(?![\w])))?"
)
_ABOVE = (
    r"(?:\b(?:(?:more|greater|higher|larger|bigger|longer|heavier|dearer|taller|more expensive) than|over|above"
    r"|exceed(?:s|ing)?|in excess of) |> ?)NUMBER"
)
_FORMS = (
    (r"\b(?:(?:lies?|is|are) )?(?:between|from) NUMBER (?:and|to) NUMBER", Relation.WITHIN),
    (r"(?:\b(?:at least|no less than|not less than|no fewer than|a minimum of) |≥ ?)NUMBER", Relation.AT_LEAST),
    (r"(?:\b(?:at most|no more than|not more than|up to|a maximum of) |≤ ?)NUMBER", Relation.AT_MOST),
    (_ABOVE, Relation.ABOVE),
    (
        r"(?:\b(?:(?:less|fewer|lower|smaller|cheaper|shorter|lighter|less expensive) than|under|below) |< ?)NUMBER",
        Relation.BELOW,
    ),
    (r"(?<!\w)NUMBER or (?:more|above|over|higher)\b", Relation.AT_LEAST),
    (r"(?<!\w)NUMBER or (?:less|fewer|below|under|lower)\b", Relation.AT_MOST),
    (r"\b(?:exactly|equal to|equals) NUMBER", Relation.EQUAL),
)


def _compiled(form: str) -> re.Pattern[str]:
    low, high = rf"(?:a |the )?(?P<low>{_NUMBER})", rf"(?P<high>{_NUMBER})"
    return re.compile(form.replace("NUMBER", low, 1).replace("NUMBER", high), re.IGNORECASE)


_COMPARED = tuple((_compiled(form), relation) for form, relation in _FORMS)
_DATED: tuple[tuple[re.Pattern[str], Relation], ...] = tuple(
    (re.compile(form, re.IGNORECASE), relation)
    for form, relation in (
        (r"\b(?:between|from) (?:the )?", Relation.WITHIN),
        (r"\b(?:before|earlier than|prior to) (?:the )?", Relation.BELOW),
        (r"\b(?:after|later than) (?:the )?", Relation.ABOVE),
        (r"\b(?:since|starting(?: from| on| in)?) (?:the )?", Relation.AT_LEAST),
        (r"\b(?:until|till|up to|no later than|by) (?:the )?", Relation.AT_MOST),
        (r"\b(?:in|during|for|of|from|on|dated) (?:the month of |the year |the )?", Relation.EQUAL),
    )
)
_AND = re.compile(r" (?:and|to|until|till) (?:the )?", re.IGNORECASE)
_ONWARDS = re.compile(r" (?:on|onwards?)\b", re.IGNORECASE)


def request_of(question: str) -> Request | None:
    """Return what a question asks to be computed; None for a question that is not clearly of that kind."""
    asked = _POLITE.sub("", one_line(question).replace("’", "'"), count=1).rstrip(" ?.!")
    if not asked or len(asked) > MOST_CHARACTERS or asks_yes_or_no(asked):
        return None
    conditions, rest = _conditions(asked)
    if conditions is None:
        return None
    found = _operation(asked, rest)
    if found is None:
        return None
    if not conditions and found.operation is Operation.FILTER and not found.target:
        return None  # Nothing says that rows are asked for.
    request = replace(found, conditions=conditions)
    if _CHANGES.search(request.rest) or (request.operation is Operation.FILTER and _HOW_MUCH.search(asked)):
        return None
    return request


def _operation(text: str, rest: str) -> Request | None:
    """Return the one operation that a question names; `rest` has blanks for its conditions."""
    superlatives = list(_SUPERLATIVE.finditer(rest))
    counts, averages = _COUNT.search(rest), _AVERAGE.search(rest)
    if len(superlatives) + bool(counts) + bool(averages) > 1:
        return None
    if superlatives:
        (one,) = superlatives
        wanted = SUPERLATIVES[one[1].lower()]
        return Request(wanted.operation, text, _blank(rest, *one.span()), one[1].lower(), superlative=wanted)
    if averages:
        return Request(Operation.AVERAGE, text, _blank(rest, *averages.span()), "average")
    return _number_or_rows(text, rest, counts)


def _number_or_rows(text: str, rest: str, counts: re.Match[str] | None) -> Request | None:
    """Return a request for a number, a total or rows."""
    left = _blank(rest, *counts.span()) if counts else rest
    sums = _SUM.search(left)
    left = _blank(left, *sums.span()) if sums else left
    if counts:
        # With "in total" it may be a sum: the table tells what it is that is counted.
        return Request(Operation.SUM if sums else Operation.COUNT, text, left, "number", target=counts.end())
    if sums:
        much = _HOW_MUCH.search(left)
        return Request(Operation.SUM, text, _blank(left, *much.span()) if much else left, "total")
    listed = _LIST.match(rest)
    if listed is None:
        return Request(Operation.FILTER, text, rest, "", target=0)
    everything = _EVERYTHING.search(rest) is not None
    return Request(Operation.FILTER, text, _blank(rest, *listed.span()), "", target=listed.end(), everything=everything)


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]


def _conditions(text: str) -> tuple[tuple[Condition, ...] | None, str]:
    """Return the conditions of a question, and its text without them; None for a number that cannot be read."""
    found: list[Condition] = []
    rest = text
    for form, relation in _DATED:
        for match in form.finditer(text):
            condition = _dated(rest, match, relation)
            if condition and rest[condition.start : condition.end].strip() == text[condition.start : condition.end]:
                found.append(condition)
                rest = _blank(rest, condition.start, condition.end)
    for compared, relation in _COMPARED:
        while said := compared.search(rest):
            low, high = _amount(said, "low"), _amount(said, "high")
            if low is None or (relation is Relation.WITHIN and high is None):
                return None, rest
            if relation is Relation.WITHIN and high and low.unit != high.unit:
                low = Amount(low.value, high.unit, low.decimals, high.written, high.before)
            found.append(Condition(relation, low, said.start(), said.end(), high))
            rest = _blank(rest, *said.span())
    return tuple(sorted(found, key=lambda condition: condition.start)), rest


def _dated(text: str, match: re.Match[str], relation: Relation) -> Condition | None:
    """Return the condition that a preposition makes with the day, month or year behind it."""
    first = moment_at(text, match.end())
    if first is None or re.match(r"\w|[.,]\d", text[first[1] :]):
        return None
    moment, end = first
    if relation is Relation.WITHIN:
        joins = _AND.match(text, end)
        second = moment_at(text, joins.end()) if joins else None
        if second is None:
            return None
        low = Moment(moment.year or second[0].year, moment.month, moment.day)
        return Condition(relation, low, match.start(), second[1], second[0])
    if relation is Relation.EQUAL and (onwards := _ONWARDS.match(text, end)):
        return Condition(Relation.AT_LEAST, moment, match.start(), onwards.end())
    return Condition(relation, moment, match.start(), end)


def _amount(match: re.Match[str], name: str) -> Amount | None:
    said = match.groupdict().get(name)
    if said is None:
        return None
    word = re.match(rf"(?:{_WORDS})\b", said, re.IGNORECASE)
    said = NUMBER_WORDS[word[0].lower()] + said[word.end() :] if word else said
    said = re.sub(r"per ?cent\Z", "%", said, flags=re.IGNORECASE)
    number = re.search(r"\d[\d.,]*", said)
    mark = mark_of([number[0]]) if number else Mark.POINT
    return amount_of(said, mark)


def bare(amount: Amount) -> str:
    """Return the number of a condition as a person writes it, with its unit."""
    number = f"{amount.value.normalize():,f}" if amount.value != amount.value.to_integral() else f"{amount.value:,.0f}"
    if not amount.written:
        return number
    return f"{amount.written}{number}" if amount.before else f"{number} {amount.written}"
