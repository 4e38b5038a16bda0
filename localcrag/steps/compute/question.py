"""What a question asks to be computed, by its words alone: operation and conditions.

It knows no table, and is strict: whatever else a question says must be found in the table (plan.py), and one with words
that change what is asked for ("not", "each", "if", "I") asks for nothing here. To miss a computation costs little: the
usual flow answers. To see one where there is none gives a wrong number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import date

from localcrag.records.enums import Operation
from localcrag.steps.compute.forms import MOST_ROWS_ASKED, Forms, few_before, forms_in
from localcrag.steps.compute.names import Names, names_in
from localcrag.steps.compute.said_conditions import Condition, conditions_in
from localcrag.steps.compute.versus import Versus
from localcrag.steps.compute.vocabulary import SUPERLATIVES, Superlative
from localcrag.text.question_form import asks_yes_or_no
from localcrag.text.words import NUMBER_WORDS, blanked, one_line

MOST_CHARACTERS = 200
"""Of a question that may be one; what is longer tells a story."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a question asks for. `rest` is its text with blanks where operation and conditions stood.

    `asks` is the word that says the operation. `target` is where the words begin that say what is counted or listed,
    in `rest`; None where the operation is of a column. `everything`: all rows are asked for in so many words. `few`: so
    many rows with the highest or lowest values are. `of_groups`: of these sums or averages the highest or lowest is.
    `names` are the words that are written as such; those that begin at `excused` places must be cells, as any other
    word like "may" would change what is asked for.
    """

    operation: Operation
    text: str
    rest: str
    asks: str
    target: int | None = None
    superlative: Superlative | None = None
    conditions: tuple[Condition, ...] = ()
    everything: bool = False
    few: int = 1
    of_groups: Operation | None = None
    forms: Forms = field(default_factory=lambda: Forms(""))
    names: Names = field(default_factory=Names)
    excused: frozenset[int] = frozenset()


_POLITE = re.compile(
    r"^\W*(?:please,? )?(?:(?:can|could|would|will) you (?:please )?)?"
    r"(?:tell me|show me|give me|let me know|do you know)?[ ,:]*"
    r"(?:(?:in|on|at|for|from|to|of|with)(?= (?:which|what|how many)\b))? ?"
    r"(?:when (?:was|is|were|does|did|do)(?= the\b))?",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|except|excluding|besides|other|others|another|else|if|why|how|each|"
    r"every|per|either|both|half|share|percentage|proportion|ratio|difference|differ|compared?|versus|vs|than|median|"
    r"i|i'm|i've|my|mine|me|you|your|he|she|his|her|they|their|should|must|may|might|can|could|would|need|allowed|"
    r"second|third|fourth|top|top-most|bottom|next|last|first|previous|current|different|again|already|yet|now|today|"
    r"only|same|change[ds]?|"
    r"increase[ds]?|decrease[ds]?|rise|rose|grow[ns]?|grew|more|less|fewer|until|because|when|where|but|nor)\b"
    r"|n't\b|[?!.;:]\s+\w",
    re.IGNORECASE,
)
_NO_LETTER = re.compile(r"[^\w'’]|\Z")
_FORECAST = re.compile(r"\b(?:will|would|going to)\b", re.IGNORECASE)
_OF_COLUMNS = re.compile(r"\b(?:now|current|previous|today)\b", re.IGNORECASE)
"""Words that may name one of two columns that are compared."""
_COUNT = re.compile(
    r"\bhow many\b|\b(?:what(?:'s| is| was) )?(?:the )?(?:total |overall )?(?:number|count) of\b"
    r"|^count\b(?: of| the| all)*",
    re.IGNORECASE,
)
_HOURS = re.compile(r" (?:hours|minutes) (?:did|have|has|were|was)\b", re.IGNORECASE)
"""What is added up though nothing says so: who worked three hours and two worked five."""
_SPENT = re.compile(r"\W*(?:what|how much) (?:did|have|has) .*\bspen[dt]\b(?!.*\bon\W*\Z)", re.IGNORECASE)
_WHICH = re.compile(r"\W*(?:which|who)\b", re.IGNORECASE)
_HOW_MUCH = re.compile(r"\bhow much\b", re.IGNORECASE)
_SUM = re.compile(
    r"\b(?:how much(?= (?:[^\W\d]+ ){1,3}(?:is|are|was|were) there\b)|"
    r"in total|in all|in sum|all together|altogether|combined|all in all|add(?:s|ed)? up(?: to)?|"
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
_NO_MOMENT = re.compile(
    rf" (?:years?|months?|weeks?|quarters?|half|names?|days?|times?|\d+|{'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE
)
"""What "first" and "last" stand before where they are no first or last row by date."""


def request_of(question: str, today: date | None = None) -> Request | None:
    """Return what a question asks to be computed; None for a question that is not clearly of that kind.

    Without the day on which it is asked, "last month" makes it none.
    """
    asked = _POLITE.sub("", one_line(question).replace("’", "'"), count=1).rstrip(" ?.!")
    if not asked or len(asked) > MOST_CHARACTERS or asks_yes_or_no(asked):
        return None
    conditions, rest = conditions_in(asked, today)
    forms = forms_in(rest)
    if conditions is None or forms is None:
        return None
    found = _operation(asked, forms)
    if found is None or not 1 <= found.few <= MOST_ROWS_ASKED:
        return None
    if not (conditions or forms.versus) and found.operation is Operation.FILTER and not found.target:
        return None  # Nothing says that rows are asked for.
    names = names_in(asked)
    excused = frozenset(at for at in names.at if _CHANGES.match(found.rest, at))
    request = replace(found, conditions=conditions, forms=forms, names=names, excused=excused)
    return None if _is_something_else(request) else request


def _is_something_else(request: Request) -> bool:
    """Whether words change what is asked for, or say days in a way that is not understood."""
    rest, text, forms = request.rest, request.text, request.forms
    for at in request.names.at:
        end = next(gap.start() for gap in _NO_LETTER.finditer(request.text, at))
        rest, text = blanked(rest, at, end), blanked(text, at, end)
    if forms.versus or forms.form is Operation.DIFFERENCE:
        if _FORECAST.search(text):
            return True
        rest = _OF_COLUMNS.sub("", rest)
    elif sum(condition.relative is not None for condition in request.conditions) > 1:
        return True  # "From last month to this month" is a span.
    much = request.operation is Operation.FILTER and _HOW_MUCH.search(request.text)
    return bool(_CHANGES.search(rest) or much)


def _operation(text: str, forms: Forms) -> Request | None:
    """Return the one operation that a question names; the rest of the forms has blanks for its conditions."""
    rest = forms.rest
    superlatives = list(_SUPERLATIVE.finditer(rest))
    counts, averages = _COUNT.search(rest), _AVERAGE.search(rest)
    if forms.versus:
        named = [found for found in superlatives if forms.versus.end or found.start() < forms.versus.split]
        return None if named or averages or _SUM.search(rest) else _of_columns(text, rest, counts, forms.versus)
    if forms.form:
        return None if superlatives or counts or averages or forms.by else _of_two_sides(text, forms)
    if len(superlatives) > 1 or (counts and (superlatives or averages)) or (forms.by and (superlatives or forms.end)):
        return None
    if superlatives or forms.end:
        return _highest(text, forms, superlatives[0] if superlatives else None, averages)
    if averages:
        return Request(Operation.AVERAGE, text, blanked(rest, *averages.span()), "average")
    return _number_or_rows(text, rest, counts)


def _of_columns(text: str, rest: str, counts: re.Match[str] | None, versus: Versus) -> Request | None:
    """Return a request for rows in which two columns differ, or for those in which they do most."""
    rows = _number_or_rows(text, rest, counts)
    if rows is None or versus.end is None:
        return rows
    return None if counts else replace(rows, operation=Operation.DIFFERENCE, asks=versus.word or "difference")


def _highest(
    text: str, forms: Forms, superlative: re.Match[str] | None, averages: re.Match[str] | None
) -> Request | None:
    """Return a request for the rows, or the groups of rows, with the highest or lowest values."""
    if superlative is None:
        end = forms.end or Operation.MAXIMUM
        asks = "highest" if end is Operation.MAXIMUM else "lowest"
        return Request(end, text, forms.rest, asks, superlative=Superlative(end), few=forms.few)
    word = superlative[1].lower()
    if word in ("first", "last") and _NO_MOMENT.match(forms.rest, superlative.end()):
        return None
    wanted = SUPERLATIVES[word]
    few, rest = (forms.few, forms.rest) if forms.end else few_before(forms.rest, word)
    rest = blanked(rest, *superlative.span())
    sums = _SUM.search(rest)
    of_groups = Operation.AVERAGE if averages else Operation.SUM if sums else None
    said = averages or sums
    rest = blanked(rest, *said.span()) if said else rest
    return Request(wanted.operation, text, rest, word, superlative=wanted, few=few, of_groups=of_groups)


def _of_two_sides(text: str, forms: Forms) -> Request | None:
    """Return a request for a difference or a share."""
    sums = _SUM.search(forms.rest)
    rest = forms.rest
    while found := _SUM.search(rest):
        rest = blanked(rest, *found.span())
    asks = "total" if sums else forms.more or "share"
    return Request(forms.form or Operation.SHARE, text, rest, asks)


def _number_or_rows(text: str, rest: str, counts: re.Match[str] | None) -> Request | None:
    """Return a request for a number, a total or rows."""
    left = blanked(rest, *counts.span()) if counts else rest
    sums = _SUM.search(left)
    left = blanked(left, *sums.span()) if sums else left
    adds_up = sums or (_HOURS.match(rest, counts.end()) if counts else _SPENT.match(rest))
    if counts:
        # With "in total" it may be a sum: the table tells what it is that is counted.
        return Request(Operation.SUM if adds_up else Operation.COUNT, text, left, "number", target=counts.end())
    if sums and _WHICH.match(rest):
        return None  # "Which items cost more than 400 in sum" asks for rows, by a sum that a row may have.
    if adds_up:
        much = _HOW_MUCH.search(left)
        return Request(Operation.SUM, text, blanked(left, *much.span()) if much else left, "total")
    listed = _LIST.match(rest)
    if listed is None:
        return Request(Operation.FILTER, text, rest, "", target=0)
    everything = _EVERYTHING.search(rest) is not None
    return Request(
        Operation.FILTER, text, blanked(rest, *listed.span()), "", target=listed.end(), everything=everything
    )
