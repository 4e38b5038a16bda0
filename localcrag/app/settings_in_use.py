"""The settings in use: read by every part of the app, changed by a person while it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from localcrag import settings as settings_module
from localcrag.settings import Settings


class SettingsInUse:
    """One Settings at a time. `on_change` is told the names of what has changed."""

    def __init__(self, settings: Settings, on_change: Callable[[Iterable[str]], None] = lambda _names: None) -> None:
        self._now, self._on_change = settings, on_change
        self._lock = threading.Lock()

    @property
    def now(self) -> Settings:
        """The settings as they are now."""
        return self._now

    def change(self, **changes: Any) -> Settings:
        """Save changed settings and go on with them. Raises SettingsError."""
        with self._lock:
            # Within the lock: of two changes at once, the later one must know the earlier one.
            self._now = settings_module.save(self._now, **changes)
            self._on_change(changes)
            return self._now

    def collection(self, named: str | None) -> str:
        """Return the collection that is named, else the one of the settings."""
        return named or self._now.collection
