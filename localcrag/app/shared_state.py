"""State that parts of the app share: the current settings, and caches filled on first use."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from localcrag import settings as settings_module
from localcrag.settings import Settings

Made = TypeVar("Made")


class LazyCache:
    """Things by name; the first word of a name is its kind. Of a kind one is made at a time.

    Nobody else waits meanwhile: what is dropped while it is made is made again before anybody gets it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._things: dict[str, Any] = {}
        self._making: dict[str, threading.RLock] = defaultdict(threading.RLock)
        self._dropped: Counter[str] = Counter()

    def get(self, name: str, make: Callable[[], Made], *, alone: bool = False) -> Made:
        """Return what is called `name`, made now if it is not there; `alone`: in the place of others of its kind."""
        kind = _kind(name)
        with self._lock:
            making = self._making[kind]
        with making:
            while True:
                with self._lock:
                    if name in self._things:
                        there: Made = self._things[name]
                        return there
                    if alone:
                        self._take(kind)
                    dropped = self._dropped[kind], self._dropped[name]
                made = make()
                with self._lock:
                    if dropped == (self._dropped[kind], self._dropped[name]):
                        self._things[name] = made

    def peek(self, name: str) -> Any:
        """Return what is called `name`, None where it is not there."""
        with self._lock:
            return self._things.get(name)

    def put(self, name: str, thing: object) -> None:
        """Have `thing` be what is called `name`."""
        with self._lock:
            self._things[name] = thing

    def drop(self, *names: str) -> list[Any]:
        """Have these, or all of these kinds, made anew when they are needed next; return those that were there."""
        with self._lock:
            self._dropped.update(names)
            return self._take(*names)

    def _take(self, *names: str) -> list[Any]:
        return [self._things.pop(key) for key in [*self._things] if key in names or _kind(key) in names]


def _kind(name: str) -> str:
    return name.split(maxsplit=1)[0]


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
