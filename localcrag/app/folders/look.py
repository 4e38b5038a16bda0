"""A look at a folder: its files with what tells that they are as they were, without reading any."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from localcrag.app.files_to_add import counts, outside
from localcrag.app.folders.patterns import Patterns
from localcrag.records.folders import BoundFolder, KnownFile, SeenFile
from localcrag.records.ingest import Stamp
from localcrag.text.translation import gettext as _

LOOKED_AT = 2_000
"""Files between two signs that it goes on."""


@dataclass(slots=True)
class Look:
    """What a folder holds, by paths within it: files, folders with their devices, folders that cannot be opened.

    `away` says why the folder is not there; then nothing is known of its files.
    """

    files: dict[str, SeenFile] = field(default_factory=dict)
    devices: dict[str, int] = field(default_factory=dict)
    closed: dict[str, str] = field(default_factory=dict)
    away: str | None = None

    def same_devices(self, known: Mapping[str, KnownFile]) -> dict[int, int]:
        """Return the numbers of today of devices that files were on: a start of the computer may give them others."""
        return {one.device: self.files[path].device for path, one in known.items() if path in self.files}

    def is_gone(self, known: KnownFile, devices: Mapping[int, int]) -> bool:
        """Return whether a file that was not seen is no more; not where the folder or disk it lay in is not there.

        `devices` is what `same_devices` returns.
        """
        folder = known.path
        while folder:
            folder = folder.rpartition("/")[0]
            if folder in self.closed:
                return False
            if folder in self.devices:
                return self.devices[folder] == devices.get(known.device, known.device)
        return False


def look_at(folder: BoundFolder) -> Iterator[Look]:
    """Look at all files of a folder that its patterns want, hidden ones left out; yields what there is so far."""
    look, patterns = Look(), Patterns(folder.include, folder.exclude)
    within = folder.path.resolve()
    to_do = [""]
    told = 0
    while to_do:
        inside = to_do.pop()
        try:
            look.devices[inside] = (folder.path / inside).stat().st_dev
            with os.scandir(folder.path / inside) as found:
                entries = [one for one in found if not one.name.startswith(".") and counts(one)]
        except OSError as error:
            if not inside:
                yield Look(away=error.strerror or str(error))
                return
            look.devices.pop(inside, None)
            look.closed[inside] = error.strerror or str(error)
            continue
        for entry in entries:
            path = f"{inside}/{entry.name}" if inside else entry.name
            if entry.is_dir(follow_symlinks=False):
                if not patterns.leaves_out(path):
                    to_do.append(path)
            elif patterns.wants(path) and (seen := _seen(entry, path, look.devices[inside], within)):
                look.files[path] = seen
        if len(look.files) >= told + LOOKED_AT:
            told = len(look.files)
            yield look
    yield look


def is_as_before(folder: BoundFolder, path: str, before: SeenFile) -> bool:
    """Return whether a file is as it was a moment ago."""
    try:
        return Stamp.of((folder.path / path).stat()) == before.stamp
    except OSError:
        return False


def not_there(folder: BoundFolder, look: Look, known: Mapping[str, KnownFile]) -> str | None:
    """Return why a folder is taken to be not there, where it held files that were `known`; None where it is there.

    A disk that is not mounted leaves an empty folder, and so does a network drive or a cloud that has lost its server.
    """
    if look.away is not None:
        return look.away
    there = [path for path, one in known.items() if one.gone_at is None]
    if not there or any(path in look.files for path in there) or look.closed:
        return None
    if not look.files:
        return _("it is empty, and held files before")
    if look.devices[""] not in {known[path].device for path in there}:
        return _("another disk is in its place, without any of its files")
    return None


def _seen(entry: os.DirEntry[str], path: str, device: int, within: Path) -> SeenFile | None:
    """Return what is seen of a file; None where it went away meanwhile."""
    try:
        # On Windows a listing knows no numbers of files.
        stamp = Stamp.of(entry.stat() if os.name != "nt" else Path(entry.path).stat())
        refused = outside(Path(entry.path), path, within) if entry.is_symlink() else None
    except OSError:
        return None
    return SeenFile(stamp, device, refused)
