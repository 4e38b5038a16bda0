"""Settings for models: which are in use, downloads, model servers, and the hardware."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gradio as gr

from localcrag.app.assembly import Assembly
from localcrag.app.collections.open_collections import ReindexingTasks
from localcrag.app.models import hardware
from localcrag.app.models.hardware import memory
from localcrag.app.models.library import ModelInstaller
from localcrag.interfaces.page import renderers
from localcrag.interfaces.page.handlers import LATEST, PARALLEL, release_buttons
from localcrag.interfaces.page.renderers import render
from localcrag.interfaces.page.settings.answers import LiveFields
from localcrag.records.errors import LocalcragError
from localcrag.records.models import ModelRole
from localcrag.text.translation import gettext as _
from localcrag.text.translation import ngettext


class ModelsTab:
    """The list of models, and the handlers of its buttons and fields."""

    def __init__(self, assembly: Assembly, script: str, fields: LiveFields) -> None:
        self._assembly = assembly
        self._installer = ModelInstaller(assembly.library, self._use)
        self.embeddings = ReindexingTasks(assembly.collections.reindex)
        self.listing = gr.HTML("", elem_id="lc-models", js_on_load=script)
        with gr.Accordion(_("Models on your own server"), open=False, elem_id="lc-servers"):
            with gr.Row():
                info = _("Ollama, LM Studio, llama-server, vLLM and others. Leave it empty to look on this computer.")
                label, example = _("Address of the server"), "http://127.0.0.1:11434"
                address = gr.Textbox(label=label, placeholder=example, info=info, elem_id="lc-server-address")
                info = _("Stored in a file that only you can read, and sent only to this server.")
                key = gr.Textbox(label=_("API key (optional)"), type="password", info=info, elem_id="lc-server-key")
            look = gr.Button(_("Find models"), size="sm", elem_id="lc-server-look")
            report = gr.HTML("", elem_id="lc-server-report")
        with gr.Row():
            label, info = _("Threads"), _("0: one per core. Applies at once; the models are reloaded.")
            how: dict[str, Any] = {"minimum": 0, "maximum": 1024, "precision": 0, "elem_id": "lc-threads"}
            threads = gr.Number(assembly.settings.threads, label=label, info=info, **how)
            label = _("Context window of the language model, in tokens")
            info = _("Prompt plus answer. A larger window needs more memory.")
            how = {"minimum": 512, "precision": 0, "elem_id": "lc-window"}
            window = gr.Number(assembly.settings.context_tokens, label=label, info=info, **how)
        gr.on([look.click, address.submit], self.find_models, [address, key], [self.listing, key, report], **LATEST)
        done = self.listing.input(self.handle_button, None, [self.listing], **PARALLEL)
        self.wire(done)
        release_buttons(done)
        for number, name in ((threads, "threads"), (window, "context_tokens")):
            fields.add(number, self._reader(name))
            gr.on([number.submit, number.blur], self._saver(name), [number], [self.listing], **LATEST)

    def wire(self, event: Any) -> None:
        """Show the progress of downloads and re-indexing after an event."""
        downloaded = event.success(self.follow, None, [self.listing], **PARALLEL)
        # A downloaded embedding model may start re-indexing, so this is followed after downloads as well.
        for before in (event, downloaded):
            before.success(self.follow_embeddings, None, [self.listing], **PARALLEL)

    @renderers.or_message
    def listed(self) -> str:
        """Return the current list of models."""
        assembly = self._assembly
        settings, models = assembly.settings, assembly.library.models()
        return render(
            "settings/models.html",
            models=models,
            sets=assembly.library.manifest.sets,
            in_use={settings.llm, settings.relevance, settings.embedder},
            required_agreement={
                one.name: assembly.library.servers.required_agreement(one.name) for one in models if one.path is None
            },
            agreed=settings.agreed_servers,
            roles={
                ModelRole.LLM: _("Language model: writes the answers"),
                ModelRole.RELEVANCE: _("Reranker: grades passages and sentences"),
                ModelRole.EMBEDDER: _("Embedding model: finds passages"),
            },
            downloads={one.name: one for one in self._installer.downloads.items()},
            speeds=assembly.runs.speeds(),
            memory=memory(),
            machine=assembly.models.describe_hardware(),
            graphics=hardware.report(),
            to_reindex=assembly.collections.embedders.to_reindex(),
            own_embedders=assembly.collection_settings.embedders(),
            collections=assembly.collections.names(),
            embedder_in_use=settings.embedder,
            embeddings={one.name: one for one in self.embeddings.items()},
        )

    def follow(self) -> Iterator[str]:
        """Yield the list while models are downloaded."""
        for _items in self._installer.downloads.follow():
            yield self.listed()

    def follow_embeddings(self) -> Iterator[str]:
        """Yield the list while collections are re-indexed."""
        for items in self.embeddings.follow():
            # Without collections to re-index, the list would be the same as the one that `follow` yielded.
            yield self.listed() if items else gr.skip()

    def get(self, event: gr.EventData) -> str:
        """Download a model, and use it as soon as it is complete."""
        self._installer.use(str(event.name))
        return self.listed()

    def _reader(self, name: str) -> Callable[[str], int]:
        return lambda _: int(getattr(self._assembly.settings, name))

    def _saver(self, name: str) -> Callable[[float | None], str]:
        """Return a handler that saves a number if it has changed."""

        def save(value: float | None) -> str:
            if value is not None and int(value) != getattr(self._assembly.settings, name):
                self._assembly.change(**{name: int(value)})
            return self.listed()

        return save

    def handle_button(self, event: gr.EventData) -> str:
        """Handle a button of the list: use, download or cancel a model, approve a server, or re-index."""
        name = str(event.name)
        match str(event.what):
            case "agree":
                self._assembly.library.servers.agree(name)
                self._assembly.models.use(name)
            case "disagree":
                self._assembly.library.servers.disagree(name)
            case "use":
                self._assembly.models.use(name)
            case "use-set":
                self._installer.use(name)
            case "get":
                self._installer.download(name)
            case "own":
                self._set_embedder(name, str(event.embedder))
            case "embed":
                self.embeddings.reindex(name)
            case "cancel":
                self._installer.cancel(name)
        return self.listed()

    def _set_embedder(self, collection: str, embedder: str) -> None:
        """Give a collection its own embedding model ("" for the current one), and re-index it if needed."""
        self._assembly.collection_settings.set_embedder(embedder or None, collection)
        if collection in self._assembly.collections.embedders.to_reindex():
            self.embeddings.reindex(collection)

    def find_models(self, address: str, key: str) -> tuple[str, str, str]:
        """Find models at an address, or on this computer if it is empty, and list them; store the key, if any."""
        servers = self._assembly.library.servers
        try:
            if key.strip() and address.strip():
                servers.save_key(address, key)
            found = servers.discover(address)
        except LocalcragError as error:
            return self.listed(), "", renderers.message(str(error))
        text = _("No model server answers on this computer. Start one, or enter its address.")
        if found:
            text = ngettext(
                "%(num)s model found; it is listed above.", "%(num)s models found; they are listed above.", len(found)
            )
        return self.listed(), "", renderers.message(text)

    def _use(self, name: str) -> None:
        """Use a model, or the models of a set; for a set, re-index the collections that need it."""
        if name not in {one.name for one in self._assembly.library.manifest.sets}:
            self._assembly.models.use(name)
            return
        self._assembly.models.use_set(name)
        for collection in self._assembly.collections.embedders.to_reindex():
            self.embeddings.reindex(collection)
