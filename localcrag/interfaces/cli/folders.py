"""`localcrag folder`: watch folders, and update collections from them."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.markup import escape

from localcrag.interfaces.cli import command as cli
from localcrag.records.ingest import FolderChange, FolderEvent, FolderStatus, GoneFilePolicy, IngestProgress
from localcrag.text.translation import counted

if TYPE_CHECKING:
    from localcrag.app.collections.folders import FolderState
    from localcrag.records.ingest import WatchedFolder
    from localcrag.settings import Settings


COLOURS = {
    FolderStatus.FAILED: "red", FolderStatus.AWAY: "red", FolderStatus.GONE: "yellow", FolderStatus.WAITING: "yellow",
    FolderStatus.REMOVED: "yellow",
}  # fmt: skip
"""Colours of statuses; the others are green."""


def show_folder_changes(events: Iterator[FolderEvent], *, quiet: bool = False) -> list[FolderChange]:
    """Show progress and a line for each change, and return the changes; with `quiet`, show no lines."""
    from localcrag.interfaces.cli.terminal import show_results

    return show_results(events, _describe, line, quiet=quiet)


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


def add_commands(commands: cli.Commands) -> None:
    """Add `folder`."""
    folder = commands.add("folder", _list, "watch folders and keep collections up to date", collection=True)
    named = commands.subcommands(folder, "add PATH | list | sync [PATH] | pause PATH | resume PATH | remove PATH")
    path = ("PATH", "the folder; adding it again replaces its patterns")
    command = named.add("add", _add, "watch a folder for a collection", path, collection=True)
    words = "watch only these files: *.pdf by name, drafts/* by path, drafts for everything in folders of that name"
    for option, help_text in (("--include", words), ("--exclude", "do not watch these files")):
        command.add_argument(option, metavar="PATTERN", nargs="+", action="extend", default=[], help=help_text)
    words = "what to do with documents whose files are gone (default: ask)"
    command.add_argument("--gone", choices=cli.values(GoneFilePolicy), default=GoneFilePolicy.ASK, help=words)
    named.add("list", _list, "list the folders and their state", collection=True)
    command = named.add("sync", _sync, "update collections from their folders once", collection=True)
    command.add_argument("path", metavar="PATH", nargs="?", help="one folder (default: all that are not paused)")
    words = "what to do with documents whose files are gone (all documents, if the folder is empty)"
    command.add_argument("--gone", choices=["remove", "keep"], help=words)
    for name, words in (("pause", "pause watching a folder"), ("resume", "resume watching a folder")):
        named.add(name, _pause, words, ("PATH", "the folder")).set_defaults(paused=name == "pause")
    command = named.add("remove", _remove, "stop watching a folder; its documents stay", ("PATH", "the folder"))
    command.add_argument("--with-documents", action="store_true", help="remove its documents from the collection, too")


def _add(parsed: argparse.Namespace, settings: Settings) -> None:
    folder = cli.open_app(settings).folders.bind(
        parsed.path, include=parsed.include, exclude=parsed.exclude, gone=GoneFilePolicy(parsed.gone)
    )
    how = "To update it, run `localcrag folder sync`."
    how += " While `localcrag ui` or `localcrag serve` runs, updates happen in the background."
    text = f"The collection “{folder.collection}” now watches {folder.path}. {how}"
    cli.print_result(_plain(folder), parsed, text)


def _list(parsed: argparse.Namespace, settings: Settings) -> None:
    states = cli.open_app(settings).folders.states(parsed.collection)
    found = []
    for one in states:
        counts = {"files": one.counts.files, "failed": one.counts.failed, "missing": one.counts.gone}
        failures = [{"document": name, "error": text} for name, text in one.failed]
        found.append(_plain(one.folder) | counts | {"failures": failures, "asked_about": one.gone})
    cli.print_result(found, parsed, "\n".join(map(_lines, states)) or "No folder is being watched.")


def _sync(parsed: argparse.Namespace, settings: Settings) -> int:
    from localcrag.app.uploads import with_warnings
    from localcrag.interfaces.cli import terminal

    assembly = cli.open_app(settings)
    folders = assembly.folders
    watched = [folders.find_by_path(parsed.path)] if parsed.path else folders.all(parsed.collection)
    chosen = [one for one in watched if parsed.path or not one.paused]
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
    cli.finish_secure_deletion(assembly)
    changes = with_warnings(changes, cli.index_warnings(assembly))
    cli.print_result(changes, parsed, None)
    if not parsed.json:
        numbers = {one.id for one in chosen}
        print("\n".join(_lines(one) for one in there if one.folder.id in numbers) or "No folder is being watched.")
    bad = (FolderStatus.FAILED, FolderStatus.AWAY, FolderStatus.WAITING)
    return cli.FAILED if any(one.status in bad for one in changes) else cli.DONE


def _pause(parsed: argparse.Namespace, settings: Settings) -> None:
    folders = cli.open_app(settings).folders
    folder = folders.find_by_path(parsed.path)
    folders.pause(folder, paused=parsed.paused)
    text = f"{folder.path}: {'paused' if parsed.paused else 'resumed'}"
    cli.print_result({"path": str(folder.path), "paused": parsed.paused}, parsed, text)


def _remove(parsed: argparse.Namespace, settings: Settings) -> None:
    folders = cli.open_app(settings).folders
    folder = folders.find_by_path(parsed.path)
    number = folders.unbind(folder, documents=parsed.with_documents)
    what = f"{counted(number, 'document')} removed" if parsed.with_documents else "its documents stay"
    text = f"The collection “{folder.collection}” no longer watches {folder.path}; {what}."
    result = {"path": folder.path, "collection": folder.collection, "documents_removed": number}
    cli.print_result(result, parsed, text)


def _plain(folder: WatchedFolder) -> dict[str, object]:
    return {name: value for name, value in dataclasses.asdict(folder).items() if name != "id"}


def _lines(state: FolderState) -> str:
    folder, counts = state.folder, state.counts
    how = f"up to date since {folder.in_step_at}" if folder.in_step_at else "not up to date yet"
    if folder.paused or folder.away_since:
        how = "paused" if folder.paused else f"unavailable since {folder.away_since}: {folder.away_why}"
    numbers = [counted(counts.files, "file")]
    numbers += [f"{counts.failed} not read"] if counts.failed else []
    numbers += [f"{counts.gone} gone (localcrag folder sync --gone remove|keep)"] if counts.gone else []
    lines = [f"{folder.path}  →  {folder.collection}: {', '.join(numbers)}; {how}"]
    lines += [f"  {error}" for _, error in state.failed]
    lines += [f"  gone: {name}" for name in state.gone]
    return "\n".join(lines)
