"""The column of documents: drop zone, progress, list. Maps ingest events to components."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import gradio as gr

from localcrag.assemble import Assembly
from localcrag.errors import LocalcragError
from localcrag.ingest import IngestProgress, IngestResult, Upload
from localcrag.ui import render

HERE = Path(__file__).parent


def documents_column(assembly: Assembly) -> tuple[gr.HTML, gr.HTML]:
    """Make the column of documents, with what happens in it, and return the list and the report of uploads."""
    gr.HTML("<p class='lc-title'>Documents</p>")
    drop = gr.File(
        file_count="multiple",
        label="Drop documents here",
        show_label=False,
        height=120,
        elem_id="lc-drop",
    )
    cancel = gr.Button("Cancel", size="sm", visible=False, elem_id="lc-cancel")
    uploads = gr.HTML("", elem_id="lc-uploads")
    listing = gr.HTML("", elem_id="lc-documents", js_on_load=(HERE / "documents.js").read_text("utf-8"))
    cancelled = threading.Event()

    def take_in(paths: list[str] | None) -> Iterator[tuple[Any, ...]]:
        cancelled.clear()
        yield from _take_in(assembly, [Path(path) for path in paths or []], cancelled)

    def delete(event: gr.EventData) -> tuple[str, str]:
        try:
            assembly.delete(str(event.name))
            message = f"{event.name} was deleted."
        except LocalcragError as error:
            message = str(error)
        return render.uploads(None, [], message), listed(assembly)

    private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    drop.upload(
        take_in,
        [drop],
        [drop, uploads, listing, cancel],
        # What is dropped while other files are taken in waits its turn; "once" would ignore it.
        trigger_mode="multiple",
        concurrency_limit=1,
        concurrency_id="ingest",
        **private,
    )
    cancel.click(cancelled.set, None, None, **private)
    listing.delete(delete, None, [uploads, listing], **private)
    return listing, uploads


def listed(assembly: Assembly) -> str:
    """Return the list of documents, or what is wrong with it."""
    try:
        return render.documents(assembly.documents())
    except LocalcragError as error:
        return render.uploads(None, [], str(error))


def _take_in(assembly: Assembly, paths: list[Path], cancelled: threading.Event) -> Iterator[tuple[Any, ...]]:
    """Yield the drop zone, the report, the list and the Cancel button while files are taken in."""
    results: list[IngestResult] = []
    yield None, render.uploads(None, [], "Loading the models …"), gr.skip(), gr.Button(visible=True)
    message = None
    try:
        with closing(assembly.ingest([Upload(path, path.name) for path in paths])) as events:
            for event in events:
                if isinstance(event, IngestProgress):
                    yield gr.skip(), render.uploads(event, results), gr.skip(), gr.skip()
                else:
                    results.append(event)
                    yield gr.skip(), render.uploads(None, results), listed(assembly), gr.skip()
                if cancelled.is_set() and len(results) < len(paths):
                    message = f"Cancelled: {len(paths) - len(results)} of {len(paths)} files were not taken in."
                    break
    except LocalcragError as error:
        message = str(error)
    finally:
        # The copies that Gradio made of the uploaded files hold the documents' text: they go at once.
        for path in paths:
            path.unlink(missing_ok=True)
    yield gr.skip(), render.uploads(None, results, message), listed(assembly), gr.Button(visible=False)
