"""Web search: turn a question into a web query, ask for consent, and turn results into passages.

The step reports what it waits for and what fails. It uses the search server, the cache and the user's consent only
through protocols.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial

import numpy as np

from localcrag.crag.context import NO_SECOND_SEARCH, Clock, Context, Flow, WebParts
from localcrag.crag.evaluate import score
from localcrag.crag.grading import is_scored
from localcrag.crag.llm_calls import rewrite_with_llm
from localcrag.records.enums import NotAsked, Origin, Skill, WebMode
from localcrag.records.errors import ConsentMissing, ForbiddenTerm, SearchError
from localcrag.records.events import QueryProposed, SearchBegun, Searched, StepStarted, Warned
from localcrag.records.passages import GradedPassage, Passage
from localcrag.records.protocols import Decoding, Embedder, RateLimit, WebSearch
from localcrag.records.run import Message, WebAnswer, WebResult, WebUse
from localcrag.settings import Settings
from localcrag.text import sanitize
from localcrag.text.quantities import iso_date
from localcrag.text.titles import with_context
from localcrag.text.translation import gettext as _
from localcrag.text.translation import gettext_noop, ngettext
from localcrag.text.words import content_words, one_line, overlap

SYSTEM = (
    "You turn a question into a short query for a web search engine: the names and key words of the question, "
    "nothing else. Do not answer it. Write only the query."
)
EXAMPLE = (
    Message("user", "Question: How much does it cost to renew a British passport online?"),
    Message("assistant", "British passport renewal online cost"),
)
DECODING = Decoding(max_tokens=32, stop=("\n",))
MAX_WORDS = 12
"""Maximum number of words in a query that a model writes."""
KEPT_SHARE = 0.5
"""Minimum share of the question's content words that the query must keep."""


def prompt(question: str) -> list[Message]:
    """Return the messages that ask for a query."""
    return [Message("system", SYSTEM), *EXAMPLE, Message("user", f"Question: {one_line(question)}")]


def accept(written: str, question: str) -> str:
    """Return the query if it can be trusted, else the question itself.

    A query is rejected if it lost most of the question's words, or added words that the question does not have: a small
    model makes things up, and made-up words must not leave the computer.
    """
    query = one_line(written.splitlines()[0] if written.strip() else "").strip("\"'“”. ")
    asked, kept = content_words(question), content_words(query)
    sensible = query and len(query.split()) <= MAX_WORDS and kept <= asked and len(kept) >= KEPT_SHARE * len(asked)
    return query if sensible else one_line(question)


def keeps_enough(kept: str, query: str) -> bool:
    """Return whether `kept`, a part of `query`, still asks for the same thing."""
    words, of = content_words(kept), content_words(query)
    return bool(words) and len(words) >= KEPT_SHARE * len(of)


def to_passages(question: str, results: Sequence[WebResult], *, embedder: Embedder) -> tuple[Passage, ...]:
    """Return the results as passages, with the cosine and overlap that a local passage would have."""
    if not results:
        return ()
    texts = [with_context(result.title, result.content) for result in results]
    (asked,) = embedder.embed_questions([question])
    cosines = np.asarray(embedder.embed(texts) @ asked)
    return tuple(
        Passage(
            id=f"web-{number}",
            origin=Origin.WEB,
            text=result.content,
            url=result.url,
            title=result.title,
            dated=iso_date(result.published),
            cosine=float(cosine),
            overlap=overlap(question, text),
        )
        for number, (result, text, cosine) in enumerate(zip(results, texts, cosines, strict=True), start=1)
    )


MAX_PAUSE = 1.0
"""Maximum seconds between two events while waiting for the rate limit, so that a person can stop the run."""
TERMS_REMOVED = gettext_noop(
    "Words were removed from the web query: they contain a term that may never be sent (web_never_terms)."
)
QUERY_TOO_SHORT = gettext_noop(
    "The web was not searched: without the terms that may never be sent (web_never_terms), too little of the "
    "query is left. Ask in other words."
)
EDITED_QUERY_FORBIDDEN = gettext_noop(
    "The web was not searched: the query as you edited it contains a term that may never be sent "
    "(web_never_terms). Ask again without it, or remove the term from that list."
)
CONSENT_IMPOSSIBLE = gettext_noop(
    "The web was not searched: each query needs your consent, and nobody can be asked here. Ask in a terminal "
    "or in the app, or allow every query with --web always (setting web)."
)


SpeculativeSearch = tuple[str, Future[WebAnswer]]
"""The query of a search that began before the decision, and its answer, which may still be pending."""


def ask(query: str, parts: WebParts, settings: Settings, clock: Clock) -> Flow[WebUse]:
    """Search the web for `query` if everything allows it, and return the result.

    The clock stops while the user decides. Raises StoreError.
    """
    proposed = _sendable(query, parts.web, settings)
    if proposed is None:
        yield Warned(_(QUERY_TOO_SHORT))
        return WebUse(not_asked=NotAsked.FORBIDDEN_TERM)
    if proposed != parts.web.wording(query):
        yield Warned(_(TERMS_REMOVED))
    if known := parts.cached(proposed):
        return _web_use(proposed, known)
    allowed: str | NotAsked = proposed
    if settings.web is WebMode.ASK:
        allowed = yield from _allowed(proposed, parts, settings, clock)
        if isinstance(allowed, NotAsked):
            return WebUse(query=proposed, not_asked=allowed)
        if allowed != proposed and (known := parts.cached(allowed)):
            return _web_use(allowed, known)
    yield from _wait(parts.rate_limit, settings.web_per_minute)
    yield StepStarted("search", _("querying your SearXNG"))
    return (yield from _outcome(allowed, partial(parts.send, allowed)))


def search_speculatively(question: str, context: Context) -> Flow[SpeculativeSearch | None]:
    """Begin to search for the question itself before the decision, if the settings want that and nothing has to wait.

    No caller has to wait for the thread, which ends within the search server's time limit. Raises StoreError.
    """
    parts, settings = context.web, context.settings
    if parts is None or not settings.web_speculative or settings.web is not WebMode.ALWAYS:
        return None
    query = _sendable(question, parts.web, settings)
    if not query:
        return None
    answer: Future[WebAnswer] = Future()
    if known := parts.cached(query):
        answer.set_result(known)
        return query, answer
    # A claim returns the seconds to wait, and a search ahead of the decision does not wait.
    if parts.rate_limit and parts.rate_limit.claim(settings.web_per_minute):
        return None
    threading.Thread(target=_fulfil, args=(answer, query, parts), name="search ahead", daemon=True).start()
    yield SearchBegun(query)
    return query, answer


def _sendable(query: str, web: WebSearch, settings: Settings) -> str | None:
    """Return the query as it would be sent, without forbidden terms; None if too little of it would be left."""
    terms = settings.web_never_terms
    # Terms are removed before the wording as well, because the wording may cut a long query in the middle of a term.
    kept = sanitize.remove_terms(query, terms)
    if kept != query and not keeps_enough(kept, query):
        return None
    return web.wording(kept)


def _allowed(proposed: str, parts: WebParts, settings: Settings, clock: Clock) -> Flow[str | NotAsked]:
    """Return the query that the user allows to be sent, or the reason why none may be sent."""
    if parts.consent is None:
        yield Warned(_(CONSENT_IMPOSSIBLE))
        return NotAsked.NO_ONE_TO_ASK
    try:
        with clock.paused():
            yield QueryProposed(proposed)
            chosen = parts.consent(proposed)
    except ConsentMissing as error:
        yield Warned(str(error))
        return NotAsked.UNANSWERED
    query = parts.web.wording(chosen or "")
    if not query:
        return NotAsked.DECLINED
    if sanitize.contains_term(query, settings.web_never_terms):
        yield Warned(_(EDITED_QUERY_FORBIDDEN))
        return NotAsked.FORBIDDEN_TERM
    return query


def _wait(rate_limit: RateLimit | None, per_minute: int) -> Flow[None]:
    """Wait until a query may be sent, and count it."""
    while rate_limit and (seconds := rate_limit.claim(per_minute)):
        doing = ngettext(
            "waiting %(seconds)s s: at most %(num)s search per minute",
            "waiting %(seconds)s s: at most %(num)s searches per minute",
            per_minute,
            seconds=math.ceil(seconds),
        )
        yield StepStarted("search", doing)
        rate_limit.pause(min(seconds, MAX_PAUSE))


def _outcome(query: str, get: Callable[[], WebAnswer]) -> Flow[WebUse]:
    try:
        answer = get()
    except ForbiddenTerm as error:
        yield Warned(str(error))
        return WebUse(not_asked=NotAsked.FORBIDDEN_TERM)
    except SearchError as error:
        yield Warned(_("The web search failed. %(error)s", error=error))
        return WebUse(used=True, query=query, error=str(error))
    for engine, why in answer.failed_engines:
        text = gettext_noop("The search engine %(engine)s behind SearXNG did not answer (%(reason)s); the others did.")
        yield Warned(_(text, engine=engine, reason=why))
    return _web_use(query, answer)


def _web_use(query: str, answer: WebAnswer) -> WebUse:
    return WebUse(used=True, query=query, results=answer.results, cached_at=answer.cached_at)


def _fulfil(answer: Future[WebAnswer], query: str, parts: WebParts) -> None:
    """Send the query in the thread; the future passes on any error to its reader."""
    try:
        answer.set_result(parts.send(query))
    except Exception as error:  # noqa: BLE001 - kept in the future, and raised again where the answer is taken
        answer.set_exception(error)


def search(
    question: str, local: Sequence[GradedPassage], ahead: SpeculativeSearch | None, context: Context
) -> Flow[tuple[tuple[GradedPassage, ...], WebUse]]:
    """Yield Searched, and return graded web passages and how the web was used; both empty if it may not be used."""
    web = context.web
    if web is None or (local and not is_scored(local)):
        return (), WebUse()
    clock = context.clock("search")
    if ahead:
        yield StepStarted("search", _("waiting for your SearXNG"))
        query, answer = ahead
        use = yield from _outcome(query, answer.result)
    elif context.budget.spent(NO_SECOND_SEARCH):
        yield Warned(_("The web was not searched: %(why)s.", why=context.budget.exhaustion_reason))
        use = WebUse(not_asked=NotAsked.NO_TIME)
    else:
        yield StepStarted("search", _("writing a web query"))
        written = yield from rewrite_with_llm(Skill.QUERIES, prompt(question), DECODING, context, clock)
        use = yield from ask(accept(written, question), web, context.settings, clock)
    passages = to_passages(question, use.results, embedder=context.parts.embedder)
    graded = yield from score(question, passages, context, clock)
    yield Searched(use, graded, clock.cost())
    return graded, use
