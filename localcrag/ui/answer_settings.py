"""Where it is chosen how answers are made, from the next question on; for this installation."""

from __future__ import annotations

from typing import Any

import gradio as gr

from localcrag.assemble import Assembly
from localcrag.datatypes import Policy, RefinerKind, Strictness, StripMode
from localcrag.ui.handlers import PRIVATE, telling

STRICTNESS = {
    Strictness.STRICT: "only sentences that the evidence backs in full",
    Strictness.BALANCED: "also partly backed ones, marked",
    Strictness.LENIENT: "all, marked where they are not backed",
}
POLICIES = {
    Policy.MAX: "the best passage decides",
    Policy.FRACTION: "the share of correct passages decides",
    Policy.RATIO: "the share of relevant passages decides",
    Policy.COUNT: "two correct passages are needed",
}
REFINERS = {RefinerKind.STRIPS: "the relevance model", RefinerKind.LLM: "the language model (take a good one)"}


def answer_settings(assembly: Assembly) -> gr.Dropdown:
    """Make the part where the steps of the flow are set; return where the policy is chosen."""
    settings = assembly.settings
    with gr.Column(elem_id="lc-how"):
        policy = gr.Dropdown(
            [("as the preset says", ""), *((label, rule.value) for rule, label in POLICIES.items())],
            value=settings.policy.value if "policy" in settings.model_fields_set else "",
            label="When the documents are enough",
            filterable=False,
        )
        controls: dict[str, Any] = {
            "policy": policy,
            "strictness": gr.Radio(
                [(label, kind.value) for kind, label in STRICTNESS.items()],
                value=settings.strictness.value,
                label="Which sentences are shown",
            ),
            "retry": gr.Checkbox(
                settings.retry, label="Look once more, in other words, when the first passages are not enough"
            ),
            "refiner": gr.Radio(
                [(label, kind.value) for kind, label in REFINERS.items()],
                value=settings.refiner.value,
                label="What picks the sentences",
            ),
            "strip_mode": gr.Dropdown(
                [mode.value for mode in StripMode],
                value=settings.strip_mode.value,
                label="How passages are cut",
                filterable=False,
            ),
            "time_budget": gr.Number(
                settings.time_budget,
                minimum=0,
                label="Seconds for a question (0: no limit)",
                info="For slow machines: what there is no time for is left out, and said.",
            ),
        }
    for name, control in controls.items():
        control.input(_saves(assembly, name), [control], None, **PRIVATE)
    return policy


def _saves(assembly: Assembly, name: str) -> Any:
    def save(value: Any) -> None:
        with telling():
            assembly.change(**{name: None if value == "" else value})

    return save
