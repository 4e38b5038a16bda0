"""What a backup holds, as it is said to whoever made or restored one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class BackedUp:
    """What a backup holds, counted in the file itself; `elsewhere` are collections whose documents are not in it."""

    path: Path
    bytes: int
    documents: int
    chats: int
    runs: int
    elsewhere: tuple[str, ...]
