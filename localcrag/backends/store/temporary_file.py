"""What is in no file of its own as a temporary file, while it is added to a collection."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localcrag.backends.store.durable_files import held
from localcrag.records.errors import StoreError


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
