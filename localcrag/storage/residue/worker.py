"""What the process does that reads a folder's files: it says where in them given bytes are.

In a process of its own, since whoever opens and closes the file of an open SQLite database lets go of the locks that
his process has on it (sqlite.org/howtocorrupt.html, 2.2).
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from localcrag.privacy.worker_process import send, serve


def found_in(folder: Path, left_out: list[Path], wanted: list[list[bytes]], out: IO[bytes]) -> None:
    """Write, of each file that has some of `wanted`, which: of each the first place where one of its forms is.

    Files in `left_out`, and links, are not looked into.
    """
    files = read = 0
    unread = []
    for path in _files(folder, left_out):
        try:
            places, size = _places(path, wanted)
        except FileNotFoundError:
            continue  # Gone meanwhile, and with it what was in it.
        except OSError as error:
            unread.append([os.fsencode(path).hex(), error.strerror or str(error)])
            continue
        files, read = files + 1, read + size
        if places:
            send(out, {"file": os.fsencode(path).hex(), "places": places})
        else:
            send(out, {})
    send(out, {"end": True, "files": files, "bytes": read, "unread": unread})


def _files(folder: Path, left_out: list[Path]) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if Path(root) / name not in left_out)
        yield from (Path(root) / name for name in sorted(files))


def _places(path: Path, wanted: list[list[bytes]]) -> tuple[list[list[int]], int]:
    """Return number and place of what a file has, and how many bytes were read. Raises OSError."""
    about = path.lstat()
    if not stat.S_ISREG(about.st_mode) or not about.st_size:
        return [], 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        places = []
        for number, forms in enumerate(wanted):
            there = [at for form in forms if (at := data.find(form)) >= 0]
            if there:
                places.append([number, min(there)])
        return places, len(data)


def answer(asked: dict[str, Any], attached: bytes, out: IO[bytes]) -> None:
    """Answer by frames; `attached` has all forms of all that is wanted, one behind the other."""
    wanted, at = [], 0
    for lengths in asked["lengths"]:
        forms = []
        for length in lengths:
            forms.append(attached[at : at + length])
            at += length
        wanted.append(forms)
    left_out = [Path(os.fsdecode(bytes.fromhex(one))) for one in asked["left_out"]]
    found_in(Path(os.fsdecode(bytes.fromhex(asked["folder"]))), left_out, wanted, out)


def main() -> None:
    """Answer until nobody asks any more."""
    serve(answer)
