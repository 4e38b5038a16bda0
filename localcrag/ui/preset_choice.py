"""Where a collection's preset is chosen, with whom it is for."""

from __future__ import annotations

from typing import Any

import gradio as gr

from localcrag.assemble import Assembly
from localcrag.datatypes import Preset
from localcrag.presets import PRESETS
from localcrag.ui.handlers import PRIVATE, telling


def preset_choice(assembly: Assembly, page: gr.Blocks, collection: gr.Dropdown) -> None:
    """Make the list of presets; the choice holds for the collection that is shown, from the next question on."""
    choice = gr.Dropdown(
        [(preset.replace("-", " "), preset.value) for preset in Preset],
        value=assembly.preset().value,
        label="Preset of this collection",
        info=PRESETS[assembly.preset()].purpose,
        interactive=True,
        filterable=False,
        elem_id="lc-preset",
    )

    def use(name: str, of: str) -> Any:
        with telling():
            assembly.set_preset(Preset(name), of)
        return gr.Dropdown(info=PRESETS[Preset(name)].purpose)

    def chosen(of: str) -> Any:
        preset = assembly.preset(of)
        return gr.Dropdown(value=preset.value, info=PRESETS[preset].purpose)

    choice.input(use, [choice, collection], [choice], **PRIVATE)
    # Another page, or `localcrag presets use`, may have chosen meanwhile.
    gr.on([page.load, collection.change], chosen, [collection], [choice], **PRIVATE)
