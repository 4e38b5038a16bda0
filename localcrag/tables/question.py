"""Parse a question about a table: which operation it asks for, on which rows, and in which form.

Everything here works on the text alone; parsed_question.py then matches it with a table. Words that are understood are
replaced by blanks, so that offsets stay the same and the remaining words can be checked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import date

from localcrag.records.enums import Operation
from localcrag.tables.question_conditions import Condition, Relation, conditions_in
from localcrag.tables.vocabulary import SUPERLATIVES, Superlative
from localcrag.text.question_form import asks_yes_or_no
from localcrag.text.words import NUMBER_WORDS, blank_out, one_line

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W_]+)?")
_I = re.compile(r"(?i)i(?:['’]\w+)?")
_BEGINS = re.compile(r"(?:^|[?!.;:]\s)\W*\Z")
"""The text before the first word of a sentence."""


@dataclass(frozen=True, slots=True)
class NameWords:
    """The places in a text where words written as names begin.

    `telling`: a capital letter marks a name in this text. It does not if no word has a capital letter, or most words
    do, as in a headline.
    """

    at: frozenset[int] = frozenset()
    telling: bool = False


def names_in(text: str) -> NameWords:
    """Return the words of a question that are written as names.

    The first word of a sentence always has a capital letter, so it does not count.
    """
    words = [found for found in _WORD.finditer(text) if not _I.fullmatch(found[0])]
    inside = [found for found in words if not _BEGINS.search(text[: found.start()])]
    named = frozenset(found.start() for found in inside if found[0][0].isupper())
    if not any(found[0][0].isupper() for found in words) or 2 * len(named) > len(inside):
        return NameWords()
    return NameWords(named, telling=True)


COMPARATIVE_PATTERN = (
    r"more expensive|less expensive|more|less|fewer|higher|lower|cheaper|dearer|longer|shorter|taller|heavier|lighter|"
    r"larger|bigger|smaller|greater"
)
"""Comparatives, as a regular expression."""
_LESS = frozenset(("below", "under", "before", "earlier"))
_LESS_THAN = re.compile(r"(?i)less|fewer|lower|cheaper|shorter|lighter|smaller")
_ASKS_FOR_ROWS = re.compile(
    r"(?i)^\W*(?:which|what|who|how many|(?:list|show|name|count|find)\b|the number of|what(?:'s| is) the number of)\b"
)
"""Beginnings of questions that ask for rows."""
_THAN = re.compile(
    rf"(?i)\b(?:an? )?(?P<word>{COMPARATIVE_PATTERN}|later|earlier)\b(?P<between>[^,;:]*?)\b(?P<than>than)\b"
)
"""Comparisons with "than": "more rooms than floors"."""
_AS = re.compile(r"(?i)\b(?P<word>as (?:many|much|high|large))\b(?P<between>[^,;:]*?)\b(?P<than>as)\b")
"""Comparisons with "as": "as many rooms as floors"."""
_RELATION_WORDS = re.compile(
    r"(?i)\b(?:(?:stay(?:s|ed)?|lies?|lay|went|goes|go|came|comes) )?"
    r"(?P<than>(?P<word>above|over|below|under|exceed(?:s|ed|ing)?|after|before|equals?|equal to|the same as))\b"
)
"""Comparisons without "than": "above the budget", "exceeded", "the same as"."""
_FORMS = (_THAN, _AS, _RELATION_WORDS)
_FILLERS = re.compile(
    r"(?i)(?:\W+(?:the|their|its|his|her|our|they|it|he|she|we|what|was|were|is|are|had|has|been)\b)*"
)
"""Words after a comparison that do not name the column to compare with."""
_LEAST = ("least", "smallest", "lowest")
_ENDS = (
    re.compile(
        r"(?i)\b(?:the )?(?P<end>furthest|farthest|most|least) (?=(?:over|above|under|below|exceed(?:s|ed|ing)?)\b)"
    ),
    re.compile(
        r"(?i)\bby (?:the )?(?P<end>most|least|(?:largest|biggest|greatest|highest|smallest|lowest) "
        r"(?:amount|margin|(?P<percent>percentage)))\b"
    ),
    re.compile(r"(?i)\b(?:the )?(?P<end>most|furthest|farthest|least)\W*\Z"),
)
"""Words that ask for the greatest or smallest difference: "furthest over budget", "by the largest margin"."""
_PERCENT = re.compile(r"(?i)\b(?:in|by|as an?) (?:per ?cent|percentage(?: terms)?)\b")
"""Words that ask for a difference as a percentage."""
_GAP = re.compile(
    r"(?i)\b(?:the )?(?P<end>largest|biggest|greatest|highest|smallest|lowest) (?:difference|gap) between\b"
    r"(?:\W+(?:the|their|its)\b)?(?P<between>.*?)\b(?P<than>and)\b(?:\W+(?:the|their|its)\b)?"
)
"""Questions for the greatest or smallest difference between two columns."""


@dataclass(frozen=True, slots=True)
class ColumnComparison:
    """A comparison of two columns of each row: the column named before `split` with the column named after it.

    `word` is the comparative, and `start` its offset. `end` is set if the question asks for the rows with the greatest
    or smallest difference, as a percentage if `in_percent`. `relation` can then be None: the difference may go either
    way.
    """

    relation: Relation | None
    word: str
    start: int
    split: int
    end: Operation | None = None
    in_percent: bool = False


def find_column_comparison(text: str) -> tuple[str, ColumnComparison | None]:
    """Return the text without the words that compare two columns, and the comparison; None if there is none."""
    percent = _PERCENT.search(text)
    rest = blank_out(text, *percent.span()) if percent else text
    if gap := _GAP.search(rest):
        rest = blank_out(blank_out(rest, gap.start(), gap.start("between")), gap.start("than"), gap.end())
        return rest, ColumnComparison(None, "", gap.start(), gap.end("than"), _end(gap), percent is not None)
    end = next((message for form in _ENDS if (message := form.search(rest))), None)
    if end is None:
        return _find_comparison(text)
    shorter, versus = _find_comparison(blank_out(rest, *end.span()))
    in_percent = percent is not None or end.groupdict().get("percent") is not None
    return (shorter, replace(versus, end=_end(end), in_percent=in_percent)) if versus else (text, None)


def _end(found: re.Match[str]) -> Operation:
    """Return whether the question asks for the greatest or the smallest difference."""
    return Operation.MINIMUM if found["end"].lower().startswith(_LEAST) else Operation.MAXIMUM


def _find_comparison(text: str) -> tuple[str, ColumnComparison | None]:
    """Return the text without the words of a comparison, and the comparison; None if there is none.

    A question that does not ask for rows has none, whatever its words.
    """
    found = next((message for form in _FORMS if (message := form.search(text))), None)
    if found is None or not _ASKS_FOR_ROWS.match(text):
        return text, None
    split = found.end("than")
    filled = _FILLERS.match(text, split)
    rest = blank_out(text, split, filled.end()) if filled else text
    for start, end in (found.span("word"), found.span("than")):
        rest = blank_out(rest, start, end)
    rest = blank_out(rest, found.start(), found.start("word"))
    if found["word"].lower() == "exceeded" and not rest[split:].strip():
        split = 0  # In "was the budget exceeded", the budget is what the other column is compared with.
    return rest, ColumnComparison(_relation(found), found["word"].lower(), found.start(), split)


def _relation(found: re.Match[str]) -> Relation:
    """Return the relation that the comparative stands for."""
    word = found["word"].lower()
    if word.startswith(("as ", "equal", "the same")):
        return Relation.EQUAL
    is_less = word in _LESS or _LESS_THAN.match(word)
    return Relation.BELOW if is_less else Relation.ABOVE


MOST_ROWS_ASKED = 50
"""Maximum number in a question such as "the three largest"; with a higher number, the question is of another kind."""

_WORDS = "|".join(NUMBER_WORDS)
_FEW = rf"(?P<few>\d{{1,2}}|{_WORDS})"
_TOP = re.compile(rf"(?i)\b(?P<end>top|bottom) {_FEW}\b")
"""The words "top" and "bottom" with a number of rows."""
_DIFFERENT = re.compile(r"(?i)\b(?:different|distinct|unique)\b(?= \w)")
_COMPARED = re.compile(rf"(?i)\bhow (?:much|many) (?P<more>{COMPARATIVE_PATTERN})\b(?P<between>.*?)\b(?P<than>than)\b")
"""Questions for a difference with a comparative: "how much more … than"."""
_BEYOND, _BY_HOW_MUCH = (
    re.compile(rf"(?i)\b{asks}(?P<between> (?:[^,;:]*? )?)(?P<than>(?P<more>{more}))\b")
    for asks, more in (
        # "How much was paid over the year" compares nothing.
        ("how (?:much|far)", r"above|below|under|(?:(?<=how much )|(?<=how far ))over|exceed(?:s|ed)?"),
        ("by how much", "above|below|under|over|exceed(?:s|ed)?"),
    )
)
_DIFFERENCE = re.compile(
    r"(?i)\b(?:what(?:'s| is| was) )?the difference(?P<of> in [\w ]+?)? between\b(?P<between>.*?)\b(?P<than>and)\b"
)
"""Questions for a difference that name both sides: "the difference between … and …"."""
_SHARE = re.compile(
    r"(?i)^(?:what|which|how many|how large)?(?:'s| is| was)? ?(?:an? |the )?(?:percentage|per ?cent|share|proportion)"
    r"(?: share)? of\b"
)
"""Beginnings of questions for a share of something."""
_VERB = re.compile(
    r"(?i)\b(?:is|are|was|were|comes?|came|lives?|lived|has|have|had|goes|go|went|belongs?|fell|falls?)\b"
)
"""Verbs that separate the whole of a share from the part: "what share of orders is from Bonn"."""
_PER = re.compile(
    r"(?i)\b(?:per|(?:for|in|of|on|at|from) (?:each|every)(?: of the)?|each|every|(?:grouped|broken down) by) "
    r"(?P<by>[^\W\d_]+)\b"
)
"""Words that ask for groups: "per town", "for each month"."""
_BY = re.compile(r"(?i)\bby (?P<by>[^\W\d_]+)\W*\Z")
"""The word "by" with a noun at the end, which also asks for groups: "sales by town"."""
_NOT = re.compile(
    r"(?i)\b(?:(?:(?:is|are|was|were|do|does|did|has|have|had) )?not(?: yet| in| been| have)?|"
    r"(?:is|are|was|were|do|does|did|has|have|had)n't(?: yet| been| have)?|no|without(?: any| an?)?|"
    r"neither|except(?: for)?|excluding|other than)\b"
)
"""Negations."""
_ABSENT = re.compile(r"(?i)^(?:no|without)\b|\bhave$")
"""Negations that mean that something does not exist at all."""
_MISSING = re.compile(r"(?i)\b(?:is|are|was|were|has|have)\b(?P<what>[^,;]*?)\b(?:missing|empty|blank)\b")
"""Statements that something is missing."""
_CLAUSE = re.compile(r"(?i)[,;]|\bbut\b")
"""Pattern for the end of the part that a negation covers."""


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """What the form of a question adds to its operation.

    `rest` is the text with the words of the form blanked. `few` is the requested number of rows; `end` tells whether
    they are the highest or the lowest, and is None if another word tells. `by` is the noun for groups. `different`: the
    question asks for distinct values. The words in `negated` places are negated; in `absent` places the question says
    that something does not exist ("no supplier"). `form` is DIFFERENCE or SHARE for a question with two sides, and
    `split` is where the second side, or the part of a share, begins. `more` is the comparative of a difference,
    `versus` a comparison of two columns.
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
    versus: ColumnComparison | None = None


def parse_form(text: str) -> QuestionForm | None:
    """Return the form of a question whose conditions are blanked; None if it is too complex to understand."""
    forms = _two_sides(text)
    rest, versus = (forms.rest, None) if forms.form else find_column_comparison(forms.rest)
    different = _DIFFERENT.search(rest)
    rest = _blank(rest, different)
    top = _TOP.search(rest)
    rest = _blank(rest, top)
    by = _PER.search(rest) or (None if top or forms.form else _BY.search(rest))
    rest = _blank(rest, by)
    # A second "per" would ask for groups of groups.
    denied = None if _PER.search(rest) else _find_negations(rest)
    if denied is None:
        return None
    rest, negated, absent = denied
    if versus and (different or top or by or negated):
        return None
    if top:
        end = Operation.MAXIMUM if top["end"].lower() == "top" else Operation.MINIMUM
        forms = replace(forms, few=number_value(top["few"]), end=end)
    noun = by["by"].lower() if by else ""
    forms = replace(forms, rest=rest, by=noun, different=different is not None, versus=versus)
    return replace(forms, negated=negated, absent=absent)


def requested_number(text: str, superlative: str) -> tuple[int, str]:
    """Return how many rows a word like "cheapest" asks for, and the text without that number.

    For "the three cheapest" and "which three clubs have the most points" it is 3; without a number, 1.
    """
    forms = (
        rf"\b{_FEW} (?={re.escape(superlative)}\b)",
        rf"^\W*(?:which|what|list|name|show)(?: are| were)?(?: the)? {_FEW}(?= [^\W\d_])",
        rf"^\W*the {_FEW}(?= [^\W\d_])",
    )
    for form in forms:
        if found := re.search(form, text, re.IGNORECASE):
            return number_value(found["few"]), blank_out(text, *found.span("few"))
    return 1, text


def number_value(text: str) -> int:
    """Return the value of a whole number that is written in digits or as a word."""
    return int(NUMBER_WORDS.get(text.lower(), text))


def _two_sides(text: str) -> QuestionForm:
    """Return the form of a difference or a share; of a question without two sides, only its text."""
    for pattern in (_COMPARED, _BY_HOW_MUCH, _BEYOND, _DIFFERENCE):
        if (found := pattern.search(text)) and not re.search(r"\bthan\b", text[found.end() :], re.IGNORECASE):
            rest = blank_out(text, found.start(), found.start("between"))
            rest = blank_out(rest, *found.span("than"))
            if of := found.groupdict().get("of"):
                rest = rest[: found.start("of")] + of + rest[found.end("of") :]
            more = (found.groupdict().get("more") or "").lower()
            return QuestionForm(rest, form=Operation.DIFFERENCE, split=found.end("than"), more=more)
    if (found := _SHARE.search(text)) and (verb := _VERB.search(text, found.end())):
        rest = blank_out(blank_out(text, *found.span()), *verb.span())
        return QuestionForm(rest, form=Operation.SHARE, split=verb.start())
    return QuestionForm(text)


_Places = tuple[tuple[int, int], ...]


def _find_negations(text: str) -> tuple[str, _Places, _Places] | None:
    """Return the text without negations, the places that they negate, and those of the places that are absent.

    Returns None if it is unclear what is negated.
    """
    if missing := _MISSING.search(text):
        rest = blank_out(text, missing.end("what"), missing.end())
        place = missing.span("what")
        return (rest, (place,), (place,)) if not _NOT.search(rest) else None
    places: list[tuple[int, int]] = []
    absent: list[tuple[int, int]] = []
    rest = text
    for found in list(_NOT.finditer(text)):
        end = next((clause.start() for clause in _CLAUSE.finditer(text, found.end())), len(text))
        if places and found.start() < places[-1][1]:
            return None  # This is "not without": double negations are too hard for rules.
        places.append((found.end(), end))
        if _ABSENT.search(found[0]):
            absent.append(places[-1])
        rest = blank_out(rest, *found.span())
        rest = rest[: found.end()] + re.sub(r"\bnor\b", "or ", rest[found.end() : end]) + rest[end:]
        rest = re.sub(r"\bbut\b", "   ", rest)
    if any(re.search(r"\band\b", rest[start:end], re.IGNORECASE) for start, end in places):
        return None  # "Not red and large" may negate one of the two, or both.
    return rest, tuple(places), tuple(absent)


def _blank(text: str, found: re.Match[str] | None) -> str:
    return blank_out(text, *found.span()) if found else text


MOST_CHARACTERS = 200
"""Maximum number of characters of a question that may ask for a computation; a longer text is more than a question."""


@dataclass(frozen=True, slots=True)
class Request:
    """A computation that a question asks for.

    `rest` is its text with the operation and conditions blanked. `asks` is the word for the operation. `target` is
    where in `rest` the noun for what is counted or listed begins; None if the operation is on a column. `everything`:
    the question explicitly asks for all rows. `few` is the requested number of rows with the highest or lowest values.
    `group_operation` is SUM or AVERAGE if the question asks for the group with the highest or lowest sum or average.
    `names` are the words written as names. Names that begin at `excused` places must turn out to be cells, because as
    other words ("may") they would change the question.
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
    group_operation: Operation | None = None
    forms: QuestionForm = field(default_factory=lambda: QuestionForm(""))
    names: NameWords = field(default_factory=NameWords)
    excused: frozenset[int] = frozenset()


_POLITE = re.compile(
    r"(?i)^\W*(?:please,? )?(?:(?:can|could|would|will) you (?:please )?)?"
    r"(?:tell me|show me|give me|let me know|do you know)?[ ,:]*"
    r"(?:(?:in|on|at|for|from|to|of|with)(?= (?:which|what|how many)\b))? ?"
    r"(?:when (?:was|is|were|does|did|do)(?= the\b))?"
)
"""Polite beginnings of questions, which are ignored."""
_CHANGES = re.compile(
    r"(?i)\b(?:not|no|never|none|neither|nor|without|except|excluding|besides|other|others|another|else|if|why|how|each|"
    r"every|per|either|both|half|share|percentage|proportion|ratio|difference|differ|compared?|versus|vs|than|median|"
    r"i|i'm|i've|my|mine|me|you|your|he|she|his|her|they|their|should|must|may|might|can|could|would|need|allowed|"
    r"second|third|fourth|top|top-most|bottom|next|last|first|previous|current|different|again|already|yet|now|today|"
    r"only|same|change[ds]?|"
    r"increase[ds]?|decrease[ds]?|rise|rose|grow[ns]?|grew|more|less|fewer|until|because|when|where|but|nor)\b"
    r"|n't\b|[?!.;:]\s+\w"
)
"""Words that change the meaning of a question, so that only names may be spelt like them."""
_NO_LETTER = re.compile(r"[^\w'’]|\Z")
_FORECAST = re.compile(r"(?i)\b(?:will|would|going to)\b")
"""Words for the future, about which a table says nothing certain."""
_CURRENT_COLUMN = re.compile(r"(?i)\b(?:now|current|previous|today)\b")
"""Words that may belong to a column's name, such as "current rent", when two columns are compared."""
_COUNT = re.compile(
    r"(?i)\bhow many\b|\b(?:what(?:'s| is| was) )?(?:the )?(?:total |overall )?(?:number|count) of\b"
    r"|^count\b(?: of| the| all)*"
)
_HOURS = re.compile(r"(?i) (?:hours|minutes) (?:did|have|has|were|was)\b")
"""Units after "how many" whose values are added up, although no word asks for a sum."""
_SPENT = re.compile(r"(?i)\W*(?:what|how much) (?:did|have|has) .*\bspen[dt]\b(?!.*\bon\W*\Z)")
"""Questions about spending, which ask for a sum without saying so."""
_WHICH = re.compile(r"(?i)\W*(?:which|who)\b")
_HOW_MUCH = re.compile(r"(?i)\bhow much\b")
_SUM = re.compile(
    r"(?i)\b(?:how much(?= (?:[^\W\d]+ ){1,3}(?:is|are|was|were) there\b)|"
    r"in total|in all|in sum|all together|altogether|combined|all in all|add(?:s|ed)? up(?: to)?|"
    r"(?:grand |sum )?total(?: sum)?(?: of)?|sum(?: total)?(?: of)?|overall)\b"
)
_AVERAGE = re.compile(r"(?i)\b(?:on average|average|mean(?= of| \w+ (?:is|of|in|for)))(?: of)?\b")
_SUPERLATIVE = re.compile(
    rf"(?i)\b(?:the )?({'|'.join(sorted(SUPERLATIVES, key=len, reverse=True))})\b(?! (?:of|all)\b)"
)
_LIST = re.compile(
    r"(?i)^\W*(?:(?:list|show|name|give|display|find|enumerate)(?: me| us)?\b(?: all| every)?(?: of)?(?: the)?"
    r"|(?:which|what)(?: are(?: all)?(?: the)?)?|who(?= \w+s?\b)|(?:every|all)(?: the)?)"
)
"""Beginnings of questions that list rows or values."""
_EVERYTHING = re.compile(
    r"(?i)^\W*(?:list|name|enumerate|show|give|display)\b.*\b(?:all|every)\b|\bare there\b|^\W*(?:what|which) are all\b"
)
"""Questions that explicitly ask for all rows or values."""
_NO_MOMENT = re.compile(
    rf"(?i) (?:years?|months?|weeks?|quarters?|half|names?|days?|times?|\d+|{'|'.join(NUMBER_WORDS)})\b"
)
"""Words after "first" and "last" that keep these from meaning the first or last row by date."""


def parse_request(question: str, today: date | None = None) -> Request | None:
    """Return the computation that a question asks for; None if it does not clearly ask for one.

    `today` is the day on which the question is asked; without it, "last month" is not understood.
    """
    asked = _POLITE.sub("", one_line(question).replace("’", "'"), count=1).rstrip(" ?.!")
    if not asked or len(asked) > MOST_CHARACTERS or asks_yes_or_no(asked):
        return None
    conditions, rest = conditions_in(asked, today)
    forms = parse_form(rest)
    if conditions is None or forms is None:
        return None
    found = _operation(asked, forms)
    if found is None or not 1 <= found.few <= MOST_ROWS_ASKED:
        return None
    if not (conditions or forms.versus) and found.operation is Operation.FILTER and not found.target:
        return None  # Nothing shows that the question asks for rows.
    names = names_in(asked)
    excused = frozenset(at for at in names.at if _CHANGES.match(found.rest, at))
    request = replace(found, conditions=conditions, forms=forms, names=names, excused=excused)
    return None if _is_changed_by_words(request) else request


def _is_changed_by_words(request: Request) -> bool:
    """Return whether words change the meaning of the question, or name days in a way that is not understood."""
    rest, text, forms = request.rest, request.text, request.forms
    for at in request.names.at:
        end = next(gap.start() for gap in _NO_LETTER.finditer(request.text, at))
        rest, text = blank_out(rest, at, end), blank_out(text, at, end)
    if forms.versus or forms.form is Operation.DIFFERENCE:
        if _FORECAST.search(text):
            return True
        rest = _CURRENT_COLUMN.sub("", rest)
    elif sum(condition.relative is not None for condition in request.conditions) > 1:
        return True  # "From last month to this month" is one period, not two conditions.
    much = request.operation is Operation.FILTER and _HOW_MUCH.search(request.text)
    return bool(_CHANGES.search(rest) or much)


def _operation(text: str, forms: QuestionForm) -> Request | None:
    """Return the request for the one operation that a question names; None if it names none or several.

    The conditions are already blanked in `forms.rest`.
    """
    rest = forms.rest
    superlatives = list(_SUPERLATIVE.finditer(rest))
    counts, averages = _COUNT.search(rest), _AVERAGE.search(rest)
    if forms.versus:
        named = [found for found in superlatives if forms.versus.end or found.start() < forms.versus.split]
        return None if named or averages or _SUM.search(rest) else _column_request(text, rest, counts, forms.versus)
    if forms.form:
        return None if superlatives or counts or averages or forms.by else _two_sided_request(text, forms)
    # Rules cannot handle several operations in one question.
    if len(superlatives) > 1 or (counts and (superlatives or averages)) or (forms.by and (superlatives or forms.end)):
        return None
    if superlatives or forms.end:
        return _extreme_request(text, forms, superlatives[0] if superlatives else None, averages)
    if averages:
        return Request(Operation.AVERAGE, text, blank_out(rest, *averages.span()), "average")
    return _count_sum_or_list(text, rest, counts)


def _column_request(text: str, rest: str, counts: re.Match[str] | None, versus: ColumnComparison) -> Request | None:
    """Return a request for the rows in which two columns differ, or differ most or least."""
    rows = _count_sum_or_list(text, rest, counts)
    if rows is None or versus.end is None:
        return rows
    return None if counts else replace(rows, operation=Operation.DIFFERENCE, asks=versus.word or "difference")


def _extreme_request(
    text: str, forms: QuestionForm, superlative: re.Match[str] | None, averages: re.Match[str] | None
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
    few, rest = (forms.few, forms.rest) if forms.end else requested_number(forms.rest, word)
    rest = blank_out(rest, *superlative.span())
    sums = _SUM.search(rest)
    group_operation = Operation.AVERAGE if averages else Operation.SUM if sums else None
    rest = _blank(rest, averages or sums)
    return Request(wanted.operation, text, rest, word, superlative=wanted, few=few, group_operation=group_operation)


def _two_sided_request(text: str, forms: QuestionForm) -> Request | None:
    """Return a request for a difference or a share."""
    sums = _SUM.search(forms.rest)
    rest = forms.rest
    while found := _SUM.search(rest):
        rest = blank_out(rest, *found.span())
    asks = "total" if sums else forms.more or "share"
    return Request(forms.form or Operation.SHARE, text, rest, asks)


def _count_sum_or_list(text: str, rest: str, counts: re.Match[str] | None) -> Request | None:
    """Return a request for a number, a total or rows."""
    left = _blank(rest, counts)
    sums = _SUM.search(left)
    left = _blank(left, sums)
    adds_up = sums or (_HOURS.match(rest, counts.end()) if counts else _SPENT.match(rest))
    if counts:
        # With "in total" it may be a sum: the table decides whether to count rows or add up a column.
        return Request(Operation.SUM if adds_up else Operation.COUNT, text, left, "number", target=counts.end())
    if sums and _WHICH.match(rest):
        return None  # "Which items cost more than 400 in sum" asks for rows; the sum may be in a column.
    if adds_up:
        return Request(Operation.SUM, text, _blank(left, _HOW_MUCH.search(left)), "total")
    listed = _LIST.match(rest)
    if listed is None:
        return Request(Operation.FILTER, text, rest, "", target=0)
    left, everything = blank_out(rest, *listed.span()), _EVERYTHING.search(rest) is not None
    return Request(Operation.FILTER, text, left, "", target=listed.end(), everything=everything)
