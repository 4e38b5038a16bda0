"""Private files and folders: for this user alone, and on the disk before anybody is told.

On Windows the folders of a user are private by the system, and nothing is done here.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from localcrag.records.errors import SettingsError

if sys.platform == "darwin":
    import fcntl

OTHERS = 0o077
OURS = (
    "localcrag.sqlite3*", "settings.json*", "scores-*.jsonl", ".web-*", ".within-*", "api-token*", "server_keys.json*",
    "model_checks.json*", "damaged-*", "*.log",
)  # fmt: skip
"""What is ours at the top of a data folder, beside the folders."""
OUR_FOLDERS = ("index", "cache", "uploads", "backups", "evaluations", "egress", "running", "logs")


def keep_private(data_dir: Path) -> None:
    """Write for this user alone from now on, and make our files in a data folder private.

    The folder itself is closed when it holds nothing else: somebody may have chosen one that others use, too.
    Raises SettingsError when the folder cannot be made.
    """
    if os.name == "nt":
        return
    os.umask(OTHERS)
    try:
        make_lasting(data_dir)
    except OSError as error:
        raise SettingsError(
            f"The data folder {data_dir} cannot be made: {error.strerror or error}. Choose another with --data-dir."
        ) from error
    for path in _ours(data_dir):
        _close(path)


def make_lasting(folder: Path) -> None:
    """Make a private folder, and those that it lies in, whose names last through a power cut. Raises OSError."""
    new = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    # A folder whose own name is lost is lost with all that is in it.
    for one in new:
        to_disk(one.parent)


def to_disk(path: Path) -> None:
    """Have a file's bytes, or the names in a folder, on the disk when this returns. Raises OSError for a file."""
    if path.is_dir():
        # Windows opens no folders, and some file systems cannot do this for one.
        with suppress(OSError):
            _sync(path, os.O_RDONLY)
    else:
        _sync(path, os.O_RDWR)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        if sys.platform == "darwin":
            # There fsync leaves it in the disk's own memory (Apple's manual page of fsync says so).
            with suppress(OSError):  # a disk that knows no other way
                fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
                return
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_private(path: Path, text: str) -> None:
    """Write a file that only this user can read; whoever reads it meanwhile finds the old one or the whole new one.

    It is on the disk, under its name, when this returns. Raises OSError.
    """
    make_lasting(path.parent)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        # Made anew with its mode, so that it is never anybody else's to read.
        temporary.unlink(missing_ok=True)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            # Else a power cut may leave the new name with nothing in it.
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        to_disk(path.parent)
    finally:
        # Whether this works says nothing of whether the file is written.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def open_to_others(data_dir: Path) -> list[Path]:
    """Return our files in a data folder that other users may read."""
    return [] if os.name == "nt" else [path for path in _ours(data_dir) if _mode(path) & OTHERS]


def _ours(data_dir: Path) -> Iterator[Path]:
    if all(_is_ours(path) for path in data_dir.iterdir()):
        yield data_dir
    for pattern in OURS:
        yield from data_dir.glob(pattern)
    for name in OUR_FOLDERS:
        folder = data_dir / name
        if folder.is_dir() and not folder.is_symlink():
            yield folder
            yield from folder.rglob("*")


def _is_ours(path: Path) -> bool:
    return path.name in OUR_FOLDERS or any(path.match(pattern) for pattern in OURS)


def _close(path: Path) -> None:
    """Remove the permissions of others."""
    mode = _mode(path)
    if not mode & OTHERS:
        return
    try:
        if path.stat().st_uid == os.getuid():
            path.chmod(mode & ~OTHERS)
    except OSError:
        pass  # Gone meanwhile, or on a disk without permissions: `localcrag privacy` says what stays open.


def _mode(path: Path) -> int:
    try:
        # Not through links: they may lead anywhere, to a models folder that others use as well.
        return 0 if path.is_symlink() else stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0
