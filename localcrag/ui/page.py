"""The page: chat and side panel, and what they show on each event. Knows nothing but events and components."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, assert_never

import gradio as gr

from localcrag import record
from localcrag.assemble import Assembly
from localcrag.datatypes import Preset, Run, Turn
from localcrag.errors import LocalcragError
from localcrag.events import (
    Answered,
    AnswerPiece,
    Condensed,
    Decided,
    Evaluated,
    Event,
    Generated,
    GradePiece,
    PlainPromptCounted,
    PointPiece,
    QueryProposed,
    Reconciled,
    Refined,
    Retried,
    Retrieved,
    RunFinished,
    RunStarted,
    SearchBegun,
    Searched,
    StepStarted,
    Verified,
    Warned,
)
from localcrag.markdown import literal
from localcrag.ui import learning, render
from localcrag.ui.all_questions import all_questions
from localcrag.ui.answer_settings import answer_settings
from localcrag.ui.conflict_choice import conflict_choice
from localcrag.ui.consent import consent_card, hidden
from localcrag.ui.consent import shown as shown_card
from localcrag.ui.documents import documents_column, listed
from localcrag.ui.preset_choice import preset_choice
from localcrag.ui.threshold_explorer import threshold_explorer
from localcrag.ui.web_settings import web_settings
from localcrag.waiting_consent import WaitingConsent

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
    unchecked: bool = False


@dataclasses.dataclass
class StopFlag:
    """What a running answer looks at between two events. `forgotten`: a new chat has begun, and it shows nothing."""

    stopped: bool = False
    forgotten: bool = False
    consent: WaitingConsent = dataclasses.field(default_factory=WaitingConsent)


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
                documents, uploads = documents_column(assembly)
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
                waiting = consent_card()
                question, send, stop, new = _question_row()
            with gr.Column(elem_id="lc-right"):
                once = _choices(assembly, page)
                gr.HTML("<p class='lc-title'>How this was answered</p>")
                panel = gr.HTML(render.panel(None), elem_id="lc-panel", js_on_load=learning.PANEL_SCRIPT)
                read_all, all_so_far = _folds(assembly, page)
                learning.learned_fold(
                    assembly, page, learning.Shown(chat, turns, panel, uploads, documents, gaps=all_so_far[1])
                )

        # Stop is a flag that the answer looks at between two events. Gradio's own `cancels` fails with a server error
        # when the answer ends at that very moment (6.31).
        stops: dict[str, StopFlag] = {}

        def ask(text: str, before: Turns, preset: str, request: gr.Request) -> Iterator[Any]:
            flag = stops[request.session_hash or ""] = StopFlag()
            yield from _ask(assembly, text, before, Preset(preset) if preset else None, flag)

        def stop_answer(request: gr.Request) -> None:
            if flag := stops.get(request.session_hash or ""):
                flag.stopped = True
                flag.consent.end()

        def forget_answer(request: gr.Request) -> None:
            if flag := stops.get(request.session_hash or ""):
                flag.stopped = flag.forgotten = True
                flag.consent.end()

        def allow(query: str, request: gr.Request) -> tuple[Any, ...]:
            if flag := stops.get(request.session_hash or ""):
                flag.consent.say(query)
            return hidden()

        def refuse(request: gr.Request) -> tuple[Any, ...]:
            if flag := stops.get(request.session_hash or ""):
                flag.consent.say(None)
            return hidden()

        outputs = [chat, panel, turns, question, send, stop, *waiting.outputs]
        private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
        one_at_a_time: dict[str, Any] = {**private, "concurrency_limit": 1, "concurrency_id": "answer"}
        answered = gr.on([send.click, question.submit], ask, [question, turns, once], outputs, **one_at_a_time)
        answered.then(read_all, None, list(all_so_far), **private)
        answered.then(lambda: "", None, [once], **private)
        stop.click(stop_answer, None, None, **private)
        new.click(forget_answer, None, None, **private).then(_new_chat, None, outputs, **private)
        gr.on([waiting.send.click, waiting.query.submit], allow, [waiting.query], waiting.outputs, **private)
        waiting.refuse.click(refuse, None, waiting.outputs, **private)
        page.load(lambda: listed(assembly), None, [documents], **private)
        # A tab that is closed while its question waits for consent must not keep the others waiting.
        page.unload(forget_answer)
    return page


def _choices(assembly: Assembly, page: gr.Blocks) -> gr.Dropdown:
    """Make what is chosen for the questions to come, and return the preset of the next one alone."""
    with gr.Row(elem_id="lc-choices"):
        once = preset_choice(assembly, page)
        conflict_choice(assembly)
    return once


def _folds(assembly: Assembly, page: gr.Blocks) -> tuple[Any, tuple[gr.HTML, gr.HTML]]:
    """Make what is folded below the panel; return what reads all questions anew, and the components that show them."""
    policy = answer_settings(assembly)
    web_settings(assembly, page)
    all_so_far = all_questions(assembly, page)
    threshold_explorer(assembly, policy)
    return all_so_far


def _question_row() -> tuple[gr.Textbox, gr.Button, gr.Button, gr.Button]:
    """Make the question's box and the buttons Ask, Stop and New chat."""
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
    return question, send, stop, new


def _ask(
    assembly: Assembly, text: str, before: Turns, preset: Preset | None, flag: StopFlag
) -> Iterator[tuple[Any, ...]]:
    """Yield what the outputs show while a question is answered, under `preset` or else the collection's."""
    text = text.strip()
    if not text:
        yield _shown(before, gr.skip())
        return
    turn = ChatTurn(text, "", None)
    # The box is emptied here and never again: what is typed meanwhile stays.
    yield _shown((*before, turn), render.panel(None, "loading the models"), busy=True, typing="")
    run: Run | None = None
    try:
        history = [Turn(turn.question, turn.answer) for turn in before if turn.run_id]
        with closing(assembly.ask(text, history=history, preset=preset, consent=flag.consent)) as events:
            for event in events:
                run = event.run if isinstance(event, RunStarted) else record.apply(_known(run), event)
                turn = _turn(turn, event, run)
                panel = _panel(event, run)
                if flag.stopped and not isinstance(event, RunFinished):
                    run = dataclasses.replace(run, stopped=True)
                    break
                proposed = event.query if isinstance(event, QueryProposed) else None
                yield _shown((*before, turn), gr.skip() if panel is None else panel, busy=True, proposed=proposed)
    except LocalcragError as error:
        gr.Warning(str(error), duration=None, title="This did not work")
        turn = dataclasses.replace(turn, answer=f"This question could not be answered. {error}")
        yield _shown((*before, turn), gr.skip() if run else render.panel(None))
        return
    except Exception:
        # Not foreseen: Gradio reports it, and the page must not be left with a Stop that stops nothing.
        turn = dataclasses.replace(turn, answer="This question ended in an error; the terminal shows which.")
        yield _shown((*before, turn), render.panel(run))
        raise
    if flag.forgotten:
        yield (*(gr.skip() for _ in range(4)), gr.Button(visible=True), gr.Button(visible=False), *hidden())
        return
    if run and run.stopped:
        note = "Stopped before it was checked." if turn.unchecked else "Stopped."
        turn = dataclasses.replace(turn, answer=f"{turn.answer} … {note}".strip(), unchecked=False)
    yield _shown((*before, turn), learning.panel(assembly, run) if run else render.panel(None))


def _known(run: Run | None) -> Run:
    assert run is not None, "the first event is RunStarted"  # noqa: S101
    return run


def _turn(turn: ChatTurn, event: Event, run: Run) -> ChatTurn:
    citable = tuple(piece.n for piece in run.evidence)
    unchecked = isinstance(event, AnswerPiece) or (turn.unchecked and not isinstance(event, Answered))
    return dataclasses.replace(turn, answer=run.answer, run_id=run.run_id, citable=citable, unchecked=unchecked)


def _panel(event: Event, run: Run) -> str | None:
    """Return the side panel after an event, None where it stays as it is."""
    match event:
        case AnswerPiece() | GradePiece() | PlainPromptCounted() | PointPiece() | RunStarted():
            return None
        case StepStarted(detail=detail):
            return render.panel(run, detail)
        case QueryProposed():
            return render.panel(run, "waiting for your consent")
        case Condensed() | Retrieved() | Retried() | Searched() | Evaluated() | Decided() | Refined() | Reconciled():
            return render.panel(run, "working")
        case Warned() | SearchBegun() | Generated() | Verified() | Answered():
            return render.panel(run, "working")
        case RunFinished():
            return render.panel(run)
        case _:
            assert_never(event)


def _shown(
    turns: Turns, panel: Any, *, busy: bool = False, typing: Any = None, proposed: str | None = None
) -> tuple[Any, ...]:
    """Return the values of chat, panel, turns, question, send, stop, and of the card for a proposed query."""
    return (
        _messages(turns),
        panel,
        turns,
        gr.skip() if typing is None else typing,
        gr.Button(visible=not busy),
        gr.Button(visible=busy),
        *(hidden() if proposed is None else shown_card(proposed)),
    )


def _messages(turns: Turns) -> list[dict[str, str]]:
    messages = []
    for turn in turns:
        messages.append({"role": "user", "content": literal(turn.question)})
        if turn.answer:
            text = render.answer_text(turn.answer, turn.run_id or "", turn.citable)
            if turn.unchecked:
                text += "\n\n*not checked against the evidence yet*"
            messages.append({"role": "assistant", "content": text})
    return messages


def _new_chat() -> tuple[Any, ...]:
    # Without this, the first answer of the new chat would show the thumb of the old one.
    _, *others = _shown((), render.panel(None))
    return gr.Chatbot(value=[], feedback_value=[]), *others
