"""Collections that are embedded anew for another embedder, one after the other in a thread, for whoever looks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from localcrag.app import failed
from localcrag.app.observable_list import ObservableList

ReEmbed = Callable[[str], Iterator[tuple[int, int]]]
"""Embeds a collection; tells how many of how many chunks are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReEmbedding:
    """A collection and how far it is; `error` says why it failed, and then nothing of it has changed."""

    collection: str
    done: int = 0
    total: int | None = None
    error: str | None = None
    ended: bool = False


class ReEmbeddings:
    """What was asked for since the start."""

    def __init__(self, re_embed: ReEmbed) -> None:
        self._re_embed = re_embed
        self._collections: ObservableList[str, ReEmbedding] = ObservableList()
        self._one_at_a_time = threading.Lock()

    def start(self, collection: str) -> None:
        """Embed a collection anew, unless that is being done."""
        with self._collections.lock:
            there = self._collections.get(collection)
            if there and not there.ended:
                return
            self._collections.put(collection, ReEmbedding(collection=collection))
        threading.Thread(target=self._work, args=(collection,), name=f"embed {collection}", daemon=True).start()

    def items(self) -> tuple[ReEmbedding, ...]:
        """Return every collection that was asked for."""
        return self._collections.items()

    def follow(self) -> Iterator[tuple[ReEmbedding, ...]]:
        """Yield them now and whenever something has changed, as long as any is on its way."""
        return self._collections.follow(lambda one: not one.ended)

    def _work(self, collection: str) -> None:
        now = ReEmbedding(collection=collection)
        try:
            with self._one_at_a_time:
                for done, total in self._re_embed(collection):
                    now = ReEmbedding(collection=collection, done=done, total=total)
                    self._collections.put(collection, now)
            now = ReEmbedding(collection=collection, done=now.done, total=now.total, ended=True)
        except Exception as error:  # noqa: BLE001 - said on the page
            said = failed.why(error, f"“{collection}” was not embedded")
            now = ReEmbedding(collection=collection, error=said, ended=True)
        self._collections.put(collection, now)
