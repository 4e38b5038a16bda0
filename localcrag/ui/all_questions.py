"""The fold that says how the questions went so far, and what the documents lack."""

from __future__ import annotations

from typing import Any

import gradio as gr

from localcrag.assemble import Assembly
from localcrag.errors import LocalcragError
from localcrag.ui import learning, render


def all_questions(assembly: Assembly, page: gr.Blocks) -> tuple[Any, tuple[gr.HTML, gr.HTML]]:
    """Make the fold; return what reads it anew, and the components that show figures and gaps."""

    def read() -> tuple[str, str]:
        try:
            return render.all_questions(assembly.aggregates()), learning.gaps(assembly)
        except LocalcragError as error:
            return render.uploads(None, [], str(error)), ""

    with gr.Accordion("All questions so far", open=False, elem_id="lc-all"):
        figures = gr.HTML("")
        gaps = gr.HTML("", elem_id="lc-gaps", js_on_load=learning.LIST_SCRIPT)
    page.load(read, None, [figures, gaps], api_visibility="private", show_progress="hidden")
    return read, (figures, gaps)
