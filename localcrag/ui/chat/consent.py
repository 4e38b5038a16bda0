"""The card that shows a query before it leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr
from markupsafe import Markup

from localcrag.text.translation import gettext as _


@dataclass(frozen=True, slots=True)
class ConsentCard:
    """The card's components, for the page to show and to listen to."""

    card: gr.Column
    asks: gr.HTML
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
        asks = gr.HTML(asked())
        query = gr.Textbox(
            label=_("The query, exactly as it is sent"),
            show_label=False,
            container=False,
            lines=1,
            max_lines=4,
            elem_id="lc-consent-query",
        )
        with gr.Row(elem_id="lc-consent-buttons"):
            send = gr.Button(
                _("Search the web"), variant="primary", size="sm", min_width=120, elem_id="lc-consent-send"
            )
            refuse = gr.Button(_("Not this time"), size="sm", min_width=120, elem_id="lc-consent-refuse")
    return ConsentCard(card, asks, query, send, refuse)


def asked() -> str:
    """Return what the card asks."""
    return Markup("<p role='status'><b>{}</b> {}</p>").format(
        _("Your documents are not enough."), _("May this be sent to your SearXNG? You can change it first.")
    )


def shown(query: str) -> tuple[Any, Any]:
    """Return the card's values while `query` waits."""
    return gr.Column(visible=True), query


def hidden() -> tuple[Any, Any]:
    """Return the card's values when nothing waits."""
    return gr.Column(visible=False), ""
