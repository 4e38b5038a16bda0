"""Texts for when there is no answer to trust, around what the sources say: no model."""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.records.enums import NotAsked
from localcrag.records.passages import GradedPassage
from localcrag.records.web import WebUse
from localcrag.settings import Settings
from localcrag.steps.answer.doubt import likeliest
from localcrag.text.translation import gettext as _
from localcrag.text.translation import later

NOT_ASKED = {
    NotAsked.DECLINED: later("you did not allow it"),
    NotAsked.UNANSWERED: later("nobody answered whether it may be"),
    NotAsked.NOBODY_TO_ASK: later("it needs your consent, and there was nobody to ask"),
    NotAsked.FORBIDDEN_TERM: later("the query holds a term that you said may never be sent"),
    NotAsked.NO_TIME: later("too little of the time budget was left"),
}
"""Why the web was not asked, after "because"."""


def nothing_found(
    question: str, passages: Sequence[GradedPassage], web: WebUse, settings: Settings, near: float = 0.0
) -> str:
    """Return the answer of a run without evidence: who was asked, and what came nearest.

    Of passages whose relevance is below `near` only a part is shown.
    """
    said = _("Your documents do not answer this question.") if passages else nothing_there(settings)
    lines = [said, _about_web(web, settings), with_nearest(question, passages, near) if passages else ""]
    return "\n\n".join(line for line in lines if line)


def nothing_there(settings: Settings) -> str:
    """Return the answer of a collection without documents."""
    return _(
        "There is nothing in the collection “%(name)s” to answer from. Add documents to it.", name=settings.collection
    )


def with_nearest(question: str, passages: Sequence[GradedPassage], near: float) -> str:
    """Return what comes nearest, under a line that says so."""
    said = _("The nearest passages, with the probability that they help:")
    return f"{said}\n\n{likeliest(passages, question=question, near=near)}"


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


def evidence_silent(nearest: str, web: WebUse) -> str:
    """Return the answer when the language model found none in the evidence; `nearest` is what comes nearest."""
    said = (
        _("Neither your documents nor the web results say this outright. What comes nearest:")
        if web.results
        else _("Your documents do not say this outright. What comes nearest:")
    )
    return f"{said}\n\n{nearest}"


def uncertain(nearest: str, web: WebUse) -> str:
    """Return the answer when the evidence is too doubtful to ask a small language model about."""
    said = (
        _("It is not certain that your documents or the web results answer this. What comes nearest:")
        if web.results
        else _("It is not certain that your documents answer this. What comes nearest:")
    )
    return f"{said}\n\n{nearest}"


def not_backed(best: str) -> str:
    """Return what the sources say in place of an answer that the evidence does not back."""
    said = _("What the language model wrote is not backed by the sources.")
    return f"{said} {in_their_words(best)}"


def in_their_words(best: str) -> str:
    """Return what the sources say."""
    return _("In the words of the sources:") + f"\n\n{best}"


def more_to_the_point(best: str) -> str:
    """Return what the sources say, below an answer that says something else."""
    return _("What the sources say that comes nearest to the question:") + f"\n\n{best}"


def quoted(evidence: str) -> str:
    """Return the evidence itself, when the language model failed."""
    said = _("The language model could not write an answer. It would have been made from this:")
    return f"{said}\n\n{evidence}"


def no_time(evidence: str) -> str:
    """Return the evidence itself, when there is no time left to write from it."""
    said = _("There was no time left to write an answer. It would have been made from this:")
    return f"{said}\n\n{evidence}"


def web_note(web: WebUse) -> str:
    """Return what an answer adds about a web search that failed or was not allowed; nothing when neither."""
    said = ""
    if web.not_asked:
        why = _(NOT_ASKED[web.not_asked])
        said = _("The web was not asked, because %(why)s: this rests on your documents alone.", why=why)
    elif web.error:
        said = _("The web could not be asked, so this rests on your documents alone. %(error)s", error=web.error)
    return f"\n\n{said}" if said else ""
