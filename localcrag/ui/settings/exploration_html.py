"""The threshold explorer’s picture and list of questions, as HTML."""

from __future__ import annotations

from dataclasses import dataclass

from localcrag.records.passages import Thresholds
from localcrag.runs.threshold_explorer import Exploration
from localcrag.steps.evaluate.evaluate import grade
from localcrag.text.translation import gettext as _
from localcrag.ui.html import TEMPLATES

CHANGES_SHOWN = 12
HISTOGRAM_WIDTH = 320
LABEL_ROOM = 0.2
"""Share of the histogram's width that a threshold's label takes."""


@dataclass(frozen=True, slots=True)
class ThresholdMark:
    """A threshold in the histogram; `now` for one in force that is not the one looked at."""

    name: str
    value: float
    now: bool = False
    anchor: str = "middle"

    @property
    def x(self) -> float:
        """Its place, in units of the picture."""
        return HISTOGRAM_WIDTH * self.value

    @property
    def label_x(self) -> float:
        """Where its label stands, a little off the line where the label is beside it."""
        return self.x + {"start": -2.0, "end": 2.0}.get(self.anchor, 0.0)


def exploration(found: Exploration) -> str:
    """Return the picture of best relevances and thresholds, and the actions now and then."""
    then, now = found.then, found.now
    highest = max((bar.number for bar in found.histogram), default=0) or 1
    # The lower one's label ends at its line and the upper one's begins there: they are never in each other's way.
    marks = [
        *(
            ThresholdMark(_("now"), before, now=True)
            for before, after in ((now.lower, then.lower), (now.upper, then.upper))
            if before != after
        ),
        ThresholdMark(_("lower"), then.lower, anchor="end" if then.lower > LABEL_ROOM else "start"),
        ThresholdMark(_("upper"), then.upper, anchor="start" if then.upper < 1 - LABEL_ROOM else "end"),
    ]
    middles = [(bar.low + bar.high) / 2 for bar in found.histogram if bar.number]
    return TEMPLATES.get_template("exploration.html").render(
        found=found,
        width=HISTOGRAM_WIDTH,
        heights={bar.low: max(2.0, 54 * bar.number / highest) for bar in found.histogram},
        zones=[grade(middle, Thresholds(then.upper, then.lower, 0.0)).value for middle in middles],
        marks=marks,
        rows=[
            (_("now"), found.actions_now, found.web_rate_now),
            (_("then"), found.actions_then, found.web_rate_then),
        ],
    )


def exploration_changes(found: Exploration, *, by_hand: bool, labels: int | None) -> str:
    """Return which questions would change, and what they are compared with.

    `by_hand`: the thresholds in force were set by hand; `labels`: on how many the collection was calibrated, None if it
    was not.
    """
    template = TEMPLATES.get_template("exploration_changes.html")
    return template.render(found=found, by_hand=by_hand, labels=labels, shown=CHANGES_SHOWN)
