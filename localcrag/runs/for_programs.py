"""A run as other programs get it: the answer with its citations, and how it came about."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import TypedDict

from localcrag.crag.answer.quotations import NOT_ASKED
from localcrag.crag.answer.verify import cited
from localcrag.crag.compute import computation_in_words
from localcrag.crag.grading import is_scored
from localcrag.records.passages import Evidence, GradedPassage, Passage, Source
from localcrag.records.run import Run
from localcrag.runs.export import TEMPLATES, about
from localcrag.runs.recording import totals
from localcrag.text import places
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext
from localcrag.text.words import one_line, shorten

# pydantic, which makes schemas of these, takes typing's own from Python 3.12 on.


DECIMALS = 4
"""Of a relevance: more than calibration can tell apart."""


class Place(TypedDict):
    """Where something is from: a page of a document, or a web page; `dated` is its day. `place` says it in words."""

    place: str
    document: str | None
    page: int | None
    url: str | None
    title: str | None
    section: str | None
    dated: str | None


class NamedPlace(Place):
    """Where what an answer cites is from; `also` are the document's other names."""

    also: list[str]


class FoundPassage(Place):
    """A passage with its relevance: a probability in 0..1 that it helps, or None where none was given."""

    id: str
    relevance: float | None
    grade: str | None
    text: str


class Citation(NamedPlace):
    """What stands behind [n] in an answer; `passage` is the id of the passage that it is a part of."""

    n: int
    text: str
    relevance: float
    passage: str


class Limits(TypedDict):
    """The thresholds in force, as probabilities."""

    upper: float
    lower: float
    strip: float


class Contradiction(TypedDict):
    """What documents and web say differently, and what was done about it."""

    documents: str
    web: str
    resolution: str


class Web(TypedDict):
    """The web's part: the query that left or was proposed, and why it did not leave."""

    used: bool
    query: str | None
    not_asked: str | None


class Details(TypedDict):
    """How an answer came about."""

    run_id: str
    collection: str
    question: str
    standalone_question: str
    action: str | None
    why: str
    abstained: bool
    uncertain: bool
    preset: str
    thresholds: Limits
    sources: list[NamedPlace]
    passages: list[FoundPassage]
    computed: str | None
    contradictions: list[Contradiction]
    web: Web
    warnings: list[str]
    seconds: float


def citations(run: Run) -> list[Citation]:
    """Return what the answer cites, in the order of its numbers; `n` is what stands in brackets in the answer."""
    sources = {source.id: source for source in run.sources}
    return [_cited(piece, sources[piece.source]) for piece in cited(run.answer, run.evidence)]


def details(run: Run) -> Details:
    """Return how the answer came about: action and why, passages by relevance, sources, web, warnings."""
    sums = totals(run)
    computed = computation_in_words(run.computation) if run.computation else None
    return {
        "run_id": run.run_id,
        "collection": run.collection,
        "question": run.question,
        "standalone_question": run.standalone_question,
        "action": run.action and str(run.action),
        "why": run.rule,
        "abstained": run.abstained,
        "uncertain": run.uncertain,
        "preset": str(run.preset),
        "thresholds": {"upper": run.thresholds.upper, "lower": run.thresholds.lower, "strip": run.thresholds.strip},
        "sources": [_source(source) for source in run.sources],
        "passages": passages(run.passages),
        "computed": computed,
        "contradictions": [
            {"documents": one.local.text, "web": one.web.text, "resolution": one.resolution} for one in run.conflicts
        ],
        "web": _web(run),
        "warnings": list(run.warnings),
        "seconds": sums.seconds,
    }


def passages(found: Sequence[GradedPassage]) -> list[FoundPassage]:
    """Return passages, most relevant first; a relevance that nobody gave is None."""
    scored = is_scored(found)
    return [
        {
            "id": one.id,
            **where(one),
            "relevance": round(one.relevance, DECIMALS) if scored else None,
            "grade": str(one.grade) if scored else None,
            "text": one.text,
        }
        for one in sorted(found, key=lambda one: -one.relevance)
    ]


def where(passage: Passage) -> Place:
    """Return where a passage is from."""
    document = passage.document or ""
    return {
        "place": passage.url or places.place(document, passage.page, passage.rows),
        "document": passage.document,
        "page": passage.page,
        "url": passage.url,
        "title": passage.title,
        "section": passage.section,
        "dated": passage.dated,
    }


def passages_in_words(found: Sequence[FoundPassage]) -> str:
    """Return passages with place, id and relevance, as a model reads them."""
    return "\n\n".join(
        f"{one['place']} ({one['id']}, relevance {_shown(one['relevance'])}):\n{one['text']}" for one in found
    )


def answer_in_words(run: Run) -> str:
    """Return the answer with its sources below, and how it came about, as a model reads it."""
    lines = [run.answer, ""]
    lines += [f"[{one['n']}] {one['place']}: “{one['text']}”" for one in citations(run)]
    if run.action:
        lines.append(f"{run.action}: {run.rule}")
    return "\n".join([*lines, *notes_on_the_web(run), *run.warnings]).strip()


def notes_on_the_web(run: Run) -> list[str]:
    """Return why the web was not asked, where it might have been."""
    why = _web(run)["not_asked"]
    return [_("The web was not asked, because %(why)s.", why=why)] if why else []


def _shown(relevance: float | None) -> str:
    return "unknown" if relevance is None else f"{relevance:.2f}"


def _cited(piece: Evidence, source: Source) -> Citation:
    place = _source(source, piece)
    relevance = round(piece.relevance, DECIMALS)
    return {"n": piece.n, **place, "text": piece.text, "relevance": relevance, "passage": piece.passage}


def _source(source: Source, piece: Evidence | None = None) -> NamedPlace:
    rows = piece.rows if piece else ()
    return {
        "place": source.url or places.place(source.document or "", source.page, rows, source.also),
        "document": source.document,
        "page": source.page,
        "url": source.url,
        "title": source.title,
        "section": piece.section if piece else None,
        "dated": source.dated,
        "also": list(source.also),
    }


def _web(run: Run) -> Web:
    web = run.web
    why = _(NOT_ASKED[web.not_asked]) if web.not_asked else None
    return {"used": web.used, "query": web.query, "not_asked": why}


LONGEST = 300
"""Characters that are shown of a passage."""


def html(run: Run) -> str:
    """Return the answer with its citations, the action and why, and the passages with their relevance."""
    found = passages(run.passages)
    return TEMPLATES.get_template("run.html").render(
        run=run,
        citations=[{**one, "text": one_line(one["text"])} for one in citations(run)],
        about=[*about(run), *notes_on_the_web(run)],
        passages=[{**one, "text": shorten(one["text"], LONGEST)} for one in found],
        heading=ngettext("%(num)s passage retrieved", "%(num)s passages retrieved", len(found)),
    )
