"""Settings of how questions are answered, from the next one on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from localcrag.app.settings_in_use import SettingsInUse
from localcrag.records.enums import Policy, RefinerKind, Strictness, StripMode
from localcrag.settings import Settings
from localcrag.text.translation import gettext as _
from localcrag.text.translation import later
from localcrag.ui.handlers import LATEST, telling
from localcrag.ui.settings.in_force import InForce

STRICTNESS = {
    Strictness.STRICT: later("only sentences that the evidence backs in full"),
    Strictness.BALANCED: later("also partly backed ones, marked"),
    Strictness.LENIENT: later("all, marked where they are not backed"),
}
POLICIES = {
    Policy.MAX: later("the best passage decides"),
    Policy.FRACTION: later("the share of correct passages decides"),
    Policy.RATIO: later("the share of relevant passages decides"),
    Policy.COUNT: later("two correct passages are needed"),
}
REFINERS = {
    RefinerKind.STRIPS: later("the relevance model"),
    RefinerKind.LLM: later("the language model (take a good one)"),
}


def answer_settings(in_use: SettingsInUse, in_force: InForce) -> gr.Dropdown:
    """Make the part where the steps of the flow are set; return where the policy is chosen."""
    settings = in_use.now
    with gr.Column(elem_id="lc-how"):
        policy = gr.Dropdown(
            [(_("as the preset says"), ""), *((_(label), rule.value) for rule, label in POLICIES.items())],
            value=_in_force(settings, "policy"),
            label=_("When the documents are enough"),
            filterable=False,
        )
        controls: dict[str, Any] = {
            "policy": policy,
            "strictness": gr.Radio(
                [(_(label), kind.value) for kind, label in STRICTNESS.items()],
                value=settings.strictness.value,
                label=_("Which sentences are shown"),
            ),
            "retry": gr.Checkbox(
                settings.retry, label=_("Look once more, in other words, when the first passages are not enough")
            ),
            "refiner": gr.Radio(
                [(_(label), kind.value) for kind, label in REFINERS.items()],
                value=settings.refiner.value,
                label=_("What picks the sentences"),
            ),
            "strip_mode": gr.Dropdown(
                [(_(mode.value), mode.value) for mode in StripMode],
                value=settings.strip_mode.value,
                label=_("How passages are cut"),
                filterable=False,
            ),
            "time_budget": gr.Number(
                settings.time_budget,
                minimum=0,
                label=_("Seconds for a question (0: no limit)"),
                info=_("For slow machines: what there is no time for is left out, and said."),
            ),
        }
    for name, control in controls.items():
        in_force.add(control, _now(in_use, name))
        # What was said last counts, also while an earlier digit of it is being saved.
        control.input(_saves(in_use, name), [control], None, **LATEST)
    return policy


def _now(in_use: SettingsInUse, name: str) -> Callable[[str], Any]:
    return lambda _: _in_force(in_use.now, name)


def _in_force(settings: Settings, name: str) -> Any:
    """Return a setting as its field shows it; a policy that the preset chooses is none."""
    if name == "policy" and name not in settings.model_fields_set:
        return ""
    return settings.model_dump(mode="json", include={name})[name]


def _saves(in_use: SettingsInUse, name: str) -> Any:
    def save(value: Any) -> None:
        # Gradio says a list's value also when the list loses the focus.
        if value == _in_force(in_use.now, name):
            return
        with telling():
            in_use.change(**{name: None if value == "" else value})

    return save
