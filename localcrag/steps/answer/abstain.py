"""Texts for when there is no answer to trust: plain sentences and quotations, no model."""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.records.enums import NotAsked
from localcrag.records.passages import Evidence, GradedPassage
from localcrag.records.web import WebUse
from localcrag.settings import Settings
from localcrag.text.sanitize import quotable
from localcrag.text.translation import gettext as _
from localcrag.text.translation import later
from localcrag.text.words import shorten

NEAREST = 3
NOT_ASKED = {
    NotAsked.DECLINED: later("you did not allow it"),
    NotAsked.UNANSWERED: later("nobody answered whether it may be"),
    NotAsked.NOBODY_TO_ASK: later("it needs your consent, and there was nobody to ask"),
    NotAsked.FORBIDDEN_TERM: later("the query holds a term that you said may never be sent"),
    NotAsked.NO_TIME: later("too little of the time budget was left"),
}
"""Why the web was not asked, after "because"."""


def nothing_found(passages: Sequence[GradedPassage], web: WebUse, settings: Settings) -> str:
    """Return the answer of a run without evidence: who was asked, and what came nearest."""
    if not passages:
        lines = [
            _(
                "There is nothing in the collection “%(name)s” to answer from. Add documents to it.",
                name=settings.collection,
            )
        ]
    else:
        lines = [_("Your documents do not answer this question.")]
    lines.append(_about_web(web, settings))
    if passages:
        lines.append(_("The nearest passages, with the probability that they help:"))
        nearest = sorted(passages, key=lambda passage: -passage.relevance)[:NEAREST]
        quotes = (
            f"- {passage.relevance:.2f} · {_place(passage)}: “{shorten(quotable(passage.text))}”" for passage in nearest
        )
        lines.append("\n".join(quotes))
    return "\n\n".join(line for line in lines if line)


def _about_web(web: WebUse, settings: Settings) -> str:
    if web.error:
        return _("The web could not be asked either. %(error)s", error=web.error)
    if web.used:
        return _("The web results do not answer it either.")
    if web.not_asked:
        return _("The web was not asked, because %(why)s.", why=_(NOT_ASKED[web.not_asked]))
    if settings.searxng_url is None:
        return ""
    return _("The web was not asked: it is switched off in the settings.")


def evidence_silent(evidence: Sequence[Evidence], web: WebUse) -> str:
    """Return the answer when the language model found none in the evidence."""
    said = (
        _("Neither your documents nor the web results say this outright. What comes nearest:")
        if web.results
        else _("Your documents do not say this outright. What comes nearest:")
    )
    return f"{said}\n\n{_quotes(evidence)}{web_note(web)}"


def uncertain(evidence: Sequence[Evidence], web: WebUse) -> str:
    """Return the answer when the evidence is too doubtful to ask a small language model about."""
    said = (
        _("It is not certain that your documents or the web results answer this. What comes nearest:")
        if web.results
        else _("It is not certain that your documents answer this. What comes nearest:")
    )
    return f"{said}\n\n{_quotes(evidence)}{web_note(web)}"


def not_backed(best: Sequence[Evidence]) -> str:
    """Return the best sentences in place of an answer that the evidence does not back."""
    said = _("What the language model wrote is not backed by the sources.")
    return f"{said} {in_their_words(best)}"


def in_their_words(best: Sequence[Evidence]) -> str:
    """Return the best sentences as quotations."""
    return _("In the words of the sources:") + f"\n\n{_whole_quotes(best)}"


def more_to_the_point(best: Sequence[Evidence]) -> str:
    """Return the best sentences as quotations, below an answer that says something else."""
    return _("What the sources say that comes nearest to the question:") + f"\n\n{_whole_quotes(best)}"


def _whole_quotes(pieces: Sequence[Evidence]) -> str:
    return "\n\n".join(f"“{quotable(piece.text)}” [{piece.n}]" for piece in pieces)


def quoted(evidence: Sequence[Evidence]) -> str:
    """Return the evidence itself, when the language model failed."""
    said = _("The language model could not write an answer. It would have been made from this:")
    return f"{said}\n\n{_quotes(evidence)}"


def no_time(evidence: Sequence[Evidence]) -> str:
    """Return the evidence itself, when there is no time left to write from it."""
    said = _("There was no time left to write an answer. It would have been made from this:")
    return f"{said}\n\n{_quotes(evidence)}"


def web_note(web: WebUse) -> str:
    """Return what an answer adds about a web search that failed or was not allowed; nothing when neither."""
    said = ""
    if web.not_asked:
        why = _(NOT_ASKED[web.not_asked])
        said = _("The web was not asked, because %(why)s: this rests on your documents alone.", why=why)
    elif web.error:
        said = _("The web could not be asked, so this rests on your documents alone. %(error)s", error=web.error)
    return f"\n\n{said}" if said else ""


def _quotes(evidence: Sequence[Evidence]) -> str:
    best = sorted(evidence, key=lambda piece: -piece.relevance)[:NEAREST]
    return "\n".join(
        f"- “{shorten(quotable(piece.text))}” [{piece.n}]" for piece in sorted(best, key=lambda piece: piece.n)
    )


def _place(passage: GradedPassage) -> str:
    if passage.document is None:
        return passage.title or passage.url or _("web")
    if passage.page is None:
        return passage.document
    return _("%(document)s, page %(page)s", document=passage.document, page=passage.page)
