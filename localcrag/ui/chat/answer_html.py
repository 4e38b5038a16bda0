"""An answer as HTML: Markdown without links or pictures, citations as chips with what they cite.

What a document, the web or a model wrote can make a table or a formula here, and nothing that a browser would fetch,
follow or run.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin

from localcrag.records.passages import Evidence, Source
from localcrag.records.run import Run
from localcrag.runs.chat_export import place
from localcrag.steps.answer.verify import MARKS
from localcrag.text.translation import gettext
from localcrag.ui.chat.formulas import mathml

_CITATION = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_NOTES = {note: backing for backing, note in MARKS.items() if note}
_CITATION_OR_NOTE = re.compile("|".join([_CITATION.pattern, *map(re.escape, _NOTES)]))
_CHIP = Markup(
    '<a class="lc-cite" href="#evidence-{run}-{n}" data-n="{n}" data-source="{source}" aria-label="{label}">{n}'
    '<span class="lc-tip" aria-hidden="true"><b>{place}</b> {text}</span></a>'
)
_MARK = Markup('<span class="lc-mark lc-backing-{backing}" title="{why}">{note}</span>')


def answer_html(answer: str, run: Run | None) -> Markup:
    """Return an answer as HTML. `run` is what it was made by, for citations and reasons; None: it has none."""
    known = {piece.n: piece for piece in run.evidence} if run else {}
    sources = {source.id: source for source in run.sources} if run else {}
    about: dict[str, Any] = {"run": run, "known": known, "sources": sources}
    return Markup(_READER.render(answer, about))  # noqa: S704 - html is off, every rule below escapes


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    # No address becomes a link, no picture is fetched, and no HTML is taken over.
    reader.disable(["link", "image", "autolink", "reference", "html_inline", "html_block"])
    reader.use(dollarmath_plugin, allow_digits=False, allow_space=False, renderer=_formula)
    reader.core.ruler.after("inline", "citations", _find)
    reader.add_render_rule("citation", _write_citation)
    reader.add_render_rule("note", _write_note)
    return reader


def _formula(source: str, options: Mapping[str, Any]) -> str:
    return mathml(source, block=bool(options["display_mode"]))


def _find(state: StateCore) -> None:
    """Cut citations of known evidence, and notes about backing, out of the text around them."""
    for block in state.tokens:
        if block.type == "inline":
            block.children = [part for token in block.children or [] for part in _parts(token, state.env["known"])]


def _parts(token: Token, known: Mapping[int, Evidence]) -> list[Token]:
    if token.type != "text":
        return [token]
    parts, end = [], 0
    for found in _CITATION_OR_NOTE.finditer(token.content):
        numbers = [int(number) for number in (found[1] or "").split(",") if number]
        if not all(number in known for number in numbers):
            continue
        parts.append(dataclasses.replace(token, content=token.content[end : found.start()]))
        if numbers:
            parts += [Token("citation", "", 0, meta={"n": number}) for number in numbers]
        else:
            parts.append(Token("note", "", 0, content=found[0]))
        end = found.end()
    return [*parts, dataclasses.replace(token, content=token.content[end:])]


def _write_citation(_: Any, tokens: list[Any], at: int, options: Any, about: Mapping[str, Any]) -> str:
    number = tokens[at].meta["n"]
    piece: Evidence = about["known"][number]
    source: Source = about["sources"][piece.source]
    run_id, where = about["run"].run_id, _where(piece, source)
    return _CHIP.format(
        run=run_id,
        n=number,
        place=where,
        text=piece.text,
        source=json.dumps({"run_id": run_id, "n": number}),
        label=gettext("Source %(number)s: %(place)s", number=number, place=where),
    )


def _where(piece: Evidence, source: Source) -> str:
    """Return a source's place, the path of headings that a piece of evidence stands under there, and if it was read."""
    read = gettext("read by OCR, %(confidence)s", confidence=f"{piece.confidence:.2f}") if piece.confidence else None
    return " · ".join(part for part in (place(source, piece), piece.path, read) if part)


def _write_note(_: Any, tokens: list[Any], at: int, options: Any, about: Mapping[str, Any]) -> str:
    note = tokens[at].content
    run: Run | None = about["run"]
    before = _letters("".join(token.content for token in tokens[:at]))
    # What the text up to the note ends with is the sentence that it is about.
    why = next(
        (
            support.why
            for support in (run.support if run else ())
            if support.backing is _NOTES[note] and before.endswith(_letters(_CITATION.sub("", support.sentence)))
        ),
        "",
    )
    return _MARK.format(backing=_NOTES[note].value, note=gettext(note), why=why)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)


_READER = _reader()
