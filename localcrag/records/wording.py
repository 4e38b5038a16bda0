"""Words for a run: relevances, notes on sentences, reasons for no web search, and computations."""

from __future__ import annotations

import re
from functools import cache

from localcrag.records.enums import Backing, NotAsked, Operation
from localcrag.records.passages import Thresholds
from localcrag.records.run import Computation
from localcrag.text.translation import LANGUAGES, format_decimals, gettext_noop, ngettext, translate_to
from localcrag.text.translation import gettext as _

MARKS = {
    Backing.SUPPORTED: "",
    Backing.PARTLY: gettext_noop("(only partly supported)"),
    Backing.NOT: gettext_noop("(not supported)"),
}
"""Note on a sentence in the answer's text, after its citations."""
NOT_ASKED = {
    NotAsked.DECLINED: gettext_noop("you did not allow it"),
    NotAsked.UNANSWERED: gettext_noop("nobody answered when localcrag asked for permission"),
    NotAsked.NO_ONE_TO_ASK: gettext_noop("it needs your consent, and there was nobody to ask"),
    NotAsked.FORBIDDEN_TERM: gettext_noop("the query contains a term that you said may never be sent"),
    NotAsked.NO_TIME: gettext_noop("too little of the time budget was left"),
}
"""Reasons why the web was not searched, worded to follow "because"."""
SOURCE_WORDS = gettext_noop("In the words of the sources:")
NEARER_WORDS = gettext_noop("Closest to the question in the sources:")
"""Lines above the sources' own words, which are the last part of an answer."""
MAX_SHOWN = 20
"""Maximum number of rows or values shown in an answer; the answer counts the rest."""


def split_source_words(answer: str) -> tuple[str, str, str]:
    """Return what an answer says first, and the line above the sources' words below it with these words; "" if none.

    The line may be in any language, because an answer stays in the one that it was given in.
    """
    found = _source_words_pattern().search(answer)
    return (answer[: found.start()], found[1], answer[found.end() :]) if found else (answer, "", "")


@cache  # Not at import, which would read the catalogues at every start of a command.
def _source_words_pattern() -> re.Pattern[str]:
    lines = (translate_to(code, text) for code in LANGUAGES for text in (SOURCE_WORDS, NEARER_WORDS))
    return re.compile("\n\n({})\n\n".format("|".join(map(re.escape, lines))))


def compare_with_thresholds(relevance: float, thresholds: Thresholds) -> str:
    """Return a relevance compared with the thresholds, which is the reason for its grade: "0.41 ≥ 0.33"."""
    shown = shown_relevance(relevance, thresholds)
    if relevance >= thresholds.upper:
        return f"{shown} ≥ {format_decimals(thresholds.upper)}"
    if relevance < thresholds.lower:
        return f"{shown} < {format_decimals(thresholds.lower)}"
    return between(shown, thresholds.lower, thresholds.upper)


def between(shown: str, low: float, high: float) -> str:
    """Describe a value as between two thresholds."""
    return _(
        "%(shown)s, between %(low)s and %(high)s", shown=shown, low=format_decimals(low), high=format_decimals(high)
    )


def shown_relevance(relevance: float, thresholds: Thresholds) -> str:
    """Return a relevance in two digits, or as many as show the right side of a threshold (0.698 is not 0.70)."""
    for digits in (2, 3, 4):
        text = f"{relevance:.{digits}f}"
        if all((float(text) >= limit) == (relevance >= limit) for limit in (thresholds.lower, thresholds.upper)):
            return text
    return f"{relevance:.6f}"


def operation_in_words(done: Computation) -> str:
    """Return the operation in words: "total of Amount", "number of rows for each Town"."""
    name = _operation(done)
    if not done.by:
        return name
    by = group_in_words(done)
    if done.pick is Operation.MAXIMUM:
        return _("highest %(what)s for each %(by)s", what=name, by=by)
    if done.pick is Operation.MINIMUM:
        return _("lowest %(what)s for each %(by)s", what=name, by=by)
    return _("%(what)s for each %(by)s", what=name, by=by)


def group_in_words(done: Computation) -> str:
    """Return the name of the groups: a column, or the days, months, quarters or years in it."""
    periods = {
        "day": _("day of %(column)s"),
        "month": _("month of %(column)s"),
        "quarter": _("quarter of %(column)s"),
        "year": _("year of %(column)s"),
    }
    return periods.get(done.period, "%(column)s").replace("%(column)s", done.by or "")


def _operation(done: Computation) -> str:
    column = done.column or ""
    if done.few > 1:
        highest = done.operation is Operation.MAXIMUM
        text = _("%(num)s highest values of %(column)s") if highest else _("%(num)s lowest values of %(column)s")
        return text.replace("%(num)s", str(done.few)).replace("%(column)s", column)
    if done.operation is Operation.DIFFERENCE and done.pick:
        greatest = done.pick is Operation.MAXIMUM
        text = _("greatest difference between %(column)s") if greatest else _("smallest difference between %(column)s")
        return text.replace("%(column)s", column)
    names = {
        Operation.COUNT: _("number of different values of %(column)s") if done.column else _("number of rows"),
        Operation.SUM: _("total of %(column)s"),
        Operation.AVERAGE: _("average of %(column)s"),
        Operation.MAXIMUM: _("highest value of %(column)s"),
        Operation.MINIMUM: _("lowest value of %(column)s"),
        Operation.FILTER: _("rows that match"),
        Operation.VALUES: _("values of %(column)s"),
        Operation.DIFFERENCE: _("difference in %(column)s") if done.column else _("difference in the number of rows"),
        Operation.SHARE: _("share of %(column)s") if done.column else _("share of the rows"),
    }
    return names[done.operation].replace("%(column)s", column)


def result_in_words(done: Computation) -> str:
    """Return the result in a few words: a number with its unit, a count of rows or values, or why there is none."""
    if done.refused:
        return _("not computed: %(why)s", why=done.refused)
    if done.operation is Operation.VALUES:
        return ngettext("%(num)s value", "%(num)s values", len(done.values))
    if done.groups and not done.result:
        return ngettext("%(num)s group", "%(num)s groups", len(done.groups))
    return done.result or rows_in_words(done.row_count)


def groups_in_words(done: Computation) -> list[str]:
    """Return each group, or side of a comparison, with its result and its number of rows."""
    return [f"{group.name}: {group.result} ({rows_in_words(group.rows)})" for group in done.groups]


def computation_in_words(done: Computation) -> str:
    """Return a line with the operation, its conditions, the table, the number of rows and the result."""
    where = _(" where %(conditions)s", conditions=_(" and ").join(done.filters)) if done.filters else ""
    table = f"“{done.table}”, {done.document}" if done.table else done.document
    rows = _("%(number)s of %(rows)s", number=done.row_count, rows=rows_in_words(done.total_rows))
    sentences = [f"{operation_in_words(done)}{where} ({table}); {rows}; {result_in_words(done)}."]
    if done.groups:
        sentences.append("; ".join(groups_in_words(done)[:MAX_SHOWN]) + ".")
    return " ".join([*sentences, *left_out_in_words(done), *done.notes])


def left_out_in_words(done: Computation) -> list[str]:
    """Return a sentence for each reason for leaving out rows, with the number of rows."""
    return [
        ngettext(
            "%(num)s row is not counted: %(why)s.", "%(num)s rows are not counted: %(why)s.", one.rows, why=one.why
        )
        for one in done.left_out
    ]


def rows_in_words(number: int) -> str:
    """Return a number of rows in words: "3 rows"."""
    return ngettext("%(num)s row", "%(num)s rows", number)


def groups_header(done: Computation) -> tuple[str, str, str]:
    """Return the headings of the three columns in a table of groups or sides."""
    of = group_in_words(done) if done.by else _("Rows counted")
    return capitalised(of), capitalised(_operation(done)) if done.by else done.column or _("Number"), _("Rows")


def capitalised(text: str) -> str:
    """Return the text with its first letter in upper case."""
    return text[:1].upper() + text[1:]
