"""The page: build its header, its three columns and its settings, and connect them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import gradio as gr

from localcrag.app.assembly import Assembly
from localcrag.app.background import FolderWatcher, create_secure_deletion, create_uploads, resume_unfinished
from localcrag.app.collections.deletion import SecureDeletion
from localcrag.app.collections.open_collections import ReindexingTasks
from localcrag.app.tasks import PeriodicTask
from localcrag.app.uploads import Uploads
from localcrag.interfaces.page import feedback, renderers, run_panel, source
from localcrag.interfaces.page.chat.chat import ChatColumn, consent_question, unrestricted_line
from localcrag.interfaces.page.chat.events import ChatComponents, ChatEvents
from localcrag.interfaces.page.chat.html import empty_chat
from localcrag.interfaces.page.documents import DocumentEvents, DocumentsColumn, TransferEvents, WatchEvents
from localcrag.interfaces.page.handlers import PARALLEL, QUEUED, DownloadFiles, SteadyBlocks, show_all_errors
from localcrag.interfaces.page.settings.screen import PageLanguage, SettingsScreen
from localcrag.text import translation
from localcrag.text.translation import gettext as _

HERE = Path(__file__).parent
WRITE_RETRY_SECONDS = 20.0
"""Seconds between two attempts to store turns that could not be written, for instance because the disk was full."""


@dataclass(frozen=True, slots=True)
class App:
    """The page, and the background work that runs whether or not the page is open."""

    page: gr.Blocks
    chats: ChatEvents
    uploads: Uploads
    documents: DocumentEvents
    watcher: FolderWatcher
    overwriting: SecureDeletion
    delayed_writes: PeriodicTask
    embeddings: ReindexingTasks
    downloads: DownloadFiles

    @property
    def busy(self) -> bool:
        """Whether an answer is being written or a file is being added.

        Other work resumes at the next start, so it does not count.
        """
        files = (one for one in self.uploads.items() if one.is_file)
        return self.chats.conversations.busy or any(one.open for one in files)

    def start_background_work(self) -> None:
        """Start the background work: watching folders, overwriting deleted data, and retrying failed writes."""
        self.watcher.begin_watching(self.uploads.sync_folder)
        self.overwriting.begin()
        self.delayed_writes.begin()

    def close(self) -> None:
        """Stop all work in progress, and store what it has done so far."""
        work = (self.watcher, self.chats, self.uploads, self.overwriting, self.delayed_writes, self.embeddings)
        for one in work:
            one.close()


def build(assembly: Assembly) -> App:
    """Build the page for an assembly, in the language of its settings, and start the work left from earlier runs."""
    # The English texts are the keys of the catalogues, so the page is built in English and translated at the end.
    translation.choose(translation.ENGLISH)
    script = (HERE / "page.js").read_text("utf-8")
    watcher = FolderWatcher(assembly.folders)
    # `chats` is assigned below; the lambda is called only while the page is running.
    uploads = create_uploads(assembly, watcher, lambda: chats.conversations.busy)
    # An earlier process may have been killed while answering questions; mark their turns as stopped.
    assembly.chats.settle()
    with SteadyBlocks(title="localcrag", fill_width=True, analytics_enabled=False, delete_cache=(3600, 86400)) as page:
        top = gr.HTML(renderers.page_header(), elem_id="lc-top", js_on_load=script)
        with gr.Row(elem_id="lc-columns"):
            with gr.Column(elem_id="lc-left"):
                documents = DocumentsColumn(assembly.collections, assembly.settings.collection, script)
                listed = gr.HTML("", elem_id="lc-chats", js_on_load=script)
                status_line = gr.HTML("", elem_id="lc-gone", js_on_load=script)
            with gr.Column(elem_id="lc-middle"):
                column = ChatColumn(assembly, script)
            with gr.Column(elem_id="lc-right"):
                title = gr.HTML(_panel_title(), elem_id="lc-right-title")
                panel = gr.HTML(run_panel.panel(None), elem_id="lc-panel", js_on_load=script)
                shown_source = gr.HTML("", elem_id="lc-source", js_on_load=script)
        screen = SettingsScreen(assembly, page, top, documents.collection, script)
        export = gr.HTML("", elem_id="lc-export", js_on_load=script, visible="hidden")
        places = ChatComponents(column, panel, listed, status_line, export, documents.collection, documents.listing)
        chats = ChatEvents(assembly, places)
        chats.wire(page)
        document_events = DocumentEvents(assembly, uploads, lambda: empty_chat(assembly))
        chooses = document_events.wire(page, documents, column.log, column.where)
        watching = WatchEvents(assembly.folders, uploads, watcher, document_events.listed)
        watching.wire(page, documents.watched, documents.listing, documents.collection)
        downloads = DownloadFiles(assembly.settings.uploads_dir)
        imports = TransferEvents(assembly.collections, assembly.collection_copies, downloads).wire(documents)
        chats.leave_chat_on(*(event.success for event in (*chooses, imports)))
        source.wire(assembly, shown_source, documents.collection)
        written = {top: renderers.page_header, documents.title: renderers.documents_title, title: _panel_title}
        written |= {column.consent.asks: consent_question, column.scope.line: unrestricted_line}
        texts = PageLanguage(page, {**written, screen.head: renderers.settings_head})
        screen.wire(texts.choose_language)
        screen.models.wire(column.log.download(screen.models.get, None, [screen.models.listing], **PARALLEL))
        label_event = feedback.wire(assembly, panel, documents, screen.gaps, screen.feedback_list)
        label_event.then(chats.log, [column.where], [column.log], **QUEUED)
    show_all_errors(page)
    texts.choose_language(assembly.settings.language)
    resume_unfinished(assembly, uploads, screen.models.embeddings)
    overwriting = create_secure_deletion(assembly, uploads, lambda: chats.conversations.busy)
    delayed_writes = PeriodicTask(assembly.chats.save_unsaved, WRITE_RETRY_SECONDS, "late turns")
    return App(
        page, chats, uploads, document_events, watcher, overwriting, delayed_writes, screen.models.embeddings, downloads
    )


def _panel_title() -> str:
    return renderers.title(_("How this was answered"))
