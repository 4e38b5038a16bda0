"""The folders that a collection follows, in the column of documents."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import gradio as gr

from localcrag.app import samples
from localcrag.app.background import FolderKeeper
from localcrag.app.collections.collections import Collections
from localcrag.app.collections.copies import CollectionCopies
from localcrag.app.collections.deletion import Forgetting
from localcrag.app.collections.folders import Folders
from localcrag.app.collections.locator import Moved
from localcrag.app.tasks import Job
from localcrag.app.uploads import FoundFiles, Uploading, Uploads
from localcrag.interfaces.page import renderers
from localcrag.interfaces.page.handlers import EACH, LATEST, MANY, PRIVATE, MadeFiles, Tabs, releases, session, told
from localcrag.interfaces.page.renderers import MADE, TEMPLATES
from localcrag.interfaces.page.steady_blocks import leaving_no_files
from localcrag.records.errors import LocalcragError
from localcrag.records.ingest import BoundFolder, WhenGone
from localcrag.records.restriction import folders_of
from localcrag.settings import DEFAULT_COLLECTION
from localcrag.text import translation
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext


class FollowEvents:
    """The handlers; each gives the folders and, where they are others by now, the documents."""

    def __init__(self, folders: Folders, uploads: Uploads, keeper: FolderKeeper, listed: Callable[[str], str]) -> None:
        """Take what does the work; `listed` returns a collection's list of documents."""
        self._folders, self._uploads, self._keeper, self._listed = folders, uploads, keeper, listed
        self._told: Tabs[tuple[str, int]] = Tabs()

    def wire(self, page: gr.Blocks, shown: gr.HTML, listing: gr.HTML, collection: gr.Dropdown) -> None:
        """Connect the components: `shown` has the folders of the `collection`."""
        page.load(self.shown, [collection], [shown], **MANY)
        collection.change(self.shown, [collection], [shown], **LATEST)
        shown.focus(self.look, [collection], [shown, listing], **LATEST)
        shown.input(self.change, [collection], [shown, listing], **EACH)

    def shown(self, collection: str) -> str:
        """Return how a collection's folders stand."""
        try:
            states = self._folders.states(collection)
        except LocalcragError as error:
            return renderers.message(str(error))
        return TEMPLATES.get_template("documents/watched_folders.html").render(
            states=states,
            tasks={one.follows: one for one in self._uploads.items() if one.follows is not None},
            collection=collection,
            example=str(Path.home() / "Papers"),
            moment=_moment,
        )

    def look(self, collection: str, request: gr.Request) -> tuple[Any, Any]:
        """Return how the folders stand now, and the documents if there are others since the tab looked last."""
        now, tab = (collection, self._keeper.version), session(request)
        before = self._told.get(tab)
        self._told.put(tab, now)
        return self.shown(collection), gr.skip() if before == now else self._listed(collection)

    def change(self, collection: str, event: gr.EventData) -> tuple[str, Any]:
        """Follow a folder, look at one now, pause it, let it go, or say what becomes of what is gone."""
        what = str(event.what)
        if what == "add":
            self._uploads.follow_folder(told(lambda: self._add(collection, event)))
            return self.shown(collection), gr.skip()
        folder = told(lambda: self._folders.find(int(event.id)))
        if folder is not None:
            told(lambda: self._do(what, folder))
        return self.shown(collection), self._listed(collection)

    def _add(self, collection: str, event: gr.EventData) -> BoundFolder:
        exclude = [one.strip() for one in str(event.exclude).split(",") if one.strip()]
        path = str(event.place).strip()
        return self._folders.bind(path, collection=collection, exclude=exclude, gone=WhenGone(str(event.gone)))

    def _do(self, what: str, folder: BoundFolder) -> None:
        if what == "look":
            self._uploads.follow_folder(folder)
        elif what in {"pause", "resume"}:
            self._folders.pause(folder, paused=what == "pause")
        elif what == "remove":
            self._folders.unbind(folder, documents=False)
        else:
            self._folders.decide(folder, WhenGone.REMOVE if what == "gone-remove" else WhenGone.KEEP)


def _moment(time: str) -> str:
    """Return a time as it is where this computer is, to the minute; without the day where it is today's."""
    at = datetime.fromisoformat(time).astimezone()
    return f"{at:%H:%M}" if at.date() == datetime.now(at.tzinfo).date() else f"{at:%Y-%m-%d %H:%M}"


ENDING = ".localcrag"
PROGRESS_INTERVAL = 0.2
"""Seconds, at least, between two times that is said how far it is."""


class CarryEvents:
    """The handlers; `shown` says how far it is, what came of it, and what is wrong; `given` takes a file."""

    def __init__(
        self,
        collections: Collections,
        copies: CollectionCopies,
        files: MadeFiles,
        given: gr.UploadButton,
        shown: gr.HTML,
    ) -> None:
        self._collections, self._copies, self._files = collections, copies, files
        self._given, self._shown = given, shown

    def wire(self, listing: gr.HTML, collection: gr.Dropdown) -> Any:
        """Connect the components: `listing` has the buttons. Return the event of an import."""
        listing.download(self.export, [collection], [self._shown], **MANY)
        self._shown.clear(lambda: "", None, [self._shown], **MANY)
        return self._given.upload(self.take_in, [self._given], [self._given, self._shown, collection], **MANY)

    def export(self, collection: str) -> Iterator[str]:
        """Write a collection into a file, and give its address."""
        file = self._files.place(f"{_as_file_name(collection)}{ENDING}")
        doing = _("“%(name)s” is written into a file", name=collection)
        try:
            moved = Moved(0, 0)
            yield _said(doing, moved)
            for some in Job(lambda: self._copies.export(collection, file), name="export of a collection").follow():
                moved = some[-1]
                yield _said(doing, moved)
                time.sleep(PROGRESS_INTERVAL)
        except LocalcragError as error:
            self._files.discard(file)
            yield _failed(str(error))
            return
        number = ngettext("%(num)s document", "%(num)s documents", moved.total)
        said = _("“%(name)s” is in one file, with all that its documents say: keep it safe.", name=collection)
        yield _done(f"{said} ({number})", self._files.offer(file), file.name)

    def take_in(self, given: str) -> Iterator[tuple[Any, ...]]:
        """Make a new collection of a file that was given, and show it.

        The button is told to be empty each time: a skip would make it another, which leaves files behind.
        """
        file, name, moved = Path(given), "", Moved(0, 0)
        doing = _("%(name)s is checked and put in", name=file.name)
        yield None, _said(doing, moved), gr.skip()
        # A page that is closed meanwhile does not stop it.
        job = Job(lambda: self._imported(file), name="import of a collection")
        try:
            for some in job.follow():
                name, moved = some[-1]
                yield None, _said(doing, moved), gr.skip()
                time.sleep(PROGRESS_INTERVAL)
        except LocalcragError as error:
            yield None, _failed(str(error).replace(str(file), file.name)), gr.skip()
            return
        number = ngettext("%(num)s document", "%(num)s documents", moved.total)
        said = _("%(file)s is the collection “%(name)s” now: %(number)s.", file=file.name, name=name, number=number)
        anew = name in self._collections.embedders.to_embed()
        yield None, _done(said, anew=anew), gr.update(choices=self._collections.offered(), value=name)

    def _imported(self, file: Path) -> Generator[tuple[str, Moved], None, None]:
        try:
            yield from self._copies.import_file(file, beside=True)
        finally:
            file.unlink(missing_ok=True)


def _said(doing: str, moved: Moved) -> str:
    return TEMPLATES.get_template("documents/transfer.html").render(doing=doing, at=moved)


def _failed(error: str) -> str:
    return TEMPLATES.get_template("documents/transfer.html").render(error=error)


def _done(said: str, address: str = "", name: str = "", *, anew: bool = False) -> str:
    return TEMPLATES.get_template("documents/transfer.html").render(
        said=said, address=address, name=name, anew=anew, made=next(MADE)
    )


def _as_file_name(collection: str) -> str:
    return re.sub(r"[^\w .-]+", "-", collection).strip(" .-")[:80] or "collection"


BETWEEN, ROWS = 0.5, 1_000
"""Seconds between two looks at files that are added, as long as all tabs together are shown no more rows than these.

Beyond that they look less often: what Gradio is given faster than it can send, it keeps.
"""
MOST_FOLLOWING = 3
"""Tabs that are told how far files are: a browser has six connections to an address, all its tabs together."""


@dataclass(frozen=True, slots=True)
class DocumentsColumn:
    """The column's components that others listen to or show something in."""

    title: gr.HTML
    collection: gr.Dropdown
    drop: gr.File
    folder: gr.UploadButton
    uploads: gr.HTML
    following: gr.HTML
    carried: gr.HTML
    carry_in: gr.UploadButton
    listing: gr.HTML


def documents_column(collections: Collections, chosen: str, script: str) -> DocumentsColumn:
    """Make the column; `chosen` is the collection that is shown first."""
    title = gr.HTML(documents_title())
    collection = gr.Dropdown(
        collections.offered(), value=chosen, label=_("Collection"), elem_id="lc-collection",
        filterable=False, container=False,
    )  # fmt: skip
    drop = gr.File(
        file_count="multiple", label=_("Drop documents here"), show_label=False, height=96, elem_id="lc-drop"
    )
    folder = gr.UploadButton(_("Add a folder"), file_count="directory", size="sm", elem_id="lc-folder")
    carry_in = gr.UploadButton(_("Import a collection"), elem_id="lc-import")
    leaving_no_files(drop, folder, carry_in)
    uploads = gr.HTML("", elem_id="lc-uploads", js_on_load=script)
    following = gr.HTML("", elem_id="lc-following", js_on_load=script)
    carried = gr.HTML("", elem_id="lc-carried", js_on_load=script)
    listing = gr.HTML("", elem_id="lc-documents", js_on_load=script)
    return DocumentsColumn(title, collection, drop, folder, uploads, following, carried, carry_in, listing)


def documents_title() -> str:
    """Return the column's title."""
    return renderers.title(_("Documents"))


def listed(collections: Collections, collection: str) -> str:
    """Return the list of documents, or what is wrong with it."""
    try:
        there, tags = collections.documents(collection), collections.tags.of_folders(collection)
        foreign, home = collections.mostly_foreign(there), collections.homes.of(collection)
        return renderers.documents(
            there, collection, collections.offered(), tags, foreign=foreign, writer=home.writer(),
            place=home.server.at if home.server else "",
            unwritten=collections.opened.unwritten.get(collection, ""),
        )  # fmt: skip
    except LocalcragError as error:
        return renderers.documents((), collection, collections.offered(), problem=str(error))


class DocumentEvents:
    """The handlers; each gets and gives the values of components."""

    def __init__(
        self,
        collections: Collections,
        forgetting: Forgetting,
        uploads: Uploads,
        first_questions: Callable[[], str],
        *,
        copies: CollectionCopies,
    ) -> None:
        """`first_questions` writes what a chat without turns shows."""
        self._copies = copies
        self._collections, self._forgetting = collections, forgetting
        self._uploads, self._first_questions = uploads, first_questions
        self._followers: list[object] = []
        self._in_sight: Tabs[str] = Tabs()
        self._looked_at = ""
        self._last: tuple[tuple[str, tuple[Uploading, ...]], str] = ("", ()), ""

    def wire(self, page: gr.Blocks, at: DocumentsColumn, log: gr.HTML, where: gr.HTML) -> tuple[Any, Any]:
        """Connect the components; the chat's `log` offers the samples. Return the events that choose a collection."""
        shown = [at.uploads, at.listing]
        for source in (at.drop, at.folder):
            source.upload(self.add, [source, at.collection], [source, *shown], **MANY).then(
                self.follow, [at.collection], shown, **MANY
            )
        added = log.upload(self.add_samples, None, [at.collection, *shown], **MANY)
        followed = added.then(self.follow, [at.collection], shown, **MANY)
        releases(added, followed, followed.then(self.first_questions, [where], [log], **PRIVATE))
        changed_uploads = at.uploads.input(self.change_uploads, [at.collection], shown, **MANY)
        changed_uploads.then(self.follow, [at.collection], shown, **MANY)
        releases(changed_uploads)
        at.uploads.delete(self.forget, [at.collection], shown, **EACH)
        gr.on([page.load, at.uploads.focus], self.follow, [at.collection], shown, **MANY)
        at.collection.change(self.choose, [at.collection], [at.listing], **LATEST)
        at.listing.delete(self.delete, [at.collection], shown, **EACH)
        at.listing.edit(self.tag, [at.collection], [at.listing], **EACH)
        at.listing.submit(self.rename, [at.collection], [at.listing], **EACH)
        at.listing.option_select(self.move, [at.collection], [at.collection, *shown], **EACH)
        changed = at.listing.input(self.change_collection, [at.collection], [at.collection, at.listing], **PRIVATE)
        return added, changed

    def add(self, paths: list[str] | str | None, collection: str) -> tuple[Any, ...]:
        """Add dropped files."""
        self._uploads.add([Path(path) for path in ([paths] if isinstance(paths, str) else paths or [])], collection)
        return None, self._report(), gr.skip()

    def add_originals(self, paths: Sequence[Path], otherwise: str) -> None:
        """Add files and folders from where they lie to the collection that was looked at last, as dropped ones are.

        `otherwise` is the collection where nobody has looked yet. A folder of very many files is one row of the list.
        Raises UnreadableDocument.
        """
        collection = self._looked_at if self._looked_at in self._collections.offered() else otherwise
        few = {path: list(islice(FoundFiles([path]), ROWS + 1)) for path in paths}
        for path, files in few.items():
            if len(files) > ROWS:
                self._uploads.add_folder(path, collection)
            else:
                self._uploads.add_originals(files, collection)

    def add_samples(self) -> tuple[Any, ...]:
        """Add the documents that ship with the app to a collection of their own."""
        self._uploads.add(sorted(samples.DOCUMENTS.iterdir()), samples.COLLECTION, copies=False)
        names = sorted({*self._collections.offered(), samples.COLLECTION})
        return gr.update(choices=names, value=samples.COLLECTION), self._report(), gr.skip()

    def first_questions(self, where: str) -> Any:
        """Return what a chat without turns shows now; a chat that has been begun meanwhile stays."""
        return gr.skip() if where else self._first_questions()

    def follow(self, collection: str, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        """Show how far the files are, and the documents whenever one has gone in, until all are at their end.

        They are those of the collection that the tab shows by then. A tab that is not among the last few to look is
        told no more until it has the focus again.
        """
        done, me, tab = -1, object(), session(request)
        self._looks_at(tab, collection)
        self._followers.append(me)
        try:
            for items in self._uploads.follow():
                finished = sum((not one.open) + len(one.results) for one in items)
                collection = self._in_sight.get(tab) or collection
                yield self._shown(items), self.listed(collection) if finished != done else gr.skip()
                done = finished
                if any(one.open for one in items):
                    time.sleep(BETWEEN * max(1, len(self._followers) * len(items) / ROWS))
                if me not in self._followers[-MOST_FOLLOWING:]:
                    return
        finally:
            self._followers.remove(me)

    def change_uploads(self, collection: str, event: gr.EventData) -> tuple[Any, ...]:
        """Cancel, try again or dismiss one file or all, or open one with its password."""
        ids = [int(event.id)] if event.id else []
        if event.what == "unlock":
            self._uploads.unlock(int(event.id), str(event.password))
            return self._report(), gr.skip()
        {"cancel": self._uploads.cancel, "retry": self._uploads.retry, "dismiss": self._uploads.dismiss}[event.what](
            ids
        )
        return self._report(), self.listed(collection)

    def choices(self) -> Any:
        """Return the collections that there are now."""
        return gr.update(choices=self._collections.offered())

    def choose(self, collection: str, request: gr.Request) -> str:
        """Return the documents of a collection, which the tab shows from now on."""
        self._looks_at(session(request), collection)
        return self.listed(collection)

    def listed(self, collection: str) -> str:
        """Return a collection's documents."""
        return listed(self._collections, collection)

    def delete(self, collection: str, event: gr.EventData) -> tuple[str, str]:
        """Remove documents."""
        names = [str(name) for name in event.names]
        chosen = frozenset(names)
        try:
            # An attachment goes with its letter.
            apart = [name for name in names if chosen.isdisjoint(folders_of(name))]
            number = len(apart) + self._forgetting.delete(apart, collection)
            said = _("%(name)s was deleted.", name=names[0]) if number == 1 else _(
                "%(number)s documents were deleted.", number=number)  # fmt: skip
        except LocalcragError as error:
            return renderers.uploads(self._uploads.items(), str(error)), self.listed(collection)
        quoted = names if self._forgetting.is_quoted(names, collection) else ()
        return renderers.uploads(self._uploads.items(), said, quoted), self.listed(collection)

    def forget(self, collection: str, event: gr.EventData) -> tuple[str, str]:
        """Forget what answers quote of deleted documents, too."""
        said = told(lambda: self._forgetting.forget([str(name) for name in event.names], collection))
        return renderers.uploads(self._uploads.items(), renderers.forgotten(said)), self.listed(collection)

    def rename(self, collection: str, event: gr.EventData) -> str:
        """Give a document another name."""
        told(lambda: self._collections.rename_document(str(event.name), str(event.wanted), collection))
        return self.listed(collection)

    def tag(self, collection: str, event: gr.EventData) -> str:
        """Give tags to documents or folders, and take tags from them."""
        names, put, take = ([str(one) for one in said] for said in (event.names, event.put, event.take))
        told(lambda: self._collections.tags.change(names, put=put, take=take, collection=collection))
        return self.listed(collection)

    def move(self, collection: str, event: gr.EventData) -> tuple[Any, ...]:
        """Put documents into another collection."""
        names, target = [str(name) for name in event.names], str(event.to)
        told(lambda: self._collections.move_documents(names, collection, target))
        said = _("Moved to “%(name)s”: %(number)s", name=target, number=len(names))
        return self.choices(), renderers.uploads(self._uploads.items(), said), self.listed(collection)

    def change_collection(self, collection: str, event: gr.EventData, request: gr.Request) -> tuple[Any, Any]:
        """Make, copy, rename, merge or delete a collection."""
        name = " ".join(str(event.name).split())
        if event.what == "new":
            name = told(lambda: self._collections.new(name))
        elif event.what == "rename":
            told(lambda: self._collections.rename(collection, name))
        elif event.what == "copy":
            told(lambda: list(self._copies.copy(collection, name)))
        elif event.what == "merge":
            name = str(event.name)
            told(lambda: self._copies.merge(collection, name))
        else:
            told(lambda: self._forgetting.delete_collection(collection))
            name = DEFAULT_COLLECTION
        self._looks_at(session(request), name)
        return gr.update(choices=self._collections.offered(), value=name), self.listed(name)

    def _looks_at(self, tab: str, collection: str) -> None:
        """Know what a tab shows; of what it is shown because of a click, before it says so."""
        self._in_sight.put(tab, collection)
        self._looked_at = collection

    def _shown(self, items: tuple[Uploading, ...]) -> str:
        """Return what is shown of the files, which every tab that follows is shown alike."""
        shown, written = self._last
        if shown != (translation.language(), items):
            written = renderers.uploads(items)
            self._last = (translation.language(), items), written
        return written

    def _report(self) -> str:
        return renderers.uploads(self._uploads.items())
