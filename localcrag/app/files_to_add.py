"""Files to add: those that a person names, and all that are in a folder they name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from localcrag.records.errors import UnreadableDocument
from localcrag.records.ingest import Upload
from localcrag.text.paths import is_hidden, shown


def uploads_from(paths: Sequence[Path]) -> list[Upload]:
    """Return the files at `paths`; of a folder all files in it, named by their path inside, hidden ones left out.

    Links to folders are not followed, so that none leads round in a circle; a link to a file outside of the folder is
    refused when its turn comes. A path that does not exist fails when it is read. Raises UnreadableDocument when a
    folder holds no file.
    """
    uploads: list[Upload] = []
    for path in paths:
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.is_file() and not is_hidden(file.relative_to(path)))
            if not files:
                raise UnreadableDocument(f"The folder {path} holds no files.")
            within = path.resolve()
            uploads += [_of_folder(file, file.relative_to(path).as_posix(), within) for file in files]
        else:
            uploads.append(Upload(path, path.name, original=True))
    return uploads


def _of_folder(file: Path, name: str, folder: Path) -> Upload:
    """Return a file of a folder. A folder that somebody else made may hold a link to what is nobody's business."""
    if not file.is_symlink() or file.resolve().is_relative_to(folder):
        return Upload(file, name, original=True)
    said = f"{shown(name)} was left out: it is a link to a file outside of the folder. Add that file by itself."
    return Upload(file, name, original=True, refused=said)
