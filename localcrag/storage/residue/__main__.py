"""Search the data folder for residue: this process finds given bytes in the files of a folder.

The process is confined, so it cannot write or connect. It is separate from the app, because a process loses its locks
on a SQLite database that it uses if it opens and closes the file again (sqlite.org/howtocorrupt.html, 2.2).
"""

from __future__ import annotations

import io
import mmap
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from localcrag.privacy.guard import guard
from localcrag.privacy.worker_process import confine, send, serve


def report_matches(folder: Path, excluded: list[Path], wanted: list[list[bytes]], out: IO[bytes]) -> None:
    """Send a frame for each file, with the number and first place of each item in `wanted` that the file contains.

    An item is a list of forms, any of which counts. The folders in `excluded` and links are skipped. The last frame has
    the totals and the files that could not be read.
    """
    files = read = 0
    unread = []
    for path in _files(folder, excluded):
        try:
            places, size = _places(path, wanted)
        except FileNotFoundError:
            continue  # The file was deleted after it was listed, and its content with it.
        except OSError as error:
            unread.append([os.fsencode(path).hex(), error.strerror or str(error)])
            continue
        files, read = files + 1, read + size
        send(out, {"file": os.fsencode(path).hex(), "places": places} if places else {})
    send(out, {"end": True, "files": files, "bytes": read, "unread": unread})


def _files(folder: Path, excluded: list[Path]) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if Path(root) / name not in excluded)
        yield from (Path(root) / name for name in sorted(files))


def _places(path: Path, wanted: list[list[bytes]]) -> tuple[list[list[int]], int]:
    """Return the number and first place of each wanted item in a file, and the bytes read. Raises OSError."""
    about = path.lstat()
    # An empty file cannot be mapped into memory.
    if not stat.S_ISREG(about.st_mode) or not about.st_size:
        return [], 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        places = []
        for number, forms in enumerate(wanted):
            offsets = [at for form in forms if (at := data.find(form)) >= 0]
            if offsets:
                places.append([number, min(offsets)])
        return places, len(data)


def answer(asked: dict[str, Any], attached: bytes, out: IO[bytes]) -> None:
    """Answer a request with frames; `attached` is the concatenation of all forms of all wanted items."""
    data = io.BytesIO(attached)
    wanted = [[data.read(length) for length in lengths] for lengths in asked["lengths"]]
    excluded = [Path(os.fsdecode(bytes.fromhex(one))) for one in asked["left_out"]]
    report_matches(Path(os.fsdecode(bytes.fromhex(asked["folder"]))), excluded, wanted, out)


if __name__ == "__main__":
    guard()
    confine()
    serve(answer)
