"""Private files and folders: readable only by this user, and written to survive a power cut.

On Windows the system keeps a user's folders private, so permissions are not changed there.
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
OWN_FILES = (
    "localcrag.sqlite3*", "settings.json*", "scores-*.jsonl", ".web-*", ".within-*", "api-token*", "server_keys.json*",
    "model_checks.json*", "damaged-*", "*.log",
)  # fmt: skip
"""Patterns of localcrag's files at the top level of a data folder."""
OWN_FOLDERS = ("index", "cache", "uploads", "backups", "evaluations", "egress", "running", "logs")


def keep_private(data_dir: Path) -> None:
    """Create private files from now on, and make localcrag's files in a data folder private.

    The folder itself becomes private only if it contains nothing else, because the user may have chosen a shared one.
    Raises SettingsError if the folder cannot be created.
    """
    if os.name == "nt":
        return
    os.umask(OTHERS)
    try:
        make_private_folder(data_dir)
    except OSError as error:
        raise SettingsError(
            f"The data folder {data_dir} cannot be created: {error.strerror or error}. Choose another with --data-dir."
        ) from error
    for path in _localcrag_paths(data_dir):
        _close(path)


def make_private_folder(folder: Path) -> None:
    """Create a private folder and its missing parents so that they survive a power cut. Raises OSError."""
    new = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    # A new folder's name must also reach the disk: if the name is lost, so is everything in the folder.
    for one in new:
        flush_to_disk(one.parent)


def flush_to_disk(path: Path) -> None:
    """Flush a file's content, or a folder's entries, to the disk before returning. Raises OSError for files only."""
    if path.is_dir():
        # Windows cannot open folders, and some file systems cannot flush them.
        with suppress(OSError):
            _sync(path, os.O_RDONLY)
    else:
        _sync(path, os.O_RDWR)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        if sys.platform == "darwin":
            # On macOS, fsync may leave data in the drive's cache (see Apple's manual page of fsync).
            with suppress(OSError):  # Some drives do not support F_FULLFSYNC; fsync is the fallback for them.
                fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
                return
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_private(path: Path, text: str) -> None:
    """Write a file atomically that only this user can read; readers see the old content or the complete new one.

    When the function returns, the file is on the disk under its final name. Raises OSError.
    """
    make_private_folder(path.parent)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        # Create the file with its final mode, so that other users can never read it.
        temporary.unlink(missing_ok=True)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            # Without this, a power cut may leave an empty file under the new name.
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        flush_to_disk(path.parent)
    finally:
        # An error here does not matter: it does not affect the file that was written.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def exposed_files(data_dir: Path) -> list[Path]:
    """Return localcrag's files and folders in a data folder that other users can access."""
    return [] if os.name == "nt" else [path for path in _localcrag_paths(data_dir) if _mode(path) & OTHERS]


def _localcrag_paths(data_dir: Path) -> Iterator[Path]:
    if all(_is_localcrags(path) for path in data_dir.iterdir()):
        yield data_dir
    for pattern in OWN_FILES:
        yield from data_dir.glob(pattern)
    for name in OWN_FOLDERS:
        folder = data_dir / name
        if folder.is_dir() and not folder.is_symlink():
            yield folder
            yield from folder.rglob("*")


def _is_localcrags(path: Path) -> bool:
    return path.name in OWN_FOLDERS or any(path.match(pattern) for pattern in OWN_FILES)


def _close(path: Path) -> None:
    """Remove other users' permissions for a file or folder that this user owns."""
    mode = _mode(path)
    if not mode & OTHERS:
        return
    try:
        if path.stat().st_uid == os.getuid():
            path.chmod(mode & ~OTHERS)
    except OSError:
        pass  # The file was just deleted, or its disk has no permissions; `localcrag privacy` lists what remains.


def _mode(path: Path) -> int:
    try:
        # Do not follow links: they may lead anywhere, for example to a shared models folder.
        return 0 if path.is_symlink() else stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return 0
