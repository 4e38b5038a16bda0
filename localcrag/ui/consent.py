"""The card that shows a query before it leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr


@dataclass(frozen=True, slots=True)
class ConsentCard:
    """The card's components, for the page to show and to listen to."""

    card: gr.Column
    query: gr.Textbox
    send: gr.Button
    refuse: gr.Button

    @property
    def outputs(self) -> list[Any]:
        """What `shown`, `hidden` and `unchanged` are the values of."""
        return [self.card, self.query]


def consent_card() -> ConsentCard:
    """Make the card, hidden."""
    with gr.Column(visible=False, elem_id="lc-consent") as card:
        gr.HTML(
            "<p role='status'><b>Your documents are not enough.</b> May this be sent to your SearXNG? "
            "You can change it first.</p>"
        )
        query = gr.Textbox(
            label="The query, exactly as it is sent",
            show_label=False,
            container=False,
            lines=1,
            max_lines=4,
            elem_id="lc-consent-query",
        )
        with gr.Row(elem_id="lc-consent-buttons"):
            send = gr.Button("Search the web", variant="primary", size="sm", min_width=120, elem_id="lc-consent-send")
            refuse = gr.Button("Not this time", size="sm", min_width=120, elem_id="lc-consent-refuse")
    return ConsentCard(card, query, send, refuse)


def shown(query: str) -> tuple[Any, Any]:
    """Return the card's values while `query` waits."""
    return gr.Column(visible=True), query


def hidden() -> tuple[Any, Any]:
    """Return the card's values when nothing waits."""
    return gr.Column(visible=False), ""
