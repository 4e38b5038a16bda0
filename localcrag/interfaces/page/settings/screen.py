"""The whole settings screen, and the language of the page.

The page is built in English, because English texts are the keys of the catalogues. When a language is chosen,
`PageLanguage` replaces the texts of the components; an open page shows them after a reload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import gradio as gr

from localcrag.app.assembly import Assembly
from localcrag.interfaces.page import feedback, renderers
from localcrag.interfaces.page.handlers import PARALLEL, PRIVATE, QUEUED
from localcrag.interfaces.page.renderers import render
from localcrag.interfaces.page.settings.answers import LiveFields, answer_settings, preset_choice
from localcrag.interfaces.page.settings.models import ModelsTab
from localcrag.interfaces.page.settings.storage import StorageSettings, web_settings
from localcrag.interfaces.page.settings.thresholds import ThresholdExplorer
from localcrag.records.errors import LocalcragError
from localcrag.text import translation

_NAMES = ("label", "placeholder", "info")


class PageLanguage:
    """The texts of a page that is built in English."""

    def __init__(self, page: gr.Blocks, written: Mapping[gr.HTML, Callable[[], str]]) -> None:
        """Take the page, and its HTML that has contents from the start, each with the function that renders it."""
        self._page, self._written = page, written

    @cached_property
    def _english(self) -> list[tuple[Any, str, Any]]:
        # Cached on the first call, which happens when the page is complete and still in English.
        return [(block, name, text) for block in self._page.blocks.values() for name, text in _texts(block)]

    def choose_language(self, language: str) -> None:
        """Switch the app to a language; the page shows it the next time it is loaded."""
        english = self._english
        translation.choose(language)
        for block, name, text in english:
            setattr(block, name, _translated(text))
        for component, write in self._written.items():
            component.value = write()
        self._page.config = self._page.get_config_file()


def _texts(block: Any) -> list[tuple[str, Any]]:
    names = [*_NAMES, "value"] if isinstance(block, gr.Button | gr.UploadButton) else _NAMES
    found = [(name, getattr(block, name, None)) for name in (*names, "choices")]
    return [(name, text) for name, text in found if isinstance(text, str | list) and text]


def _translated(text: Any) -> Any:
    if isinstance(text, str):
        return translation.gettext(text)
    return [(translation.gettext(label) if isinstance(label, str) else label, value) for label, value in text]


class SettingsScreen:
    """The screen's components; it is hidden until `top` opens it."""

    def __init__(self, assembly: Assembly, page: gr.Blocks, top: gr.HTML, collection: gr.Dropdown, script: str) -> None:
        self._assembly, self._top = assembly, top
        current, own = assembly.current_settings, assembly.collection_settings
        fields = LiveFields()
        with gr.Column(elem_id="lc-settings"):
            self.head = gr.HTML(renderers.settings_head(), elem_id="lc-settings-head", js_on_load=script)
            with _tab("answers"):
                update_preset = preset_choice(own, assembly.past_questions, page, collection)
                policy = answer_settings(current, fields)
                ThresholdExplorer(current, assembly.past_questions, assembly.calibrations).wire(policy, collection)
            with _tab("web"):
                web_settings(assembly, fields, collection)
            with _tab("models"):
                self.models = ModelsTab(assembly, script, fields)
            with _tab("data"):
                self.storage = StorageSettings(assembly)
                self.storage.create(script)
            with _tab("questions"):
                self.figures = gr.HTML("", elem_id="lc-all")
                self.gaps = gr.HTML("", elem_id="lc-gaps-list", js_on_load=script)
            with _tab("labels"):
                self.feedback_list = gr.HTML("", elem_id="lc-said-list", js_on_load=script)
        fields.wire(page, top, collection).then(*update_preset, **QUEUED)

    def wire(self, choose_language: Callable[[str], None]) -> None:
        """Fill the lists whenever the screen is opened; `choose_language` switches the page to another language."""

        def change_language(event: gr.EventData) -> str:
            chosen = str(event.language)
            self._assembly.change(language=chosen)
            choose_language(chosen)
            return renderers.settings_head(reload=True)

        shown = [self.figures, self.gaps, self.feedback_list, self.storage.listing]
        self.head.input(change_language, None, [self.head], **PRIVATE)
        self._top.select(self.read, None, shown, **PRIVATE)
        self._top.select(self.models.follow, None, [self.models.listing], **PARALLEL)
        self._top.select(self.models.follow_embeddings, None, [self.models.listing], **PARALLEL)

    def read(self) -> tuple[str, ...]:
        """Return the statistics, the gaps, the feedback and the overview of stored data."""
        assembly = self._assembly
        try:
            figures = render("settings/all_questions.html", found=assembly.past_questions.aggregates())
            return figures, feedback.gaps(assembly), feedback.label_lists(assembly), self.storage.listed()
        except LocalcragError as error:
            return renderers.message(str(error)), "", "", self.storage.listed()


def _tab(name: str) -> gr.Column:
    # Gradio's own tabs are not used: on a narrow screen they hide tabs that do not fit behind an unlabelled button.
    return gr.Column(elem_id=f"lc-tab-{name}", elem_classes="lc-tab")
