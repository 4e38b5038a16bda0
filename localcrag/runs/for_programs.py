"""A run in a form for other programs: the answer with its citations, and how it came about."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import TypedDict

from localcrag.crag.grading import is_scored
from localcrag.records.passages import Evidence, GradedPassage, Passage, Source, cited
from localcrag.records.run import Run
from localcrag.records.wording import NOT_ASKED, computation_in_words
from localcrag.runs.export import TEMPLATES, describe_run
from localcrag.runs.recording import totals
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext
from localcrag.text.words import one_line, shorten

# pydantic makes schemas from these classes, and before Python 3.12 it rejects typing's own TypedDict.


DECIMALS = 4
"""Decimals of a relevance: more than a calibration can distinguish."""


class SourcePlace(TypedDict):
    """The origin of a text: a page of a document, or a web page.

    `place` is the origin in words; `dated` is its date.
    """

    place: str
    document: str | None
    page: int | None
    url: str | None
    title: str | None
    section: str | None
    dated: str | None


class NamedPlace(SourcePlace):
    """The place of a cited source; `also` are the document's other names."""

    also: list[str]


class FoundPassage(SourcePlace):
    """A passage with its relevance, the probability in 0..1 that it helps; None if no model scored it."""

    id: str
    relevance: float | None
    grade: str | None
    text: str


class Citation(NamedPlace):
    """The evidence behind [n] in an answer; `passage` is the id of the passage that contains it."""

    n: int
    text: str
    relevance: float
    passage: str


class ThresholdValues(TypedDict):
    """The active thresholds, as probabilities."""

    upper: float
    lower: float
    strip: float


class Contradiction(TypedDict):
    """A contradiction between documents and web, and how it was resolved."""

    documents: str
    web: str
    resolution: str


class WebUsage(TypedDict):
    """How the web was used: the query that was sent or proposed, and the reason if it was not sent."""

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
    thresholds: ThresholdValues
    sources: list[NamedPlace]
    passages: list[FoundPassage]
    computed: str | None
    contradictions: list[Contradiction]
    web: WebUsage
    warnings: list[str]
    seconds: float


def citations(run: Run) -> list[Citation]:
    """Return the evidence that the answer cites, in the order of its numbers; `n` is the number in brackets."""
    sources = {source.id: source for source in run.sources}
    return [_cited(piece, sources[piece.source]) for piece in cited(run.answer, run.evidence)]


def details(run: Run) -> Details:
    """Return how the answer came about: action and reason, passages by relevance, sources, web, warnings."""
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
        "computed": computation_in_words(run.computation) if run.computation else None,
        "contradictions": [
            {"documents": one.local.text, "web": one.web.text, "resolution": one.resolution} for one in run.conflicts
        ],
        "web": _web(run),
        "warnings": list(run.warnings),
        "seconds": totals(run).seconds,
    }


def passages(found: Sequence[GradedPassage]) -> list[FoundPassage]:
    """Return passages, most relevant first; relevances are None if no model scored them."""
    scored = is_scored(found)
    return [
        {
            "id": one.id,
            **_place(one, one.place, one.section),
            "relevance": round(one.relevance, DECIMALS) if scored else None,
            "grade": str(one.grade) if scored else None,
            "text": one.text,
        }
        for one in sorted(found, key=lambda one: -one.relevance)
    ]


def _place(one: Passage | Source, place: str, section: str | None) -> SourcePlace:
    return {
        "place": place,
        "document": one.document,
        "page": one.page,
        "url": one.url,
        "title": one.title,
        "section": section,
        "dated": one.dated,
    }


def format_passages(found: Sequence[FoundPassage]) -> str:
    """Return passages with place, id and relevance, as text for a model."""
    shown = ["unknown" if one["relevance"] is None else f"{one['relevance']:.2f}" for one in found]
    return "\n\n".join(
        f"{one['place']} ({one['id']}, relevance {relevance}):\n{one['text']}"
        for one, relevance in zip(found, shown, strict=True)
    )


def format_answer(run: Run) -> str:
    """Return the answer with its sources and how it came about, as text for a model."""
    lines = [run.answer, ""]
    lines += [f"[{one['n']}] {one['place']}: “{one['text']}”" for one in citations(run)]
    if run.action:
        lines.append(f"{run.action}: {run.rule}")
    return "\n".join([*lines, *web_notes(run), *run.warnings]).strip()


def web_notes(run: Run) -> list[str]:
    """Return a list with a sentence on why the web was not searched; empty if no reason is recorded."""
    why = _web(run)["not_asked"]
    return [_("The web was not searched, because %(why)s.", why=why)] if why else []


def _cited(piece: Evidence, source: Source) -> Citation:
    place = _source(source, piece)
    relevance = round(piece.relevance, DECIMALS)
    return {"n": piece.n, **place, "text": piece.text, "relevance": relevance, "passage": piece.passage}


def _source(source: Source, piece: Evidence | None = None) -> NamedPlace:
    place = source.place(piece.rows if piece else ())
    return {**_place(source, place, piece.section if piece else None), "also": list(source.also)}


def _web(run: Run) -> WebUsage:
    web = run.web
    why = _(NOT_ASKED[web.not_asked]) if web.not_asked else None
    return {"used": web.used, "query": web.query, "not_asked": why}


LONGEST = 300
"""Number of characters shown of a passage."""


def html(run: Run) -> str:
    """Return the answer as HTML with its citations, the action and its reason, and the passages by relevance."""
    found = passages(run.passages)
    return TEMPLATES.get_template("run.html").render(
        run=run,
        citations=[{**one, "text": one_line(one["text"])} for one in citations(run)],
        about=[*describe_run(run), *web_notes(run)],
        passages=[{**one, "text": shorten(one["text"], LONGEST)} for one in found],
        heading=ngettext("%(num)s passage retrieved", "%(num)s passages retrieved", len(found)),
    )
