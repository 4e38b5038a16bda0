"""Files that last: on the disk before anybody is told, under their own name only when they are whole.

And those that do not: what a process works with is held by it, so that what a killed one leaves is known and removed.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from localcrag.privacy.private_folder import make_lasting, to_disk

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PART = ".part"
"""The end of a file's name while it is written."""
JUST_MADE = 10.0
"""Seconds within which a file may not be held yet by the process that has made it."""
FORGOTTEN = 3600.0
"""Seconds after which a file is taken for left behind where files cannot be held (Windows, some network drives)."""


@contextmanager
def whole_or_not_at_all(path: Path) -> Iterator[Path]:
    """Yield the path of an empty file to write, private, which has the name `path` afterwards, and lasts.

    Raises FileExistsError where there is such a file, which is left as it is, and OSError.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
    try:
        make_lasting(path.parent)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, f"{path.parent} is no folder", str(path.parent)) from error
    if path.exists():
        raise FileExistsError(errno.EEXIST, "There is such a file already", str(path))
    temporary.touch(0o600, exist_ok=False)
    try:
        with held(temporary):
            yield temporary
        to_disk(temporary)
        try:
            # Unlike a renaming, this takes nobody's place.
            path.hardlink_to(temporary)
        except FileExistsError:
            raise
        except OSError:  # a disk without links, as sticks have
            temporary.replace(path)
        to_disk(path.parent)
    finally:
        # Whether this works says nothing of whether the file is written; the next start removes what is left.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a file or folder as this process's own, until it is done with or has ended, however."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def remove_abandoned(folder: Path, *patterns: str) -> None:
    """Remove the files and folders of these names that no process holds, all within them too."""
    for path in (one for pattern in patterns for one in folder.glob(pattern)):
        if is_abandoned(path):
            with suppress(OSError):
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()


def is_abandoned(path: Path, just_made: float = JUST_MADE) -> bool:
    """Whether no process holds a file or folder. What was made just now, in seconds, may be about to be held."""
    try:
        # A clock that was set back makes files of the future: these are old.
        age = abs(time.time() - path.stat().st_mtime)
        if age < just_made:
            return False
        if fcntl is None:
            return age > FORGOTTEN
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return age > FORGOTTEN
    finally:
        os.close(descriptor)
    return True
