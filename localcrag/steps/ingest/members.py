"""Files within a file that is added: they become documents of their own, named by the way to them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from localcrag.records.documents import Member
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import UnreadableDocument
from localcrag.records.ingest import IngestResult, Upload

MOST_MEMBERS, MOST_BYTES = 20_000, 2 * 10**9
"""Within one file that is added, all those within others counted in."""
DEEPEST = 3
"""Files within files: a letter in an archive that is attached to another."""

Item = TypeVar("Item")
Add = Callable[[Upload, ExitStack], Generator[Item, None, None]]
"""Adds a file that is there as long as the stack is open, which may be taken over (`pop_all`)."""
AsFile = Callable[[Member], AbstractContextManager[Path]]
"""Gives a file to read, which is gone afterwards."""


@dataclass(slots=True)
class Room:
    """What may still be taken out of one file that is added."""

    members: int = MOST_MEMBERS
    size: int = MOST_BYTES

    def take(self, member: Member, whole: str) -> None:
        """Take out a file. Raises UnreadableDocument when there is no room for it."""
        self.members -= 1
        self.size -= len(member.data)
        if self.members < 0 or self.size < 0:
            raise UnreadableDocument(
                f"{whole} holds more than {MOST_MEMBERS:,} files or {MOST_BYTES / 1e9:.0f} GB, and was added up to "
                "there. Unpack it, and add the folder."
            )


def add_members(
    whole: str, members: Iterable[Member], add: Add[Item], room: Room, *, as_file: AsFile, depth: int
) -> Generator[Item | IngestResult, None, tuple[str, ...]]:
    """Add the files within `whole`, each by `add`; return their names. `whole` lies within `depth` others.

    Raises UnreadableDocument when they are too many or lie too deep, and what `as_file` raises.
    """
    names = []
    for member in members:
        if depth == DEEPEST:
            raise UnreadableDocument(
                f"{whole} lies within {DEEPEST} other files, and what it holds was not added. Unpack it, and add the "
                "folder."
            )
        upload = Upload(Path(), f"{whole}/{member.name}", original=member.changed is not None)
        if member.error:
            yield IngestResult(f"{whole}/{member.name}", IngestStatus.FAILED, error=member.error)
            continue
        room.take(member, whole)
        names.append(upload.name)
        with ExitStack() as lent:
            path = lent.enter_context(as_file(member))
            yield from add(replace(upload, path=path), lent)
    return tuple(names)
