"""Sources by all their names, those of other files with the same content among them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing

from localcrag.records.events import Computed, Event, Refined
from localcrag.records.passages import Source

OtherNames = Callable[[Sequence[str]], Mapping[str, tuple[str, ...]]]
"""Returns the other names of those of these documents that have any. Raises StoreError."""


def no_others(documents: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return that no document has another name."""
    return {}


def sources_named(events: Generator[Event, None, None], other_names: OtherNames) -> Generator[Event, None, None]:
    """Yield these events, the sources in them with all their names. Raises StoreError."""
    with closing(events):
        for event in events:
            if isinstance(event, Refined | Computed):
                yield dataclasses.replace(event, sources=_named(event.sources, other_names))
            else:
                yield event


def _named(sources: Sequence[Source], other_names: OtherNames) -> tuple[Source, ...]:
    found = other_names([source.document for source in sources if source.document])
    return tuple(dataclasses.replace(source, also=found.get(source.document or "", ())) for source in sources)
