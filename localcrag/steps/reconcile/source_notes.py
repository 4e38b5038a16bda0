"""What an answer says of its sources, in the app's words: that they disagree, and how old they are."""

from __future__ import annotations

import re
from collections.abc import Sequence

from localcrag.records.enums import Origin
from localcrag.records.passages import Evidence, Source
from localcrag.records.run import Conflict
from localcrag.text.places import place
from localcrag.text.sheet_rows import SheetRow
from localcrag.text.translation import gettext as _
from localcrag.text.translation import later, ngettext
from localcrag.text.words import shorten

LONGEST_TITLE = 80
"""Characters of a web page's title in an answer; it is somebody else's text."""

_PRESENT = re.compile(
    r"\b(?:nowadays|currently|today|presently|at present|at the moment|right now|these days|as of now|so far this)\b"
    r"|\bnow\b(?! that\b)"
    r"|(?<!at )\b(?:the|your|our|its|their) (?:latest|newest|most recent|up[- ]to[- ]date)\b"
    r"|\bthis (?:year|month|week)\b"
    # The current year, not the current in a cable.
    r"|\b(?:the|your|our|its|their|his|her) current (?!(?:in|of|at|through|that|which|is|was|flows?|meters?|\w+ed)\b)\w"
    r"|^(?:is|are|does|do|has|have|can)\b.*\bstill\b",
    re.IGNORECASE,
)


def told(
    answer: str, question: str, conflicts: Sequence[Conflict], evidence: Sequence[Evidence], sources: Sequence[Source]
) -> str:
    """Return the answer with what the reader must know of its sources, in our own words: disagreement, and age."""
    parts = [disagreement(conflicts, sources), answer, age(question, evidence, sources)]
    return "\n\n".join(part for part in parts if part)


def disagreement(conflicts: Sequence[Conflict], sources: Sequence[Source]) -> str:
    """Return what the answer says of the conflicts that no rule decided; nothing when there are none."""
    named = {source.id: source for source in sources}
    lines = []
    for conflict in (conflict for conflict in conflicts if conflict.winner is None):
        for claim, said in (
            (conflict.local, later("Your document %(title)s (%(day)s) says:")),
            (conflict.web, later("The web page %(title)s (%(day)s) says:")),
        ):
            side = _(said, title=_where(named[claim.source], claim.rows), day=claim.dated or _("no date"))
            lines.append(f"- {side} “{claim.text}” [{claim.n}]")
    head = _("Your documents and the web disagree here.")
    return "\n".join([head, "", *dict.fromkeys(lines)]) if lines else ""


def age(question: str, evidence: Sequence[Evidence], sources: Sequence[Source]) -> str:
    """Return how old the documents are, where the question is of the present and the web evidence is newer."""
    if not about_the_present(question):
        return ""
    used = {piece.source for piece in evidence}
    dated = [source for source in sources if source.id in used and source.dated]
    web = [source for source in dated if source.origin is Origin.WEB]
    if not web:
        return ""
    newest = max(web, key=lambda source: source.dated or "")
    local = {source.document: source for source in dated if source.origin is Origin.LOCAL}
    older = [source for source in local.values() if (source.dated or "") < (newest.dated or "")]
    if not older:
        return ""
    # A year says more at a glance; where the years are the same it says nothing.
    length = 4 if all((source.dated or "")[:4] != (newest.dated or "")[:4] for source in older) else 10
    documents = ", ".join(
        _("%(title)s is of %(day)s", title=source.document, day=(source.dated or "")[:length]) for source in older
    )
    return ngettext(
        "Mind the age: your document %(documents)s; the web page %(title)s of %(day)s.",
        "Mind the age: your documents %(documents)s; the web page %(title)s of %(day)s.",
        len(older),
        documents=documents,
        title=_where(newest),
        day=(newest.dated or "")[:length],
    )


def about_the_present(question: str) -> bool:
    """Whether an English question asks how things are now; tense alone does not say so."""
    return _PRESENT.search(question.strip()) is not None


def _where(source: Source, rows: Sequence[SheetRow] = ()) -> str:
    if source.origin is Origin.WEB:
        return f"“{shorten(source.title or source.url or 'without a title', LONGEST_TITLE)}”"
    return place(str(source.document), source.page, rows)
