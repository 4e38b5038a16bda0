"""The step `retrieve`: the passages of the documents that a question is most likely answered by."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial

from localcrag.records.enums import Skill
from localcrag.records.errors import GenerationError, StoreError
from localcrag.records.events import Event, PlainPromptCounted, Retrieved, StepStarted, Warned
from localcrag.records.passages import Passage
from localcrag.steps.answer.generate import plain_prompt
from localcrag.steps.asked import Asked
from localcrag.steps.context import Context
from localcrag.steps.retrieve.retrieve import retrieve as hybrid_search
from localcrag.text.translation import gettext as _


def retrieve(asked: Asked, context: Context) -> Generator[Event, None, tuple[Passage, ...]]:
    """Yield Retrieved and, for comparison, the length of the prompt that plain RAG would send now; return passages.

    Plain RAG would send the first k; more are returned where they are going to be scored.
    """
    yield StepStarted("retrieve", _("looking through the documents"))
    for missing in context.choice.missing if context.choice else ():
        yield Warned(_("Only some documents are searched, and %(missing)s.", missing=missing))
    clock = context.clock("retrieve")
    found = yield from passages_for(asked.standalone, asked.standalone, context)
    yield Retrieved(found, clock.cost(), context.scope)
    try:
        sent = found[: context.settings.k]
        whole = Skill.ALONE in context.parts.skills
        prompt = plain_prompt(asked.question, asked.standalone, sent, asked.history, whole=whole)
        yield PlainPromptCounted(context.parts.llm.count_tokens(prompt))
    except GenerationError as error:
        yield Warned(_("What plain RAG would have cost could not be counted: %(error)s", error=error))
    return found


def passages_for(query: str, question: str, context: Context) -> Generator[Event, None, tuple[Passage, ...]]:
    """Return the passages for `query`, to be judged by `question`; where the vector index fails, by full text alone.

    Raises StoreError when full text fails as well.
    """
    parts, settings = context.parts, context.settings
    search = partial(
        hybrid_search, query, question, k=context.retrieved, candidates=max(settings.candidates, context.retrieved),
        embedder=parts.embedder, store=parts.store, within=context.within,
    )  # fmt: skip
    try:
        return search(index=parts.index)
    except StoreError as error:
        yield Warned(
            _("The vector index could not be searched, so that only words were looked for: %(error)s", error=error)
        )
        return search(index=None)
