"""Settings of what is stored: where it is, backups, restoring one, and deleting everything."""

from __future__ import annotations

import shlex
from pathlib import Path

import gradio as gr

from localcrag.app import egress_report
from localcrag.app.assemble import Assembly
from localcrag.app.outgoing import described, may_leave, outgoing
from localcrag.records.errors import LocalcragError
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext
from localcrag.ui import html
from localcrag.ui.handlers import PRIVATE, releases, told
from localcrag.ui.html import TEMPLATES
from localcrag.ui.steady_blocks import leaving_no_files

ATTEMPTS = 20
"""Shown of what left or was refused; `localcrag privacy --last N` shows more."""


class StorageSettings:
    """The list of what is stored, and what can be done with it."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly

    def show(self, script: str) -> None:
        """Make the list."""
        given = gr.UploadButton(_("Take in a copy"), elem_id="lc-copy-given")
        leaving_no_files(given)
        self.listing = gr.HTML("", elem_id="lc-storage", js_on_load=script)
        given.upload(self.take_in, [given], [given, self.listing], **PRIVATE)
        releases(self.listing.input(self.do, None, [self.listing], **PRIVATE))

    def take_in(self, given: str) -> tuple[None, str]:
        """Put a copy that was made elsewhere among the others, to go back to."""
        file = Path(given)
        try:
            told = self._assembly.storage.take_in(file, file.name)
        except LocalcragError as error:
            return None, self.listed(wrong=str(error))
        finally:
            file.unlink(missing_ok=True)
        held = ", ".join((
            ngettext("%(num)s document", "%(num)s documents", told.documents),
            ngettext("%(num)s chat", "%(num)s chats", told.chats),
            ngettext("%(num)s question", "%(num)s questions", told.runs),
        ))  # fmt: skip
        said = _("%(name)s is whole, and stands among the copies below: %(held)s.", name=told.path.name, held=held)
        return None, self.listed(said)

    def listed(self, said: str = "", *, wrong: str = "", anew: bool = False) -> str:
        """Return what is stored now, after what was `said` or `wrong`.

        `anew`: the page has to be loaded again, since all of it shows something else.
        """
        assembly = self._assembly
        folder = assembly.settings.data_dir.absolute()
        try:
            counts = [
                (_("collections"), len(assembly.collections.names())),
                (
                    _("documents"),
                    sum(len(assembly.collections.documents(name)) for name in assembly.collections.names()),
                ),
                (_("chats"), len(assembly.chats.chats())),
                (_("questions"), assembly.runs.count()),
            ]
            left = egress_report.line(assembly.egress.summary())
            attempts = [(one, egress_report.described(one)) for one in assembly.egress.newest(ATTEMPTS)]
            servers = outgoing(assembly)
        except LocalcragError as error:
            return html.message(str(error))
        backups = sorted(assembly.storage.backups.glob("*.sqlite3"), reverse=True)
        return TEMPLATES.get_template("storage.html").render(
            folder=folder,
            models=assembly.library.folder,
            counts=counts,
            sizes=assembly.storage.sizes(),
            backups=backups,
            left=left,
            attempts=attempts,
            servers=list(dict.fromkeys(map(described, servers))),
            private=may_leave(servers),
            said=said,
            wrong=wrong,
            anew=anew,
            command=f"localcrag restore FILE --data-dir {shlex.quote(str(folder))}",
        )

    def do(self, event: gr.EventData) -> str:
        """Make a copy, go back to one, or delete everything."""
        match str(event.what):
            case "copy":
                path = told(self._assembly.storage.back_up).path
                return self.listed(_("Everything was copied to %(name)s, in the data folder.", name=path.name))
            case "restore":
                # By its name alone: only copies in the folder of copies are read.
                copies = {path.name: path for path in self._assembly.storage.backups.glob("*.sqlite3")}
                if copy := copies.get(str(event.name)):
                    told(lambda: self._assembly.storage.restore(copy))
                return self.listed(anew=True)
            case "erase":
                told(self._assembly.storage.erase)
                return self.listed(anew=True)
        return self.listed()
