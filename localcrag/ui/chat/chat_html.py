"""Turns of a chat as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from localcrag.records.enums import Action, Origin
from localcrag.records.run import Run
from localcrag.runs.chats import ChatTurn, TurnState
from localcrag.runs.coverage import unread
from localcrag.text.translation import gettext as _
from localcrag.ui.chat.answer_html import answer_html
from localcrag.ui.html import TEMPLATES


def meaning(run: Run) -> str:
    """Return what an action came to, in words: it is about what was found, and says nothing of the answer."""
    if run.abstained:
        return _("not answered")
    if run.uncertain:
        return _("not certain")
    web = any(source.origin is Origin.WEB for source in run.sources)
    if run.action is Action.CORRECT:
        return _("your documents are enough")
    if run.action is Action.AMBIGUOUS:
        return _("your documents and the web") if web else _("your documents may not be enough")
    return _("from the web, your documents do not say") if web else _("your documents do not say")


def turn_html(turn: ChatTurn, run: Run | None, *, said: bool | None = None, busy: str | None = None) -> Markup:
    """Return a turn; `said` is what a person said of its answer, `busy` what is being done for it right now."""
    written = run.answer if run and turn.state is TurnState.ASKED else turn.answer
    return Markup(  # noqa: S704 - the templates escape
        TEMPLATES.get_template("turn.html").render(
            turn=turn,
            state=turn.state.value,
            live=busy is not None,
            busy=busy,
            action=run.action if run else None,
            meaning=meaning(run) if run and busy is None else "",
            answer=answer_html(written, run) if written else None,
            unchecked=bool(run and not run.support),
            versions=_versions(turn) if busy is None else None,
            said=said,
            forced=bool(run and run.forced_from),
            unread=unread(run) if run and busy is None and turn.state is TurnState.ANSWERED else None,
        )
    )


@dataclass(frozen=True, slots=True)
class _Versions:
    """Which version of a turn is shown: `at` of `of`; the numbers of the ones before and after it, if there are any.

    `unfinished` is what became of the newest version if that has no answer and another one is shown.
    """

    at: int
    of: int
    before: int | None
    after: int | None
    unfinished: str | None


def _versions(turn: ChatTurn) -> _Versions | None:
    """Return which version of a turn is shown; None if there is only one."""
    if not turn.versions:
        return None
    numbers = [version.number for version in turn.versions]
    at, newest = numbers.index(turn.number), turn.versions[-1]
    return _Versions(
        at=at + 1,
        of=len(numbers),
        before=numbers[at - 1] if at else None,
        after=numbers[at + 1] if turn.number != newest.number else None,
        unfinished=newest.state.value if turn.number != newest.number else None,
    )


def turns_html(
    turns: Sequence[ChatTurn], runs: Mapping[str, Run], said: Mapping[str, bool], earlier: int = 0
) -> Markup:
    """Return finished turns, and how many `earlier` ones there are.

    `runs`, and what was `said` of their answers, by the run's id.
    """
    before = TEMPLATES.get_template("earlier.html").render(number=earlier) if earlier else ""
    return Markup(before) + Markup("").join(  # noqa: S704 - the templates escape
        turn_html(turn, runs.get(turn.run_id or ""), said=said.get(turn.run_id or "")) for turn in turns
    )
