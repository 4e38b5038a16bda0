"""The threshold explorer: sliders that show which past questions would get another action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from localcrag.app.calibrations import Calibrations
from localcrag.app.past_questions import PastQuestions
from localcrag.app.settings_in_use import SettingsInUse
from localcrag.records.enums import Policy
from localcrag.records.errors import LocalcragError
from localcrag.runs.threshold_explorer import STEP, Exploration, on_slider
from localcrag.text.translation import gettext as _
from localcrag.ui import html
from localcrag.ui.handlers import PRIVATE, telling
from localcrag.ui.settings import exploration_html
from localcrag.ui.settings.answer_settings import POLICIES


@dataclass(frozen=True, slots=True)
class _Fold:
    """The components of the fold."""

    fold: gr.Accordion
    picture: gr.HTML
    upper: gr.Slider
    lower: gr.Slider
    policy: gr.Dropdown
    use: gr.Button
    back: gr.Button
    changes: gr.HTML


def threshold_explorer(
    in_use: SettingsInUse,
    past: PastQuestions,
    calibrations: Calibrations,
    policy_setting: gr.Dropdown,
    collection: gr.Dropdown,
) -> None:
    """Make the fold. `policy_setting` is where the policy is chosen otherwise; it follows what is saved here."""
    _Events(in_use, past, calibrations).wire(_fold(), policy_setting, collection)


def _fold() -> _Fold:
    with gr.Accordion(_("What other thresholds would change"), open=False, elem_id="lc-explore") as fold:
        picture = gr.HTML("")
        upper = gr.Slider(
            0, 1, value=0, step=STEP, label=_("CORRECT from (upper)"), buttons=[], elem_id="lc-explore-upper"
        )
        lower = gr.Slider(
            0, 1, value=0, step=STEP, label=_("INCORRECT below (lower)"), buttons=[], elem_id="lc-explore-lower"
        )
        policy = gr.Dropdown(
            [(_(label), policy.value) for policy, label in POLICIES.items()],
            label=_("When the documents are enough"),
            filterable=False,
            elem_id="lc-explore-policy",
        )
        with gr.Row(elem_id="lc-explore-buttons"):
            use = gr.Button(_("Use these thresholds"), size="sm", variant="primary")
            back = gr.Button(_("Back to the calibrated ones"), size="sm")
        changes = gr.HTML("")
    return _Fold(fold, picture, upper, lower, policy, use, back, changes)


class _Events:
    """The handlers; each gets and gives the values of components."""

    def __init__(self, in_use: SettingsInUse, past: PastQuestions, calibrations: Calibrations) -> None:
        self._in_use, self._past, self._calibrations = in_use, past, calibrations

    def wire(self, at: _Fold, policy_setting: gr.Dropdown, collection: gr.Dropdown) -> None:
        """Connect the components."""
        as_said: dict[str, Any] = {"js": "(...said) => window.lcThresholds(...said)", **PRIVATE}
        said, results = [at.upper, at.lower, at.policy], [at.picture, at.changes]
        given = [*said, collection]
        # One event for all three: two at once could end in the wrong order. Of the values that a slider passes through,
        # only the last one has to be shown.
        moves = [at.upper.input, at.lower.input, at.policy.input]
        gr.on(moves, self.moved, given, [at.upper, at.lower, *results], trigger_mode="always_last", **as_said)
        set_anew = (
            at.use.click(self.save, given, [*said, *results, policy_setting], **as_said),
            at.back.click(self.calibrated, [collection], [*said, *results], **PRIVATE),
            # Not when the page is loaded: ten thousand runs take seconds to read, and most visits do not open the fold.
            at.fold.expand(self.in_force, [collection], [*said, *results], **PRIVATE),
        )
        for event in set_anew:
            event.then(None, given, None, **as_said)

    def moved(self, high: float, low: float, rule: str, of: str) -> tuple[Any, ...]:
        """Show what the thresholds that are looked at would change."""
        try:
            results = self._shown(self._explored(high, low, rule, of), of)
        except LocalcragError as error:
            results = html.message(str(error)), ""
        # Equal: one was moved past the other and took it along. Else they stay as they are, under the pointer maybe.
        return *((high, low) if high == low else (gr.skip(), gr.skip())), *results

    def in_force(self, of: str) -> tuple[Any, ...]:
        """Show what is in force for a collection."""
        try:
            found = self._past.explore(of)
        except LocalcragError as error:
            return gr.skip(), gr.skip(), gr.skip(), html.message(str(error)), ""
        return found.now.upper, found.now.lower, found.now.policy.value, *self._shown(found, of)

    def save(self, high: float, low: float, rule: str, of: str) -> tuple[Any, ...]:
        """Use the thresholds that are looked at from now on."""
        with telling():
            found = self._explored(high, low, rule, of)
            chosen: dict[str, Any] = {"upper": found.then.upper, "lower": found.then.lower}
            if found.then.policy is not found.now.policy:
                chosen["policy"] = found.then.policy.value
            self._in_use.change(**chosen)
        return *self.in_force(of), gr.Dropdown(value=chosen["policy"]) if "policy" in chosen else gr.skip()

    def calibrated(self, of: str) -> tuple[Any, ...]:
        """Go back to the thresholds of the calibration."""
        with telling():
            self._in_use.change(upper=None, lower=None)
        return self.in_force(of)

    def _explored(self, high: float, low: float, rule: str, of: str) -> Exploration:
        now = self._past.rules(of)
        policy = Policy(rule) if rule else None
        return self._past.explore(of, upper=on_slider(high, now.upper), lower=on_slider(low, now.lower), policy=policy)

    def _shown(self, found: Exploration, collection: str) -> tuple[str, str]:
        """Return the picture, and what would change."""
        settings, applied = self._in_use.now, self._calibrations.applied(collection)
        by_hand = settings.upper is not None or settings.lower is not None
        labels = applied.how.passages if applied else None
        changes = exploration_html.exploration_changes(found, by_hand=by_hand, labels=labels)
        return exploration_html.exploration(found), changes
