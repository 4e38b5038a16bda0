"""Everything that can be set, on a screen of its own over the page; nothing of it has to be touched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from localcrag.assemble import Assembly
from localcrag.errors import LocalcragError
from localcrag.ui import learning, render
from localcrag.ui.answer_settings import answer_settings
from localcrag.ui.chat_events import PRIVATE
from localcrag.ui.conflict_choice import conflict_choice
from localcrag.ui.preset_choice import preset_choice
from localcrag.ui.texts import gettext as _
from localcrag.ui.threshold_explorer import threshold_explorer
from localcrag.ui.web_settings import web_settings


@dataclass(frozen=True, slots=True)
class SettingsScreen:
    """The lists that others fill or listen to."""

    figures: gr.HTML
    gaps: gr.HTML
    said: gr.HTML


def settings_screen(assembly: Assembly, page: gr.Blocks, script: str) -> SettingsScreen:
    """Make the screen; it is hidden until it is asked for."""
    with gr.Column(elem_id="lc-settings"):
        gr.HTML(render.settings_head(), elem_id="lc-settings-head")
        with gr.Tabs():
            with gr.Tab(_("Answers")):
                preset_choice(assembly, page)
                policy = answer_settings(assembly)
                conflict_choice(assembly)
                threshold_explorer(assembly, policy)
            with gr.Tab(_("Web search")):
                web_settings(assembly, page)
            with gr.Tab(_("What was asked")):
                figures = gr.HTML("", elem_id="lc-all")
                gaps = gr.HTML("", elem_id="lc-gaps-list", js_on_load=script)
            with gr.Tab(_("What you labelled")):
                said = gr.HTML("", elem_id="lc-said-list", js_on_load=script)
    return SettingsScreen(figures, gaps, said)


def read_anew(assembly: Assembly) -> Callable[[], tuple[Any, ...]]:
    """Return what the lists of the screen show now."""

    def read() -> tuple[Any, ...]:
        try:
            return render.all_questions(assembly.aggregates()), learning.gaps(assembly), learning.said(assembly)
        except LocalcragError as error:
            return render.message(str(error)), "", ""

    return read


def wire(assembly: Assembly, top: gr.HTML, screen: SettingsScreen) -> None:
    """Read the lists when the screen is opened."""
    top.select(read_anew(assembly), None, [screen.figures, screen.gaps, screen.said], **PRIVATE)
