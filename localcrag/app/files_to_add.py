"""Files to add: those that a person names, and all that are in a folder they name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from localcrag.records.errors import UnreadableDocument
from localcrag.records.ingest import Upload
from localcrag.text.paths import is_hidden


def uploads_from(paths: Sequence[Path]) -> list[Upload]:
    """Return the files at `paths`; of a folder all files in it, named by their path inside, hidden ones left out.

    A path that does not exist fails when it is read. Raises UnreadableDocument when a folder holds no file.
    """
    uploads: list[Upload] = []
    for path in paths:
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.is_file() and not is_hidden(file.relative_to(path)))
            if not files:
                raise UnreadableDocument(f"The folder {path} holds no files.")
            uploads += [Upload(file, file.relative_to(path).as_posix(), original=True) for file in files]
        else:
            uploads.append(Upload(path, path.name, original=True))
    return uploads
