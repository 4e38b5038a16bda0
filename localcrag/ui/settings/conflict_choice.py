"""The choice of the side that counts where documents and web contradict each other."""

from __future__ import annotations

import gradio as gr

from localcrag.app.settings_in_use import SettingsInUse
from localcrag.records.enums import ConflictRule
from localcrag.text.translation import gettext as _
from localcrag.text.translation import later
from localcrag.ui.handlers import LATEST, telling
from localcrag.ui.settings.in_force import InForce

LABELS = {
    ConflictRule.SHOW_BOTH: later("both"),
    ConflictRule.DOCUMENTS: later("the documents"),
    ConflictRule.WEB: later("the web"),
    ConflictRule.NEWER: later("the newer"),
    ConflictRule.MORE_RELEVANT: later("more relevant"),
}


def conflict_choice(in_use: SettingsInUse, in_force: InForce) -> None:
    """Make the list of rules; the choice holds from the next question on."""
    choice = gr.Dropdown(
        [(_(label), rule.value) for rule, label in LABELS.items()],
        value=in_use.now.conflict_rule.value,
        label=_("Where documents and web disagree, use"),
        interactive=True,
        filterable=False,
        elem_id="lc-conflict-rule",
    )

    def use(name: str) -> None:
        # Gradio says a list's value also when the list loses the focus.
        if name != in_use.now.conflict_rule.value:
            with telling():
                in_use.change(conflict_rule=name)

    in_force.add(choice, lambda _: in_use.now.conflict_rule.value)
    choice.input(use, [choice], None, **LATEST)
