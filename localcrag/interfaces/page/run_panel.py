"""Places of passages on the scale of relevance, none on top of another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import gradio as gr

from localcrag.crag import compute as computing
from localcrag.crag.answer.quotations import NOT_ASKED
from localcrag.crag.evaluate import compared, why_not_correct
from localcrag.crag.refine.refine import NEVER, Choice
from localcrag.crag.refine.strips import strips_by_piece
from localcrag.interfaces.page.renderers import TEMPLATES
from localcrag.records.enums import Action, Origin, StripReason
from localcrag.records.passages import Evidence, GradedPassage, Strip
from localcrag.records.run import Claim, Run
from localcrag.runs.labels import Pin
from localcrag.runs.recording import graded_by, reading_in_words, scope_in_words, totals, totals_in_words
from localcrag.text.titles import SEPARATOR
from localcrag.text.translation import gettext as _

ROOM = 0.03
"""Share of the scale's width that a point takes."""


@dataclass(frozen=True, slots=True)
class Point:
    """A passage at `x`, in shares of relevance, `level` points above the line."""

    passage: GradedPassage
    x: float
    level: int


def points(passages: Sequence[GradedPassage]) -> list[Point]:
    """Return a point for each passage, from left to right; those that would overlap stand above each other."""
    ends: list[float] = []
    placed = []
    for passage in sorted(passages, key=lambda one: one.relevance):
        free = (level for level, end in enumerate(ends) if end <= passage.relevance)
        level = next(free, len(ends))
        if level == len(ends):
            ends.append(0.0)
        ends[level] = passage.relevance + ROOM
        placed.append(Point(passage, passage.relevance, level))
    return placed


UNSURE = 0.95
"""A confidence of text recognition below which what it read may well have mistakes (docs/measurements.md)."""
_EXPLAINED = (
    None, StripReason.KEPT, StripReason.BELOW, StripReason.NO_KEY_POINT, StripReason.COMPUTED, StripReason.NOT_COMPUTED,
    StripReason.CENTRAL, StripReason.NOT_CENTRAL,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MarkedStrip:
    """A strip as the panel shows it; `evidence` is the number it is cited by, at its first strip only."""

    strip: Strip
    evidence: Evidence | None

    @property
    def title(self) -> str:
        """What hovering over it says."""
        strip = self.strip
        why = f" ({_(strip.reason.value)})" if strip.reason and strip.reason is not StripReason.KEPT else ""
        points = "".join(_("; key point: %(point)s", point=point) for point in strip.points)
        fate = _("kept") if strip.kept else _("dropped")
        relevance = _("relevance %(number).2f", number=strip.relevance)
        return f"{fate}{why}, {relevance}{points}"

    @property
    def note(self) -> str | None:
        """A word about a fate that the relevance alone does not explain."""
        reason = self.strip.reason
        return None if reason is None or reason in _EXPLAINED else _(reason.value)


@dataclass(frozen=True, slots=True)
class Learned:
    """What is known of a run beside itself: its labels, its pin, and which web texts are documents by now.

    `answers` is what the pin's field holds, a line each. `added` and `addable` go by passage: a document's name, and
    the number of a web result.
    """

    labels: Mapping[tuple[str, str], bool]
    pin: Pin | None
    answers: str
    unanswerable: bool
    added: Mapping[str, str]
    addable: Mapping[str, str]

    def said(self, kind: str, target: str) -> bool | None:
        """Whether something was labelled good or bad; None: neither."""
        return self.labels.get((kind, target))


def panel(run: Run | None, busy: str | None = None, learned: Learned | None = None) -> str:
    """Return the side panel for a run; `busy` says what is being done right now.

    Only with `learned` can anything of it be labelled, pinned or added.
    """
    if run is None:
        return TEMPLATES.get_template("panel/empty.html").render(busy=busy)
    passages = sorted(run.passages, key=lambda passage: -passage.relevance)
    unscored = {passage.id for passage in passages if not passage.scored}
    return TEMPLATES.get_template("panel/panel.html").render(
        run=run,
        busy=busy,
        graded_by=graded_by(run),
        reading=reading_in_words(run),
        searched=scope_in_words(run),
        learned=learned,
        local=[passage for passage in passages if passage.origin is Origin.LOCAL],
        web=[passage for passage in passages if passage.origin is Origin.WEB],
        strips={passage.id: _marked(passage, run) for passage in passages},
        paths={passage.id: _path(passage) for passage in passages},
        lowered={passage.id: _lowered(passage, run) for passage in passages},
        sources={source.id: source for source in run.sources},
        parts=_parts,
        totals=totals_in_words(totals(run)),
        reasons={passage.id: compared(passage.relevance, run.thresholds) for passage in passages},
        seconds=sum(step.seconds for step in run.steps),
        points=points([passage for passage in passages if passage.id not in unscored]),
        unscored=unscored,
        why_not=_why_not_correct(run),
        not_asked=NOT_ASKED,
        computing=computing,
        never=NEVER,
        not_asked_to_write=_not_asked_to_write(run) and not busy,
        unsure=UNSURE,
        longest=max((step.seconds for step in run.steps), default=0.0),
    )


def _not_asked_to_write(run: Run) -> bool:
    """Whether the answer is the sources' own lines, without a language model having been asked for one."""
    answered = bool(run.answer and run.evidence) and run.answered and not run.stopped
    return answered and not run.computation and "generate" not in {step.name for step in run.steps}


def _why_not_correct(run: Run) -> str | None:
    """Return what the documents' passages lacked; None where they were enough, or nothing was decided."""
    if run.action in (None, Action.CORRECT):
        return None
    return why_not_correct(
        [passage for passage in run.passages if passage.origin is Origin.LOCAL],
        policy=run.policy,
        thresholds=run.thresholds,
        enough_relevant=float(run.settings.get("relevance_threshold") or 0.0),
    )


def _marked(passage: GradedPassage, run: Run) -> list[MarkedStrip]:
    """Return a passage's strips, each piece of evidence marked where it begins."""
    pieces = [piece for piece in run.evidence if piece.passage == passage.id]
    made_of = strips_by_piece(pieces, run.strips)
    first = {made_of[piece.n][0].start: piece for piece in pieces if made_of[piece.n]}
    return [
        MarkedStrip(strip, first.get(strip.start) if strip.kept else None)
        for strip in run.strips
        if strip.passage == passage.id
    ]


def _path(passage: GradedPassage) -> str:
    """Return what a passage is read under, as far as it does not say that itself."""
    return SEPARATOR.join(part for part in (passage.title, passage.section) if part and part not in passage.text)


def _lowered(passage: GradedPassage, run: Run) -> float | None:
    """Return what minimum retention lowered the threshold to for a passage; None where it did not."""
    own = (strip for strip in run.strips if strip.passage == passage.id)
    return min((strip.relevance for strip in own if strip.reason is StripReason.RETENTION), default=None)


def _parts(claim: Claim) -> list[tuple[str, bool]]:
    """Return a claim's text in pieces, with whether each is what differs."""
    before, differs, after = claim.text.partition(claim.differs) if claim.differs else (claim.text, "", "")
    return [(part, marked) for part, marked in ((before, False), (differs, True), (after, False)) if part]


def choice_of(event: gr.EventData) -> Choice:
    """Return which sentences and passages a person put in or took out; panel.html says how it names them."""
    return Choice(
        {_sentence(key): bool(wanted) for key, wanted in dict(event.sentences).items()},
        {str(key): bool(wanted) for key, wanted in dict(event.passages).items()},
    )


def _sentence(key: str) -> tuple[str, int]:
    passage, _, start = key.rpartition("@")
    return passage, int(start)
