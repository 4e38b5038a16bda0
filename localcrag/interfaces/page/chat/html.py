r"""The HTML of the chat: turns, answers with citations and formulas, and the first screen.

Answers are Markdown from a language model, so their HTML is built from allowed parts only: links, pictures and HTML in
the Markdown stay text, and formulas (LaTeX) become MathML with the elements and attributes listed here. latex2mathml
alone would let through addresses (href), styles, and any HTML within \text.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import latex2mathml.converter
from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup, escape
from mdit_py_plugins.dollarmath import dollarmath_plugin

from localcrag.app import samples
from localcrag.app.assembly import Assembly
from localcrag.app.egress import may_leave, outgoing
from localcrag.interfaces.page.renderers import or_message, render
from localcrag.records.enums import Action, Origin, Skill
from localcrag.records.models import ModelState
from localcrag.records.passages import Evidence, Source
from localcrag.records.run import ChatTurn, Run, TurnState
from localcrag.records.wording import MARKS, split_source_words
from localcrag.runs.export import source_place
from localcrag.runs.recording import unread_passages
from localcrag.text.translation import gettext
from localcrag.text.translation import gettext as _

MAX_FORMULA = 1000
"""Maximum characters of a formula to convert: each level of nesting is a level of recursion."""
_ELEMENTS = frozenset(
    "math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mmultiscripts "
    "mprescripts none mtable mtr mtd mstyle mpadded mphantom menclose merror semantics".split()
)
_ATTRIBUTES = frozenset(
    "display mathvariant stretchy fence separator lspace rspace minsize maxsize largeop movablelimits accent width "
    "height depth voffset linethickness columnalign rowspacing columnspacing columnlines rowlines displaystyle "
    "scriptlevel notation mathsize".split()
)


def mathml(formula: str, options: Mapping[str, Any]) -> Markup:
    """Return a formula as MathML; if it cannot be converted, return its source as code."""
    source, display = formula.strip(), "block" if options["display_mode"] else "inline"
    if len(source) <= MAX_FORMULA and (made := _converted(source, display)) is not None:
        return made
    return Markup("<code>{}</code>").format(escape(source))


def _converted(source: str, display: str) -> Markup | None:
    # Within \text, < and > would begin a tag. & stays, because it separates table columns.
    safe = source.replace("<", r"\lt ").replace(">", r"\gt ")
    try:
        root = etree.fromstring(latex2mathml.converter.convert(safe, display=display))
    except Exception:  # noqa: BLE001 - a dozen kinds of its own for wrong formulas, RecursionError, and XML errors
        return None
    for element in root.iter():
        if not isinstance(element.tag, str) or etree.QName(element).localname not in _ELEMENTS:
            return None
        for name in set(element.attrib) - _ATTRIBUTES:
            del element.attrib[name]
    return Markup(etree.tostring(root, encoding="unicode"))  # noqa: S704 - contains only elements and attributes of the lists above


_CITATION = re.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_NOTES = {note: backing for backing, note in MARKS.items() if note}
_CITATION_OR_NOTE = re.compile("|".join([_CITATION.pattern, *map(re.escape, _NOTES)]))
_CHIP = Markup(
    '<a class="lc-cite" href="#evidence-{run}-{n}" data-n="{n}" data-source="{source}" aria-label="{label}">{n}'
    '<span class="lc-tip" aria-hidden="true"><b>{place}</b> {text}</span></a>'
)
_MARK = Markup('<span class="lc-mark lc-backing-{backing}" title="{why}">{note}</span>')


def answer_html(answer: str, run: Run | None) -> Markup:
    """Return an answer as HTML. Its `run` is needed for citations and reasons; without it, they stay text."""
    known = {piece.n: piece for piece in run.evidence} if run else {}
    sources = {source.id: source for source in run.sources} if run else {}
    about: dict[str, Any] = {"run": run, "known": known, "sources": sources}
    first, line, rest = split_source_words(answer)
    shown = Markup(_READER.render(first, about))  # noqa: S704 - HTML is disabled, and every rule below escapes
    if rest:
        folded = Markup(_READER.render(rest, about))  # noqa: S704 - as above
        shown += Markup('<details class="lc-quoted"><summary>{}</summary>{}</details>').format(line.rstrip(":"), folded)
    return shown


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    # Addresses stay text, no picture is fetched, and HTML is escaped.
    reader.disable(["link", "image", "autolink", "reference", "html_inline", "html_block"])
    reader.use(dollarmath_plugin, allow_digits=False, allow_space=False, renderer=mathml)
    reader.core.ruler.after("inline", "citations", _split_citations)
    reader.add_render_rule("citation", _write_citation)
    reader.add_render_rule("note", _write_note)
    return reader


def _split_citations(state: StateCore) -> None:
    """Split citations of known evidence, and notes about backing, from the surrounding text, as separate tokens."""
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
            continue  # A number without evidence is not a citation, and stays text.
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
    run_id, where = about["run"].run_id, _evidence_place(piece, source)
    shown = json.dumps({"run_id": run_id, "n": number})
    label = gettext("Source %(number)s: %(place)s", number=number, place=where)
    return _CHIP.format(run=run_id, n=number, place=where, text=piece.text, source=shown, label=label)


def _evidence_place(piece: Evidence, source: Source) -> str:
    """Return the place of a piece of evidence: its source, the headings above it, and the confidence of OCR."""
    read = gettext("read by OCR, %(confidence)s", confidence=f"{piece.confidence:.2f}") if piece.confidence else None
    return " · ".join(part for part in (source_place(source, piece), piece.path, read) if part)


def _write_note(_: Any, tokens: list[Any], at: int, options: Any, about: Mapping[str, Any]) -> str:
    note = tokens[at].content
    run: Run | None = about["run"]
    before = _letters("".join(token.content for token in tokens[:at]))
    # The note is about the sentence right before it, that is, the one with which the text up to the note ends. Only
    # letters and digits are compared, since Markdown has changed the rest.
    supports = [one for one in (run.support if run else ()) if one.backing is _NOTES[note]]
    ends = (one.why for one in supports if before.endswith(_letters(_CITATION.sub("", one.sentence))))
    return _MARK.format(backing=_NOTES[note].value, note=gettext(note), why=next(ends, ""))


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)


_READER = _reader()


@or_message
def empty_chat(assembly: Assembly) -> str:
    """Return the first screen, which replaces a chat without turns and offers first steps."""
    servers = outgoing(assembly)
    elsewhere = {name for server in servers for name in server.collections}
    # Servers on other computers are not asked, so that this screen appears even if one of them does not answer.
    own = [name for name in assembly.collections.names() if name not in elsewhere]
    counts = {name: len(assembly.collections.documents(name)) for name in own}
    llm = assembly.settings.llm
    missing = assembly.library.language_models(ModelState.MISSING)
    return render(
        "chat/empty_chat.html",
        documents=bool(elsewhere) or any(counts.values()),
        samples=counts.get(samples.COLLECTION, 0),
        sample_documents=len(list(samples.DOCUMENTS.iterdir())),
        questions=samples.first_questions(web=bool(assembly.settings.searxng_url)),
        llm=llm,
        small=Skill.ALONE not in assembly.library.skills(llm),
        offered=min(missing, key=lambda model: model.size, default=None),
        private=may_leave(servers),
    )


def meaning(run: Run) -> str:
    """Return the meaning of a run's action in words; it describes what was found, not the answer."""
    if run.abstained:
        return _("not answered")
    if run.uncertain:
        return _("not certain")
    web = any(source.origin is Origin.WEB for source in run.sources)
    if run.action is Action.CORRECT:
        return _("your documents are enough")
    if run.action is Action.AMBIGUOUS:
        return _("your documents and the web") if web else _("possibly in your documents")
    return _("not in your documents · answered from the web") if web else _("not in your documents")


def turn_html(turn: ChatTurn, run: Run | None, *, labels: bool | None = None, busy: str | None = None) -> Markup:
    """Return a turn; `labels` is the user's label of its answer, `busy` the current activity while it is answered."""
    written = run.answer if run and turn.state is TurnState.ASKED else turn.answer
    return Markup(  # noqa: S704 - the templates escape
        render(
            "chat/turn.html",
            turn=turn,
            live=busy is not None,
            busy=busy,
            action=run.action if run else None,
            meaning=meaning(run) if run and busy is None else "",
            answer=answer_html(written, run) if written else None,
            unchecked=bool(run and not run.support),
            versions=_versions(turn) if busy is None else None,
            said=labels,
            forced=bool(run and run.forced_from),
            unread=unread_passages(run) if run and busy is None and turn.state is TurnState.ANSWERED else None,
        )
    )


def _versions(turn: ChatTurn) -> dict[str, object] | None:
    """Return which version of a turn is shown, for the template; None if it has no other versions.

    It is number `at` of `of`, with the turn numbers of the ones `before` and `after`. `unfinished` is the state of the
    newest version if another one is shown.
    """
    if not turn.versions:
        return None
    numbers = [version.number for version in turn.versions]
    at, newest = numbers.index(turn.number), turn.versions[-1]
    older = turn.number != newest.number
    return {
        "at": at + 1, "of": len(numbers), "before": numbers[at - 1] if at else None,
        "after": numbers[at + 1] if older else None, "unfinished": newest.state.value if older else None,
    }  # fmt: skip


def turns_html(
    turns: Sequence[ChatTurn], runs: Mapping[str, Run], labels: Mapping[str, bool], earlier: int = 0
) -> Markup:
    """Return finished turns, below a button for the `earlier` ones, if any.

    `runs`, and the labels of their answers (`labels`), are keyed by run id.
    """
    before = render("chat/earlier_turns.html", number=earlier) if earlier else ""
    return Markup(before) + Markup("").join(  # noqa: S704 - the templates escape
        turn_html(turn, runs.get(turn.run_id or ""), labels=labels.get(turn.run_id or "")) for turn in turns
    )
