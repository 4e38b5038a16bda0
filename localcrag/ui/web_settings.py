"""Where the search server is set: its address, whether it may be asked, and a test that explains what is wrong."""

from __future__ import annotations

import gradio as gr

from localcrag.assemble import Assembly
from localcrag.datatypes import WebMode
from localcrag.errors import LocalcragError
from localcrag.health import State, search_server
from localcrag.ui import render


def web_settings(assembly: Assembly) -> None:
    """Make the part where the SearXNG is set and tested."""
    settings = assembly.settings
    with gr.Accordion("Web search", open=False, elem_id="lc-web"):
        url = gr.Textbox(
            settings.searxng_url or "",
            label="Address of your SearXNG",
            placeholder="http://127.0.0.1:8080",
            info="Asked only when the documents are not enough. Empty: the web is never asked.",
        )
        allowed = gr.Checkbox(settings.web is not WebMode.NEVER, label="Ask it when the documents are not enough")
        test = gr.Button("Save and test", size="sm")
        report = gr.HTML("", elem_id="lc-web-report")

    def save(address: str, may: bool) -> str:
        try:
            mode = WebMode.ALWAYS if may else WebMode.NEVER
            assembly.change(searxng_url=address.strip() or None, web=mode.value)
        except LocalcragError as error:
            return render.uploads(None, [], str(error))
        finding = search_server(assembly)
        sign = {State.OK: "Works: ", State.OFF: "Off: ", State.FAILED: "Does not work. "}[finding.state]
        return render.uploads(None, [], sign + finding.detail)

    test.click(save, [url, allowed], [report], api_visibility="private")
