"""The settings screen, over the page; nothing on it has to be touched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from localcrag.app.assemble import Assembly
from localcrag.records.errors import LocalcragError
from localcrag.ui import frame, html, learning, lists
from localcrag.ui.handlers import MANY, PRIVATE, told
from localcrag.ui.settings.answer_settings import answer_settings
from localcrag.ui.settings.conflict_choice import conflict_choice
from localcrag.ui.settings.in_force import InForce
from localcrag.ui.settings.model_settings import ModelSettings
from localcrag.ui.settings.preset_choice import preset_choice
from localcrag.ui.settings.storage_settings import StorageSettings
from localcrag.ui.settings.threshold_explorer import threshold_explorer
from localcrag.ui.settings.web_settings import web_settings


@dataclass(frozen=True, slots=True)
class SettingsScreen:
    """The lists that others fill or listen to."""

    head: gr.HTML
    figures: gr.HTML
    gaps: gr.HTML
    said: gr.HTML
    models: ModelSettings
    storage: StorageSettings


def settings_screen(
    assembly: Assembly, page: gr.Blocks, top: gr.HTML, collection: gr.Dropdown, script: str
) -> SettingsScreen:
    """Make the screen; it is hidden until it is asked for, by `top`."""
    in_force = InForce()
    with gr.Column(elem_id="lc-settings"):
        head = gr.HTML(frame.settings_head(), elem_id="lc-settings-head", js_on_load=script)
        with _tab("answers"):
            preset_choice(assembly.collection_settings, assembly.past_questions, page, in_force, collection)
            policy = answer_settings(assembly.settings_in_use, in_force)
            conflict_choice(assembly.settings_in_use, in_force)
            threshold_explorer(
                assembly.settings_in_use, assembly.past_questions, assembly.calibrations, policy, collection
            )
        with _tab("web"):
            web_settings(assembly.settings_in_use, assembly.collection_settings, assembly.web, in_force, collection)
        with _tab("models"):
            models = ModelSettings(assembly)
            models.show(script, in_force)
        with _tab("data"):
            storage = StorageSettings(assembly)
            storage.show(script)
        with _tab("questions"):
            figures = gr.HTML("", elem_id="lc-all")
            gaps = gr.HTML("", elem_id="lc-gaps-list", js_on_load=script)
        with _tab("labels"):
            said = gr.HTML("", elem_id="lc-said-list", js_on_load=script)
    in_force.wire(page, top, collection)
    return SettingsScreen(head, figures, gaps, said, models, storage)


def _tab(name: str) -> gr.Column:
    # Not Gradio's tabs: on a narrow screen they hide those that do not fit behind a button without a name.
    return gr.Column(elem_id=f"lc-tab-{name}", elem_classes="lc-tab")


def wire(assembly: Assembly, top: gr.HTML, screen: SettingsScreen, speak: Callable[[str], None]) -> None:
    """Read what is listed when the screen is opened; `speak` has the page speak another language."""

    def read() -> tuple[Any, ...]:
        try:
            figures = lists.all_questions(assembly.past_questions.aggregates())
            return figures, learning.gaps(assembly), learning.said(assembly), screen.storage.listed()
        except LocalcragError as error:
            return html.message(str(error)), "", "", screen.storage.listed()

    shown = [screen.figures, screen.gaps, screen.said, screen.storage.listing]

    def change_language(event: gr.EventData) -> str:
        chosen = str(event.language)
        told(lambda: assembly.change(language=chosen))
        speak(chosen)
        return frame.settings_head(anew=True)

    screen.head.input(change_language, None, [screen.head], **PRIVATE)
    top.select(read, None, shown, **PRIVATE)
    top.select(screen.models.follow, None, [screen.models.listing], **MANY)
    top.select(screen.models.follow_embeddings, None, [screen.models.listing], **MANY)
