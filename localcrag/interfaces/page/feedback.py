"""The user's feedback on answers: labels, pins, and web texts to add as documents.

The handlers serve both the side panel and the lists in the settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import gradio as gr

from localcrag.app import feedback
from localcrag.app.assembly import Assembly
from localcrag.interfaces.page import renderers, run_panel
from localcrag.interfaces.page.documents import DocumentsColumn, documents_html
from localcrag.interfaces.page.handlers import PRIVATE, QUEUED, VERDICTS, release_buttons
from localcrag.interfaces.page.renderers import render
from localcrag.records.enums import Origin
from localcrag.records.errors import GapError, LabelError, LocalcragError
from localcrag.records.ingest import IngestResult
from localcrag.records.run import Run
from localcrag.runs import labels as labelled_question
from localcrag.runs.labels import LabelKind
from localcrag.text.translation import gettext as _

LABELS_SHOWN = 30


def panel(assembly: Assembly, run: Run) -> str:
    """Return the side panel of a stored run, with its feedback if that can be read."""
    if run.action is None:
        return run_panel.panel(run)
    try:
        return run_panel.panel(run, learned=_learned(assembly, run))
    except LocalcragError:
        # The question was answered, so its panel is shown anyway; labelling it will show the error.
        return run_panel.panel(run)


def run_panel_by_id(assembly: Assembly, run_id: object) -> str:
    """Return the side panel of the run with this id. Raises UnknownRun and StoreError."""
    return panel(assembly, assembly.runs.get(str(run_id)))


def _learned(assembly: Assembly, run: Run) -> dict[str, object]:
    """Return the user's additions to a run: labels by kind and target, a pin, and web texts (see `_web_texts`).

    `answers` is the text of the pin's field, one answer per line.
    """
    labels = {(one.kind.value, one.target): one.good for one in assembly.learning.labels.find(run_id=run.run_id)}
    pin = next(iter(assembly.learning.pins.find(run_id=run.run_id)), None)
    proposed = pin.question if pin else labelled_question.propose_question(run)
    answers = "\n".join(proposed.answers if pin else proposed.answers[:1])
    pinned = {"pin": pin, "answers": answers, "unanswerable": not proposed.answers}
    return {"labels": labels, **pinned, **_web_texts(assembly, run)}


def _web_texts(assembly: Assembly, run: Run) -> dict[str, dict[str, str]]:
    """Return the web passages that are already documents (`added`), and those that can become one (`addable`).

    Both are keyed by passage id: the first has the document's name, the second the number of the web result.
    """
    names = {document.sha256: document.name for document in assembly.collections.documents(run.collection)}
    added, addable = {}, {}
    for passage in run.passages:
        with suppress(GapError):  # The web result has no text to add.
            document = feedback.make_web_document(passage) if passage.origin is Origin.WEB else None
            if document and document.sha256 in names:
                added[passage.id] = names[document.sha256]
            elif document:
                addable[passage.id] = passage.id.removeprefix("web-")
    return {"added": added, "addable": addable}


@renderers.or_message
def gaps(assembly: Assembly) -> str:
    """Return the list of questions that the documents do not answer."""
    found = assembly.gaps.find()
    texts: dict[str, tuple[str, str | None]] = {}
    for gap in found[: renderers.GAPS_SHOWN]:
        if gap.answered_by:
            document = assembly.gaps.web_text(gap.answered_by)
            names = {one.sha256: one.name for one in assembly.collections.documents(gap.collection)}
            texts[gap.answered_by] = document.name, names.get(document.sha256)
    return renderers.gaps(found, texts)


@renderers.or_message
def label_lists(assembly: Assembly) -> str:
    """Return the lists of labels and of pinned questions, newest first."""
    labels, pins = assembly.learning.labels.find()[::-1], assembly.learning.pins.find()[::-1]
    return render("settings/feedback.html", labels=labels, pins=pins, shown=LABELS_SHOWN)


def wire(
    assembly: Assembly, panel: gr.HTML, documents: DocumentsColumn, gaps_list: gr.HTML, feedback_list: gr.HTML
) -> Any:
    """Connect the feedback components; return the label event, for other parts of the page that show it."""
    open_panel = open_run(assembly)

    def label(event: gr.EventData) -> tuple[str, str]:
        assembly.learning.label(str(event.run_id), LabelKind(event.what), str(event.place), good=VERDICTS[event.good])
        return open_panel(event), label_lists(assembly)

    def pin(event: gr.EventData) -> tuple[str, str]:
        answers = [] if event.unanswerable else [line for line in str(event.answers).splitlines() if line.strip()]
        if not answers and not event.unanswerable:
            raise LabelError("Nothing was pinned: write what counts as the answer, or say that there is none.")
        assembly.learning.pin(str(event.run_id), answers)
        return open_panel(event), label_lists(assembly)

    def unpin(event: gr.EventData) -> tuple[str, str]:
        assembly.learning.pins.remove(str(event.run_id))
        return open_panel(event), label_lists(assembly)

    def remove(event: gr.EventData) -> str:
        assembly.learning.labels.remove([int(event.label_id)])
        return label_lists(assembly)

    def add(event: gr.EventData) -> Iterator[tuple[Any, ...]]:
        """Add a web text; yield the report, the panel, and the list of gaps, at the beginning and at the end."""
        run_id, number = str(event.run_id), int(event.result) if event.result else None
        yield renderers.message(_("Adding the web text …")), gr.skip(), gr.skip()
        try:
            with closing(assembly.gaps.add_web_text(run_id, number)) as events:
                results = [event for event in events if isinstance(event, IngestResult)]
            failed = next((result.error for result in results if result.error), None)
            text = failed or _("This is web text. Ask the question again to see whether it is answered now.")
            shown = run_panel_by_id(assembly, run_id)
        except LocalcragError as error:
            text, shown = str(error), gr.skip()
        yield renderers.message(text), shown, gaps(assembly)

    def listed(collection: str) -> str:
        return documents_html(assembly.collections, collection)

    outputs = [panel, feedback_list]
    labelled = panel.input(label, None, outputs, **QUEUED)
    panel.submit(pin, None, outputs, **QUEUED)
    gr.on([panel.delete, feedback_list.delete], unpin, None, outputs, **QUEUED)
    feedback_list.clear(remove, None, [feedback_list], **QUEUED)
    added = gr.on([panel.upload, gaps_list.upload], add, None, [documents.uploads, panel, gaps_list], **PRIVATE)
    # The list of documents is that of the collection shown at the end, which may be another than at the beginning.
    release_buttons(added, added.then(listed, [documents.collection], [documents.listing], **QUEUED))
    gr.on([gaps_list.select, feedback_list.select], open_panel, None, [panel], **QUEUED)
    return labelled


def open_run(assembly: Assembly) -> Callable[[gr.EventData], str]:
    """Return a handler that shows a stored run in the panel."""

    def show(event: gr.EventData) -> str:
        return run_panel_by_id(assembly, event.run_id)

    return show
