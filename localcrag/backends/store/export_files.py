"""Exports as files. An evaluation set's folder appears as a whole or not at all."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from localcrag.privacy.private_folder import to_disk
from localcrag.records.errors import ReportError
from localcrag.runs.evaluation_set import DOCUMENTS, QUESTIONS


def write_set(folder: Path, lines: Iterable[str], documents: Mapping[str, str]) -> None:
    """Write an evaluation set to `folder`, which must not exist yet, or be empty. Raises ReportError."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ReportError(f"{folder} is there already, and not empty. Choose a new folder for the evaluation set.")
        folder.parent.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            (making / DOCUMENTS).mkdir()
            for name, text in documents.items():
                (making / DOCUMENTS / name).write_text(text, "utf-8")
            (making / QUESTIONS).write_text("".join(lines), "utf-8")
            making.replace(folder)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    except OSError as error:
        raise _not_written(folder, error) from error


def write_lines(file: Path, lines: Iterable[str]) -> None:
    """Write lines to `file`, in place of what was there. Raises ReportError."""
    temporary = file.with_name(f".{file.name}.tmp")
    try:
        temporary.write_text("".join(lines), "utf-8")
        to_disk(temporary)
        temporary.replace(file)
        to_disk(file.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise _not_written(file, error) from error


def _not_written(path: Path, error: OSError) -> ReportError:
    return ReportError(f"{path} could not be written: {error.strerror or error}. Choose another place.")
