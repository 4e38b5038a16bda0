"""The threshold explorer: sliders, and a picture and list of the effects of other thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from localcrag.app.collections.settings import Calibrations
from localcrag.app.feedback import PastQuestions
from localcrag.app.shared_state import CurrentSettings
from localcrag.interfaces.page import renderers
from localcrag.interfaces.page.handlers import PRIVATE
from localcrag.interfaces.page.renderers import render
from localcrag.interfaces.page.settings.answers import POLICIES, choices
from localcrag.records.enums import Policy
from localcrag.records.errors import LocalcragError
from localcrag.records.passages import Thresholds, grade
from localcrag.runs.threshold_explorer import STEP, Exploration, slider_threshold
from localcrag.text.translation import gettext as _

CHANGES_SHOWN = 12
"""Maximum number of questions to list."""
HISTOGRAM_WIDTH = 320
"""Width of the histogram, in units of the picture."""
LABEL_ROOM = 0.2
"""Share of the histogram's width that a threshold's label takes up."""


@dataclass(frozen=True, slots=True)
class ThresholdMark:
    """A threshold in the histogram; `now` is true for an active one that differs from the one being explored."""

    name: str
    value: float
    now: bool = False
    anchor: str = "middle"

    @property
    def x(self) -> float:
        """The threshold's position, in units of the picture."""
        return HISTOGRAM_WIDTH * self.value

    @property
    def label_x(self) -> float:
        """The position of the label, in units of the picture: slightly off the line if it is next to it."""
        return self.x + {"start": -2.0, "end": 2.0}.get(self.anchor, 0.0)


def exploration(found: Exploration) -> str:
    """Return the histogram of best relevances with the thresholds, and the actions under both sets of thresholds."""
    then, now = found.then, found.now
    highest = max((bar.number for bar in found.histogram), default=0) or 1
    # The lower threshold's label ends at its line, and the upper one's begins at its line, so they never overlap.
    pairs = ((now.lower, then.lower), (now.upper, then.upper))
    marks = [ThresholdMark(_("now"), before, now=True) for before, after in pairs if before != after]
    marks.append(ThresholdMark(_("lower"), then.lower, anchor="end" if then.lower > LABEL_ROOM else "start"))
    marks.append(ThresholdMark(_("upper"), then.upper, anchor="start" if then.upper < 1 - LABEL_ROOM else "end"))
    middles = [(bar.low + bar.high) / 2 for bar in found.histogram if bar.number]
    zones = [grade(middle, Thresholds(then.upper, then.lower, 0.0)).value for middle in middles]
    heights = {bar.low: max(2.0, 54 * bar.number / highest) for bar in found.histogram}
    rows = [(_("now"), found.actions_now, found.web_rate_now), (_("new"), found.actions_then, found.web_rate_then)]
    drawn = {"width": HISTOGRAM_WIDTH, "heights": heights, "zones": zones, "marks": marks}
    return render("settings/thresholds.html", found=found, rows=rows, **drawn)


class ThresholdExplorer:
    """The explorer's components, in an accordion, and their handlers, which take and return values of components."""

    def __init__(self, current: CurrentSettings, past: PastQuestions, calibrations: Calibrations) -> None:
        self._current, self._past, self._calibrations = current, past, calibrations
        with gr.Accordion(_("Effect of other thresholds"), open=False, elem_id="lc-explore") as self.fold:
            self.picture = gr.HTML("")
            how: dict[str, Any] = {"value": 0, "step": STEP, "buttons": []}
            self.upper = gr.Slider(0, 1, label=_("CORRECT from (upper)"), elem_id="lc-explore-upper", **how)
            self.lower = gr.Slider(0, 1, label=_("INCORRECT below (lower)"), elem_id="lc-explore-lower", **how)
            how = {"filterable": False, "elem_id": "lc-explore-policy"}
            self.policy = gr.Dropdown(choices(POLICIES), label=_("When the documents are enough"), **how)
            with gr.Row(elem_id="lc-explore-buttons"):
                self.use = gr.Button(_("Use these thresholds"), size="sm", variant="primary")
                self.reset = gr.Button(_("Use calibrated thresholds"), size="sm")
            self.changes = gr.HTML("")

    def wire(self, policy_setting: gr.Dropdown, collection: gr.Dropdown) -> None:
        """Connect the components; `policy_setting` is the field of the policy, which is updated on saving."""
        options: dict[str, Any] = {"js": "(...said) => window.lcThresholds(...said)", **PRIVATE}
        sliders, results = [self.upper, self.lower, self.policy], [self.picture, self.changes]
        given = [*sliders, collection]
        # All three share one event, since two at once could end in the wrong order. Of the values that a slider passes
        # through, only the last one has to be shown.
        moves = [self.upper.input, self.lower.input, self.policy.input]
        gr.on(moves, self.explore, given, [self.upper, self.lower, *results], trigger_mode="always_last", **options)
        updates = (
            self.use.click(self.save, given, [*sliders, *results, policy_setting], **options),
            self.reset.click(self.use_calibrated, [collection], [*sliders, *results], **PRIVATE),
            # The runs are read when the fold is opened and not when the page is loaded: ten thousand of them take
            # seconds, and most visits do not open the fold.
            self.fold.expand(self.show_active, [collection], [*sliders, *results], **PRIVATE),
        )
        for event in updates:
            event.then(None, given, None, **options)

    def explore(self, high: float, low: float, rule: str, collection: str) -> tuple[Any, ...]:
        """Show what the thresholds of the sliders would change."""
        try:
            results = self._shown(self._explored(high, low, rule, collection), collection)
        except LocalcragError as error:
            results = renderers.message(str(error)), ""
        # Equal values mean that one slider was moved past the other and took it along, so both are set. Otherwise both
        # stay unchanged, because one may be under the pointer.
        return *((high, low) if high == low else (gr.skip(), gr.skip())), *results

    def show_active(self, collection: str) -> tuple[Any, ...]:
        """Show the active thresholds and policy of a collection."""
        try:
            found = self._past.explore(collection)
        except LocalcragError as error:
            return gr.skip(), gr.skip(), gr.skip(), renderers.message(str(error)), ""
        return found.now.upper, found.now.lower, found.now.policy.value, *self._shown(found, collection)

    def save(self, high: float, low: float, rule: str, collection: str) -> tuple[Any, ...]:
        """Save the thresholds and policy of the sliders in the settings."""
        found = self._explored(high, low, rule, collection)
        chosen: dict[str, Any] = {"upper": found.then.upper, "lower": found.then.lower}
        if found.then.policy is not found.now.policy:
            chosen["policy"] = found.then.policy.value
        self._current.change(**chosen)
        return *self.show_active(collection), gr.Dropdown(value=chosen["policy"]) if "policy" in chosen else gr.skip()

    def use_calibrated(self, collection: str) -> tuple[Any, ...]:
        """Remove the manual thresholds, so that those of the calibration apply."""
        self._current.change(upper=None, lower=None)
        return self.show_active(collection)

    def _explored(self, high: float, low: float, rule: str, collection: str) -> Exploration:
        now = self._past.rules(collection)
        policy = Policy(rule) if rule else None
        return self._past.explore(
            collection, upper=slider_threshold(high, now.upper), lower=slider_threshold(low, now.lower), policy=policy
        )

    def _shown(self, found: Exploration, collection: str) -> tuple[str, str]:
        """Return the picture, and the list of questions that would change.

        The list has a note on the active thresholds: whether they were set by hand (`by_hand`), and on how many
        labelled passages (`labels`) the collection was calibrated, None if it was not.
        """
        settings, applied = self._current.now, self._calibrations.applied(collection)
        by_hand = settings.upper is not None or settings.lower is not None
        note = {"by_hand": by_hand, "labels": applied.how.passages if applied else None}
        return exploration(found), render("settings/threshold_changes.html", found=found, shown=CHANGES_SHOWN, **note)
