"""Gradio's Blocks and upload components, without the memory and files that they leak."""

from __future__ import annotations

from typing import Any

import gradio as gr
from gradio.block_function import BlockFunction
from gradio.data_classes import FileData
from gradio.state_holder import SessionState
from gradio.utils import NamedString


class SteadyBlocks(gr.Blocks):
    """Blocks whose components keep their ids, so that a tab's state does not grow.

    For each `gr.update` and `gr.skip`, Gradio 6.31 replaces the tab's component with a new one with a new id, and
    stores the next value under that id. All these values stay as long as the tab's state: a whole chat with each
    answer.
    """

    async def postprocess_data(
        self, block_fn: BlockFunction, predictions: list[Any] | dict[Any, Any], state: SessionState | None
    ) -> list[Any]:
        """Return the values to send to the components, and give replaced components the ids of the original ones."""
        values = await super().postprocess_data(block_fn, predictions, state)
        if state is not None:
            for block in block_fn.outputs:
                # Components that keep state (gr.State) are not replaced by Gradio.
                if block._id in state and not block.stateful:
                    state[block._id]._id = block._id
        return values


def fix_upload_leak(*uploads: gr.File | gr.UploadButton) -> None:
    """Make components pass on only the paths of dropped files: Gradio 6.31 leaves an empty file behind for each."""
    for one in uploads:
        # A subclass would be the usual way, but Gradio would write a stub file for it next to this module.
        vars(one)["_process_single_file"] = _path


def _path(file: FileData) -> NamedString:
    return NamedString(file.path)  # type: ignore[no-untyped-call]
