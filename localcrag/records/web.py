"""A web search's results, and its part in a run, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass

from localcrag.records.enums import NotAsked


@dataclass(frozen=True, slots=True)
class WebResult:
    """One result of a web search, as plain text."""

    title: str
    url: str
    content: str
    published: str | None = None


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """What a search gave, and which engines failed meanwhile (name and reason).

    `cached_at` is the time of the search when the answer was kept from an earlier one, else None.
    """

    results: tuple[WebResult, ...]
    failed_engines: tuple[tuple[str, str], ...] = ()
    cached_at: str | None = None


@dataclass(frozen=True, slots=True)
class WebUse:
    """The web's part in a run: the exact query, its results, or why there are none.

    `query` left, unless `cached_at` (the results are those of that time) or `not_asked` (why it stayed) is set.
    `discarded`: it left before the decision, and what came back was not used.
    """

    used: bool = False
    query: str | None = None
    results: tuple[WebResult, ...] = ()
    error: str | None = None
    cached_at: str | None = None
    not_asked: NotAsked | None = None
    discarded: bool = False
