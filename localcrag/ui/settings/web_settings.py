"""Settings of the web search: the server, whether it may be asked, what may never be sent; a test."""

from __future__ import annotations

import gradio as gr

from localcrag.app.collection_settings import CollectionSettings
from localcrag.app.health import State, search_server
from localcrag.app.settings_in_use import SettingsInUse
from localcrag.app.web import Web
from localcrag.records.enums import WebMode
from localcrag.records.errors import LocalcragError
from localcrag.settings import Settings
from localcrag.text.translation import gettext as _
from localcrag.text.translation import later
from localcrag.ui import html
from localcrag.ui.settings.in_force import InForce

MODES = [
    (later("Ask me: every query is shown to me before it leaves."), WebMode.ASK.value),
    (later("Always: queries leave without being shown first."), WebMode.ALWAYS.value),
    (later("Never: nothing leaves, whatever the documents lack."), WebMode.NEVER.value),
]
FIXED = later("Set by LOCALCRAG_WEB or settings.json (web): it holds for every collection and is not changed here.")


def web_settings(
    in_use: SettingsInUse, of_collection: CollectionSettings, web: Web, in_force: InForce, collection: gr.Dropdown
) -> None:
    """Make the part where the SearXNG is set and tested."""
    fixed = "web" in in_use.now.model_fields_set
    url, mode, terms, test, report = _components(in_use.now, of_collection.web_mode(), fixed=fixed)

    def save(address: str, chosen: str, never: str, of: str) -> str:
        said = {
            "searxng_url": address.strip() or None,
            "web_never_terms": tuple(line.strip() for line in never.splitlines() if line.strip()),
        }
        changes = {name: value for name, value in said.items() if value != getattr(in_use.now, name)}
        try:
            if changes:
                in_use.change(**changes)
            if not fixed:
                # Also the one in force: said for this collection, it holds under a preset that would choose another.
                of_collection.set_web_mode(WebMode(chosen), of)
        except LocalcragError as error:
            return html.message(str(error))
        finding = search_server(in_use.now, web)
        sign = {State.OK: _("Works:"), State.OFF: _("Off:"), State.FAILED: _("Does not work.")}[finding.state]
        return html.message(f"{sign} {finding.detail}")

    test.click(save, [url, mode, terms, collection], [report], api_visibility="private")
    in_force.add(url, lambda _: in_use.now.searxng_url or "")
    in_force.add(mode, lambda of: of_collection.web_mode(of).value)
    in_force.add(terms, lambda _: "\n".join(in_use.now.web_never_terms))


def _components(
    settings: Settings, web_mode: WebMode, *, fixed: bool
) -> tuple[gr.Textbox, gr.Radio, gr.Textbox, gr.Button, gr.HTML]:
    """Make address, mode, terms, the button and the report; `fixed`: the mode is set elsewhere."""
    with gr.Column(elem_id="lc-web"):
        url = gr.Textbox(
            settings.searxng_url or "",
            label=_("Address of your SearXNG"),
            placeholder="http://127.0.0.1:8080",
            info=_("Asked only when the documents are not enough. Empty: the web is never asked."),
        )
        mode = gr.Radio(
            [(_(label), value) for label, value in MODES],
            value=web_mode.value,
            label=_("May it be asked about this collection?"),
            info=_(FIXED) if fixed else None,
            interactive=not fixed,
            elem_id="lc-web-mode",
        )
        terms = gr.Textbox(
            "\n".join(settings.web_never_terms),
            label=_("Never send"),
            info=_("One name or term a line: words that hold one are taken out of every query."),
            lines=2,
            max_lines=8,
            elem_id="lc-web-terms",
        )
        test = gr.Button(_("Save and test"), size="sm")
        report = gr.HTML("", elem_id="lc-web-report")
    return url, mode, terms, test, report
