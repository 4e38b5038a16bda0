"""Retry: rephrase the question and search the documents again.

Only retrieval uses the rephrased question. Passages are graded by the original question, which is also the one that is
answered.
"""

from __future__ import annotations

import re

from localcrag.crag.context import NO_SECOND_SEARCH, Context, Flow
from localcrag.crag.evaluate import decide, keep, score
from localcrag.crag.grading import is_scored
from localcrag.crag.llm_calls import rewrite_with_llm
from localcrag.crag.retrieve import search_passages
from localcrag.records.enums import Action, Skill
from localcrag.records.events import Evaluated, Retried, StepStarted, Warned
from localcrag.records.passages import GradedPassage
from localcrag.records.protocols import Decoding
from localcrag.records.run import Message
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext
from localcrag.text.words import content_words, names, numbers, one_line

SYSTEM = (
    "You say a question again in other words, as a text that answers it might put it. Keep names and numbers as they "
    "are. Do not answer. Write only the question."
)
EXAMPLE = (
    Message("user", "Question: When may employees travel first class?"),
    Message("assistant", "Under what conditions are staff allowed to book first-class tickets?"),
)
DECODING = Decoding(max_tokens=40, stop=("\n",))
MAX_WORDS = 40

_WORD = re.compile(r"\S+")


def prompt(question: str) -> list[Message]:
    """Return the messages that ask for the rephrased question."""
    return [Message("system", SYSTEM), *EXAMPLE, Message("user", f"Question: {one_line(question)}")]


def accept(written: str, question: str) -> str:
    """Return the rewriting if it can be trusted, else the question's key words alone.

    A text is rejected if it lost or added a name or a number (added ones mostly come from a made-up answer), if it is
    not a single question on one line, or if it has no new word.
    """
    query = one_line(written.splitlines()[0] if written.strip() else "").strip("\"'“”")
    asked, wanted = content_words(question), content_words(query)
    fixed = names(question) | numbers(question)
    sensible = (
        query.endswith("?")
        and query.count("?") == 1
        and len(query.split()) <= MAX_WORDS
        and fixed <= wanted
        and names(query) | numbers(query) <= asked
        and bool(wanted - asked)
        and bool(wanted & asked)
    )
    return query if sensible else key_words(question)


def key_words(question: str) -> str:
    """Return the question's content words in their order, or the question itself if it has none."""
    kept = [word.strip('?!.,;:"“”') for word in _WORD.findall(question) if content_words(word)]
    return " ".join(kept) or one_line(question)


def retry(
    question: str, known: tuple[GradedPassage, ...], action: Action, context: Context
) -> Flow[tuple[tuple[GradedPassage, ...], Action]]:
    """Return the best passages of both attempts with their action; without a second attempt, those of the first."""
    if action is Action.CORRECT or not context.settings.retry or not known or not is_scored(known):
        return known, action
    if context.budget.spent(NO_SECOND_SEARCH):
        why = context.budget.exhaustion_reason
        yield Warned(_("The documents were not searched again in other words: %(why)s.", why=why))
        return known, action
    yield StepStarted("retry", _("searching again in other words"))
    clock = context.clock("retry")
    asked = prompt(question)
    written = yield from rewrite_with_llm(Skill.OTHER_WORDS, asked, DECODING, context, clock)
    query = accept(written, question)
    seen = {passage.id for passage in known}
    found = yield from search_passages(query, question, context)
    found = tuple(passage for passage in found if passage.id not in seen)
    yield Retried(query, found, clock.cost())
    if not found:
        return known, action

    yield StepStarted("evaluate", ngettext("scoring %(num)s more passage", "scoring %(num)s more passages", len(found)))
    clock = context.clock("evaluate")
    more = yield from score(question, found, context, clock)
    both = yield from keep(question, known + more, context, clock)
    yield Evaluated(both, clock.cost())
    return both, (yield from decide(query, both, context))
