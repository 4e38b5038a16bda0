"""Passages by themselves: found and evaluated without an answer, and read with their neighbours."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

# pydantic, which makes a schema of one for MCP, takes typing's own from Python 3.12 on.
from typing_extensions import TypedDict

from localcrag.records.documents import Chunk
from localcrag.records.errors import UnknownDocument
from localcrag.records.events import Event, Warned
from localcrag.records.passages import GradedPassage
from localcrag.records.protocols import ChunkStore
from localcrag.records.restriction import Restriction
from localcrag.runs.new_run import checked
from localcrag.settings import Settings
from localcrag.steps.budget import Budget
from localcrag.steps.context import Context, Parts
from localcrag.steps.document_choice import choose
from localcrag.steps.evaluate.stage import evaluate
from localcrag.steps.retrieve.stage import passages_for
from localcrag.steps.screen.stage import screen
from localcrag.text.decimals import whole_number
from localcrag.text.language_of import language_among
from localcrag.text.lexicon.languages import steps_in

PREFIX = "chunk-"
"""Before the number of a chunk, in the id of a passage of a document."""


@dataclass(frozen=True, slots=True)
class Found:
    """Passages, most relevant first, and what went worse than it should."""

    passages: tuple[GradedPassage, ...]
    warnings: tuple[str, ...]


class ReadPassage(TypedDict):
    """A passage as it stands in its document, with its neighbours; `first` and `last` are the ids at its ends."""

    document: str
    title: str
    page: int | None
    section: str | None
    text: str
    first: str
    last: str


def search(question: str, *, parts: Parts, settings: Settings, restriction: Restriction) -> Found:
    """Return the best `k` passages of the documents, as a question is answered from them; nothing is stored.

    Raises QuestionError, also where the restriction allows no document, and StoreError.
    """
    question = checked(question)
    choice = choose(restriction, parts.store, parts.other_names)
    context = Context(parts, settings, Budget(settings.time_budget), choice=choice)
    language = language_among(question, parts.store.languages())
    events = steps_in(language, _flow(question, context))
    warnings: list[str] = []
    while True:
        try:
            event = next(events)
        except StopIteration as end:
            ranked = sorted(end.value, key=lambda one: -one.relevance)
            return Found(tuple(ranked), tuple(warnings))
        if isinstance(event, Warned):
            warnings.append(event.message)


def _flow(question: str, context: Context) -> Generator[Event, None, tuple[GradedPassage, ...]]:
    found = yield from passages_for(question, question, context)
    graded = yield from evaluate(question, found, context)
    yield from screen(graded, context.parts.rules)
    return graded


def read_passage(passage: str, store: ChunkStore, *, before: int = 0, after: int = 0) -> ReadPassage:
    """Return a passage with so many chunks before and after it. Raises UnknownDocument when it is not there."""
    number = whole_number(passage.removeprefix(PREFIX))
    found = {} if number is None else store.chunks([number])
    # An id is that of one chunk of the database, whose collection may be another one.
    its_document = set(store.documents_of(list(found)).values())
    if not its_document or not its_document <= {document.id for document in store.documents()}:
        raise UnknownDocument(
            f"There is no passage “{passage}” here: its document was changed or deleted, or it is from the web or of "
            "another collection. Search again for what there is."
        )
    ((own, (document, chunk)),) = found.items()
    first = _furthest(store, own, chunk, before, behind=False)
    last = _furthest(store, own, chunk, after, behind=True)
    return ReadPassage(
        document=document,
        title=store.titles([own]).get(own, ""),
        page=first[1].page,
        section=chunk.section,
        # Pages are joined by form feeds.
        text=store.excerpt(own, first[1].start, last[1].end).replace("\f", "\n\n"),
        first=f"{PREFIX}{first[0]}",
        last=f"{PREFIX}{last[0]}",
    )


def _furthest(store: ChunkStore, number: int, chunk: Chunk, steps: int, *, behind: bool) -> tuple[int, Chunk]:
    at = number, chunk
    for _ in range(steps):
        further = store.neighbour(at[0], behind=behind)
        if further is None:
            break
        at = further
    return at
