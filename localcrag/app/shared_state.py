"""State that parts of the app share: the current settings, and a cache of objects made on first use."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from localcrag import settings as settings_module
from localcrag.settings import Settings

Made = TypeVar("Made")


class LazyCache:
    """Objects by name, created on first use; the first word of a name is the kind.

    Only one object of a kind is created at a time, without blocking other kinds. If an object is dropped while it is
    being created, it is created again before `get` returns it.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._things: dict[str, Any] = {}
        self._making: dict[str, threading.RLock] = defaultdict(threading.RLock)
        self._dropped: Counter[str] = Counter()

    def get(self, name: str, make: Callable[[], Made], *, alone: bool = False) -> Made:
        """Return the object with this name, created if needed; `alone` drops all others of its kind first."""
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
                        # Drop the old object first, because there may not be enough memory for both.
                        self._remove(kind)
                    dropped = self._dropped[kind], self._dropped[name]
                made = make()
                with self._lock:
                    # Keep the object only if nothing was dropped while it was created; otherwise create it again.
                    if dropped == (self._dropped[kind], self._dropped[name]):
                        self._things[name] = made

    def peek(self, name: str) -> Any:
        """Return the object with this name, or None."""
        with self._lock:
            return self._things.get(name)

    def put(self, name: str, thing: object) -> None:
        """Store `thing` under this name."""
        with self._lock:
            self._things[name] = thing

    def drop(self, *names: str) -> list[Any]:
        """Drop the objects with these names or kinds; return those that existed. The next `get` creates them."""
        with self._lock:
            self._dropped.update(names)
            return self._remove(*names)

    def _remove(self, *names: str) -> list[Any]:
        return [self._things.pop(key) for key in [*self._things] if key in names or _kind(key) in names]


def _kind(name: str) -> str:
    return name.split(maxsplit=1)[0]


class CurrentSettings:
    """The current settings. `on_change` is called with the names of changed settings."""

    def __init__(self, settings: Settings, on_change: Callable[[Iterable[str]], None] = lambda _names: None) -> None:
        self._now, self._on_change = settings, on_change
        self._lock = threading.Lock()

    @property
    def now(self) -> Settings:
        """The current settings."""
        return self._now

    def change(self, **changes: Any) -> Settings:
        """Save changed settings and use them from now on. Raises SettingsError."""
        with self._lock:
            # The lock covers the save, so that the later of two changes includes the earlier one.
            self._now = settings_module.save(self._now, **changes)
            self._on_change(changes)
            return self._now

    def collection(self, named: str | None) -> str:
        """Return the given collection name, or the name in the settings if it is None."""
        return named or self._now.collection
