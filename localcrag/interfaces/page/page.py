"""The page: its header, its three columns, and its settings, built from their modules and connected."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from localcrag.app.assembly import Assembly
from localcrag.app.background import FolderKeeper, files_in_background, go_on, overwriting_beside
from localcrag.app.collections.deletion import Overwriting
from localcrag.app.collections.open_collections import ReEmbeddings
from localcrag.app.tasks import RegularLooks
from localcrag.app.uploads import Uploads
from localcrag.interfaces.page import feedback, renderers, run_panel, source
from localcrag.interfaces.page.chat.chat import asked, chat_column, everywhere
from localcrag.interfaces.page.chat.events import ChatEvents, ChatPlaces
from localcrag.interfaces.page.chat.html import empty_chat
from localcrag.interfaces.page.documents import (
    CarryEvents,
    DocumentEvents,
    DocumentsColumn,
    FollowEvents,
    documents_column,
    documents_title,
)
from localcrag.interfaces.page.handlers import MANY, PRIVATE, MadeFiles, tell_all
from localcrag.interfaces.page.settings import screen as settings_screen
from localcrag.interfaces.page.settings.screen import PageLanguage
from localcrag.interfaces.page.steady_blocks import SteadyBlocks
from localcrag.text import translation
from localcrag.text.translation import gettext as _

HERE = Path(__file__).parent
BETWEEN_WRITES = 20.0
"""Seconds between two attempts to store turns that could not be written, for instance because the disk was full."""


@dataclass(frozen=True, slots=True)
class App:
    """The page, and the background work that runs whether or not the page is open."""

    page: gr.Blocks
    chats: ChatEvents
    uploads: Uploads
    documents: DocumentEvents
    keeper: FolderKeeper
    overwriting: Overwriting
    late_turns: RegularLooks
    embeddings: ReEmbeddings
    made: MadeFiles

    @property
    def busy(self) -> bool:
        """Whether an answer is being written or a file is being added.

        Other work continues at the next start, and therefore does not count.
        """
        files = (one for one in self.uploads.items() if one.is_file)
        return self.chats.conversations.busy or any(one.open for one in files)

    def follow_folders(self) -> None:
        """Start the background work: watching folders, overwriting deleted data, and retrying failed writes."""
        self.keeper.begin(self.uploads.follow_folder)
        self.overwriting.begin()
        self.late_turns.begin()

    def close(self) -> None:
        """Stop all work in progress, and store what it has done so far."""
        self.keeper.close()
        self.chats.close()
        self.uploads.close()
        self.overwriting.close()
        self.late_turns.close()
        self.embeddings.close()


def build(assembly: Assembly) -> App:
    """Build the page for an assembly, in the language of its settings, and start the work left from earlier runs."""
    # The English texts are the keys of the catalogues, so the page is built in English and translated at the end.
    translation.choose(translation.ENGLISH)
    script = (HERE / "page.js").read_text("utf-8")
    keeper = FolderKeeper(assembly.folders)
    # `chats` is assigned below; the lambda is called only when the page is running.
    uploads = files_in_background(assembly, keeper, lambda: chats.conversations.busy)
    # An earlier process may have been killed while it answered questions; their turns are marked as stopped.
    assembly.chats.settle()
    with SteadyBlocks(title="localcrag", fill_width=True, analytics_enabled=False, delete_cache=(3600, 86400)) as page:
        top = gr.HTML(renderers.top(), elem_id="lc-top", js_on_load=script)
        with gr.Row(elem_id="lc-columns"):
            with gr.Column(elem_id="lc-left"):
                documents = documents_column(assembly.collections, assembly.settings.collection, script)
                listed = gr.HTML("", elem_id="lc-chats", js_on_load=script)
                left = gr.HTML("", elem_id="lc-gone", js_on_load=script)
            with gr.Column(elem_id="lc-middle"):
                column = chat_column(assembly, script)
            with gr.Column(elem_id="lc-right"):
                title = gr.HTML(_how(), elem_id="lc-right-title")
                panel = gr.HTML(run_panel.panel(None), elem_id="lc-panel", js_on_load=script)
                shown_source = gr.HTML("", elem_id="lc-source", js_on_load=script)
        screen = settings_screen.settings_screen(assembly, page, top, documents.collection, script)
        export = gr.HTML("", elem_id="lc-export", js_on_load=script, visible="hidden")
        places = ChatPlaces(column, panel, listed, left, export, documents.collection, documents.listing)
        chats = ChatEvents(assembly, places)
        chats.wire(page)
        documents_do = DocumentEvents(
            assembly.collections, assembly.forgetting, uploads, lambda: empty_chat(assembly),
            copies=assembly.collection_copies,
        )  # fmt: skip
        chooses = documents_do.wire(page, documents, column.log, column.where)
        follows = FollowEvents(assembly.folders, uploads, keeper, documents_do.listed)
        follows.wire(page, documents.following, documents.listing, documents.collection)
        made, imports = _carry_collections(assembly, documents)
        chats.leaves(*(event.success for event in (*chooses, imports)))
        source.wire(assembly, shown_source, documents.collection)
        written = {
            top: renderers.top,
            documents.title: documents_title,
            title: _how,
            screen.head: renderers.settings_head,
        }
        speaks = PageLanguage(page, written | {column.consent.asks: asked, column.scope.line: everywhere})
        settings_screen.wire(assembly, top, screen, speaks.speak)
        screen.models.wire(column.log.download(screen.models.get, None, [screen.models.listing], **MANY))
        said = feedback.wire(
            assembly,
            feedback.Shown(panel, documents.uploads, documents.listing, screen.gaps, screen.said, documents.collection),
        )
        said.then(chats.log, [column.where], [column.log], **PRIVATE)
    tell_all(page)
    speaks.speak(assembly.settings.language)
    go_on(assembly, uploads, screen.models.embeddings)
    overwriting = overwriting_beside(assembly, uploads, lambda: chats.conversations.busy)
    late_turns = RegularLooks(assembly.chats.catch_up, BETWEEN_WRITES, "late turns")
    return App(page, chats, uploads, documents_do, keeper, overwriting, late_turns, screen.models.embeddings, made)


def _carry_collections(assembly: Assembly, at: DocumentsColumn) -> tuple[MadeFiles, Any]:
    """Connect export and import of collections; return the files made for download, and the event of an import."""
    made = MadeFiles(assembly.settings.uploads_dir)
    carries = CarryEvents(assembly.collections, assembly.collection_copies, made, at.carry_in, at.carried)
    return made, carries.wire(at.listing, at.collection)


def _how() -> str:
    return renderers.title(_("How this was answered"))
