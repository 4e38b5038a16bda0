"""The side panel: how a question was answered, from the passages found to the sentences used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import gradio as gr

from localcrag.interfaces.page.renderers import render
from localcrag.records import wording
from localcrag.records.enums import Action, Origin, StripReason
from localcrag.records.passages import NEVER_KEPT, Choice, Evidence, GradedPassage, Strip, strips_by_piece
from localcrag.records.run import Claim, Run
from localcrag.runs import recording
from localcrag.text.titles import SEPARATOR
from localcrag.text.translation import gettext as _

POINT_WIDTH = 0.03
"""Share of the scale's width that a point takes up."""


@dataclass(frozen=True, slots=True)
class Point:
    """A passage on the relevance scale: at `x`, from 0 to 1, and `level` points above the line."""

    passage: GradedPassage
    x: float
    level: int


def points(passages: Sequence[GradedPassage]) -> list[Point]:
    """Return a point for each passage, from left to right; points that would overlap are stacked."""
    # The position where each level's last point ends. A point goes to the lowest level that has room.
    ends: list[float] = []
    placed = []
    for passage in sorted(passages, key=lambda one: one.relevance):
        level = next((level for level, end in enumerate(ends) if end <= passage.relevance), len(ends))
        if level == len(ends):
            ends.append(0.0)
        ends[level] = passage.relevance + POINT_WIDTH
        placed.append(Point(passage, passage.relevance, level))
    return placed


LOW_CONFIDENCE = 0.95
"""Confidence of text recognition below which the text is likely to contain mistakes (docs/lab/measurements.md)."""
_EXPLAINED = (
    None, StripReason.KEPT, StripReason.BELOW, StripReason.NO_KEY_POINT, StripReason.COMPUTED, StripReason.NOT_COMPUTED,
    StripReason.CENTRAL, StripReason.NOT_CENTRAL,
)  # fmt: skip
"""Reasons that get no note next to a strip."""


@dataclass(frozen=True, slots=True)
class MarkedStrip:
    """A strip as the panel shows it; `evidence` is its citation number, only at the first strip with that number."""

    strip: Strip
    evidence: Evidence | None

    @property
    def title(self) -> str:
        """The text shown when the pointer is over the strip."""
        strip = self.strip
        why = f" ({_(strip.reason.value)})" if strip.reason and strip.reason is not StripReason.KEPT else ""
        points = "".join(_("; key point: %(point)s", point=point) for point in strip.points)
        fate = _("kept") if strip.kept else _("dropped")
        relevance = _("relevance %(number).2f", number=strip.relevance)
        return f"{fate}{why}, {relevance}{points}"

    @property
    def note(self) -> str | None:
        """The reason why the strip was kept or dropped, unless its relevance alone explains it."""
        reason = self.strip.reason
        return None if reason is None or reason in _EXPLAINED else _(reason.value)


def panel(run: Run | None, busy: str | None = None, learned: Mapping[str, object] | None = None) -> str:
    """Return the side panel for a run; `busy` is the current activity in words while the question is answered.

    It has controls to label, pin, and add web texts only if the user's feedback is given (`learned`).
    """
    if run is None:
        return render("panel/empty.html", busy=busy)
    passages = sorted(run.passages, key=lambda passage: -passage.relevance)
    unscored = {passage.id for passage in passages if not passage.scored}
    return render(
        "panel/panel.html",
        run=run,
        busy=busy,
        learned=learned,
        local=[passage for passage in passages if passage.origin is Origin.LOCAL],
        web=[passage for passage in passages if passage.origin is Origin.WEB],
        strips={passage.id: _marked(passage, run) for passage in passages},
        paths={passage.id: _path(passage) for passage in passages},
        lowered={passage.id: _lowered_threshold(passage, run) for passage in passages},
        sources={source.id: source for source in run.sources},
        parts=_parts,
        points=points([passage for passage in passages if passage.id not in unscored]),
        unscored=unscored,
        recording=recording,
        wording=wording,
        meanings={
            Action.CORRECT: _("your documents are enough"),
            Action.AMBIGUOUS: _("possibly in your documents"),
            Action.INCORRECT: _("not in your documents"),
        },
        never=NEVER_KEPT,
        not_asked_to_write=_consists_of_quotations(run) and not busy,
        unsure=LOW_CONFIDENCE,
        longest=max((step.seconds for step in run.steps), default=0.0),
    )


def _consists_of_quotations(run: Run) -> bool:
    """Return whether the answer consists of the sources' own lines, without any text by a language model."""
    answered = bool(run.answer and run.evidence) and run.answered and not run.stopped
    return answered and not run.computation and "generate" not in {step.name for step in run.steps}


def _marked(passage: GradedPassage, run: Run) -> list[MarkedStrip]:
    """Return a passage's strips, with each piece of evidence at its first strip."""
    pieces = [piece for piece in run.evidence if piece.passage == passage.id]
    made_of = strips_by_piece(pieces, run.strips)
    first = {made_of[piece.n][0].start: piece for piece in pieces if made_of[piece.n]}
    own = (strip for strip in run.strips if strip.passage == passage.id)
    return [MarkedStrip(strip, first.get(strip.start) if strip.kept else None) for strip in own]


def _path(passage: GradedPassage) -> str:
    """Return the title and section above a passage, without parts that its own text contains."""
    return SEPARATOR.join(part for part in (passage.title, passage.section) if part and part not in passage.text)


def _lowered_threshold(passage: GradedPassage, run: Run) -> float | None:
    """Return the value to which minimum retention lowered the strip threshold for a passage; None if it did not."""
    own = (strip for strip in run.strips if strip.passage == passage.id)
    return min((strip.relevance for strip in own if strip.reason is StripReason.RETENTION), default=None)


def _parts(claim: Claim) -> list[tuple[str, bool]]:
    """Return a claim's text in pieces, each with whether it differs from the other claim."""
    before, differs, after = claim.text.partition(claim.differs) if claim.differs else (claim.text, "", "")
    return [(part, marked) for part, marked in ((before, False), (differs, True), (after, False)) if part]


def parse_choice(event: gr.EventData) -> Choice:
    """Return which sentences and passages the user added or removed; panel.html defines how the event names them."""
    sentences = {_sentence(key): bool(wanted) for key, wanted in dict(event.sentences).items()}
    return Choice(sentences, {str(key): bool(wanted) for key, wanted in dict(event.passages).items()})


def _sentence(key: str) -> tuple[str, int]:
    passage, _, start = key.rpartition("@")
    return passage, int(start)
