"""Export of a conversation as Markdown, JSON or one HTML file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from localcrag.records.passages import Evidence, Source
from localcrag.records.run import Run
from localcrag.runs.chats import Chat, ChatTurn, TurnState
from localcrag.runs.diagnostics import scope_in_words
from localcrag.steps.answer.cite import citations
from localcrag.steps.compute.wording import computation_in_words
from localcrag.text import places
from localcrag.text.markdown import literal, literal_line
from localcrag.text.translation import gettext as _
from localcrag.text.words import one_line

TEMPLATES = Environment(
    loader=PackageLoader("localcrag.runs"),
    autoescape=select_autoescape(),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
UNANSWERED = {TurnState.ASKED: "Not answered yet.", TurnState.STOPPED: "Stopped.", TurnState.FAILED: "Failed."}


class ExportForm(StrEnum):
    """What a conversation can be written as; the value is the file's ending."""

    MARKDOWN = "md"
    JSON = "json"
    HTML = "html"


TYPES = {ExportForm.MARKDOWN: "text/markdown", ExportForm.JSON: "application/json", ExportForm.HTML: "text/html"}
"""Media types."""


@dataclass(frozen=True, slots=True)
class Cited:
    """A piece of evidence that an answer cites, and where it is from."""

    n: int
    text: str
    place: str


def export(chat: Chat, turns: Sequence[ChatTurn], runs: Mapping[str, Run], form: ExportForm) -> str:
    """Return the conversation: the visible branch, as its `turns`; `runs` by id, as far as they are still there."""
    match form:
        case ExportForm.MARKDOWN:
            return _markdown(chat, turns, runs)
        case ExportForm.JSON:
            return _json(chat, turns, runs)
        case ExportForm.HTML:
            return _html(chat, turns, runs)


def cited(turn: ChatTurn, runs: Mapping[str, Run]) -> list[Cited]:
    """Return what a turn's answer cites, in the order of its numbers."""
    run = runs.get(turn.run_id or "")
    if run is None:
        return []
    sources = {source.id: source for source in run.sources}
    numbers = set(citations(turn.answer))
    return [Cited(p.n, one_line(p.text), place(sources[p.source], p)) for p in run.evidence if p.n in numbers]


def place(source: Source, piece: Evidence) -> str:
    """Return where a piece of evidence is, in words: document with page or rows, or title and address."""
    if source.url:
        return f"{source.title}, {source.url}" if source.title else source.url
    return places.place(str(source.document), source.page, piece.rows, source.also)


def about(run: Run) -> list[str]:
    """Return how an answer came about, in words: action, which documents were searched, what was computed."""
    lines = [f"{run.action}: {run.rule}"] if run.action else []
    if run.scope and run.scope.restriction:
        lines.append(scope_in_words(run))
    if run.computation:
        lines.append(_("computed by the app: %(what)s", what=computation_in_words(run.computation)))
    return [line for line in lines if line]


def _answer(turn: ChatTurn) -> str:
    return turn.answer or UNANSWERED.get(turn.state, "")


def _markdown(chat: Chat, turns: Sequence[ChatTurn], runs: Mapping[str, Run]) -> str:
    parts = [f"# {literal_line(chat.title)}", f"{chat.created_at[:10]}, collection {literal_line(chat.collection)}"]
    for turn in turns:
        parts += [f"## {literal_line(one_line(turn.question))}", literal(_answer(turn))]
        run = runs.get(turn.run_id or "")
        if run:
            parts += [f"*{literal_line(one_line(line))}*" for line in about(run)]
        if sources := cited(turn, runs):
            lines = (f"- \\[{one.n}\\] {literal_line(one.place)}: “{literal_line(one.text)}”" for one in sources)
            parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _json(chat: Chat, turns: Sequence[ChatTurn], runs: Mapping[str, Run]) -> str:
    written = [
        {
            "number": number,
            "question": turn.question,
            "answer": turn.answer,
            "run_id": turn.run_id,
            "state": turn.state,
            "action": run.action if (run := runs.get(turn.run_id or "")) else None,
            "searched": scope_in_words(run) if run else "",
            "computation": dataclasses.asdict(run.computation) if run and run.computation else None,
            "sources": [dataclasses.asdict(one) for one in cited(turn, runs)],
        }
        for number, turn in enumerate(turns, start=1)
    ]
    return json.dumps({**dataclasses.asdict(chat), "turns": written}, ensure_ascii=False, indent=2) + "\n"


def _html(chat: Chat, turns: Sequence[ChatTurn], runs: Mapping[str, Run]) -> str:
    return TEMPLATES.get_template("chat.html").render(
        chat=chat,
        turns=[
            (turn, _answer(turn), about(run) if (run := runs.get(turn.run_id or "")) else [], cited(turn, runs))
            for turn in turns
        ],
    )
