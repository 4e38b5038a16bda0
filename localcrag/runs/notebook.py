"""A run as a notebook shows it: HTML without scripts, styles of the page, or anything from elsewhere."""

from __future__ import annotations

from localcrag.records.run import Run
from localcrag.runs.chat_export import TEMPLATES, about
from localcrag.runs.for_programs import citations, notes_on_the_web, passages
from localcrag.text.translation import ngettext
from localcrag.text.words import one_line, shorten

LONGEST = 300
"""Characters that are shown of a passage."""


def html(run: Run) -> str:
    """Return the answer with its citations, the action and why, and the passages with their relevance."""
    found = passages(run.passages)
    return TEMPLATES.get_template("run.html").render(
        run=run,
        citations=[{**one, "text": one_line(one["text"])} for one in citations(run)],
        about=[*about(run), *notes_on_the_web(run)],
        passages=[{**one, "text": shorten(one["text"], LONGEST)} for one in found],
        heading=ngettext("%(num)s passage retrieved", "%(num)s passages retrieved", len(found)),
    )
