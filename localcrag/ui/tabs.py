"""A memory of open tabs, for as many as there may be.

Gradio would say when a tab is closed, over a connection that each tab keeps open. A browser has six of them to an
address, all its tabs together: the sixth tab found none left for what it asks, and waited for ever.
"""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

import gradio as gr
from cachetools import LRUCache

MOST_TABS = 100
"""Tabs that are remembered: those that were used last."""
Known = TypeVar("Known")


class Tabs(Generic[Known]):
    """What is known of tabs, by their session hash."""

    def __init__(self) -> None:
        self._known: LRUCache[str, Known] = LRUCache(MOST_TABS)
        self._lock = threading.Lock()

    def get(self, tab: str) -> Known | None:
        """Return what is known of a tab; None: nothing, or no more."""
        with self._lock:
            return self._known.get(tab)

    def put(self, tab: str, known: Known) -> None:
        """Know this of a tab from now on, and forget what was used longest ago."""
        with self._lock:
            self._known[tab] = known


def session(request: gr.Request) -> str:
    """Return the session hash of the tab that a request comes from."""
    return request.session_hash or ""
