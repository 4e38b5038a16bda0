"""Lists on the page, as HTML: documents, uploads, chats, questions, gaps, labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from localcrag.app.background import TaskState
from localcrag.app.uploading import Uploading
from localcrag.records.documents import Document
from localcrag.records.enums import IngestStatus
from localcrag.records.forgetting import Forgotten
from localcrag.records.restriction import folders_of
from localcrag.runs.aggregates import Aggregates
from localcrag.runs.chat_export import ExportForm
from localcrag.runs.chats import Chat
from localcrag.runs.knowledge_gaps import KnowledgeGap
from localcrag.runs.labelled_question import Pin
from localcrag.runs.labels import Label
from localcrag.settings import DEFAULT_COLLECTION
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext
from localcrag.ui.html import TEMPLATES

GAPS_SHOWN = 10
LABELS_SHOWN = 30


def documents(
    items: Sequence[Document],
    collection: str,
    collections: Sequence[str],
    folder_tags: Mapping[str, Sequence[str]] = MappingProxyType({}),
    *,
    foreign: bool = False,
    place: str = "",
    writer: str = "",
    unwritten: str = "",
    problem: str = "",
) -> str:
    """Return the list of a collection's documents, and of their folders with these tags.

    `foreign`: most are in other languages than the models in use were made for. `place` is where the collection lives,
    "" for this computer; `writer` is who else writes to it right now, `unwritten` why its index file could not be
    written, and `problem` why nothing can be listed.
    """
    inside = Counter(folder for document in items for folder in folders_of(document.name))
    return TEMPLATES.get_template("documents.html").render(
        documents=items,
        foreign=foreign,
        place=place,
        writer=writer,
        unwritten=unwritten,
        problem=problem,
        # One that is empty by now keeps its tags for what comes.
        folders=[(name, inside[name], folder_tags.get(name, ())) for name in sorted({*inside, *folder_tags})],
        origins={document.name: _origins(document, folder_tags) for document in items},
        collection=collection,
        changeable=collection != DEFAULT_COLLECTION,
        others=[name for name in collections if name != collection],
    )


def _origins(document: Document, folder_tags: Mapping[str, Sequence[str]]) -> dict[str, str | None]:
    """Return a document's tags, each with the folder that it has it from, None where it is its own."""
    from_folders = {
        tag.casefold(): folder for folder in folders_of(document.name) for tag in folder_tags.get(folder, ())
    }
    return {tag: from_folders.get(tag.casefold()) for tag in document.tags}


def uploads(items: Sequence[Uploading], said: str | None = None, deleted: Sequence[str] = ()) -> str:
    """Return what is being added and what became of the files before it.

    What quotes documents that were just `deleted` can be removed, too.
    """
    words = {
        IngestStatus.ADDED: _("added"),
        IngestStatus.UPDATED: _("updated"),
        IngestStatus.UNCHANGED: _("was there already"),
        IngestStatus.UNPACKED: _("unpacked"),
    }
    items = [one for one in items if one.follows is None]
    return TEMPLATES.get_template("uploads.html").render(
        items=items[::-1],
        message=said,
        deleted=deleted,
        open=sum(one.open for one in items if not one.recognises),
        recognising=any(one.open for one in items if one.recognises),
        words=words,
        done=[one for one in items if one.state is TaskState.DONE and not one.recognises],
    )


def forgotten(done: Forgotten) -> str:
    """Return what became of forgotten documents, and what is left of them."""
    removed = done.removed
    number = removed.runs + removed.redacted
    said = ngettext("What quoted it was removed: %(num)s question.", "What quoted it was removed: %(num)s questions.",
                    number) if number else _("What quoted it was removed.")  # fmt: skip
    if done.left:
        files = ", ".join(sorted({one.file for one in done.left}))
        return f"{said} " + _("Something of it is left in the data folder: %(files)s", files=files)
    said += " " + _("No file of the data folder has anything of it any more; every byte was searched.")
    if done.backups:
        said += " " + _("Your copies still have it: %(files)s", files=", ".join(done.backups))
    return said


def chats(items: Sequence[Chat], collection: str, words: str = "") -> str:
    """Return the list of chats: those of a collection, and then the others; `words` is what they were searched for."""
    forms = [(form.value, name) for form, name in zip(ExportForm, ("Markdown", "JSON", "HTML"), strict=True)]
    return TEMPLATES.get_template("chats.html").render(
        chats=[chat for chat in items if chat.collection == collection],
        others=[chat for chat in items if chat.collection != collection],
        words=words,
        forms=forms,
    )


def left(line: str, *, away: bool = False) -> str:
    """Return the line about what left this computer, and one about models that are put `away`."""
    return TEMPLATES.get_template("left.html").render(line=line, away=away)


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
