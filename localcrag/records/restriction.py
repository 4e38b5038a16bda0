"""Restrictions: which documents of a collection a question is answered from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Self

from localcrag.records.documents import Document
from localcrag.records.errors import QuestionError
from localcrag.text.translation import gettext as _

_LISTS = ("documents", "folders", "tags", "kinds")


@dataclass(frozen=True, slots=True)
class Restriction:
    """Conditions that a document must meet to be searched for a question; an empty field is no condition.

    The document is one of `documents` or is in one of `folders`, has one of `tags`, is of one of `kinds`
    (records/documents.py), and its date is not before `since` nor after `until`. These are ISO dates, or a whole month
    or year. A `*` in a name matches any text, and case is ignored. A document with several names (Document.also)
    matches by any of its names and their folders.
    """

    documents: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in (*_LISTS, "since", "until"))

    def plain(self) -> dict[str, Any]:
        """Return the conditions as JSON values."""
        return {name: list(value) if name in _LISTS else value for name, value in asdict(self).items() if value}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """Rebuild the restriction from the output of `plain`. Raises QuestionError for an invalid date."""
        lists = {name: tuple(dict.fromkeys(map(str, plain.get(name) or ()))) for name in _LISTS}
        return cls(**lists, since=_day(plain.get("since")), until=_day(plain.get("until")))

    def allows(self, document: Document) -> bool:
        """Return whether a document meets all conditions."""

        def fits(part: str) -> bool:
            return any(_has(document, part, value) for value in getattr(self, part))

        in_place = fits("documents") or fits("folders") or not (self.documents or self.folders)
        tagged, kind_fits = fits("tags") or not self.tags, fits("kinds") or not self.kinds
        since, until, day = self.since or "", self.until or "9", document.day
        return in_place and tagged and kind_fits and since <= day[: len(since)] and day[: len(until)] <= until

    def without_effect(self, documents: Sequence[Document]) -> tuple[str, ...]:
        """Return, in words, the conditions that no document meets."""
        return tuple(
            _IN_WORDS[name](value)
            for name in _LISTS
            for value in getattr(self, name)
            if not any(_has(document, name, value) for document in documents)
        )

    def in_words(self) -> str:
        """Return the conditions in words: "lease.pdf, folder house; tag contract; PDF; since 2024-01-01"."""
        places = [*self.documents, *(_("folder %(name)s", name=name) for name in self.folders)]
        parts = [
            ", ".join(places),
            ", ".join(_("tag %(name)s", name=tag) for tag in self.tags),
            ", ".join(self.kinds),
            _("since %(day)s", day=self.since) if self.since else "",
            _("until %(day)s", day=self.until) if self.until else "",
        ]
        return "; ".join(part for part in parts if part)


EVERYWHERE = Restriction()


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The number of `documents` out of `of` that were searched for a question, and the restriction that chose them.

    `passages` counts their passages. `read` counts the passages that were scored; if `whole` is True, all were.
    """

    documents: int
    of: int
    restriction: Restriction = EVERYWHERE
    passages: int = 0
    read: int = 0
    whole: bool = False


def parent_folders(name: str) -> list[str]:
    """Return the folders that contain a document of this name, outermost first; an archive counts as a folder."""
    parts = name.split("/")[:-1]
    return ["/".join(parts[: at + 1]) for at in range(len(parts))]


def _has(document: Document, part: str, wanted: str) -> bool:
    """Return whether a document has a name, folder, tag or kind, as `part` says, that matches `wanted`."""
    match part:
        case "documents":
            return any(_matches(name, wanted) for name in document.names)
        case "folders":
            folders = (folder for name in document.names for folder in parent_folders(name))
            return any(_matches(folder, wanted.strip("/")) for folder in folders)
        case "tags":
            return any(_matches(tag, wanted) for tag in document.tags)
    return _matches(document.kind, wanted)


def _matches(name: str, wanted: str) -> bool:
    name, wanted = name.casefold(), wanted.casefold()
    return name == wanted or ("*" in wanted and bool(re.fullmatch(re.escape(wanted).replace(r"\*", ".*"), name, re.S)))


def _day(text: object) -> str | None:
    if not text:
        return None
    day = str(text).strip()
    try:
        date.fromisoformat(day + "-01" * (2 - day.count("-")))
    except ValueError:
        raise QuestionError(
            f"“{day}” is not a date. Write a day as 2024-01-31, a month as 2024-01, a year as 2024."
        ) from None
    return day


_IN_WORDS: Mapping[str, Callable[[str], str]] = {
    "documents": lambda name: _("no document is called “%(name)s”", name=name),
    "folders": lambda name: _("there is no folder “%(name)s”", name=name),
    "tags": lambda name: _("no document has the tag “%(name)s”", name=name),
    "kinds": lambda name: _("no document is of the kind “%(name)s”", name=name),
}
