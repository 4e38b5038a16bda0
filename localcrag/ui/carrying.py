"""Collections as files on the page: one is written into a file, or made of one that is given."""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from localcrag.app.collection_copies import CollectionCopies
from localcrag.app.collections import Collections
from localcrag.app.jobs import Job
from localcrag.app.made_files import MadeFiles
from localcrag.app.moving import Moved
from localcrag.records.errors import LocalcragError
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext
from localcrag.ui.handlers import MANY
from localcrag.ui.html import MADE, TEMPLATES

ENDING = ".localcrag"
BETWEEN = 0.2
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
                time.sleep(BETWEEN)
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
                time.sleep(BETWEEN)
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
    return TEMPLATES.get_template("carried.html").render(doing=doing, at=moved)


def _failed(error: str) -> str:
    return TEMPLATES.get_template("carried.html").render(error=error)


def _done(said: str, address: str = "", name: str = "", *, anew: bool = False) -> str:
    return TEMPLATES.get_template("carried.html").render(
        said=said, address=address, name=name, anew=anew, made=next(MADE)
    )


def _as_file_name(collection: str) -> str:
    return re.sub(r"[^\w .-]+", "-", collection).strip(" .-")[:80] or "collection"
