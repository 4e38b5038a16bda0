"""The page: its components and what happens on each event. Maps events to components and knows nothing else."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, assert_never

import gradio as gr

from localcrag import record
from localcrag.assemble import Assembly
from localcrag.datatypes import Run, Turn, WebMode
from localcrag.errors import LocalcragError
from localcrag.events import (
    Answered,
    AnswerPiece,
    Condensed,
    Decided,
    Evaluated,
    Event,
    Refined,
    Retrieved,
    RunFinished,
    RunStarted,
    Searched,
    StepStarted,
    Warned,
)
from localcrag.health import State, search_server
from localcrag.ingest import IngestProgress, IngestResult, Upload
from localcrag.ui import render

HERE = Path(__file__).parent
PLACEHOLDER = (
    "**Ask your documents.**\n\nDrop some into the list of documents, then ask. Answers come from this computer."
)


@dataclasses.dataclass(frozen=True)
class ChatTurn:
    """A question of this chat, its answer, and the run behind it."""

    question: str
    answer: str
    run_id: str | None
    citable: tuple[int, ...] = ()


Turns = tuple[ChatTurn, ...]


def build(assembly: Assembly) -> gr.Blocks:
    """Return the page over an assembly."""
    page: gr.Blocks
    with gr.Blocks(title="localcrag", fill_width=True, analytics_enabled=False, delete_cache=(3600, 3600)) as page:
        turns = gr.State(())
        gr.HTML(
            "<h1>localcrag</h1><p>Answers from your own documents, with the retrieval checked first. "
            "Nothing leaves this computer but a web query to the SearXNG you set.</p>",
            elem_id="lc-header",
        )
        with gr.Row(elem_id="lc-columns"):
            with gr.Column(elem_id="lc-left"):
                _documents_column(assembly)
            with gr.Column(elem_id="lc-middle"):
                chat = gr.Chatbot(
                    elem_id="lc-chat",
                    show_label=False,
                    layout="panel",
                    placeholder=PLACEHOLDER,
                    latex_delimiters=[],
                    buttons=["copy"],
                    allow_tags=False,
                    group_consecutive_messages=False,
                )
                with gr.Row(elem_id="lc-ask"):
                    question = gr.Textbox(
                        elem_id="lc-question",
                        placeholder="Ask a question",
                        label="Your question",
                        show_label=False,
                        lines=1,
                        max_lines=6,
                        container=False,
                        scale=8,
                        autofocus=True,
                    )
                    send = gr.Button("Ask", variant="primary", scale=1, min_width=90, elem_id="lc-send")
                    stop = gr.Button("Stop", variant="stop", scale=1, min_width=90, visible=False, elem_id="lc-stop")
                    new = gr.Button("New chat", scale=1, min_width=100, elem_id="lc-new")
            with gr.Column(elem_id="lc-right"):
                gr.HTML("<p class='lc-title'>How this was answered</p>")
                panel = gr.HTML(
                    render.panel(None), elem_id="lc-panel", js_on_load=(HERE / "panel.js").read_text("utf-8")
                )
                _web_settings(assembly)

        # Stop is a flag that the answer looks at between two events. Gradio's own `cancels` fails with a server error
        # when the answer ends at that very moment (6.31).
        stops: dict[str, threading.Event] = {}

        def ask(text: str, before: Turns, request: gr.Request) -> Iterator[Any]:
            stopped = stops[request.session_hash or ""] = threading.Event()
            yield from _ask(assembly, text, before, stopped)

        def stop_answer(request: gr.Request) -> None:
            if stopped := stops.get(request.session_hash or ""):
                stopped.set()

        outputs = [chat, panel, turns, question, send, stop]
        private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
        one_at_a_time: dict[str, Any] = {**private, "concurrency_limit": 1, "concurrency_id": "answer"}
        gr.on([send.click, question.submit], ask, [question, turns], outputs, **one_at_a_time)
        stop.click(stop_answer, None, None, **private)
        new.click(stop_answer, None, None, **private).then(_new_chat, None, outputs, **one_at_a_time)
        panel.select(_open_run(assembly), None, [panel], **private)
    return page


def _ask(assembly: Assembly, text: str, before: Turns, stopped: threading.Event) -> Iterator[tuple[Any, ...]]:
    """Yield what the six outputs show while a question is answered."""
    text = text.strip()
    if not text:
        yield _shown(before, gr.skip(), typing=gr.skip())
        return
    turn = ChatTurn(text, "", None)
    yield _shown((*before, turn), render.panel(None, "loading the models"), busy=True)
    run: Run | None = None
    try:
        history = [Turn(turn.question, turn.answer) for turn in before if turn.run_id]
        with closing(assembly.ask(text, history=history)) as events:
            for event in events:
                run = event.run if isinstance(event, RunStarted) else record.apply(_known(run), event)
                turn = _turn(turn, run)
                panel = _panel(event, run)
                yield _shown((*before, turn), gr.skip() if panel is None else panel, busy=True)
                if stopped.is_set() and not isinstance(event, RunFinished):
                    run = dataclasses.replace(run, stopped=True)
                    break
    except LocalcragError as error:
        gr.Warning(str(error), duration=None, title="This did not work")
        turn = dataclasses.replace(turn, answer=f"This question could not be answered. {error}")
        yield _shown((*before, turn), gr.skip() if run else render.panel(None))
        return
    if run and run.stopped:
        turn = dataclasses.replace(turn, answer=f"{turn.answer} … Stopped.".strip())
    yield _shown((*before, turn), render.panel(run))


def _known(run: Run | None) -> Run:
    assert run is not None, "the first event is RunStarted"  # noqa: S101
    return run


def _turn(turn: ChatTurn, run: Run) -> ChatTurn:
    citable = tuple(piece.n for piece in run.evidence)
    return dataclasses.replace(turn, answer=run.answer, run_id=run.run_id, citable=citable)


def _panel(event: Event, run: Run) -> str | None:
    """Return the side panel after an event, None where it stays as it is."""
    match event:
        case AnswerPiece() | RunStarted():
            return None
        case StepStarted(detail=detail):
            return render.panel(run, detail)
        case Condensed() | Retrieved() | Evaluated() | Decided() | Searched() | Refined() | Warned() | Answered():
            return render.panel(run, "working")
        case RunFinished():
            return render.panel(run)
        case _:
            assert_never(event)


def _shown(turns: Turns, panel: Any, *, busy: bool = False, typing: Any = "") -> tuple[Any, ...]:
    """Return the values of chat, panel, turns, question, send and stop."""
    return (
        _messages(turns),
        panel,
        turns,
        typing,
        gr.Button(visible=not busy),
        gr.Button(visible=busy),
    )


def _messages(turns: Turns) -> list[dict[str, str]]:
    messages = []
    for turn in turns:
        messages.append({"role": "user", "content": render.chat_text(turn.question)})
        if turn.answer:
            text = render.answer_text(turn.answer, turn.run_id or "", turn.citable)
            messages.append({"role": "assistant", "content": text})
    return messages


def _new_chat() -> tuple[Any, ...]:
    return _shown((), render.panel(None))


def _open_run(assembly: Assembly) -> Any:
    def open_run(event: gr.EventData) -> str:
        try:
            return render.panel(assembly.runs.get(str(event.run_id)))
        except LocalcragError as error:
            raise gr.Error(str(error), duration=None, print_exception=False) from error

    return open_run


def _documents_column(assembly: Assembly) -> None:
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
    listed = gr.HTML(
        lambda: _listed(assembly), elem_id="lc-documents", js_on_load=(HERE / "documents.js").read_text("utf-8")
    )
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
        return render.uploads(None, [], message), _listed(assembly)

    private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    drop.upload(
        take_in, [drop], [drop, uploads, listed, cancel], concurrency_limit=1, concurrency_id="ingest", **private
    )
    cancel.click(cancelled.set, None, None, **private)
    listed.delete(delete, None, [uploads, listed], **private)


def _listed(assembly: Assembly) -> str:
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
                    yield gr.skip(), render.uploads(None, results), _listed(assembly), gr.skip()
                if cancelled.is_set() and len(results) < len(paths):
                    message = f"Cancelled: {len(paths) - len(results)} of {len(paths)} files were not taken in."
                    break
    except LocalcragError as error:
        message = str(error)
    finally:
        # The copies that Gradio made of the uploaded files hold the documents' text: they go at once.
        for path in paths:
            path.unlink(missing_ok=True)
    yield gr.skip(), render.uploads(None, results, message), _listed(assembly), gr.Button(visible=False)


def _web_settings(assembly: Assembly) -> None:
    settings = assembly.settings
    with gr.Accordion("Web search", open=False, elem_id="lc-web"):
        url = gr.Textbox(
            settings.searxng_url or "",
            label="Address of your SearXNG",
            placeholder="http://127.0.0.1:8080",
            info="Asked only when the documents are not enough. Empty: the web is never asked.",
        )
        allowed = gr.Checkbox(settings.web is not WebMode.NEVER, label="Ask it when the documents are not enough")
        test = gr.Button("Save and test", size="sm")
        report = gr.HTML("", elem_id="lc-web-report")

    def save(address: str, may: bool) -> str:
        try:
            mode = WebMode.ALWAYS if may else WebMode.NEVER
            assembly.change(searxng_url=address.strip() or None, web=mode.value)
        except LocalcragError as error:
            return render.uploads(None, [], str(error))
        finding = search_server(assembly)
        sign = {State.OK: "Works: ", State.OFF: "Off: ", State.FAILED: "Does not work. "}[finding.state]
        return render.uploads(None, [], sign + finding.detail)

    test.click(save, [url, allowed], [report], api_visibility="private")
