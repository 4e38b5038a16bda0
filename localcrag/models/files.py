"""The model files on this computer: their checksums, their state, and where each model is.

`Library` combines these: it lists the models of the manifest and the user's own GGUF files, finds the path of a model
by its name, and verifies checksums. `VerifiedFiles` caches which files have been verified, and `ModelChecks` stores the
result of `localcrag models check` for each language model. Downloads are in download.py.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from localcrag.models.manifest import Manifest, ModelEntry, ModelFile, RepositorySource
from localcrag.records.enums import Skill
from localcrag.records.errors import ModelDamaged, ModelError, ModelMissing, SettingsError
from localcrag.records.models import FileCheck, FileState, Model, ModelRole, ModelState

CHECKSUMS_NAME = "checksums.json"
"""Name of the file with the checksums of a downloaded model, in the model's folder."""
CACHE_NAME = ".verified.json"
"""Name of the cache of verified files, in the models folder."""
WEIGHTS = (".safetensors", ".bin", ".pt")
"""Suffixes of files with weights."""
READ_BYTES = 4 * 1024 * 1024  # large enough for full disk speed, small enough for a smooth progress bar

log = logging.getLogger(__name__)
Entry = TypeVar("Entry")


def sha256_of(path: Path, report: Callable[[int], None] | None = None) -> str:
    """Return the file's SHA-256 in hexadecimal; call `report` with the number of bytes of each piece read."""
    return _digest(hashlib.sha256(), path, report)


def git_blob_sha1(path: Path, report: Callable[[int], None] | None = None) -> str:
    """Return the file's SHA-1 as a git object, which the hub declares as the checksum of small files."""
    header = b"blob %d\0" % path.stat().st_size
    return _digest(hashlib.sha1(header, usedforsecurity=False), path, report)


def weights_digest(folder: Path) -> str:
    """Return one SHA-256 over all weight files in a model's folder, which distinguishes models of the same name."""
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


def write_json(path: Path, content: object) -> None:
    """Write `content` so that another process sees either the old file or the complete new one. Raises OSError."""
    # tempfile.mkstemp would make the file readable by one user only, but a models folder may be shared.
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        temporary.write_text(json.dumps(content, indent=1, sort_keys=True), "utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file as it was downloaded and checked; `size` in bytes, `commit` of the hub's repository."""

    size: int
    sha256: str
    commit: str


_RECORDED = TypeAdapter(dict[str, dict[str, RecordedFile]])
_VERIFIED = TypeAdapter(dict[str, tuple[int, int, str]])
"""Size in bytes, modification time in nanoseconds, and SHA-256 of each verified file, by its path."""
_CHECKS = TypeAdapter(dict[str, Any])


def read_json(path: Path, form: TypeAdapter[dict[str, Entry]]) -> dict[str, Entry]:
    """Return the JSON object in the file; empty if the file is missing or damaged, so that files are checked again."""
    try:
        return form.validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValidationError) as error:
        log.warning("%s is not as localcrag writes it (%s) and is ignored.", path, error)
        return {}


def read_recorded(folder: Path) -> dict[str, RecordedFile]:
    """Return the records in the checksums.json of a downloaded model, by path; empty if there is no such file."""
    return read_json(folder / CHECKSUMS_NAME, _RECORDED).get("files", {})


def write_recorded(folder: Path, files: Mapping[str, RecordedFile]) -> None:
    """Write the checksums.json of a downloaded model. Raises OSError."""
    write_json(folder / CHECKSUMS_NAME, {"files": {path: asdict(file) for path, file in files.items()}})


class VerifiedFiles:
    """Cache of verified checksums by path, size and modification time, so that a start need not read gigabytes.

    It misses a change that keeps the file's size and its modification time (in nanoseconds); `localcrag models verify`
    reads every byte.
    """

    def __init__(self, models_dir: Path) -> None:
        self._path = models_dir / CACHE_NAME

    def holds(self, file: Path, sha256: str) -> bool:
        """Return whether the file, in its present state, was verified to have that checksum."""
        return read_json(self._path, _VERIFIED).get(str(file.absolute())) == _fingerprint(file, sha256)

    def remember(self, checked: Mapping[Path, str]) -> None:
        """Record files that have just been verified, with their SHA-256.

        If the folder cannot be written, log a warning: the files are then read again at every start.
        """
        known = read_json(self._path, _VERIFIED)
        known.update({str(file.absolute()): _fingerprint(file, sha256) for file, sha256 in checked.items()})
        known = {path: value for path, value in known.items() if Path(path).exists()}
        try:
            write_json(self._path, known)
        except OSError as error:
            log.warning("%s cannot be written (%s): models are checked again at every start.", self._path, error)


def _fingerprint(file: Path, sha256: str) -> tuple[int, int, str]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns, sha256


FILE_NAME = "model_checks.json"


@dataclass(frozen=True, slots=True)
class StoredCheck:
    """The stored result of a model check: the skills found, the parts passed and failed, and the day (ISO 8601)."""

    skills: tuple[Skill, ...]
    passed: tuple[str, ...]
    failed: tuple[str, ...]
    at: str


class ModelChecks:
    """Stored results of model checks in one data folder, by the model's name."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / FILE_NAME

    def find(self, name: str) -> StoredCheck | None:
        """Return the result of a model's last check; None if there is none or it is damaged."""
        with suppress(KeyError, ValidationError):
            return TypeAdapter(StoredCheck).validate_python(read_json(self._path, _CHECKS)[name])
        return None

    def save(self, name: str, check: StoredCheck) -> None:
        """Store the result of a check, replacing the model's last one. Raises SettingsError."""
        try:
            write_json(self._path, {**read_json(self._path, _CHECKS), name: asdict(check)})
        except OSError as error:
            raise SettingsError(f"{self._path} cannot be written: {error.strerror}. The check was not kept.") from error


GGUF_MAGIC = b"GGUF"  # the first four bytes, by the GGUF specification (ggml/docs/gguf.md)
# llama.cpp's gguf-split names the parts of a large model like this. Given the first part, llama.cpp loads all others.
SPLIT = re.compile(r"-(?P<number>\d{5})-of-(?P<parts>\d{5})$")


def check_loadable(path: Path, role: ModelRole) -> Path:
    """Return `path` if it may be a model for `role`. Raises ModelError; ModelDamaged for a file that is not GGUF."""
    if role is ModelRole.LLM:
        _check_gguf(path)
    elif not (path.is_dir() and (path / "config.json").is_file()):
        raise ModelError(
            f"{path} cannot be used as {role}: it is not the folder of a sentence-transformers model, which holds a "
            "config.json. Give that folder, or a name that `localcrag models list` shows."
        )
    return path


def guess_role(path: Path) -> ModelRole | None:
    """Return the role of the model at `path`, judged by its files; None if they do not show it."""
    if path.is_file():
        return ModelRole.LLM if path.suffix.lower() == ".gguf" else None
    try:
        architectures = json.loads((path / "config.json").read_text("utf-8")).get("architectures") or []
    except (OSError, ValueError, AttributeError):
        return None  # not a folder of the transformers library; the caller reports that
    if any(str(name).endswith("ForSequenceClassification") for name in architectures):
        return ModelRole.RELEVANCE
    return ModelRole.EMBEDDER if (path / "modules.json").is_file() else None


def _check_gguf(path: Path) -> None:
    if path.is_dir():
        raise ModelError(f"{path} is a folder. A language model is one file: give the path of the .gguf file in it.")
    try:
        with path.open("rb") as file:
            magic = file.read(len(GGUF_MAGIC))
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}. Check its permissions, or copy it.") from error
    if magic != GGUF_MAGIC:
        raise ModelDamaged(
            f"{path} is not a GGUF file (it does not begin with “GGUF”). Download it again, or choose another file."
        )


def _gguf_paths(models_dir: Path) -> Iterator[Path]:
    for path in models_dir.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(models_dir).parts)
        split = SPLIT.search(path.stem)
        later_part = split is not None and int(split["number"]) > 1
        if path.suffix.lower() == ".gguf" and not hidden and not later_part and path.is_file():
            yield path


def _parts(path: Path) -> list[Path]:
    split = SPLIT.search(path.stem)
    if split is None:
        return [path]
    start = path.name[: split.start()]
    return [other for other in path.parent.iterdir() if other.name.startswith(start) and SPLIT.search(other.stem)]


class Library:
    """The models in one models folder: those of the manifest, and the user's own."""

    def __init__(self, models_dir: Path, manifest: Manifest | None = None) -> None:
        """Read the manifest, unless it is given. Raises ModelError if it is not valid."""
        self.models_dir = models_dir.absolute()
        self.manifest = manifest or Manifest.load(self.models_dir)
        self.verified = VerifiedFiles(self.models_dir)

    def models(self) -> list[Model]:
        """Return every model of the manifest, then every GGUF file that the user added; checks only their sizes."""
        known = [self._listed(entry) for entry in self.manifest.entries]
        return known + [_user_model(name, path) for name, path in self._user_models().items()]

    def path(self, name_or_path: str, role: ModelRole) -> Path:
        """Return the .gguf file (language model) or the folder (embedding model, reranker) to load.

        `name_or_path` is a name in the manifest, the name of a GGUF file in the models folder, or a path. The first
        time, a model of the manifest is checked against its checksums, which reads the whole model. Raises
        ModelMissing, ModelDamaged, or ModelError if the model is for another role.
        """
        entry = self.manifest.find(name_or_path)
        if entry is None:
            return check_loadable(self._user_path(name_or_path, role), role)
        if entry.role is not role:
            raise ModelError(
                f"{entry.name} cannot be used as {role}: its role is {entry.role}. See `localcrag models list`."
            )
        self._confirm(entry)
        # An adapter is loaded on top of its base model, so this is the path of the base; see `adapter`.
        return self.path(entry.base, role) if entry.base and role is ModelRole.LLM else self.location(entry)

    def adapter(self, name_or_path: str) -> Path | None:
        """Return the path of a language model's LoRA adapter; None if it has none."""
        entry = self.manifest.find(name_or_path)
        return self.location(entry) if entry and entry.base and entry.role is ModelRole.LLM else None

    def vocabulary_folder(self, name_or_path: str) -> Path | None:
        """Return the folder of the embedding model whose token embeddings a reranker uses; None if it has its own.

        Raises ModelMissing and ModelDamaged.
        """
        entry = self.manifest.find(name_or_path)
        if entry is None or entry.base is None or entry.role is not ModelRole.RELEVANCE:
            return None
        return self.path(entry.base, ModelRole.EMBEDDER)

    def skills(self, name_or_path: str) -> frozenset[Skill] | None:
        """Return the skills that the manifest lists for a language model; None if it lists none."""
        entry = self.manifest.find(name_or_path)
        return entry.skills if entry else None

    def verify(self, name: str, report: Callable[[int], None] | None = None) -> tuple[FileCheck, ...]:
        """Read every file of a model and compare checksums; call `report` with the number of bytes of each piece read.

        Raises ModelMissing if there is no such model.
        """
        entry = self.manifest.find(name)
        if entry is None:
            return (FileCheck(name, self._user_path(name, None), FileState.UNKNOWN),)
        return tuple(self.check(entry, file, report, trust_earlier=False) for file in entry.files)

    def role(self, name_or_path: str) -> ModelRole | None:
        """Return the role of a model; None if its files do not show it. Raises ModelMissing."""
        entry = self.manifest.find(name_or_path)
        return entry.role if entry else guess_role(self._user_path(name_or_path, None))

    def folder(self, entry: ModelEntry) -> Path:
        """Return the entry's folder: next to the manifest if it ships with localcrag, else in the models folder."""
        shipped = isinstance(entry.source, RepositorySource)
        return (self.manifest.folder.absolute() if shipped else self.models_dir) / entry.folder

    def location(self, entry: ModelEntry) -> Path:
        """Return the path to load: the first file of a language model, otherwise the folder. It need not exist."""
        return self.folder(entry) / entry.files[0].path if entry.role is ModelRole.LLM else self.folder(entry)

    def state(self, entry: ModelEntry) -> ModelState:
        """Return PRESENT if all of the entry's files exist in the right size, MISSING if none exists, else DAMAGED."""
        folder = self.folder(entry)
        there = [file for file in entry.files if (folder / file.path).is_file()]
        if not there:
            return ModelState.MISSING
        # The manifest knows some sizes only approximately; the exact sizes were recorded when the files were
        # downloaded.
        recorded = read_recorded(folder)
        sizes = {file.path: file.size for file in there if file.exact}
        sizes |= {file.path: recorded[file.path].size for file in there if file.path in recorded}
        whole = len(there) == len(entry.files)
        right = all((folder / path).stat().st_size == size for path, size in sizes.items())
        return ModelState.PRESENT if whole and right else ModelState.DAMAGED

    def check(
        self,
        entry: ModelEntry,
        file: ModelFile,
        report: Callable[[int], None] | None = None,
        *,
        trust_earlier: bool = True,
    ) -> FileCheck:
        """Compare one file's checksum with the manifest's, or with the checksum recorded during the download.

        With `trust_earlier`, do not read a file again that was verified before and has not changed since.
        """
        folder = self.folder(entry)
        path = folder / file.path
        if not path.is_file():
            return FileCheck(entry.name, path, FileState.MISSING)
        recorded = read_recorded(folder).get(file.path)
        expected = file.sha256 or (recorded.sha256 if recorded else None)
        if expected is None:
            return FileCheck(entry.name, path, FileState.UNKNOWN)
        if not (trust_earlier and self.verified.holds(path, expected)):
            if sha256_of(path, report) != expected:
                return FileCheck(entry.name, path, FileState.WRONG)
            self.verified.remember({path: expected})
        return FileCheck(entry.name, path, FileState.OK)

    def remedy(self, entry: ModelEntry) -> str:
        """Return a sentence that tells the user how to get or restore the entry's files."""
        if isinstance(entry.source, RepositorySource):
            return f"It ships with localcrag: restore the folder, with `git checkout -- {self.folder(entry)}` for one."
        return f"Get it with `localcrag models get {entry.name}`."

    def _confirm(self, entry: ModelEntry) -> None:
        checks = [self.check(entry, file) for file in entry.files]
        if all(check.state is FileState.MISSING for check in checks):
            raise ModelMissing(f"The model {entry.name} is not in {self.folder(entry).parent}. {self.remedy(entry)}")
        for check in checks:
            if check.state is FileState.MISSING:
                raise ModelDamaged(f"The model {entry.name} lacks {check.path}. {self.remedy(entry)}")
            if check.state is FileState.WRONG:
                raise ModelDamaged(f"{check.path} does not have the checksum it should have. {self.remedy(entry)}")

    def _listed(self, entry: ModelEntry) -> Model:
        return Model(
            name=entry.name,
            role=entry.role,
            source=entry.source.kind,
            state=self.state(entry),
            size=entry.size,
            exact=entry.exact,
            path=self.location(entry),
            licence=entry.licence,
            description=entry.description,
        )

    def _user_models(self) -> dict[str, Path]:
        """Return the user's GGUF files, sorted by path.

        A model is named after its file, or after its path below the models folder if that name is taken.
        """
        listed = {self.folder(entry) / file.path for entry in self.manifest.entries for file in entry.files}
        paths = sorted(path for path in _gguf_paths(self.models_dir) if path not in listed)
        taken = Counter([*(path.stem for path in paths), *(entry.name for entry in self.manifest.entries)])
        return {
            path.stem if taken[path.stem] == 1 else path.relative_to(self.models_dir).as_posix(): path for path in paths
        }

    def _user_path(self, name_or_path: str, role: ModelRole | None) -> Path:
        """Return the path of one of the user's models, by its name, its file name or its path. Raises ModelMissing."""
        for name, path in self._user_models().items():
            if name_or_path in (name, path.name):
                return path
        for path in (self.models_dir / name_or_path, Path(name_or_path).expanduser().absolute()):
            if name_or_path and path.exists():
                return path
        similar = self.manifest.similar(name_or_path, role)
        guess = f" Did you mean {' or '.join(similar)}?" if similar else ""
        name = similar[0] if similar else "NAME"
        raise ModelMissing(
            f"There is no model “{name_or_path}”: neither in the list of models, nor a file or folder of that "
            f"name.{guess} `localcrag models list` shows all, `localcrag models get {name}` gets one."
        )


def _user_model(name: str, path: Path) -> Model:
    return Model(
        name=name,
        role=ModelRole.LLM,
        source="yours",
        state=ModelState.PRESENT,
        size=sum(part.stat().st_size for part in _parts(path)),
        exact=True,
        path=path,
    )
