"""What `localcrag folder sync` shows on stderr: how far it is, and a line for each change."""

from __future__ import annotations

from collections.abc import Iterator

from rich.markup import escape

from localcrag.cli.command_output import counted
from localcrag.cli.file_progress import file_progress, how_far, print_with_warnings
from localcrag.cli.terminal import console
from localcrag.records.folders import FolderChange, FolderEvent, FolderStatus
from localcrag.records.ingest import IngestProgress

COLOURS = {
    FolderStatus.FAILED: "red", FolderStatus.AWAY: "red", FolderStatus.GONE: "yellow", FolderStatus.WAITING: "yellow",
    FolderStatus.REMOVED: "yellow",
}  # fmt: skip
"""Of a status; others are green."""


def show_following(events: Iterator[FolderEvent], *, quiet: bool = False) -> list[FolderChange]:
    """Show progress and a line for each change, and return the changes. With `quiet`, no lines."""
    changes: list[FolderChange] = []
    screen = console()
    with file_progress(screen) as show:
        for event in events:
            if isinstance(event, IngestProgress):
                show(event, _what(event))
                continue
            changes.append(event)
            if not quiet:
                print_with_warnings(screen, line(event), event.warnings)
    return changes


def line(change: FolderChange) -> str:
    """Return the line that tells of a change, with rich's marks."""
    said = {
        FolderStatus.RENAMED: f"was {change.was}",
        FolderStatus.SAME: f"same content as {change.was}",
        FolderStatus.GONE: "its document stays until you say what becomes of it",
        FolderStatus.WAITING: "is still being written; the next time it is looked at again",
        FolderStatus.KEPT: "its file is gone, the document stays",
        FolderStatus.REMOVED: "its file is gone, and so is the document",
        FolderStatus.BACK: "its file is there again",
    }.get(change.status, counted(change.chunks, "chunk") if change.chunks else "")
    said = change.error or said
    colour = COLOURS.get(change.status, "green")
    return f"[{colour}]{change.status}[/] {escape(change.document)}{escape(f': {said}') if said else ''}"


def _what(event: IngestProgress) -> str:
    if event.phase == "looking":
        return f"{counted(event.files, 'file')} found in {escape(event.document)}"
    if event.phase == "comparing":
        return f"comparing {event.number}/{event.files} {escape(event.document)}"
    if event.phase == "waiting":
        return f"waiting until {escape(event.document)} is written"
    return how_far(event)
