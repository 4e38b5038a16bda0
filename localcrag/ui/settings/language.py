"""The language of the page: its components’ own texts, put in place when another one is chosen.

The page is built in English, whose texts are the keys of the catalogues; the others are put in their place. Whoever has
the page open sees them when it is loaded again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import gradio as gr

from localcrag.text import translation

Written = Mapping[gr.HTML, Callable[[], str]]
"""What stands on the page from the start, and what writes it."""
_NAMES = ("label", "placeholder", "info")


class PageLanguage:
    """The texts of a page that is built in English."""

    def __init__(self, page: gr.Blocks, written: Written) -> None:
        self._page, self._written = page, written

    @cached_property
    def _english(self) -> list[tuple[Any, str, Any]]:
        # First asked for when the page is whole.
        return [(block, name, text) for block in self._page.blocks.values() for name, text in _texts_of(block)]

    def speak(self, language: str) -> None:
        """Have the app speak a language from now on, and the page when it is loaded next."""
        english = self._english
        translation.choose(language)
        for block, name, text in english:
            setattr(block, name, _in_that(text))
        for component, write in self._written.items():
            component.value = write()
        self._page.config = self._page.get_config_file()


def _texts_of(block: Any) -> list[tuple[str, Any]]:
    names = [*_NAMES, "value"] if isinstance(block, gr.Button | gr.UploadButton) else _NAMES
    found = [(name, getattr(block, name, None)) for name in (*names, "choices")]
    return [(name, text) for name, text in found if isinstance(text, str | list) and text]


def _in_that(text: Any) -> Any:
    if isinstance(text, str):
        return translation.gettext(text)
    return [(translation.gettext(label) if isinstance(label, str) else label, value) for label, value in text]
