"""How much of the documents an answer rests on, and what it takes to look at all of them."""

from __future__ import annotations

from dataclasses import dataclass

from localcrag.records.run import Run
from localcrag.steps.read_all.stage import wordings
from localcrag.text.question_form import asks_for_all
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext


@dataclass(frozen=True, slots=True)
class Unread:
    """A run that looked at `read` of `passages`; reading all takes about so many `seconds`, None where nothing tells.

    `matters`: the question asks for all there is, which can stand in any of them.
    """

    read: int
    passages: int
    seconds: float | None
    matters: bool

    @property
    def in_words(self) -> str:
        """What the answer rests on: "6 of 214 passages"."""
        return ngettext(
            "This rests on %(read)s of %(num)s passage.",
            "This rests on %(read)s of %(num)s passages.",
            self.passages,
            read=self.read,
        )

    @property
    def cost_in_words(self) -> str:
        """What reading all of them takes: "about 20 s"; empty where nothing tells."""
        if self.seconds is None:
            return ""
        if self.seconds < 90:
            return _("about %(number)s s", number=max(1, round(self.seconds)))
        return _("about %(number)s min", number=round(self.seconds / 60))


def unread(run: Run) -> Unread | None:
    """Return what a run did not look at; None where it looked at all, does not say, or is no answer from passages."""
    scope = run.scope
    if scope is None or scope.whole or scope.read >= scope.passages or run.computation or run.stopped:
        return None
    seconds = next((step.seconds for step in run.steps if step.name == "evaluate"), None)
    each = seconds / scope.read if seconds is not None and scope.read else None
    question = run.standalone_question
    whole = each * scope.passages * len(wordings(question)) if each is not None else None
    return Unread(scope.read, scope.passages, whole, asks_for_all(question))
