"""Runs, documents and uploads -> HTML, by Jinja2 templates with autoescape.

Everything that came from a document, the web or a model passes through here, and leaves as text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from localcrag import samples
from localcrag.app.assemble import Assembly
from localcrag.app.uploads import Uploading, UploadState
from localcrag.records.documents import Document
from localcrag.records.enums import Action, IngestStatus, Origin, Skill, StripReason
from localcrag.records.errors import LocalcragError
from localcrag.records.models import Model, ModelRole, ModelState
from localcrag.records.passages import Evidence, GradedPassage, Strip, Thresholds
from localcrag.records.run import Claim, Run
from localcrag.runs.aggregates import Aggregates
from localcrag.runs.chat_export import ExportForm
from localcrag.runs.chats import Chat
from localcrag.runs.diagnostics import graded_by, totals, totals_in_words
from localcrag.runs.knowledge_gaps import KnowledgeGap
from localcrag.runs.labelled_question import Pin
from localcrag.runs.labels import Label
from localcrag.runs.threshold_explorer import Exploration
from localcrag.settings import DEFAULT_COLLECTION
from localcrag.steps.answer.abstain import NOT_ASKED
from localcrag.steps.evaluate.decide import compared, why_not_correct
from localcrag.steps.evaluate.evaluate import grade
from localcrag.steps.refine.manual_selection import NEVER
from localcrag.text import translation
from localcrag.text.translation import gettext as _
from localcrag.ui import relevance_scale

TEMPLATES = Environment(
    loader=PackageLoader("localcrag.ui"),
    autoescape=select_autoescape(),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    extensions=["jinja2.ext.i18n"],
)
TEMPLATES.globals |= {
    "graded_by": graded_by,
    "_": translation.gettext,
    "gettext": translation.gettext,
    "ngettext": translation.ngettext,
}
GAPS_SHOWN = 10
CHANGES_SHOWN = 12
HISTOGRAM_WIDTH = 320
LABEL_ROOM = 0.2
"""Share of the histogram's width that a threshold's label takes."""
LABELS_SHOWN = 30
_EXPLAINED = (None, StripReason.KEPT, StripReason.BELOW, StripReason.NO_KEY_POINT)


@dataclass(frozen=True, slots=True)
class MarkedStrip:
    """A strip as the panel shows it; `evidence` is the number it is cited by, at its first strip only."""

    strip: Strip
    evidence: Evidence | None

    @property
    def title(self) -> str:
        """What hovering over it says."""
        strip = self.strip
        why = f" ({_(strip.reason.value)})" if strip.reason and strip.reason is not StripReason.KEPT else ""
        points = "".join(_("; key point: %(point)s", point=point) for point in strip.points)
        fate = _("kept") if strip.kept else _("dropped")
        relevance = _("relevance %(number).2f", number=strip.relevance)
        return f"{fate}{why}, {relevance}{points}"

    @property
    def note(self) -> str | None:
        """A word about a fate that the relevance alone does not explain."""
        reason = self.strip.reason
        return None if reason is None or reason in _EXPLAINED else _(reason.value)


@dataclass(frozen=True, slots=True)
class Learned:
    """What is known of a run beside itself: its labels, its pin, and which web texts are documents by now.

    `answers` is what the pin's field holds, a line each. `added` and `addable` go by passage: a document's name, and
    the number of a web result.
    """

    labels: Mapping[tuple[str, str], bool]
    pin: Pin | None
    answers: str
    unanswerable: bool
    added: Mapping[str, str]
    addable: Mapping[str, str]

    def said(self, kind: str, target: str) -> bool | None:
        """Whether something was labelled good or bad; None: neither."""
        return self.labels.get((kind, target))


def panel(run: Run | None, busy: str | None = None, learned: Learned | None = None) -> str:
    """Return the side panel for a run; `busy` says what is being done right now.

    Only with `learned` can anything of it be labelled, pinned or added.
    """
    if run is None:
        return TEMPLATES.get_template("panel_empty.html").render(busy=busy)
    passages = sorted(run.passages, key=lambda passage: -passage.relevance)
    return TEMPLATES.get_template("panel.html").render(
        run=run,
        busy=busy,
        learned=learned,
        local=[passage for passage in passages if passage.origin is Origin.LOCAL],
        web=[passage for passage in passages if passage.origin is Origin.WEB],
        strips={passage.id: _marked(passage, run) for passage in passages},
        lowered={passage.id: _lowered(passage, run) for passage in passages},
        sources={source.id: source for source in run.sources},
        parts=_parts,
        totals=totals_in_words(totals(run)),
        reasons={passage.id: compared(passage.relevance, run.thresholds) for passage in passages},
        seconds=sum(step.seconds for step in run.steps),
        points=relevance_scale.points(passages),
        why_not=_why_not_correct(run),
        not_asked=NOT_ASKED,
        never=NEVER,
        longest=max((step.seconds for step in run.steps), default=0.0),
    )


def _why_not_correct(run: Run) -> str | None:
    """Return what the documents' passages lacked; None where they were enough, or nothing was decided."""
    if run.action in (None, Action.CORRECT):
        return None
    return why_not_correct(
        [passage for passage in run.passages if passage.origin is Origin.LOCAL],
        policy=run.policy,
        thresholds=run.thresholds,
        enough_relevant=float(run.settings.get("relevance_threshold") or 0.0),
    )


def _marked(passage: GradedPassage, run: Run) -> list[MarkedStrip]:
    """Return a passage's strips, each piece of evidence marked where it begins."""
    waiting = [piece for piece in run.evidence if piece.passage == passage.id]
    marked = []
    for strip in run.strips:
        if strip.passage == passage.id:
            first = waiting[0] if strip.kept and waiting and waiting[0].text.startswith(strip.text) else None
            if first:
                waiting.pop(0)
            marked.append(MarkedStrip(strip, first))
    return marked


def _lowered(passage: GradedPassage, run: Run) -> float | None:
    """Return what minimum retention lowered the threshold to for a passage; None where it did not."""
    own = (strip for strip in run.strips if strip.passage == passage.id)
    return min((strip.relevance for strip in own if strip.reason is StripReason.RETENTION), default=None)


def _parts(claim: Claim) -> list[tuple[str, bool]]:
    """Return a claim's text in pieces, with whether each is what differs."""
    before, differs, after = claim.text.partition(claim.differs) if claim.differs else (claim.text, "", "")
    return [(part, marked) for part, marked in ((before, False), (differs, True), (after, False)) if part]


def all_questions(found: Aggregates) -> str:
    """Return how the questions went so far."""
    return TEMPLATES.get_template("all_questions.html").render(found=found)


def gaps(found: Sequence[KnowledgeGap], texts: Mapping[str, tuple[str, str | None]]) -> str:
    """Return what the documents lack; `texts`, by run that the web answered: the document its text makes, and its name.

    The name is None as long as the collection has no such document.
    """
    shown = [(gap, *texts.get(gap.answered_by or "", (None, None))) for gap in found[:GAPS_SHOWN]]
    several = len({gap.collection for gap in found}) > 1
    return TEMPLATES.get_template("gaps.html").render(gaps=shown, several=several, more=len(found) - len(shown))


def learned_list(labels: Sequence[Label], pins: Sequence[Pin]) -> str:
    """Return the labels, newest first, and the pinned questions."""
    return TEMPLATES.get_template("learned.html").render(labels=labels, pins=pins, shown=LABELS_SHOWN)


@dataclass(frozen=True, slots=True)
class ThresholdMark:
    """A threshold in the histogram; `now` for one in force that is not the one looked at."""

    name: str
    value: float
    now: bool = False
    anchor: str = "middle"

    @property
    def x(self) -> float:
        """Its place, in units of the picture."""
        return HISTOGRAM_WIDTH * self.value

    @property
    def label_x(self) -> float:
        """Where its label stands, a little off the line where the label is beside it."""
        return self.x + {"start": -2.0, "end": 2.0}.get(self.anchor, 0.0)


def exploration(found: Exploration) -> str:
    """Return the picture of best relevances and thresholds, and the actions now and then."""
    then, now = found.then, found.now
    highest = max((bar.number for bar in found.histogram), default=0) or 1
    # The lower one's label ends at its line and the upper one's begins there: they are never in each other's way.
    marks = [
        *(
            ThresholdMark(_("now"), before, now=True)
            for before, after in ((now.lower, then.lower), (now.upper, then.upper))
            if before != after
        ),
        ThresholdMark(_("lower"), then.lower, anchor="end" if then.lower > LABEL_ROOM else "start"),
        ThresholdMark(_("upper"), then.upper, anchor="start" if then.upper < 1 - LABEL_ROOM else "end"),
    ]
    middles = [(bar.low + bar.high) / 2 for bar in found.histogram if bar.number]
    return TEMPLATES.get_template("exploration.html").render(
        found=found,
        width=HISTOGRAM_WIDTH,
        heights={bar.low: max(2.0, 54 * bar.number / highest) for bar in found.histogram},
        zones=[grade(middle, Thresholds(then.upper, then.lower, 0.0)).value for middle in middles],
        marks=marks,
        rows=[
            (_("now"), found.actions_now, found.web_rate_now),
            (_("then"), found.actions_then, found.web_rate_then),
        ],
    )


def exploration_changes(found: Exploration, *, by_hand: bool, labels: int | None) -> str:
    """Return which questions would change, and what they are compared with.

    `by_hand`: the thresholds in force were set by hand; `labels`: on how many the collection was calibrated, None if it
    was not.
    """
    template = TEMPLATES.get_template("exploration_changes.html")
    return template.render(found=found, by_hand=by_hand, labels=labels, shown=CHANGES_SHOWN)


KINDS = {
    "application/pdf": "PDF",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word",
    "text/markdown": "Markdown",
    "text/html": "HTML",
    "text/plain": "Text",
}
"""Of the media types of documents the names that people know."""
KEYS = ("?", "/", "n", "f", "[", "]", ",", "d", "Esc")


def top() -> str:
    """Return the bar on top of the page, with the list of shortcuts."""
    does = (
        _("Show this list"),
        _("Go to the box for the question"),
        _("Begin a new chat"),
        _("Search the chats"),
        _("Show or hide documents and chats"),
        _("Show or hide how it was answered"),
        _("Open or close the settings"),
        _("Change the colours: system, light, dark"),
        _("Close what is open"),
    )
    regions = {"lc-left": _("Documents and chats"), "lc-middle": _("Chat"), "lc-right": _("How this was answered"),
               "lc-settings": _("Settings")}  # fmt: skip
    return TEMPLATES.get_template("top.html").render(
        keys=list(zip(KEYS, does, strict=True)), regions=regions, language=translation.language()
    )


def settings_head(*, anew: bool = False) -> str:
    """Return the head of the settings' screen, with its tabs by the ids of what they show.

    `anew`: the page has to be loaded again, since all of it speaks another language.
    """
    tabs = {"answers": _("Answers"), "web": _("Web"), "models": _("Models"), "data": _("Data"),
            "questions": _("Questions"), "labels": _("Labels")}  # fmt: skip
    return TEMPLATES.get_template("settings_head.html").render(
        tabs=tabs, languages=translation.LANGUAGES, language=translation.language(), anew=anew
    )


def empty_chat(assembly: Assembly) -> str:
    """Return what stands in the place of a chat without turns: what can be done first."""
    try:
        counts = {name: len(assembly.documents(name)) for name in assembly.collections()}
    except LocalcragError as error:
        return message(str(error))
    llm = assembly.settings.llm
    return TEMPLATES.get_template("empty_chat.html").render(
        documents=sum(counts.values()),
        samples=counts.get(samples.COLLECTION, 0),
        sample_documents=len(list(samples.DOCUMENTS.iterdir())),
        questions=samples.first_questions(),
        llm=llm,
        small=Skill.ALONE not in assembly.library.skills(llm),
        offered=_offered(assembly),
        web=bool(assembly.settings.searxng_url),
    )


def _offered(assembly: Assembly) -> Model | None:
    """Return the smallest language model that can be downloaded and is not there; None where none is left."""
    missing = [
        model
        for model in assembly.library.models()
        if model.role is ModelRole.LLM and model.state is ModelState.MISSING
    ]
    return min(missing, key=lambda model: model.size, default=None)


def chats(items: Sequence[Chat], words: str = "") -> str:
    """Return the list of chats; `words` is what they were searched for."""
    forms = [(form.value, name) for form, name in zip(ExportForm, ("Markdown", "JSON", "HTML"), strict=True)]
    return TEMPLATES.get_template("chats.html").render(chats=items, words=words, forms=forms)


def left(line: str) -> str:
    """Return the line about what left this computer."""
    return TEMPLATES.get_template("left.html").render(line=line)


def download(title: str, ending: str, media_type: str, text: str) -> str:
    """Return a file for the page's script to save; its name is made of `title`."""
    name = re.sub(r"[^\w.-]+", "-", title).strip("-.")[:80] or "chat"
    return Markup('<pre data-name="{}.{}" data-type="{}">{}</pre>').format(name, ending, media_type, text)


def documents(items: Sequence[Document], collection: str, collections: Sequence[str]) -> str:
    """Return the list of a collection's documents."""
    return TEMPLATES.get_template("documents.html").render(
        documents=items,
        collection=collection,
        changeable=collection != DEFAULT_COLLECTION,
        others=[name for name in collections if name != collection],
        kinds=KINDS,
    )


def uploads(items: Sequence[Uploading], said: str | None = None) -> str:
    """Return what is being taken in and what became of the files before it."""
    words = {
        IngestStatus.ADDED: _("added"),
        IngestStatus.UPDATED: _("updated"),
        IngestStatus.UNCHANGED: _("was there already"),
    }
    return TEMPLATES.get_template("uploads.html").render(
        items=items[::-1],
        message=said,
        open=sum(one.open for one in items),
        words=words,
        done=[one for one in items if one.state is UploadState.DONE],
    )


def title(text: str) -> str:
    """Return a column's title."""
    return Markup("<h2 class='lc-title'>{}</h2>").format(text)


def message(text: str) -> str:
    """Return a text, as of an error, in the place of something else."""
    return Markup('<p class="lc-result" role="status">{}</p>').format(text)
