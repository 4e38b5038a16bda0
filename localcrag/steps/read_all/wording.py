"""What is said when all passages were read: the sources' own lines, sure ones first."""

from __future__ import annotations

from collections.abc import Sequence

from localcrag.records.enums import Grade
from localcrag.records.passages import GradedPassage
from localcrag.records.restriction import SearchScope
from localcrag.steps.answer import abstain, own_words
from localcrag.steps.answer.nearest import NEAR_SHARE
from localcrag.steps.answer.task import Task
from localcrag.steps.context import Context
from localcrag.steps.screen import prompt_injection
from localcrag.text.question_form import asks_how_many
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext


def all_that_answers(task: Task, context: Context, scope: SearchScope) -> str:
    """Return the evidence of all passages, laid out: what is sure to answer, what may, what has the words.

    No language model is asked: what it left out would be what somebody had all passages read for.
    """
    grades = {passage.id: passage.grade for passage in task.used}
    shown = own_words.laid(task.evidence, task, context) or own_words.all_of_it(task, context)
    sure = [one for one in shown if grades.get(one.piece.passage) is Grade.CORRECT]
    worded = [one for one in shown if grades.get(one.piece.passage) is Grade.INCORRECT]
    doubtful = [one for one in shown if one not in sure and one not in worded]
    parts, titled = [_were_read(scope)], scope.documents > 1
    if sure:
        said = ngettext("%(num)s place answers the question:", "%(num)s places answer the question:", len(sure))
        if asks_how_many(task.asked.standalone):
            said = _("%(places)s They are places, not things: count what they name.", places=said)
        parts += [said, own_words.written(sure, task.refinement.sources, titled=titled)]
    if doubtful:
        number = len(doubtful)
        also = ngettext("%(num)s place may be about it as well:", "%(num)s places may be about it as well:", number)
        only = ngettext(
            "None is sure to answer the question. %(num)s place may:",
            "None is sure to answer the question. %(num)s places may:",
            number,
        )
        parts += [also if sure else only, own_words.written(doubtful, task.refinement.sources, titled=titled)]
    if worded:
        stand = ngettext(
            "Its words also stand in %(num)s place:", "Its words also stand in %(num)s places:", len(worded)
        )
        parts += [stand, own_words.written(worded, task.refinement.sources, titled=titled)]
    return "\n\n".join(parts)


def none_answers(question: str, nearest: Sequence[GradedPassage], context: Context, scope: SearchScope) -> str:
    """Return that no passage answers, with what comes nearest."""
    if not nearest:
        return abstain.nothing_there(context.settings)
    passages = prompt_injection.screened(nearest, context.parts.rules)
    shown = abstain.with_nearest(question, passages, context.thresholds.lower * NEAR_SHARE)
    return f"{_were_read(scope)} {_('None answers the question.')}\n\n{shown}"


def _were_read(scope: SearchScope) -> str:
    if scope.read < scope.passages:
        return _("%(read)s of %(all)s passages were read.", read=scope.read, all=scope.passages)
    documents = ngettext("%(num)s document", "%(num)s documents", scope.documents)
    return ngettext(
        "%(num)s passage of %(documents)s was read, all there is.",
        "All %(num)s passages of %(documents)s were read.",
        scope.passages,
        documents=documents,
    )
