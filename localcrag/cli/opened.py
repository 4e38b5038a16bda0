"""The app for a command: opened with the collection that it names, and closed when the command ends."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localcrag.app.assemble import Assembly
    from localcrag.settings import Settings


_at_the_end: ContextVar[ExitStack] = ContextVar("at the end of the command")


@contextmanager
def closed_at_the_end() -> Iterator[None]:
    """Close the apps that a command opens when it ends, however it ends."""
    with ExitStack() as stack:
        before = _at_the_end.set(stack)
        try:
            yield
        finally:
            _at_the_end.reset(before)


def app_for(settings: Settings) -> Assembly:
    """Return the app, which is closed when the command ends. Raises StoreError and ModelError."""
    from localcrag.app.assemble import Assembly  # noqa: PLC0415

    assembly = Assembly(settings)
    # Commands that change something overwrite it themselves. One that only reads must not wait for that.
    _at_the_end.get().callback(assembly.close, overwrites=False)
    return assembly


def opened(settings: Settings) -> Assembly:
    """Return the app. Raises UnknownCollection, with those there are, when the settings name none of them."""
    assembly = app_for(settings)
    assembly.collections.require()
    return assembly


def opened_for_the_past(parsed: argparse.Namespace, settings: Settings) -> Assembly:
    """Return the app for what was asked and said before, of all collections where none is named; see `opened`.

    Questions and labels outlive their collection: one that is gone, and has some, may be named too.
    """
    assembly = app_for(settings)
    if parsed.collection is not None:
        assembly.collections.require_past(parsed.collection)
    return assembly


def overwrite_the_rest(assembly: Assembly) -> None:
    """Overwrite what was said by what was changed or removed; where that cannot be done, say so."""
    from localcrag.app.overwriting import finish  # noqa: PLC0415

    if why := finish(assembly.database):
        print(
            f"localcrag: what was changed or removed is in the data folder's bytes still: `localcrag ingest`, the page "
            f"or `localcrag forget` will overwrite it. {why}",
            file=sys.stderr,
        )


def index_warnings(assembly: Assembly) -> list[str]:
    """Return why index files could not be written after a change that is done, and say so on stderr."""
    warnings = list(assembly.collections.opened.unwritten.values())
    for one in warnings:
        print(f"localcrag: {one}", file=sys.stderr)
    return warnings
