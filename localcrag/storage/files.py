"""Files that last: written durably, kept as given, or temporary.

And those that do not: what a process works with is held by it, so that what a killed one leaves is known and removed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from localcrag.privacy.private_folder import make_lasting, to_disk
from localcrag.records.errors import StoreError, UnreadableDocument
from localcrag.records.ingest import FileAsRead

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


@contextmanager
def as_file(data: bytes, data_dir: Path, *, prefix: str, what: str, changed: float | None = None) -> Iterator[Path]:
    """Yield the path of a file with these bytes, in a folder of its own below `data_dir`; both are gone afterwards.

    `prefix` begins the folder's name; `what` is it, in words; `changed` is when it was changed last, in seconds since
    1970. Raises StoreError.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix=prefix, dir=data_dir, ignore_cleanup_errors=True)
        path = Path(folder.name) / "file"
        path.write_bytes(data)
        if changed is not None and changed >= 0:
            os.utime(path, (changed, changed))
    except OSError as error:
        raise StoreError(
            f"{what} could not be written to {data_dir}: {error.strerror or error}. Check that the disk has room."
        ) from error
    with folder, held(Path(folder.name)):
        yield path


_PIECE = 1 << 20


def pieces_of(file: FileAsRead) -> Iterator[bytes]:
    """Yield a file in pieces: it may be larger than what is wanted in memory.

    Raises UnreadableDocument, behind the last one as well: where it cannot be read, or is another than was read.
    """
    digest = hashlib.sha256()
    try:
        with file.path.open("rb") as opened:
            while piece := opened.read(_PIECE):
                digest.update(piece)
                yield piece
    except OSError as error:
        raise changed(file) from error
    if digest.hexdigest() != file.sha256:
        raise changed(file)


def keep_file(connection: sqlite3.Connection, document_id: int, file: FileAsRead) -> None:
    """Write the file of a document into the database. Raises UnreadableDocument."""
    try:
        connection.execute("INSERT INTO originals VALUES (?, zeroblob(?))", (document_id, file.path.stat().st_size))
        with connection.blobopen("originals", "data", document_id) as blob:
            for piece in pieces_of(file):
                blob.write(piece)
    except (OSError, ValueError) as error:  # ValueError: more than there is room for
        raise changed(file) from error


def changed(file: FileAsRead) -> UnreadableDocument:
    """Return what is said of a file that is another now, or gone."""
    return UnreadableDocument(f"{file.path.name} changed while it was added. Add it again.")
