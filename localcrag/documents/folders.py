"""Plan the changes that bring a collection up to date with a folder, and watch folders.

Files are recognised by their content. A document belongs to a folder if it is named after one of the folder's files.
Documents that a person renamed, or that existed before, are never renamed or removed because of a file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import watchfiles

from localcrag.records.ingest import FolderChange, FolderStatus, GoneFilePolicy, KnownFile, SeenFile, WatchedFolder


@dataclass(frozen=True, slots=True)
class FolderSnapshot:
    """A folder as it was `known`, and as it is now.

    `seen` are the files that exist, `hashed` the checksums of new files and of files that look different, `missing` the
    known files that no longer exist. `contents` maps a checksum to the document with this content. `others` returns the
    files of other folders with a document's content.
    """

    folder: WatchedFolder
    known: Mapping[str, KnownFile]
    seen: Mapping[str, SeenFile]
    hashed: Mapping[str, str]
    missing: Set[str]
    contents: Mapping[str, str]
    others: Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class FileToRead:
    """A file with new content, and the name under which it will be stored; `before` is its last known state."""

    path: str
    name: str
    sha256: str
    before: KnownFile | None


@dataclass(slots=True)
class FolderPlan:
    """The changes to make.

    First, in one step, documents are removed and renamed, and files are recorded and forgotten. Then files are read.
    `twins` maps the path of a file to that of another file with the same content, which is read instead.
    """

    remove: list[str] = field(default_factory=list)
    renames: dict[str, str] = field(default_factory=dict)
    put: list[KnownFile] = field(default_factory=list)
    forget: list[str] = field(default_factory=list)
    read: list[FileToRead] = field(default_factory=list)
    twins: dict[str, str] = field(default_factory=dict)
    changes: list[FolderChange] = field(default_factory=list)


def plan_changes(found: FolderSnapshot, now: str) -> FolderPlan:
    """Return the changes to make; `now` is stored as the time at which missing files were first noticed."""
    plan = FolderPlan()
    there = _unchanged_files(found, plan)
    if not found.hashed and not found.missing:
        return plan
    linked = _plan_new_files(found, plan)
    there |= linked
    holders: dict[str, list[str]] = {}
    for path, document in there.items():
        holders.setdefault(document, []).append(path)
    own = {found.folder.name_of(path) for path in found.known}
    before: dict[str, list[KnownFile]] = {}
    for one in found.known.values():
        if one.document is not None:
            before.setdefault(one.document, []).append(one)
    kept_names: dict[str, str] = {}
    for document, rows in before.items():
        if any(found.folder.prefix + path == document for path in holders.get(document, ())):
            continue  # This is true for most documents; with a hundred thousand of them, each step counts.
        names = {found.folder.name_of(path) for path in holders.get(document, ())}
        # The file that gives the document its name no longer has its content, so name the document after a file that
        # does.
        if names and document in own and document not in names:
            plan.renames[document] = min(names)
            plan.changes.append(FolderChange(min(names), FolderStatus.RENAMED, was=document))
        elif not names:
            kept_names |= _plan_orphaned_document(found, plan, document, rows, own=document in own, now=now)
    for path in found.missing:
        held = found.known[path].document
        # Another file has its document, or the file never had one, so there is nothing to decide.
        if held is None or held in holders:
            plan.forget.append(path)
    for path, document in linked.items():
        name, document_now = found.folder.name_of(path), plan.renames.get(document, document)
        # If a file with this content is missing, this file was moved, and the document is renamed instead.
        if name != document_now and not any(one.path in found.missing for one in before.get(document, ())):
            plan.changes.append(FolderChange(name, FolderStatus.SAME, was=document_now))
    plan.read = [replace(one, name=kept_names.get(one.path, one.name)) for one in plan.read]
    plan.put = [replace(one, document=plan.renames.get(one.document or "", one.document)) for one in plan.put]
    return plan


def _unchanged_files(found: FolderSnapshot, plan: FolderPlan) -> dict[str, str]:
    """Return the documents of the files that have not changed as far as is known, by path."""
    there = {}
    for path, one in found.known.items():
        if path in found.missing:
            continue
        seen = found.seen.get(path)
        if path in found.hashed and found.hashed[path] != one.sha256:
            continue
        # The content is the same; the file was only touched or copied back.
        if seen and path in found.hashed:
            plan.put.append(replace(one, stamp=seen.stamp, device=seen.device, gone_at=None))
        elif seen and (seen.device != one.device or one.gone_at):
            plan.put.append(replace(one, device=seen.device, gone_at=None))
        if one.gone_at and seen:
            plan.changes.append(FolderChange(found.folder.name_of(path), FolderStatus.BACK))
        if one.document is not None and (seen or not one.gone_at):
            there[path] = one.document
    return there


def _plan_new_files(found: FolderSnapshot, plan: FolderPlan) -> dict[str, str]:
    """Plan the new and changed files; return, by path, the documents of those whose content the collection has."""
    there: dict[str, str] = {}
    first: dict[str, str] = {}
    for path, sha256 in sorted(found.hashed.items()):
        before, seen, name = found.known.get(path), found.seen[path], found.folder.name_of(path)
        if before and before.sha256 == sha256:
            continue
        if document := found.contents.get(sha256):
            there[path] = document
            plan.put.append(KnownFile(path, seen.stamp, seen.device, sha256, document, sha256))
        elif sha256 in first:
            plan.twins[path] = first[sha256]
        else:
            first[sha256] = path
            plan.read.append(FileToRead(path, name, sha256, before))
    return there


def _plan_orphaned_document(
    found: FolderSnapshot, plan: FolderPlan, document: str, rows: list[KnownFile], *, own: bool, now: str
) -> dict[str, str]:
    """Plan the changes to a document whose content is in no file of the folder any longer.

    Return the path of the file to read it from again, with its name.
    """
    others = found.others(document)
    present = [one.path for one in rows if one.path not in found.missing and one.path in found.hashed]
    if others and own and document not in others:
        plan.renames[document] = others[0]
        plan.changes.append(FolderChange(others[0], FolderStatus.RENAMED, was=document))
        plan.forget += [one.path for one in rows if one.path in found.missing]
        return {}
    if present:
        to_read = [one.path for one in plan.read if one.path in present]
        if any(found.folder.name_of(path) == document for path in to_read):
            return {}
        if to_read and not own:
            # The document keeps the name that a person gave it, unless the extension does not fit the file's kind.
            name = found.folder.name_of(to_read[0])
            if _extension(name) == _extension(document):
                return {to_read[0]: document}
            plan.renames[document] = name
            return {}
        if own and not others:
            plan.remove.append(document)
        return {}
    if all(one.path in found.missing for one in rows):
        _plan_missing_files(found, plan, document, rows, own=own and not others, now=now)
    return {}


def _plan_missing_files(
    found: FolderSnapshot, plan: FolderPlan, document: str, rows: list[KnownFile], *, own: bool, now: str
) -> None:
    names = sorted(found.folder.name_of(one.path) for one in rows)
    if own and found.folder.gone is GoneFilePolicy.ASK:
        new = [one for one in rows if one.gone_at is None]
        plan.put += [replace(one, gone_at=now) for one in new]
        plan.changes += [FolderChange(found.folder.name_of(one.path), FolderStatus.GONE) for one in new]
        return
    plan.forget += [one.path for one in rows]
    if own and found.folder.gone is GoneFilePolicy.REMOVE:
        plan.remove.append(document)
        plan.changes += [FolderChange(name, FolderStatus.REMOVED) for name in names]
    else:
        plan.changes += [FolderChange(name, FolderStatus.KEPT) for name in names]


def _extension(name: str) -> str:
    return PurePosixPath(name).suffix.casefold()


DEBOUNCE_MS, POLL_MS = 1_600, 200
"""Milliseconds: the longest time to collect changes, and the interval for finding more of them. watchfiles' default
interval of 50 would wake a CPU twenty times a second, day and night."""


def changed_paths(folders: Sequence[Path], stop: threading.Event, tick: float) -> Iterator[frozenset[Path]]:
    """Yield the paths that changed in these folders and below, or an empty set after `tick` seconds without a change.

    Ends when `stop` is set, or when the system stops watching: a folder is gone, or there are more folders than it can
    watch (Linux: fs.inotify.max_user_watches). Network drives do not report changes that other computers make.
    """
    try:
        for changes in watchfiles.watch(
            *folders,
            watch_filter=None,
            debounce=DEBOUNCE_MS,
            step=POLL_MS,
            stop_event=stop,
            rust_timeout=round(tick * 1000),
            yield_on_timeout=True,
            raise_interrupt=False,
            ignore_permission_denied=True,
        ):
            yield frozenset(Path(path) for _, path in changes)
    except (OSError, RuntimeError):
        return
