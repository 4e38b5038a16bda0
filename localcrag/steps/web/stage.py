"""The step `search`: where the documents are not enough, the user's own SearXNG is asked."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from localcrag.records.enums import NotAsked, Skill
from localcrag.records.events import Event, Searched, StepStarted, Warned
from localcrag.records.passages import GradedPassage
from localcrag.records.web import WebUse
from localcrag.steps.budget import NO_SECOND_LOOK
from localcrag.steps.clock import Clock
from localcrag.steps.context import Context
from localcrag.steps.evaluate.evaluate import is_scored
from localcrag.steps.evaluate.stage import score
from localcrag.steps.rewrite import rewritten
from localcrag.steps.web import ask_web
from localcrag.steps.web import search as web_query
from localcrag.text.translation import gettext as _


def search_ahead(question: str, context: Context) -> Generator[Event, None, ask_web.Ahead | None]:
    """Begin to search before the decision, where the settings want that, with the question itself as query."""
    web = context.web
    return (yield from ask_web.begin(question, web, context.settings)) if web else None


def search(
    question: str, local: Sequence[GradedPassage], ahead: ask_web.Ahead | None, context: Context
) -> Generator[Event, None, tuple[tuple[GradedPassage, ...], WebUse]]:
    """Yield Searched, and return what the web gave, graded, and what it was asked; nothing where it may not be."""
    web = context.web
    if web is None or (local and not is_scored(local)):
        return (), WebUse()
    clock = context.clock("search")
    if ahead:
        use = yield from ask_web.collect(ahead)
    elif context.budget.spent(NO_SECOND_LOOK):
        yield Warned(_("The web was not asked: %(why)s.", why=context.budget.running_out))
        use = WebUse(not_asked=NotAsked.NO_TIME)
    else:
        query = yield from _query(question, context, clock)
        use = yield from ask_web.ask(query, web, context.settings, clock)
    passages = web_query.to_passages(question, use.results, embedder=context.parts.embedder)
    graded = yield from score(question, passages, context, clock)
    yield Searched(use, graded, clock.cost())
    return graded, use


def _query(question: str, context: Context, clock: Clock) -> Generator[Event, None, str]:
    """Return the question as a query for a search engine."""
    yield StepStarted("search", _("writing a web query"))
    asked = web_query.prompt(question)
    written = yield from rewritten(Skill.QUERIES, asked, web_query.DECODING, context, clock)
    return web_query.accept(written, question)
