"""The app for a command, once the collection that it names is there; and what is done at its end."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from localcrag.app.assemble import Assembly
    from localcrag.settings import Settings


def opened(settings: Settings) -> Assembly:
    """Return the app. Raises UnknownCollection, with those there are, when the settings name none of them."""
    from localcrag.app.assemble import Assembly  # noqa: PLC0415

    assembly = Assembly(settings)
    assembly.collections.require()
    return assembly


def opened_for_the_past(parsed: argparse.Namespace, settings: Settings) -> Assembly:
    """Return the app for what was asked and said before, of all collections where none is named; see `opened`.

    Questions and labels outlive their collection: one that is gone, and has some, may be named too.
    """
    from localcrag.app.assemble import Assembly  # noqa: PLC0415

    assembly = Assembly(settings)
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
