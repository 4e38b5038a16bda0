"""Settings for stored data (backups, restoring, deleting everything) and for web search."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import gradio as gr

from localcrag.app import egress
from localcrag.app.assembly import Assembly
from localcrag.app.egress import describe_outgoing, may_leave, outgoing
from localcrag.app.health import CheckState, search_server
from localcrag.interfaces.page import renderers
from localcrag.interfaces.page.handlers import PRIVATE, fix_upload_leak, release_buttons
from localcrag.interfaces.page.renderers import render
from localcrag.interfaces.page.settings.answers import LiveFields
from localcrag.records.enums import WebMode
from localcrag.records.errors import LocalcragError
from localcrag.text.translation import gettext as _
from localcrag.text.translation import gettext_noop, ngettext

ATTEMPTS = 20
"""Number of connections to list, allowed or refused; `localcrag privacy --last N` shows more."""


class StorageSettings:
    """The overview of stored data and backups, and the handlers of its buttons."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly

    def create(self, script: str) -> None:
        """Create the components."""
        given = gr.UploadButton(_("Import a backup"), elem_id="lc-copy-given")
        fix_upload_leak(given)
        self.listing = gr.HTML("", elem_id="lc-storage", js_on_load=script)
        given.upload(self.import_backup, [given], [given, self.listing], **PRIVATE)
        release_buttons(self.listing.input(self.handle_button, None, [self.listing], **PRIVATE))

    def import_backup(self, given: str) -> tuple[None, str]:
        """Add a backup that was made elsewhere to the list of backups, so that it can be restored."""
        file = Path(given)
        try:
            backup = self._assembly.storage.import_backup(file, file.name)
        except LocalcragError as error:
            return None, self.listed(wrong=str(error))
        finally:
            file.unlink(missing_ok=True)
        held = ", ".join((
            ngettext("%(num)s document", "%(num)s documents", backup.documents),
            ngettext("%(num)s chat", "%(num)s chats", backup.chats),
            ngettext("%(num)s question", "%(num)s questions", backup.runs),
        ))  # fmt: skip
        text = _("%(name)s is a valid backup and is now in the list below: %(held)s.", name=backup.path.name, held=held)
        return None, self.listed(text)

    @renderers.or_message
    def listed(self, text: str = "", *, wrong: str = "", reload: bool = False) -> str:
        """Return the overview of stored data, below a message (`text`) or an error (`wrong`).

        With `reload`, the browser reloads the page, because all its data has changed.
        """
        assembly, collections = self._assembly, self._assembly.collections
        folder, names, servers = assembly.settings.data_dir.absolute(), collections.names(), outgoing(assembly)
        documents = sum(len(collections.documents(name)) for name in names)
        counts = [(_("collections"), len(names)), (_("documents"), documents)]
        counts += [(_("chats"), len(assembly.chats.chats())), (_("questions"), assembly.runs.count())]
        return render(
            "settings/storage.html",
            folder=folder,
            models=assembly.library.models_dir,
            counts=counts,
            sizes=assembly.storage.sizes(),
            backups=sorted(assembly.storage.backups.glob("*.sqlite3"), reverse=True),
            left=egress.summary_line(assembly.egress.summary()),
            attempts=[(one, egress.describe_attempt(one)) for one in assembly.egress.newest(ATTEMPTS)],
            servers=list(dict.fromkeys(map(describe_outgoing, servers))),
            private=may_leave(servers),
            said=text,
            wrong=wrong,
            reload=reload,
            command=f"localcrag restore FILE --data-dir {shlex.quote(str(folder))}",
        )

    def handle_button(self, event: gr.EventData) -> str:
        """Make a backup, restore one, or delete everything."""
        match str(event.what):
            case "copy":
                path = self._assembly.storage.back_up().path
                return self.listed(_("Everything was backed up to %(name)s, in the data folder.", name=path.name))
            case "restore":
                # The backup is looked up by name, so that no file outside the backup folder can be read.
                copies = {path.name: path for path in self._assembly.storage.backups.glob("*.sqlite3")}
                if copy := copies.get(str(event.name)):
                    self._assembly.storage.restore(copy)
                return self.listed(reload=True)
            case "erase":
                self._assembly.storage.erase()
                return self.listed(reload=True)
        return self.listed()


MODES = [
    (gettext_noop("Ask me before each query is sent"), WebMode.ASK.value),
    (gettext_noop("Always search without asking me"), WebMode.ALWAYS.value),
    (gettext_noop("Never search the web"), WebMode.NEVER.value),
]
FIXED = gettext_noop("Set for all collections by LOCALCRAG_WEB or settings.json; it cannot be changed here.")


def web_settings(assembly: Assembly, fields: LiveFields, collection: gr.Dropdown) -> None:
    """Create the part of the settings for setting and testing the SearXNG server, and connect it."""
    current, own = assembly.current_settings, assembly.collection_settings
    settings, fixed = current.now, "web" in current.now.model_fields_set
    with gr.Column(elem_id="lc-web"):
        label, placeholder = _("Address of your SearXNG"), "http://127.0.0.1:8080"
        info = _("Used only if your documents are not enough. Leave it empty to never search the web.")
        url = gr.Textbox(settings.searxng_url or "", label=label, placeholder=placeholder, info=info)
        label, active = _("Web search for this collection"), own.web_mode().value
        how: dict[str, Any] = {"info": _(FIXED) if fixed else None, "interactive": not fixed, "elem_id": "lc-web-mode"}
        mode = gr.Radio([(_(name), value) for name, value in MODES], value=active, label=label, **how)
        never, label = "\n".join(settings.web_never_terms), _("Never send")
        info = _("One term per line. Words that contain a term are removed from every query.")
        terms = gr.Textbox(never, label=label, info=info, lines=2, max_lines=8, elem_id="lc-web-terms")
        test = gr.Button(_("Save and test"), size="sm")
        report = gr.HTML("", elem_id="lc-web-report")

    def save(address: str, chosen: str, never: str, selected: str) -> str:
        terms = tuple(line.strip() for line in never.splitlines() if line.strip())
        entered = {"searxng_url": address.strip() or None, "web_never_terms": terms}
        changes = {name: value for name, value in entered.items() if value != getattr(current.now, name)}
        try:
            if changes:
                current.change(**changes)
            if not fixed:
                # Store the mode even if it is already active: a preset chosen later must not change it.
                own.set_web_mode(WebMode(chosen), selected)
        except LocalcragError as error:
            return renderers.message(str(error))
        finding = search_server(current.now, assembly.web)
        signs = {CheckState.OK: _("Works:"), CheckState.OFF: _("Off:"), CheckState.FAILED: _("Does not work.")}
        return renderers.message(f"{signs[finding.state]} {finding.detail}")

    test.click(save, [url, mode, terms, collection], [report], api_visibility="private")
    fields.add(url, lambda _: current.now.searxng_url or "")
    fields.add(mode, lambda selected: own.web_mode(selected).value)
    fields.add(terms, lambda _: "\n".join(current.now.web_never_terms))
