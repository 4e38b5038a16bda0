"""Files: durable atomic writes, files locked by their process, temporary files, and stored originals.

A process locks the temporary files that it works with. If it is killed, they are no longer locked, and the next start
removes them.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from localcrag.privacy.private_folder import flush_to_disk, make_private_folder
from localcrag.records.errors import StoreError, UnreadableDocument
from localcrag.records.ingest import OriginalFile

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PART = ".part"
"""Suffix of a file's name while it is being written."""
NEW_FILE_SECONDS = 10.0
"""Seconds during which a new file may not be locked yet by the process that created it."""
ABANDONED_SECONDS = 3600.0
"""Seconds after which a file counts as abandoned if files cannot be locked (Windows, some network drives)."""


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield the path of an empty private file to write, which is synced to disk and renamed to `path` afterwards.

    Raises FileExistsError if `path` exists, which stays unchanged, and OSError.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
    try:
        make_private_folder(path.parent)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, f"{path.parent} is not a folder", str(path.parent)) from error
    if path.exists():
        raise FileExistsError(errno.EEXIST, "The file already exists", str(path))
    temporary.touch(0o600, exist_ok=False)
    try:
        with locked_file(temporary):
            yield temporary
        flush_to_disk(temporary)
        try:
            # Unlike renaming, linking fails if another process has created `path` in between.
            path.hardlink_to(temporary)
        except FileExistsError:
            raise
        except OSError:  # the file system has no hard links, as on many USB sticks
            temporary.replace(path)
        flush_to_disk(path.parent)
    finally:
        # A failure here does not mean that the file was not written. The next start removes any leftovers.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def locked_file(path: Path) -> Iterator[None]:
    """Lock a file or folder for this process during the block. The lock also ends when the process is killed."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # the file system has no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def remove_abandoned(folder: Path, *patterns: str) -> None:
    """Remove the files and folders that match these patterns and that no process has locked."""
    for path in (one for pattern in patterns for one in folder.glob(pattern)):
        if is_abandoned(path):
            with suppress(OSError):
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()


def is_abandoned(path: Path, new_for: float = NEW_FILE_SECONDS) -> bool:
    """Return whether no process has locked a file or folder that is older than `new_for` seconds."""
    try:
        # After the clock was set back, a file may be dated in the future although it is old.
        age = abs(time.time() - path.stat().st_mtime)
        if age < new_for:
            return False
        if fcntl is None:
            return age > ABANDONED_SECONDS
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return age > ABANDONED_SECONDS
    finally:
        os.close(descriptor)
    return True


@contextmanager
def temporary_file(
    data: bytes, data_dir: Path, *, prefix: str, description: str, modified_at: float | None = None
) -> Iterator[Path]:
    """Yield the path of a temporary file with these bytes, in a new folder below `data_dir`; remove both afterwards.

    `prefix` begins the folder's name, `description` describes the file in error messages, and `modified_at` is its
    modification time in seconds since 1970. Raises StoreError.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix=prefix, dir=data_dir, ignore_cleanup_errors=True)
        path = Path(folder.name) / "file"
        path.write_bytes(data)
        if modified_at is not None and modified_at >= 0:
            os.utime(path, (modified_at, modified_at))
    except OSError as error:
        raise StoreError(
            f"{description} could not be written to {data_dir}: {error.strerror or error}. Check that the disk "
            "has room."
        ) from error
    with folder, locked_file(Path(folder.name)):
        yield path


_PIECE = 1 << 20
"""Bytes to read from a file at once."""


def read_pieces(file: OriginalFile) -> Iterator[bytes]:
    """Yield a file in pieces, because it may be too large for memory.

    Raises UnreadableDocument if the file cannot be read or, after the last piece, if its checksum has changed.
    """
    digest = hashlib.sha256()
    try:
        with file.path.open("rb") as opened:
            while piece := opened.read(_PIECE):
                digest.update(piece)
                yield piece
    except OSError as error:
        raise changed_file(file) from error
    if digest.hexdigest() != file.sha256:
        raise changed_file(file)


def changed_file(file: OriginalFile) -> UnreadableDocument:
    """Return the error for a file that was changed or removed while it was added."""
    return UnreadableDocument(f"{file.path.name} changed while it was added. Add it again.")
