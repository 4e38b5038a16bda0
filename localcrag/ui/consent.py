"""The card that shows a query before it leaves, and the wait for what the person says."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import gradio as gr

from localcrag.errors import ConsentMissing

WAIT_SECONDS = 300.0
"""Long enough to read, think and come back with a coffee; the next question waits behind this one."""


class WaitingConsent:
    """One question's Consent: its thread waits in the call, and the page's buttons end the wait."""

    def __init__(self, seconds: float = WAIT_SECONDS) -> None:
        self._seconds = seconds
        self._said = threading.Event()
        self._query: str | None = None
        self._ended = False

    def __call__(self, query: str) -> str | None:
        """Return what the person said about `query`. Raises ConsentMissing when nothing, or when the wait was ended."""
        if not self._said.wait(self._seconds):
            raise ConsentMissing(
                f"The web was not asked: for {self._seconds / 60:g} minutes nobody said whether the query may be sent. "
                "Ask the question again to be asked again."
            )
        if self._ended:
            raise ConsentMissing("The web was not asked: the question was stopped before the query was allowed.")
        return self._query

    def say(self, query: str | None) -> None:
        """Send this query, or none."""
        self._query = query
        self._said.set()

    def end(self) -> None:
        """Wait no longer; what was said before this counts."""
        if not self._said.is_set():
            self._ended = True
            self._said.set()


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
