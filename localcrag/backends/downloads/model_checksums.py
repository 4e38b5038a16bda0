"""Checksums of model files, computed once and remembered.

Knows paths and checksums; does not know models, manifests or where files come from.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

CHECKSUMS_NAME = "checksums.json"
CACHE_NAME = ".verified.json"
WEIGHTS = (".safetensors", ".bin", ".pt")
READ_BYTES = 4 * 1024 * 1024  # large enough for full disk speed, small enough for a smooth progress bar

log = logging.getLogger(__name__)


def sha256_of(path: Path, report: Callable[[int], None] | None = None) -> str:
    """Return the file's SHA-256 in hexadecimal; `report` is told the bytes of each piece read."""
    return _digest(hashlib.sha256(), path, report)


def git_blob_of(path: Path, report: Callable[[int], None] | None = None) -> str:
    """Return the file's name as a git object: what the hub declares for the small files that it keeps in git."""
    header = b"blob %d\0" % path.stat().st_size
    return _digest(hashlib.sha1(header, usedforsecurity=False), path, report)


def weights_digest(folder: Path) -> str:
    """Return one SHA-256 of all weight files of a model's folder: what tells models of the same name apart."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in WEIGHTS and path.is_file()):
        digest.update(f"{path.relative_to(folder).as_posix()} {sha256_of(path)}\n".encode())
    return digest.hexdigest()


def _digest(digest: hashlib._Hash, path: Path, report: Callable[[int], None] | None) -> str:
    with path.open("rb") as file:
        while piece := file.read(READ_BYTES):
            digest.update(piece)
            if report:
                report(len(piece))
    return digest.hexdigest()


def flush(path: Path) -> None:
    """Have the content on the disk before anything says that it is there, for the sake of a power cut."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def write_json(path: Path, content: object) -> None:
    """Write `content` so that another process sees the old file or the whole new one. Raises OSError."""
    # No tempfile.mkstemp: its files are for one user, and a models folder may be shared.
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        temporary.write_text(json.dumps(content, indent=1, sort_keys=True), "utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """What a file was when it was downloaded and checked; `size` in bytes, `commit` of the hub's repository."""

    size: int
    sha256: str
    commit: str


def read_recorded(folder: Path) -> dict[str, RecordedFile]:
    """Return what the checksums.json beside a downloaded model says, by path; empty when there is none."""
    content = _read_json(folder / CHECKSUMS_NAME)
    try:
        return {
            str(path): RecordedFile(int(file["size"]), str(file["sha256"]), str(file["commit"]))
            for path, file in content.get("files", {}).items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        log.warning("%s is not as localcrag writes it (%r) and is ignored.", folder / CHECKSUMS_NAME, error)
        return {}


def write_recorded(folder: Path, files: Mapping[str, RecordedFile]) -> None:
    """Write the checksums.json of a downloaded model. Raises OSError."""
    write_json(folder / CHECKSUMS_NAME, {"files": {path: asdict(file) for path, file in files.items()}})


class VerifiedFiles:
    """Which files had which checksum, by path, size and time of change, so that a start need not read gigabytes.

    A file that was changed and given back its size and its time of change (in nanoseconds) is not noticed;
    `localcrag models verify` reads every byte.
    """

    def __init__(self, models_dir: Path) -> None:
        self._path = models_dir / CACHE_NAME

    def holds(self, file: Path, sha256: str) -> bool:
        """Return whether the file as it is now is known to have that checksum."""
        return bool(_read_json(self._path).get(str(file.absolute())) == _fingerprint(file, sha256))

    def remember(self, checked: Mapping[Path, str]) -> None:
        """Note files that have just been found to have these SHA-256.

        A folder that cannot be written costs a warning: the files are then read again at every start.
        """
        known = _read_json(self._path)
        known.update({str(file.absolute()): _fingerprint(file, sha256) for file, sha256 in checked.items()})
        known = {path: value for path, value in known.items() if Path(path).exists()}
        try:
            write_json(self._path, known)
        except OSError as error:
            log.warning("%s cannot be written (%s): models are checked again at every start.", self._path, error)


def _fingerprint(file: Path, sha256: str) -> list[int | str]:
    status = file.stat()
    return [status.st_size, status.st_mtime_ns, sha256]


def _read_json(path: Path) -> dict[str, Any]:
    """Return the object in the file; empty when there is none, or when it is torn: then files are checked anew."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        log.warning("%s cannot be read (%s) and is ignored.", path, error)
        return {}
    return content if isinstance(content, dict) else {}
