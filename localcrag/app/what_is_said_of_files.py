"""What is said of files that are added on the page: their names, and which of many were not added."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeVar

from localcrag.records.enums import IngestStatus
from localcrag.records.folders import FolderChange
from localcrag.records.ingest import IngestResult
from localcrag.text.paths import Names
from localcrag.text.translation import ngettext

Told = TypeVar("Told", bound=IngestResult | FolderChange)
FOLDER = "\u2215"
"""A “/” in the name of a file that a browser sent: the page's script puts it there, since Gradio cuts a “/” off."""
MOST_SAID = 10
"""Of the files within a file that were not added, those that are named."""


def named(paths: Sequence[Path]) -> dict[Path, str]:
    """Return the name of each file in the collection, where one of the same name would take another's place."""
    names = Names()
    return {path: names.of(PurePosixPath(path.name.replace(FOLDER, "/"))) for path in dict.fromkeys(paths)}


def first_of(failed: Sequence[str]) -> list[str]:
    """Return what is said of the first files of many that were not added, and how many more there are."""
    if (more := len(failed) - MOST_SAID) <= 0:
        return [*failed]
    said = ngettext("%(num)s more file in it was not added.", "%(num)s more files in it were not added.", more)
    return [*failed[:MOST_SAID], said]


def of_folder(name: str, count: int, failed: Sequence[str]) -> IngestResult:
    """Return what became of a folder, of which `count` files are in, and what is said of those that are not."""
    note = ngettext("%(num)s file in it is in the collection.", "%(num)s files in it are in the collection.", count)
    return IngestResult(name, IngestStatus.ADDED, note=note, warnings=tuple(first_of(failed)))


def with_warnings(results: Sequence[Told], said: Collection[str]) -> list[Told]:
    """Return what became of files, with what is `said` of their collection beside the last one that is in."""
    last = max((at for at, one in enumerate(results) if not one.error), default=-1)
    return [
        dataclasses.replace(one, warnings=(*one.warnings, *said)) if at == last else one
        for at, one in enumerate(results)
    ]
