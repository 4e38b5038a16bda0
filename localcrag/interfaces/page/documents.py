"""The documents column: the list, uploads, watched folders, and collections as files.

`WatchEvents` handles watched folders, `TransferEvents` export and import of collections, and `DocumentEvents` the rest.
Uploads and watching run in `app/` whether or not a tab is open; the handlers here only show their progress.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import gradio as gr

from localcrag.app import samples
from localcrag.app.assembly import Assembly
from localcrag.app.background import FolderWatcher
from localcrag.app.collections.collections import Collections
from localcrag.app.collections.copies import CollectionCopies
from localcrag.app.collections.folders import Folders
from localcrag.app.collections.locator import TransferProgress
from localcrag.app.tasks import Job
from localcrag.app.uploads import FoundFiles, Uploads, UploadTask
from localcrag.interfaces.page import renderers
from localcrag.interfaces.page.handlers import (
    LATEST,
    PARALLEL,
    PRIVATE,
    QUEUED,
    DownloadFiles,
    Tabs,
    fix_upload_leak,
    release_buttons,
    session,
)
from localcrag.interfaces.page.renderers import SERIAL, render
from localcrag.records.errors import LocalcragError
from localcrag.records.ingest import GoneFilePolicy
from localcrag.records.restriction import parent_folders
from localcrag.settings import DEFAULT_COLLECTION
from localcrag.text import translation
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext


class WatchEvents:
    """The handlers for watched folders; each returns the folders and, if they have changed, the documents."""

    def __init__(
        self, folders: Folders, uploads: Uploads, watcher: FolderWatcher, listed: Callable[[str], str]
    ) -> None:
        """Create the handlers; `listed` returns a collection's list of documents as HTML."""
        self._folders, self._uploads, self._watcher, self._listed = folders, uploads, watcher, listed
        self._reported: Tabs[tuple[str, int]] = Tabs()

    def wire(self, page: gr.Blocks, shown: gr.HTML, listing: gr.HTML, collection: gr.Dropdown) -> None:
        """Connect the components; `shown` displays the folders of the `collection`."""
        page.load(self.shown, [collection], [shown], **PARALLEL)
        collection.change(self.shown, [collection], [shown], **LATEST)
        shown.focus(self.refresh, [collection], [shown, listing], **LATEST)
        shown.input(self.change, [collection], [shown, listing], **QUEUED)

    @renderers.or_message
    def shown(self, collection: str) -> str:
        """Return the state of a collection's watched folders."""
        tasks = {one.follows: one for one in self._uploads.items() if one.follows is not None}
        shown = {"states": self._folders.states(collection), "tasks": tasks, "example": str(Path.home() / "Papers")}
        return render("documents/watched_folders.html", collection=collection, moment=_local_time, **shown)

    def refresh(self, collection: str, request: gr.Request) -> tuple[Any, Any]:
        """Return the current state of the folders, and the documents if they changed since the tab's last check."""
        now, tab = (collection, self._watcher.version), session(request)
        before = self._reported.get(tab)
        self._reported.put(tab, now)
        return self.shown(collection), gr.skip() if before == now else self._listed(collection)

    def change(self, collection: str, event: gr.EventData) -> tuple[str, Any]:
        """Watch a folder, check it now, pause it, stop watching it, or decide about documents whose files are gone."""
        if event.what == "add":
            exclude = [one.strip() for one in str(event.exclude).split(",") if one.strip()]
            path, gone = str(event.place).strip(), GoneFilePolicy(str(event.gone))
            self._uploads.sync_folder(self._folders.bind(path, collection=collection, exclude=exclude, gone=gone))
            return self.shown(collection), gr.skip()
        if (folder := self._folders.find(int(event.id))) is not None:
            match str(event.what):
                case "look":
                    self._uploads.sync_folder(folder)
                case "pause" | "resume" as what:
                    self._folders.pause(folder, paused=what == "pause")
                case "remove":
                    self._folders.unbind(folder, documents=False)
                case what:
                    gone = GoneFilePolicy.REMOVE if what == "gone-remove" else GoneFilePolicy.KEEP
                    self._folders.decide(folder, gone)
        return self.shown(collection), self._listed(collection)


def _local_time(time: str) -> str:
    """Return a time in this computer's time zone, to the minute; without the day if it is today."""
    at = datetime.fromisoformat(time).astimezone()
    return f"{at:%H:%M}" if at.date() == datetime.now(at.tzinfo).date() else f"{at:%Y-%m-%d %H:%M}"


EXTENSION = ".localcrag"
PROGRESS_INTERVAL = 0.2
"""Minimum seconds between two progress reports."""


class TransferEvents:
    """The handlers for export and import of collections."""

    def __init__(self, collections: Collections, copies: CollectionCopies, files: DownloadFiles) -> None:
        self._collections, self._copies, self._files = collections, copies, files

    def wire(self, ui: DocumentsColumn) -> Any:
        """Connect the components of the column; return the event of an import."""
        ui.listing.download(self.export, [ui.collection], [ui.transfer], **PARALLEL)
        ui.transfer.clear(lambda: "", None, [ui.transfer], **PARALLEL)
        return ui.import_button.upload(
            self.import_file, [ui.import_button], [ui.import_button, ui.transfer, ui.collection], **PARALLEL
        )

    def export(self, collection: str) -> Iterator[str]:
        """Write a collection to a file, and show the address for downloading it."""
        name = re.sub(r"[^\w .-]+", "-", collection).strip(" .-")[:80] or "collection"
        file = self._files.place(f"{name}{EXTENSION}")
        doing = _("Exporting “%(name)s”", name=collection)
        try:
            moved = TransferProgress(0, 0)
            yield _transfer_html(doing=doing, at=moved)
            # A job of its own, so that closing the page does not stop the export.
            for some in Job(lambda: self._copies.export(collection, file), name="export of a collection").follow():
                moved = some[-1]
                yield _transfer_html(doing=doing, at=moved)
                time.sleep(PROGRESS_INTERVAL)
        except LocalcragError as error:
            self._files.discard(file)
            yield _transfer_html(error=str(error))
            return
        number = ngettext("%(num)s document", "%(num)s documents", moved.total)
        text = _(
            "“%(name)s” was exported to one file. It contains the text of all its documents: keep it safe.",
            name=collection,
        )
        address = self._files.offer(file)
        yield _transfer_html(said=f"{text} ({number})", address=address, name=file.name, made=next(SERIAL))

    def import_file(self, given: str) -> Iterator[tuple[Any, ...]]:
        """Import a file as a new collection, and show the result.

        Each yield sets the button to None and does not skip it: a skip would replace the component with a new one,
        which leaves files behind (see `fix_upload_leak`).
        """
        file, name, moved = Path(given), "", TransferProgress(0, 0)
        doing = _("Checking and importing %(name)s", name=file.name)
        yield None, _transfer_html(doing=doing, at=moved), gr.skip()
        # A job of its own, so that closing the page does not stop the import.
        job = Job(lambda: self._imported(file), name="import of a collection")
        try:
            for some in job.follow():
                name, moved = some[-1]
                yield None, _transfer_html(doing=doing, at=moved), gr.skip()
                time.sleep(PROGRESS_INTERVAL)
        except LocalcragError as error:
            yield None, _transfer_html(error=str(error).replace(str(file), file.name)), gr.skip()
            return
        number = ngettext("%(num)s document", "%(num)s documents", moved.total)
        known = {"file": file.name, "name": name, "number": number}
        text = _("Imported %(file)s as the collection “%(name)s”: %(number)s.", **known)
        done = _transfer_html(said=text, needs_reindexing=name in self._collections.embedders.to_reindex())
        yield None, done, gr.update(choices=self._collections.offered(), value=name)

    def _imported(self, file: Path) -> Generator[tuple[str, TransferProgress], None, None]:
        try:
            yield from self._copies.import_file(file, extra=True)
        finally:
            file.unlink(missing_ok=True)


_transfer_html = partial(render, "documents/transfer.html")


UPDATE_INTERVAL, UPDATE_ROWS = 0.5, 1_000
"""Seconds between two updates on files being added, and the number of rows in all tabs up to which this applies.

With more rows, updates are rarer, because Gradio keeps all updates in memory that it cannot send fast enough.
"""
MAX_UPDATED_TABS = 3
"""Number of tabs that get updates on uploads: a browser has six connections to an address for all its tabs together."""


class DocumentsColumn:
    """The column's components; `chosen` is the collection that is shown first."""

    def __init__(self, collections: Collections, chosen: str, script: str) -> None:
        self.title = gr.HTML(renderers.documents_title())
        self.collection = gr.Dropdown(
            collections.offered(), value=chosen, label=_("Collection"), elem_id="lc-collection",
            filterable=False, container=False,
        )  # fmt: skip
        self.drop = gr.File(
            file_count="multiple", label=_("Drop documents here"), show_label=False, height=96, elem_id="lc-drop"
        )
        self.folder = gr.UploadButton(_("Add a folder"), file_count="directory", size="sm", elem_id="lc-folder")
        self.import_button = gr.UploadButton(_("Import a collection"), elem_id="lc-import")
        fix_upload_leak(self.drop, self.folder, self.import_button)
        self.uploads = gr.HTML("", elem_id="lc-uploads", js_on_load=script)
        self.watched = gr.HTML("", elem_id="lc-following", js_on_load=script)
        self.transfer = gr.HTML("", elem_id="lc-carried", js_on_load=script)
        self.listing = gr.HTML("", elem_id="lc-documents", js_on_load=script)


def documents_html(collections: Collections, collection: str) -> str:
    """Return the list of a collection's documents, or the reason why it cannot be listed."""
    try:
        there, tags = collections.documents(collection), collections.tags.folder_tags(collection)
        foreign, server = collections.mostly_foreign(there), collections.homes.on_server(collection)
        notes = {
            "foreign": foreign,
            "place": server.server.at if server else "",
            "writer": server.writer() if server else "",
        }
        notes["index_errors"] = collections.opened.index_errors.get(collection, "")
        return renderers.documents(there, collection, collections.offered(), tags, **notes)
    except LocalcragError as error:
        return renderers.documents((), collection, collections.offered(), problem=str(error))


class DocumentEvents:
    """The handlers for documents, uploads and collections; each takes and returns the values of components."""

    def __init__(self, assembly: Assembly, uploads: Uploads, first_questions: Callable[[], str]) -> None:
        """Create the handlers; `first_questions` returns the first screen of a chat without turns, as HTML."""
        self._assembly, self._uploads, self._first_questions = assembly, uploads, first_questions
        self._collections, self._forgetting = assembly.collections, assembly.document_deletion
        self._followers: list[object] = []
        self._shown_by_tab: Tabs[str] = Tabs()
        self._last_shown = ""
        self._last: tuple[tuple[str, tuple[UploadTask, ...]], str] = ("", ()), ""

    def wire(self, page: gr.Blocks, ui: DocumentsColumn, log: gr.HTML, where: gr.HTML) -> tuple[Any, Any]:
        """Connect the components, including the button for sample documents in the chat's `log`.

        Return the events that choose another collection.
        """
        shown = [ui.uploads, ui.listing]
        for source in (ui.drop, ui.folder):
            source.upload(self.add, [source, ui.collection], [source, *shown], **PARALLEL).then(
                self.follow, [ui.collection], shown, **PARALLEL
            )
        added = log.upload(self.add_samples, None, [ui.collection, *shown], **PARALLEL)
        followed = added.then(self.follow, [ui.collection], shown, **PARALLEL)
        release_buttons(added, followed, followed.then(self.first_questions, [where], [log], **QUEUED))
        changed_uploads = ui.uploads.input(self.change_uploads, [ui.collection], shown, **PARALLEL)
        changed_uploads.then(self.follow, [ui.collection], shown, **PARALLEL)
        release_buttons(changed_uploads)
        ui.uploads.delete(self.forget, [ui.collection], shown, **QUEUED)
        gr.on([page.load, ui.uploads.focus], self.follow, [ui.collection], shown, **PARALLEL)
        ui.collection.change(self.choose, [ui.collection], [ui.listing], **LATEST)
        ui.listing.delete(self.delete, [ui.collection], shown, **QUEUED)
        ui.listing.edit(self.tag, [ui.collection], [ui.listing], **QUEUED)
        ui.listing.submit(self.rename, [ui.collection], [ui.listing], **QUEUED)
        ui.listing.option_select(self.move, [ui.collection], [ui.collection, *shown], **QUEUED)
        changed = ui.listing.input(self.change_collection, [ui.collection], [ui.collection, ui.listing], **PRIVATE)
        return added, changed

    def add(self, paths: list[str] | str | None, collection: str) -> tuple[Any, ...]:
        """Add dropped files."""
        self._uploads.add([Path(path) for path in ([paths] if isinstance(paths, str) else paths or [])], collection)
        return None, self._report(), gr.skip()

    def add_originals(self, paths: Sequence[Path], otherwise: str) -> None:
        """Add files and folders of this computer, without uploading them, to the collection that was shown last.

        `otherwise` is the collection to use if none was shown yet. A folder with many files is one row of the list.
        Raises UnreadableDocument.
        """
        collection = self._last_shown if self._last_shown in self._collections.offered() else otherwise
        few = {path: list(islice(FoundFiles([path]), UPDATE_ROWS + 1)) for path in paths}
        for path, files in few.items():
            if len(files) > UPDATE_ROWS:
                self._uploads.add_folder(path, collection)
            else:
                self._uploads.add_originals(files, collection)

    def add_samples(self) -> tuple[Any, ...]:
        """Add the documents that ship with the app to a separate collection."""
        self._uploads.add(sorted(samples.DOCUMENTS.iterdir()), samples.COLLECTION, copies=False)
        names = sorted({*self._collections.offered(), samples.COLLECTION})
        return gr.update(choices=names, value=samples.COLLECTION), self._report(), gr.skip()

    def first_questions(self, where: str) -> Any:
        """Return the first screen of a chat without turns; skip if the tab shows a chat with turns."""
        return gr.skip() if where else self._first_questions()

    def follow(self, collection: str, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        """Show the progress of uploads, and the documents whenever one was added, until all uploads have ended.

        The documents belong to the collection that the tab shows at that moment. Only the last MAX_UPDATED_TABS tabs
        get updates; another tab gets them again once it has the focus.
        """
        done, me, tab = -1, object(), session(request)
        self._record_shown(tab, collection)
        self._followers.append(me)
        try:
            for items in self._uploads.follow():
                # Number of ended uploads plus results of single files: if it has changed, the documents may have
                # changed.
                finished = sum((not one.open) + len(one.results) for one in items)
                collection = self._shown_by_tab.get(tab) or collection
                yield self._shown(items), self.listed(collection) if finished != done else gr.skip()
                done = finished
                if any(one.open for one in items):
                    time.sleep(UPDATE_INTERVAL * max(1, len(self._followers) * len(items) / UPDATE_ROWS))
                if me not in self._followers[-MAX_UPDATED_TABS:]:
                    return  # Newer tabs get the updates now.
        finally:
            self._followers.remove(me)

    def change_uploads(self, collection: str, event: gr.EventData) -> tuple[Any, ...]:
        """Cancel, retry or dismiss one upload or all uploads, or unlock one with its password."""
        ids = [int(event.id)] if event.id else []
        if event.what == "unlock":
            self._uploads.unlock(int(event.id), str(event.password))
            return self._report(), gr.skip()
        uploads = self._uploads
        actions: dict[str, Any] = {"cancel": uploads.cancel, "retry": uploads.retry, "dismiss": uploads.dismiss}
        actions[event.what](ids)
        return self._report(), self.listed(collection)

    def choose(self, collection: str, request: gr.Request) -> str:
        """Return the documents of the collection that the tab has chosen."""
        self._record_shown(session(request), collection)
        return self.listed(collection)

    def listed(self, collection: str) -> str:
        """Return a collection's documents."""
        return documents_html(self._collections, collection)

    def delete(self, collection: str, event: gr.EventData) -> tuple[str, str]:
        """Remove documents."""
        names = [str(name) for name in event.names]
        chosen = frozenset(names)
        try:
            # Attachments are deleted with their e-mail, and the files in an archive with the archive.
            apart = [name for name in names if chosen.isdisjoint(parent_folders(name))]
            number = len(apart) + self._forgetting.delete(apart, collection)
            many = _("%(number)s documents were deleted.", number=number)
            text = _("%(name)s was deleted.", name=names[0]) if number == 1 else many
        except LocalcragError as error:
            return self._report(str(error)), self.listed(collection)
        quoted = names if self._forgetting.is_quoted(names, collection) else ()
        return self._report(text, quoted), self.listed(collection)

    def forget(self, collection: str, event: gr.EventData) -> tuple[str, str]:
        """Remove past questions and answers that quote deleted documents."""
        text = self._forgetting.forget([str(name) for name in event.names], collection)
        return self._report(renderers.forgotten_message(text)), self.listed(collection)

    def rename(self, collection: str, event: gr.EventData) -> str:
        """Give a document another name."""
        self._collections.rename_document(str(event.name), str(event.wanted), collection)
        return self.listed(collection)

    def tag(self, collection: str, event: gr.EventData) -> str:
        """Add tags to documents or folders, and remove tags from them."""
        names, put, take = ([str(one) for one in text] for text in (event.names, event.put, event.take))
        self._collections.tags.change(names, put=put, take=take, collection=collection)
        return self.listed(collection)

    def move(self, collection: str, event: gr.EventData) -> tuple[Any, ...]:
        """Move documents into another collection."""
        names, target = [str(name) for name in event.names], str(event.to)
        self._collections.move_documents(names, collection, target)
        text = _("Moved to “%(name)s”: %(number)s", name=target, number=len(names))
        return gr.update(choices=self._collections.offered()), self._report(text), self.listed(collection)

    def change_collection(self, collection: str, event: gr.EventData, request: gr.Request) -> tuple[Any, Any]:
        """Create, copy, rename, merge or delete a collection."""
        name = " ".join(str(event.name).split())
        if event.what == "new":
            name = self._collections.new(name)
        elif event.what == "rename":
            self._collections.rename(collection, name)
        elif event.what == "copy":
            list(self._assembly.collection_copies.copy(collection, name))
        elif event.what == "merge":
            name = str(event.name)
            self._assembly.collection_copies.merge(collection, name)
        else:
            self._forgetting.delete_collection(collection)
            name = DEFAULT_COLLECTION
        self._record_shown(session(request), name)
        return gr.update(choices=self._collections.offered(), value=name), self.listed(name)

    def _record_shown(self, tab: str, collection: str) -> None:
        """Record the collection that a tab shows, or that a handler chooses before the tab reports it."""
        self._shown_by_tab.put(tab, collection)
        self._last_shown = collection

    def _shown(self, items: tuple[UploadTask, ...]) -> str:
        """Return the list of uploads, rendered once for all tabs until it or the language changes."""
        shown, written = self._last
        if shown != (translation.language(), items):
            written = renderers.uploads(items)
            self._last = (translation.language(), items), written
        return written

    def _report(self, text: str | None = None, deleted: Sequence[str] = ()) -> str:
        return renderers.uploads(self._uploads.items(), text, deleted)
