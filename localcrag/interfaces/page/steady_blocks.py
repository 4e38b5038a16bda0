"""Gradio’s Blocks with a leak mended: what a tab’s components hold no longer grows."""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio.block_function import BlockFunction
from gradio.data_classes import FileData
from gradio.state_holder import SessionState
from gradio.utils import NamedString


class SteadyBlocks(gr.Blocks):
    """Blocks whose components keep their numbers.

    For each `gr.update` and `gr.skip`, Gradio 6.31 puts a new component with a number of its own in the place of the
    tab's last one, and keeps the next value under that number: every one of them stays for as long as the tab's state
    does, a whole chat with each answer.
    """

    async def postprocess_data(
        self, block_fn: BlockFunction, predictions: list[Any] | dict[Any, Any], state: SessionState | None
    ) -> list[Any]:
        """Return what the components are told, and give those that stand in for others the others' numbers."""
        told = await super().postprocess_data(block_fn, predictions, state)
        if state is not None:
            for block in block_fn.outputs:
                if block._id in state and not block.stateful:
                    state[block._id]._id = block._id
        return told


def leaving_no_files(*uploads: gr.File | gr.UploadButton) -> None:
    """Have components give the paths of dropped files alone: Gradio 6.31 leaves an empty file behind for each."""
    for one in uploads:
        # No class of our own: Gradio would write a stub file for it beside this one.
        vars(one)["_process_single_file"] = _path


def _path(file: FileData) -> NamedString:
    return NamedString(file.path)  # type: ignore[no-untyped-call]
