"""The fold that says how the questions went so far, and what the documents lack."""

from __future__ import annotations

from typing import Any

import gradio as gr

from localcrag.assemble import Assembly
from localcrag.errors import LocalcragError
from localcrag.ui import render


def all_questions(assembly: Assembly, page: gr.Blocks) -> tuple[Any, gr.HTML]:
    """Make the fold; return what reads it anew, and the component that shows that."""

    def read() -> str:
        try:
            return render.all_questions(assembly.aggregates())
        except LocalcragError as error:
            return render.uploads(None, [], str(error))

    with gr.Accordion("All questions so far", open=False, elem_id="lc-all"):
        shown = gr.HTML("")
    page.load(read, None, [shown], api_visibility="private", show_progress="hidden")
    return read, shown
