"""Collections that are embedded anew for another embedder, one after the other, in a thread."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from localcrag.app.background import BackgroundList, Task, TaskState, Tell

ReEmbed = Callable[[str], Iterator[tuple[int, int]]]
"""Embeds a collection; tells how many of how many chunks are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReEmbedding(Task):
    """A collection and how far it is; of one that failed nothing has changed."""

    done: int = 0
    total: int | None = None


class ReEmbeddings:
    """What was asked for since the start."""

    def __init__(self, re_embed: ReEmbed) -> None:
        self._re_embed = re_embed
        self._collections = BackgroundList(self._embed, "“{name}” was not embedded", at_once=1)

    def start(self, collection: str) -> None:
        """Embed a collection anew, unless that is being done."""
        self._collections.start(ReEmbedding(name=collection))

    def close(self) -> None:
        """Stop what is under way; what is done of it is kept."""
        self._collections.close()

    def items(self) -> tuple[ReEmbedding, ...]:
        """Return every collection that was asked for."""
        return self._collections.items()

    def follow(self) -> Iterator[tuple[ReEmbedding, ...]]:
        """Yield them now and whenever something has changed, as long as any is on its way."""
        return self._collections.follow()

    def _embed(self, one: ReEmbedding, tell: Tell[ReEmbedding]) -> ReEmbedding:
        for done, total in self._re_embed(one.name):
            one = dataclasses.replace(one, done=done, total=total)
            tell(one)
        return dataclasses.replace(one, state=TaskState.DONE)
