"""Files within a file that is added: they become documents of their own, named by the way to them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from localcrag.records.documents import Member
from localcrag.records.enums import IngestStatus
from localcrag.records.errors import UnreadableDocument
from localcrag.records.ingest import IngestEvent, IngestResult, Upload

MOST_MEMBERS, MOST_BYTES = 20_000, 2 * 10**9
"""Within one file that is added, all those within others counted in."""
DEEPEST = 3
"""Files within files: a letter in an archive that is attached to another."""

Add = Callable[[Upload], Generator[IngestEvent, None, None]]
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
    whole: str, members: Iterable[Member], add: Add, room: Room, *, as_file: AsFile, depth: int
) -> Generator[IngestEvent, None, int]:
    """Add the files within `whole`, each by `add`; return how many of them are in. `whole` lies within `depth` others.

    Raises UnreadableDocument when they are too many or lie too deep, and what `as_file` raises.
    """
    count = 0
    for member in members:
        if depth == DEEPEST:
            raise UnreadableDocument(
                f"{whole} lies within {DEEPEST} other files, and what it holds was not added. Unpack it, and add the "
                "folder."
            )
        name = f"{whole}/{member.name}"
        if member.error:
            yield IngestResult(name, IngestStatus.FAILED, error=member.error)
            continue
        room.take(member, whole)
        is_in = False
        with as_file(member) as path:
            for event in add(Upload(path, name, original=member.changed is not None)):
                is_in = is_in or (isinstance(event, IngestResult) and event.status is not IngestStatus.FAILED)
                yield event
        count += is_in
    return count
