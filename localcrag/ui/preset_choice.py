"""Where a collection's preset is chosen, with whom it is for."""

from __future__ import annotations

from typing import Any

import gradio as gr

from localcrag.assemble import Assembly
from localcrag.datatypes import Preset
from localcrag.errors import LocalcragError
from localcrag.presets import PRESETS


def preset_choice(assembly: Assembly, page: gr.Blocks) -> None:
    """Make the list of presets; the choice holds for the collection, from the next question on."""
    choice = gr.Dropdown(
        [(preset.replace("-", " "), preset.value) for preset in Preset],
        value=assembly.preset().value,
        label="Preset of this collection",
        info=PRESETS[assembly.preset()].purpose,
        interactive=True,
        filterable=False,
        elem_id="lc-preset",
    )

    def use(name: str) -> Any:
        try:
            assembly.set_preset(Preset(name))
        except LocalcragError as error:
            raise gr.Error(str(error), duration=None, print_exception=False) from error
        return gr.Dropdown(info=PRESETS[Preset(name)].purpose)

    def chosen() -> Any:
        preset = assembly.preset()
        return gr.Dropdown(value=preset.value, info=PRESETS[preset].purpose)

    private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    choice.input(use, [choice], [choice], **private)
    # Another page, or `localcrag presets use`, may have chosen meanwhile.
    page.load(chosen, None, [choice], **private)
