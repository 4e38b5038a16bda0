"""The folders that a collection follows, in the column of documents."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import gradio as gr

from localcrag.app.folders.folders import Folders
from localcrag.app.folders.keeper import FolderKeeper
from localcrag.app.uploads import Uploads
from localcrag.records.errors import LocalcragError
from localcrag.records.folders import BoundFolder, WhenGone
from localcrag.ui import html
from localcrag.ui.handlers import EACH, LATEST, MANY, told
from localcrag.ui.html import TEMPLATES
from localcrag.ui.tabs import Tabs, session


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
            return html.message(str(error))
        return TEMPLATES.get_template("following.html").render(
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
