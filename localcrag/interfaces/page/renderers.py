"""Functions that render parts of the page as HTML, and the Jinja2 templates that they use.

The templates escape their values: text from documents, the web or a model always appears as text.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from types import MappingProxyType
from typing import ParamSpec

from markupsafe import Markup

from localcrag.app.tasks import TaskState
from localcrag.app.uploads import UploadTask
from localcrag.records.documents import Document, ErasureReport
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import LocalcragError
from localcrag.records.restriction import parent_folders
from localcrag.records.run import Chat
from localcrag.runs.export import ExportForm, template_environment
from localcrag.runs.statistics import KnowledgeGap
from localcrag.settings import DEFAULT_COLLECTION
from localcrag.text import translation
from localcrag.text.places import aliases_in_words, page_count_in_words, page_name, place_name, row_names
from localcrag.text.translation import format_decimals, ngettext
from localcrag.text.translation import gettext as _

TEMPLATES = template_environment("localcrag.interfaces.page", ["jinja2.ext.i18n"])
Parameters = ParamSpec("Parameters")
SERIAL = itertools.count(1)
"""Numbers that make each HTML for the page's script unique, because Gradio reports only changed values."""
TEMPLATES.filters["decimals"] = format_decimals
TEMPLATES.globals |= {"_": translation.gettext, "gettext": translation.gettext, "ngettext": translation.ngettext}
TEMPLATES.globals |= {"page_name": page_name, "pages_in": page_count_in_words, "place": place_name}
TEMPLATES.globals |= {"row_names": row_names, "also_named": aliases_in_words}


def render(template: str, **values: object) -> str:
    """Return a template of the page, filled in with `values`."""
    return TEMPLATES.get_template(template).render(values)


def title(text: str) -> str:
    """Return a column's title."""
    return Markup("<h2 class='lc-title'>{}</h2>").format(text)


def documents_title() -> str:
    """Return the title of the documents column."""
    return title(_("Documents"))


def message(text: str) -> str:
    """Return a text, such as an error, to show instead of other contents."""
    return Markup('<p class="lc-result" role="status">{}</p>').format(text)


def or_message(render: Callable[Parameters, str]) -> Callable[Parameters, str]:
    """Return a function that renders like the given one, but instead of an expected error returns its message."""

    @wraps(render)
    def rendered(*arguments: Parameters.args, **named: Parameters.kwargs) -> str:
        try:
            return render(*arguments, **named)
        except LocalcragError as error:
            return message(str(error))

    return rendered


def download(title: str, ending: str, media_type: str, text: str) -> str:
    """Return a file as HTML, for the page's script to save; its name is made from `title`.

    Each file gets a unique number, because Gradio does not report a value to the script that it already has.
    """
    name = re.sub(r"[^\w.-]+", "-", title).strip("-.")[:80] or "chat"
    return Markup('<pre data-name="{}.{}" data-type="{}" data-made="{}">{}</pre>').format(
        name, ending, media_type, next(SERIAL), text
    )


def page_header() -> str:
    """Return the header of the page, with the list of keyboard shortcuts."""
    keys = {
        "?": _("Show this list"),
        "/": _("Go to the question box"),
        "n": _("Begin a new chat"),
        "f": _("Search the chats"),
        "[": _("Show or hide documents and chats"),
        "]": _("Show or hide how it was answered"),
        ",": _("Open or close the settings"),
        "d": _("Change the colours: system, light, dark"),
        "Esc": _("Close what is open"),
    }
    regions = {"lc-left": _("Documents and chats"), "lc-middle": _("Chat"), "lc-right": _("How this was answered"),
               "lc-settings": _("Settings")}  # fmt: skip
    return render("page_header.html", keys=list(keys.items()), regions=regions, language=translation.language())


def settings_head(*, reload: bool = False) -> str:
    """Return the head of the settings screen, with its tabs by the ids of their contents.

    With `reload`, the browser reloads the page, because the language has changed.
    """
    tabs = {"answers": _("Answers"), "web": _("Web"), "models": _("Models"), "data": _("Data"),
            "questions": _("Questions"), "labels": _("Feedback")}  # fmt: skip
    return render(
        "settings/head.html", tabs=tabs, languages=translation.LANGUAGES, language=translation.language(), reload=reload
    )


GAPS_SHOWN = 10


FolderTags = Mapping[str, Sequence[str]]
NO_TAGS: FolderTags = MappingProxyType({})
NO_NOTES = {"foreign": False, "place": "", "writer": "", "index_errors": "", "problem": ""}
"""The notes above a list of documents that has none.

`foreign` is true if most documents are in languages that the current models were not made for. `place` is the
collection's server, "" for this computer. `writer` is the client that is writing to the collection right now,
`index_errors` the reason why its index file could not be written, and `problem` the reason why it cannot be listed.
"""


def documents(
    items: Sequence[Document], collection: str, collections: Sequence[str], tags: FolderTags = NO_TAGS, **notes: object
) -> str:
    """Return the list of a collection's documents, and of their folders with their tags; `notes` are as in NO_NOTES."""
    inside = Counter(folder for document in items for folder in parent_folders(document.name))
    # An empty folder keeps its tags for documents that are added later.
    folders = [(name, inside[name], tags.get(name, ())) for name in sorted({*inside, *tags})]
    origins = {document.name: _origins(document, tags) for document in items}
    others = [name for name in collections if name != collection]
    listed = {"documents": items, "folders": folders, "origins": origins, "others": others}
    changeable = collection != DEFAULT_COLLECTION
    shown = listed | NO_NOTES | notes
    return render("documents/documents.html", collection=collection, changeable=changeable, **shown)


def _origins(document: Document, folder_tags: FolderTags) -> dict[str, str | None]:
    """Return a document's tags, each with the folder that it comes from; None for the document's own tags."""
    from_folders = {
        tag.casefold(): folder for folder in parent_folders(document.name) for tag in folder_tags.get(folder, ())
    }
    return {tag: from_folders.get(tag.casefold()) for tag in document.tags}


def uploads(items: Sequence[UploadTask], text: str | None = None, deleted: Sequence[str] = ()) -> str:
    """Return the list of uploads: files that are being added, and the outcome of earlier ones.

    `text` is a message above it. Documents that were just `deleted` get a button to remove their quotations.
    """
    words = {IngestStatus.ADDED: _("added"), IngestStatus.UPDATED: _("updated")}
    words |= {IngestStatus.UNCHANGED: _("already there"), IngestStatus.UNPACKED: _("unpacked")}
    items = [one for one in items if one.follows is None]
    added = [one for one in items if not one.recognises]
    state = {"open": sum(one.open for one in added), "done": [one for one in added if one.state is TaskState.DONE]}
    state["recognising"] = any(one.open for one in items if one.recognises)
    return render("documents/uploads.html", items=items[::-1], message=text, deleted=deleted, words=words, **state)


def forgotten_message(done: ErasureReport) -> str:
    """Return a sentence on what was removed with erased documents, and what is left of them."""
    removed = done.removed
    text = _("Nothing in your questions and answers quotes it any more.")
    if number := removed.runs + removed.redacted:
        text = ngettext(
            "%(num)s question that quoted it was removed.", "%(num)s questions that quoted it were removed.", number
        )
    if done.left:
        files = ", ".join(sorted({one.file for one in done.left}))
        return f"{text} " + _("Traces of it are left in the data folder: %(files)s", files=files)
    text += " " + _("No trace of it is left in the data folder; every byte was searched.")
    if done.backups:
        text += " " + _("Your backups still contain it: %(files)s", files=", ".join(done.backups))
    return text


def chats(items: Sequence[Chat], collection: str, words: str = "") -> str:
    """Return the list of chats: those of a collection first; `words` are the search words, if any."""
    forms = [(form.value, name) for form, name in zip(ExportForm, ("Markdown", "JSON", "HTML"), strict=True)]
    own = [chat for chat in items if chat.collection == collection]
    others = [chat for chat in items if chat.collection != collection]
    return render("chat/chats.html", chats=own, others=others, words=words, forms=forms)


def gaps(found: Sequence[KnowledgeGap], texts: Mapping[str, tuple[str, str | None]]) -> str:
    """Return the list of questions that the documents do not answer.

    `texts` covers runs that the web answered: the document name that the web text would get, and the name of the
    document that it already is, or None.
    """
    shown = [(gap, *texts.get(gap.answered_by or "", (None, None))) for gap in found[:GAPS_SHOWN]]
    several = len({gap.collection for gap in found}) > 1
    return render("settings/gaps.html", gaps=shown, several=several, more=len(found) - len(shown))
