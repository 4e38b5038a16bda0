"""Words of questions about tables: stems, words that mean the same, superlatives."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from localcrag.records.enums import Operation
from localcrag.text.words import FUNCTION_WORDS, singular

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?|[€$£%]")
LEAST_OF_ROOT = 4
"""Letters that a word keeps without its ending."""
_ES = ("sses", "xes", "ches", "shes", "zes")

SIZE = frozenset(("size", "area"))
PRICE = frozenset(("price", "cost", "fee", "charge", "tariff", "costing", "fare", "rent"))
ALIKE: tuple[frozenset[str], ...] = (
    PRICE,
    frozenset(("amount", "sum", "value")),
    frozenset(("spend", "spent", "spending", "expense", "amount", "cost")),
    frozenset(("earn", "earned", "salary", "pay", "wage", "income")),
    frozenset(("revenue", "sale", "turnover", "sold")),
    frozenset(("quantity", "qty", "piece", "stock", "unit")),
    frozenset(("weight", "weigh", "weighing")),
    frozenset(("length", "long")),
    frozenset(("duration", "long", "last", "lasting")),
    frozenset(("height", "tall", "high")),
    frozenset(("date", "dated", "day", "when")),
    frozenset(("name", "who")),
    frozenset(("city", "town", "place", "location")),
    frozenset(("state", "status")),
    frozenset(("kind", "type", "category")),
    frozenset(("customer", "client")),
    frozenset(("supplier", "vendor", "supply", "supplied")),
    frozenset(("employee", "staff", "person", "people")),
    frozenset(("product", "article", "item")),
    frozenset(("departure", "depart", "leave", "left")),
    frozenset(("arrival", "arrive")),
    frozenset(("begin", "start")),
    frozenset(("end", "until", "expire", "expiry")),
    frozenset(("size", "large", "area")),
    frozenset(("maker", "manufacturer", "brand")),
    frozenset(("plan", "planned")),
)
"""Words, as `stem` has them, that name the same column."""
ROW_NOUNS = frozenset(("entry", "row", "line", "record", "transaction", "booking"))
"""What the rows of any table are."""
SAYS_NOTHING = FUNCTION_WORDS | frozenset(
    "table list sheet file column entry row line record value data overview following given show shown listed recorded "
    "registered contained contain include included exist logged entered placed made there much many according based "
    "together up be them one whole currently overall document spreadsheet made within worth priced let's us get see "
    "find name number still doe live living lived based located situated use used fill filled give gave given deliver "
    "delivered altogether work worked working get run ran score scored cost costing gram happen take took".split()
)
"""Words that a question may have whatever the table is."""


@dataclass(frozen=True, slots=True)
class Superlative:
    """What a word asks for: the highest or the lowest value, and of which columns; of any that is named where none.

    `otherwise` are columns that it is of where the question names none.
    """

    operation: Operation
    columns: frozenset[str] = frozenset()
    dates: bool = False
    otherwise: frozenset[str] = frozenset()


_MOST, _LEAST = Operation.MAXIMUM, Operation.MINIMUM
SUPERLATIVES: dict[str, Superlative] = {
    **dict.fromkeys(("most expensive", "dearest", "priciest", "costliest"), Superlative(_MOST, PRICE)),
    **dict.fromkeys(("cheapest", "least expensive"), Superlative(_LEAST, PRICE)),
    **dict.fromkeys(("highest", "greatest", "maximum", "most"), Superlative(_MOST)),
    **dict.fromkeys(("largest", "biggest"), Superlative(_MOST, otherwise=SIZE)),
    **dict.fromkeys(("lowest", "minimum", "least", "fewest"), Superlative(_LEAST)),
    "smallest": Superlative(_LEAST, otherwise=SIZE),
    "longest": Superlative(_MOST, frozenset(("length", "duration", "time", "distance"))),
    **dict.fromkeys(("first",), Superlative(_LEAST, dates=True)),
    **dict.fromkeys(("last",), Superlative(_MOST, dates=True)),
    "shortest": Superlative(_LEAST, frozenset(("length", "duration", "time", "distance"))),
    "heaviest": Superlative(_MOST, frozenset(("weight",))),
    "lightest": Superlative(_LEAST, frozenset(("weight",))),
    "tallest": Superlative(_MOST, frozenset(("height",))),
    **dict.fromkeys(("latest", "most recent", "newest"), Superlative(_MOST, dates=True)),
    **dict.fromkeys(("earliest", "oldest"), Superlative(_LEAST, dates=True)),
}
"""By their words. Which is the "best" or "fastest" nobody can tell by a column's values alone."""
COMPARATIVES: dict[str, frozenset[str]] = {
    **dict.fromkeys(("cheaper", "dearer", "more expensive", "less expensive"), PRICE),
    **dict.fromkeys(("longer", "shorter"), SUPERLATIVES["longest"].columns),
    **dict.fromkeys(("heavier", "lighter"), SUPERLATIVES["heaviest"].columns),
    "taller": SUPERLATIVES["tallest"].columns,
    **dict.fromkeys(("larger", "bigger", "smaller"), SIZE),
}
"""The columns that a word of a comparison is about, where it tells."""
LESS = frozenset("less fewer lower cheaper shorter lighter smaller below under".split()) | {"less expensive"}
"""Words by which the second of two is the one with more."""
PEOPLE = frozenset(
    "name member person employee pupil student customer contact borrower reader player guest tenant author teacher who "
    "client colleague participant".split()
)
"""Headers of columns whose cells are people."""
THEN_AND_NOW = (
    frozenset("now today current currently new".split()),
    frozenset("before previous previously former formerly old earlier".split()),
)
"""Words that mean the same of two columns that are compared: what holds now, and what did before."""
PERIODS = frozenset(("day", "month", "quarter", "year"))
"""What rows with dates are put together by."""


def stem(word: str) -> str:
    """Return a word in lower case without the ending of its plural."""
    word = word.lower().replace("’", "'").removesuffix("'s")
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(_ES) else singular(word)


def root_of(word: str) -> str:
    """Return what a stem and words made of it begin with: "teach" of "teacher" and "teaches"; short ones stay."""
    for ending in ("ings", "ing", "ers", "er", "ed", "es", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= LEAST_OF_ROOT:
            return word[: -len(ending)]
    return word


def stems_of(text: str) -> list[str]:
    """Return the stems of all words of a text, in order."""
    return [stem(word) for word in _WORD.findall(text)]


def said_by(text: str) -> set[str]:
    """Return the stems of the words of a text that say something."""
    return {word for word in stems_of(text) if word not in FUNCTION_WORDS}


def alike(words: Iterable[str]) -> set[str]:
    """Return words with all that mean the same."""
    own = set(words)
    return own.union(*(group for group in ALIKE if group & own))
