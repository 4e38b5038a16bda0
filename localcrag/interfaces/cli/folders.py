"""`localcrag folder`: watch folders, and update collections from them."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.markup import escape

from localcrag.interfaces.cli.command import counted, finish_secure_deletion, index_warnings, open_app, print_result
from localcrag.records.ingest import FolderChange, FolderEvent, FolderStatus, GoneFilePolicy, IngestProgress

if TYPE_CHECKING:
    from localcrag.app.collections.folders import FolderState
    from localcrag.records.ingest import WatchedFolder
    from localcrag.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


COLOURS = {
    FolderStatus.FAILED: "red", FolderStatus.AWAY: "red", FolderStatus.GONE: "yellow", FolderStatus.WAITING: "yellow",
    FolderStatus.REMOVED: "yellow",
}  # fmt: skip
"""Colours of statuses; the others are green."""


def show_folder_changes(events: Iterator[FolderEvent], *, quiet: bool = False) -> list[FolderChange]:
    """Show progress and a line for each change, and return the changes; with `quiet`, show no lines."""
    changes: list[FolderChange] = []
    from localcrag.interfaces.cli.terminal import console, file_progress, print_with_warnings

    screen = console()
    with file_progress(screen) as show:
        for event in events:
            if isinstance(event, IngestProgress):
                show(event, _describe(event))
                continue
            changes.append(event)
            if not quiet:
                print_with_warnings(screen, line(event), event.warnings)
    return changes


def line(change: FolderChange) -> str:
    """Return a line that describes a change, in rich's markup."""
    text = {
        FolderStatus.RENAMED: f"was {change.was}",
        FolderStatus.SAME: f"same content as {change.was}",
        FolderStatus.GONE: "its file is gone; the document stays until you decide (localcrag folder sync --gone)",
        FolderStatus.WAITING: "still being written; the next update checks it again",
        FolderStatus.KEPT: "its file is gone; the document was kept",
        FolderStatus.REMOVED: "its file is gone; the document was removed",
        FolderStatus.BACK: "its file is back",
    }.get(change.status, counted(change.chunks, "chunk") if change.chunks else "")
    text = change.error or text
    colour = COLOURS.get(change.status, "green")
    return f"[{colour}]{change.status}[/] {escape(change.document)}{escape(f': {text}') if text else ''}"


def _describe(event: IngestProgress) -> str:
    if event.phase == "looking":
        return f"{counted(event.files, 'file')} found in {escape(event.document)}"
    if event.phase == "comparing":
        return f"comparing {event.number}/{event.files} {escape(event.document)}"
    if event.phase == "waiting":
        return f"waiting until {escape(event.document)} has been written"
    from localcrag.interfaces.cli.terminal import describe_progress

    return describe_progress(event)


DONE, FAILED = 0, 1


def add_folder_parser(subparsers: Subparsers, common: argparse.ArgumentParser, within: argparse.ArgumentParser) -> None:
    """Add `folder`; `common` has `--json` and `--data-dir`, `within` has `--collection`."""
    folder = subparsers.add_parser(
        "folder", parents=[common, within], help="watch folders and keep collections up to date"
    )
    folder.set_defaults(run=_list)
    named = folder.add_subparsers(metavar="add PATH | list | sync [PATH] | pause PATH | resume PATH | remove PATH")
    command = named.add_parser("add", parents=[common, within], help="watch a folder for a collection")
    command.add_argument("path", metavar="PATH", help="the folder; adding it again replaces its patterns")
    words = "watch only these files: *.pdf by name, drafts/* by path, drafts for everything in folders of that name"
    command.add_argument("--include", metavar="PATTERN", nargs="+", action="extend", default=[], help=words)
    command.add_argument(
        "--exclude", metavar="PATTERN", nargs="+", action="extend", default=[], help="do not watch these files"
    )
    command.add_argument(
        "--gone",
        choices=[*GoneFilePolicy],
        default=GoneFilePolicy.ASK,
        help="what to do with documents whose files are gone (default: ask)",
    )
    command.set_defaults(run=_add)
    named.add_parser("list", parents=[common, within], help="list the folders and their state").set_defaults(run=_list)
    command = named.add_parser("sync", parents=[common, within], help="update collections from their folders once")
    command.add_argument("path", metavar="PATH", nargs="?", help="one folder (default: all that are not paused)")
    command.add_argument(
        "--gone",
        choices=[GoneFilePolicy.REMOVE, GoneFilePolicy.KEEP],
        help="what to do with documents whose files are gone (all documents, if the folder is empty)",
    )
    command.set_defaults(run=_sync)
    for name, words in (("pause", "pause watching a folder"), ("resume", "resume watching a folder")):
        command = named.add_parser(name, parents=[common], help=words)
        command.add_argument("path", metavar="PATH", help="the folder")
        command.set_defaults(run=_pause, paused=name == "pause")
    command = named.add_parser("remove", parents=[common], help="stop watching a folder; its documents stay")
    command.add_argument("path", metavar="PATH", help="the folder")
    command.add_argument("--with-documents", action="store_true", help="remove its documents from the collection, too")
    command.set_defaults(run=_remove)


def _add(parsed: argparse.Namespace, settings: Settings) -> int:
    folder = open_app(settings).folders.bind(
        parsed.path, include=parsed.include, exclude=parsed.exclude, gone=GoneFilePolicy(parsed.gone)
    )
    text = (
        f"The collection “{folder.collection}” now watches {folder.path}. To update it, run `localcrag folder sync`. "
        "While `localcrag ui` or `localcrag serve` runs, updates happen in the background."
    )
    print_result(_plain(folder), parsed, text)
    return DONE


def _list(parsed: argparse.Namespace, settings: Settings) -> int:
    states = open_app(settings).folders.states(parsed.collection)
    found = [
        _plain(one.folder)
        | {"files": one.counts.files, "failed": one.counts.failed, "missing": one.counts.gone}
        | {"failures": [{"document": name, "error": text} for name, text in one.failed], "asked_about": one.gone}
        for one in states
    ]
    print_result(found, parsed, "\n".join(map(_lines, states)) or "No folder is being watched.")
    return DONE


def _sync(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.uploads import with_warnings
    from localcrag.interfaces.cli import terminal
    from localcrag.records.ingest import FolderStatus

    assembly = open_app(settings)
    folders = assembly.folders
    chosen = [folders.named(parsed.path)] if parsed.path else [
        one for one in folders.all(parsed.collection) if not one.paused
    ]  # fmt: skip
    changes: list[FolderChange] = []
    for folder in chosen:
        events = folders.sync_and_wait(folder, emptied=parsed.gone is not None)
        changes += show_folder_changes(events, quiet=parsed.json)
        if parsed.gone:
            decided = folders.decide(folder, GoneFilePolicy(parsed.gone))
            changes += show_folder_changes(iter(decided), quiet=parsed.json)
    there = folders.states(parsed.collection)
    scanned = assembly.collections.scanned()
    for name in dict.fromkeys(one.collection for one in chosen if one.collection in scanned):
        terminal.show_ingest(assembly.collections.read_scans(name), quiet=parsed.json)
    finish_secure_deletion(assembly)
    changes = with_warnings(changes, index_warnings(assembly))
    print_result([dataclasses.asdict(one) for one in changes], parsed, None)
    if not parsed.json:
        numbers = {one.id for one in chosen}
        print("\n".join(_lines(one) for one in there if one.folder.id in numbers) or "No folder is being watched.")
    bad = (FolderStatus.FAILED, FolderStatus.AWAY, FolderStatus.WAITING)
    return FAILED if any(one.status in bad for one in changes) else DONE


def _pause(parsed: argparse.Namespace, settings: Settings) -> int:
    folders = open_app(settings).folders
    folder = folders.named(parsed.path)
    folders.pause(folder, paused=parsed.paused)
    text = f"{folder.path}: {'paused' if parsed.paused else 'resumed'}"
    print_result({"path": str(folder.path), "paused": parsed.paused}, parsed, text)
    return DONE


def _remove(parsed: argparse.Namespace, settings: Settings) -> int:
    folders = open_app(settings).folders
    folder = folders.named(parsed.path)
    number = folders.unbind(folder, documents=parsed.with_documents)
    what = f"{counted(number, 'document')} removed" if parsed.with_documents else "its documents stay"
    print_result(
        {"path": str(folder.path), "collection": folder.collection, "documents_removed": number},
        parsed,
        f"The collection “{folder.collection}” no longer watches {folder.path}; {what}.",
    )
    return DONE


def _plain(folder: WatchedFolder) -> dict[str, object]:
    return {name: value for name, value in dataclasses.asdict(folder).items() if name != "id"}


def _lines(state: FolderState) -> str:
    folder, counts = state.folder, state.counts
    if folder.paused:
        how = "paused"
    elif folder.away_since:
        how = f"unavailable since {folder.away_since}: {folder.away_why}"
    else:
        how = f"up to date since {folder.in_step_at}" if folder.in_step_at else "not up to date yet"
    numbers = [counted(counts.files, "file")]
    numbers += [f"{counts.failed} not read"] if counts.failed else []
    numbers += [f"{counts.gone} gone (localcrag folder sync --gone remove|keep)"] if counts.gone else []
    lines = [f"{folder.path}  →  {folder.collection}: {', '.join(numbers)}; {how}"]
    lines += [f"  {error}" for _, error in state.failed]
    lines += [f"  gone: {name}" for name in state.gone]
    return "\n".join(lines)
