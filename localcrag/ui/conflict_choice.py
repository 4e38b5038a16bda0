"""Where it is chosen which side counts when documents and web contradict each other; for this installation."""

from __future__ import annotations

import gradio as gr

from localcrag.assemble import Assembly
from localcrag.datatypes import ConflictRule
from localcrag.ui.handlers import PRIVATE, telling

LABELS = {
    ConflictRule.SHOW_BOTH: "both",
    ConflictRule.DOCUMENTS: "the documents",
    ConflictRule.WEB: "the web",
    ConflictRule.NEWER: "the newer",
    ConflictRule.MORE_RELEVANT: "more relevant",
}


def conflict_choice(assembly: Assembly) -> None:
    """Make the list of rules; the choice holds from the next question on."""
    choice = gr.Dropdown(
        [(label, rule.value) for rule, label in LABELS.items()],
        value=assembly.settings.conflict_rule.value,
        label="Where documents and web disagree, use",
        interactive=True,
        filterable=False,
        elem_id="lc-conflict-rule",
    )

    def use(name: str) -> None:
        with telling():
            assembly.change(conflict_rule=name)

    choice.input(use, [choice], None, **PRIVATE)
