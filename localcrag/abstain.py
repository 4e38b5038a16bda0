"""What the app says when it does not answer, or not with what it wanted to: plain sentences, quotations, no model."""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.datatypes import Evidence, GradedPassage, NotAsked, WebUse
from localcrag.neutralise import quotable
from localcrag.settings import Settings
from localcrag.words import shorten

NEAREST = 3
NOT_ASKED = {
    NotAsked.DECLINED: "you did not allow it",
    NotAsked.UNANSWERED: "nobody answered whether it may be",
    NotAsked.NOBODY_TO_ASK: "it needs your consent, and there was nobody to ask",
    NotAsked.FORBIDDEN_TERM: "the query holds a term that you said may never be sent",
    NotAsked.NO_TIME: "too little of the time budget was left",
}
"""Why the web was not asked, after "because"."""


def nothing_found(passages: Sequence[GradedPassage], web: WebUse, settings: Settings) -> str:
    """Return the answer of a run without evidence: who was asked, and what came nearest."""
    if not passages:
        lines = [f"There is nothing in the collection “{settings.collection}” to answer from. Add documents to it."]
    else:
        lines = ["Your documents do not answer this question."]
    lines.append(_about_web(web, settings))
    if passages:
        lines.append("The nearest passages, with the probability that they help:")
        nearest = sorted(passages, key=lambda passage: -passage.relevance)[:NEAREST]
        quotes = (
            f"- {passage.relevance:.2f} · {_place(passage)}: “{shorten(quotable(passage.text))}”" for passage in nearest
        )
        lines.append("\n".join(quotes))
    return "\n\n".join(line for line in lines if line)


def _about_web(web: WebUse, settings: Settings) -> str:
    if web.error:
        return f"The web could not be asked either. {web.error}"
    if web.used:
        return "The web results do not answer it either."
    if web.not_asked:
        return f"The web was not asked, because {NOT_ASKED[web.not_asked]}."
    if settings.searxng_url is None:
        return ""
    return "The web was not asked: it is switched off in the settings."


def evidence_silent(evidence: Sequence[Evidence], web: WebUse) -> str:
    """Return the answer when the language model found none in the evidence."""
    who = "Neither your documents nor the web results say" if web.results else "Your documents do not say"
    return f"{who} this outright. What comes nearest:\n\n{_quotes(evidence)}{web_note(web)}"


def uncertain(evidence: Sequence[Evidence], web: WebUse) -> str:
    """Return the answer when the evidence is too doubtful to ask a small language model about."""
    what = "your documents or the web results answer" if web.results else "your documents answer"
    return f"It is not certain that {what} this. What comes nearest:\n\n{_quotes(evidence)}{web_note(web)}"


def not_backed(best: Sequence[Evidence]) -> str:
    """Return the best sentences in place of an answer that the evidence does not back."""
    return f"What the language model wrote is not backed by the sources. {in_their_words(best)}"


def in_their_words(best: Sequence[Evidence]) -> str:
    """Return the best sentences as quotations."""
    return f"In the words of the sources:\n\n{_whole_quotes(best)}"


def more_to_the_point(best: Sequence[Evidence]) -> str:
    """Return the best sentences as quotations, below an answer that says something else."""
    return f"What the sources say that comes nearest to the question:\n\n{_whole_quotes(best)}"


def _whole_quotes(pieces: Sequence[Evidence]) -> str:
    return "\n\n".join(f"“{quotable(piece.text)}” [{piece.n}]" for piece in pieces)


def quoted(evidence: Sequence[Evidence]) -> str:
    """Return the evidence itself, when the language model failed."""
    return f"The language model could not write an answer. It would have been made from this:\n\n{_quotes(evidence)}"


def no_time(evidence: Sequence[Evidence]) -> str:
    """Return the evidence itself, when there is no time left to write from it."""
    return f"There was no time left to write an answer. It would have been made from this:\n\n{_quotes(evidence)}"


def web_note(web: WebUse) -> str:
    """Return what an answer adds about a web search that failed or was not allowed; nothing when neither."""
    if web.not_asked:
        return f"\n\nThe web was not asked, because {NOT_ASKED[web.not_asked]}: this rests on your documents alone."
    return f"\n\nThe web could not be asked, so this rests on your documents alone. {web.error}" if web.error else ""


def _quotes(evidence: Sequence[Evidence]) -> str:
    best = sorted(evidence, key=lambda piece: -piece.relevance)[:NEAREST]
    return "\n".join(
        f"- “{shorten(quotable(piece.text))}” [{piece.n}]" for piece in sorted(best, key=lambda piece: piece.n)
    )


def _place(passage: GradedPassage) -> str:
    if passage.document is None:
        return passage.title or passage.url or "web"
    return passage.document if passage.page is None else f"{passage.document}, page {passage.page}"
