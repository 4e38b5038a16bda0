"""A list that any number of readers follow while it changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


class ObservableList(Generic[Key, Item]):
    """Items by key, in the order in which they came. `lock` is held by whoever reads and then changes."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._items: dict[Key, Item] = {}
        self._version = 0

    @property
    def lock(self) -> threading.Condition:
        """What keeps others from changing anything meanwhile."""
        return self._changed

    def items(self) -> tuple[Item, ...]:
        """Return all items as they are now."""
        with self._changed:
            return tuple(self._items.values())

    def get(self, key: Key) -> Item | None:
        """Return an item; None where there is none of that key."""
        with self._changed:
            return self._items.get(key)

    def put(self, key: Key, item: Item) -> None:
        """Add an item, or put it in another one's place."""
        with self._changed:
            self._items[key] = item
            self._tell()

    def change(self, key: Key, holds: Callable[[Item], bool], change: Callable[[Item], Item]) -> bool:
        """Change an item if there is one of that key that `holds` is true of; return whether there was."""
        with self._changed:
            there = self._items.get(key)
            if there is None or not holds(there):
                return False
            self.put(key, change(there))
            return True

    def remove(self, key: Key) -> None:
        """Take an item away."""
        with self._changed:
            del self._items[key]
            self._tell()

    def follow(self, goes_on: Callable[[Item], bool]) -> Iterator[tuple[Item, ...]]:
        """Yield the items now and whenever something has changed, until none of them goes on.

        Somebody new who follows counts as a change: whoever is told no more for that hears of it at once.
        """
        seen = -1
        with self._changed:
            self._tell()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._version != seen)  # noqa: B023 - called at once
                seen, items = self._version, tuple(self._items.values())
            yield items
            if not any(map(goes_on, items)):
                return

    def _tell(self) -> None:
        self._version += 1
        self._changed.notify_all()
