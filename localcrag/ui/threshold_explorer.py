"""The fold with sliders that shows which questions so far would get another action under other thresholds."""

from __future__ import annotations

from typing import Any

import gradio as gr

from localcrag.assemble import Assembly
from localcrag.datatypes import Policy
from localcrag.errors import LocalcragError
from localcrag.threshold_explorer import STEP, Exploration, on_slider
from localcrag.ui import render
from localcrag.ui.answer_settings import POLICIES


def threshold_explorer(assembly: Assembly, policy_setting: gr.Dropdown) -> None:
    """Make the fold. `policy_setting` is where the policy is chosen otherwise; it follows what is saved here."""
    with gr.Accordion("What other thresholds would change", open=False, elem_id="lc-explore") as fold:
        shown = gr.HTML("")
        upper = gr.Slider(0, 1, value=0, step=STEP, label="CORRECT from (upper)", elem_id="lc-explore-upper")
        lower = gr.Slider(0, 1, value=0, step=STEP, label="INCORRECT below (lower)", elem_id="lc-explore-lower")
        policy = gr.Dropdown(
            [(label, policy.value) for policy, label in POLICIES.items()],
            label="When the documents are enough",
            filterable=False,
            elem_id="lc-explore-policy",
        )
        with gr.Row(elem_id="lc-explore-buttons"):
            use = gr.Button("Use these thresholds", size="sm", variant="primary")
            back = gr.Button("Back to the calibrated ones", size="sm")

    def explored(high: float, low: float, rule: str) -> Exploration:
        now = assembly.rules()
        return assembly.explore(
            upper=on_slider(high, now.upper), lower=on_slider(low, now.lower), policy=Policy(rule) if rule else None
        )

    def moved(high: float, low: float, rule: str) -> str:
        try:
            return _shown(assembly, explored(high, low, rule))
        except LocalcragError as error:
            return render.uploads(None, [], str(error))

    # A slider that is moved past the other one takes it along.

    def upper_moved(high: float, low: float, rule: str) -> tuple[Any, str]:
        low, pushed = (high, high) if low > high else (low, gr.skip())
        return pushed, moved(high, low, rule)

    def lower_moved(high: float, low: float, rule: str) -> tuple[Any, str]:
        high, pushed = (low, low) if low > high else (high, gr.skip())
        return pushed, moved(high, low, rule)

    def in_force() -> tuple[Any, ...]:
        try:
            found = assembly.explore()
        except LocalcragError as error:
            return gr.skip(), gr.skip(), gr.skip(), render.uploads(None, [], str(error))
        return found.now.upper, found.now.lower, found.now.policy.value, _shown(assembly, found)

    def save(high: float, low: float, rule: str) -> tuple[Any, ...]:
        try:
            found = explored(high, low, rule)
            changes: dict[str, Any] = {"upper": found.then.upper, "lower": found.then.lower}
            if found.then.policy is not found.now.policy:
                changes["policy"] = found.then.policy.value
            assembly.change(**changes)
        except LocalcragError as error:
            raise gr.Error(str(error), duration=None, print_exception=False) from error
        return *in_force(), gr.Dropdown(value=changes["policy"]) if "policy" in changes else gr.skip()

    def calibrated() -> tuple[Any, ...]:
        try:
            assembly.change(upper=None, lower=None)
        except LocalcragError as error:
            raise gr.Error(str(error), duration=None, print_exception=False) from error
        return in_force()

    private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    chosen, everything = [upper, lower, policy], [upper, lower, policy, shown]
    # Of the values that a slider passes through, only the last one has to be shown.
    upper.input(upper_moved, chosen, [lower, shown], trigger_mode="always_last", **private)
    lower.input(lower_moved, chosen, [upper, shown], trigger_mode="always_last", **private)
    policy.input(moved, chosen, [shown], trigger_mode="always_last", **private)
    use.click(save, chosen, [*everything, policy_setting], **private)
    back.click(calibrated, None, everything, **private)
    # Not when the page is loaded: ten thousand runs take seconds to read, and most visits do not open the fold.
    fold.expand(in_force, None, everything, **private)


def _shown(assembly: Assembly, found: Exploration) -> str:
    settings = assembly.settings
    by_hand = settings.upper is not None or settings.lower is not None
    applied = assembly.applied_calibration()
    return render.exploration(found, by_hand=by_hand, labels=applied.how.passages if applied else None)
