"""Forgetting a document: what it is looked for by, where it was found, what was removed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """Bytes that only one document has, in each form in which they may be stored; `said` is what they are, in words."""

    said: str
    forms: tuple[bytes, ...]

    def within(self, value: object) -> bool:
        """Return whether a value of a table has them."""
        data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        return isinstance(data, bytes) and any(form in data for form in self.forms)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a mark was found: in a file of the data folder `at` a byte, or in a table of a database."""

    file: str
    said: str
    at: int | None = None
    table: str | None = None


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search for so many marks found, and in how many files and bytes; `unread` could not be looked into."""

    places: tuple[Place, ...]
    marks: int
    files: int
    bytes: int
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Removed:
    """How much of what quotes a document was removed; `folders` are those of evaluations and their caches.

    Of `redacted` runs only what they had found in it, since their answers use nothing of that.
    """

    runs: int = 0
    redacted: int = 0
    turns: int = 0
    chats: int = 0
    labels: int = 0
    pins: int = 0
    web_answers: int = 0
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What became of documents: which were there, what quoted them, and what is left of them by now.

    `copies` have the same content in other collections, by name and collection; `backups` are copies of the data that
    still hold it.
    """

    documents: tuple[str, ...]
    removed: Removed
    searched: Searched
    copies: tuple[tuple[str, str], ...] = ()
    backups: tuple[str, ...] = ()

    @property
    def left(self) -> tuple[Place, ...]:
        """The places that still have something of it, but for the backups."""
        return tuple(one for one in self.searched.places if one.file not in self.backups)
