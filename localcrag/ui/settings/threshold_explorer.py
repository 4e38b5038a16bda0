"""The fold with sliders that shows which questions so far would get another action under other thresholds."""

from __future__ import annotations

from typing import Any

import gradio as gr

from localcrag.app.assemble import Assembly
from localcrag.records.enums import Policy
from localcrag.records.errors import LocalcragError
from localcrag.runs.threshold_explorer import STEP, Exploration, on_slider
from localcrag.text.translation import gettext as _
from localcrag.ui import render
from localcrag.ui.handlers import PRIVATE, telling
from localcrag.ui.settings.answer_settings import POLICIES


def threshold_explorer(assembly: Assembly, policy_setting: gr.Dropdown, collection: gr.Dropdown) -> None:
    """Make the fold. `policy_setting` is where the policy is chosen otherwise; it follows what is saved here."""
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

    def explored(high: float, low: float, rule: str, of: str) -> Exploration:
        now = assembly.rules(of)
        return assembly.explore(
            of, upper=on_slider(high, now.upper), lower=on_slider(low, now.lower), policy=Policy(rule) if rule else None
        )

    def moved(high: float, low: float, rule: str, of: str) -> tuple[Any, ...]:
        try:
            results = _shown(assembly, explored(high, low, rule, of), of)
        except LocalcragError as error:
            results = render.message(str(error)), ""
        # Equal: one was moved past the other and took it along. Else they stay as they are, under the pointer maybe.
        return *((high, low) if high == low else (gr.skip(), gr.skip())), *results

    def in_force(of: str) -> tuple[Any, ...]:
        try:
            found = assembly.explore(of)
        except LocalcragError as error:
            return gr.skip(), gr.skip(), gr.skip(), render.message(str(error)), ""
        return found.now.upper, found.now.lower, found.now.policy.value, *_shown(assembly, found, of)

    def save(high: float, low: float, rule: str, of: str) -> tuple[Any, ...]:
        with telling():
            found = explored(high, low, rule, of)
            chosen: dict[str, Any] = {"upper": found.then.upper, "lower": found.then.lower}
            if found.then.policy is not found.now.policy:
                chosen["policy"] = found.then.policy.value
            assembly.change(**chosen)
        return *in_force(of), gr.Dropdown(value=chosen["policy"]) if "policy" in chosen else gr.skip()

    def calibrated(of: str) -> tuple[Any, ...]:
        with telling():
            assembly.change(upper=None, lower=None)
        return in_force(of)

    as_said: dict[str, Any] = {"js": "(...said) => window.lcThresholds(...said)", **PRIVATE}
    said, results = [upper, lower, policy], [picture, changes]
    given = [*said, collection]
    # One event for all three: two at once could end in the wrong order. Of the values that a slider passes through,
    # only the last one has to be shown.
    moves = [upper.input, lower.input, policy.input]
    gr.on(moves, moved, given, [upper, lower, *results], trigger_mode="always_last", **as_said)
    set_anew = (
        use.click(save, given, [*said, *results, policy_setting], **as_said),
        back.click(calibrated, [collection], [*said, *results], **PRIVATE),
        # Not when the page is loaded: ten thousand runs take seconds to read, and most visits do not open the fold.
        fold.expand(in_force, [collection], [*said, *results], **PRIVATE),
    )
    for event in set_anew:
        event.then(None, given, None, **as_said)


def _shown(assembly: Assembly, found: Exploration, collection: str) -> tuple[str, str]:
    """Return the picture, and what would change."""
    settings = assembly.settings
    by_hand = settings.upper is not None or settings.lower is not None
    applied = assembly.applied_calibration(collection)
    labels = applied.how.passages if applied else None
    return render.exploration(found), render.exploration_changes(found, by_hand=by_hand, labels=labels)
