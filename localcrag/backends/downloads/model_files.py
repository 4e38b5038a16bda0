"""The models folder: which models are there, where each is, and whether its files are intact.

Knows the manifest, the checksums and the user's own files; does not load a model, and leaves downloads to
model_download.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from localcrag.backends.downloads.model_checksums import VerifiedFiles, read_recorded, sha256_of
from localcrag.backends.downloads.model_manifest import Manifest, ModelEntry, ModelFile, RepositorySource
from localcrag.backends.downloads.own_models import OwnModel, check_loadable, find_own, guess_role, own_gguf_files
from localcrag.records.enums import Skill
from localcrag.records.errors import ModelDamaged, ModelError, ModelMissing
from localcrag.records.models import FileCheck, FileState, Model, ModelRole, ModelState


class Library:
    """The models of one folder."""

    def __init__(self, models_dir: Path, manifest: Manifest | None = None) -> None:
        """Read the manifest, unless it is given. Raises ModelError when it is not valid."""
        self.models_dir = models_dir.absolute()
        self.manifest = manifest or Manifest.load(self.models_dir)
        self.verified = VerifiedFiles(self.models_dir)

    def models(self) -> list[Model]:
        """Return every model of the manifest, then every GGUF file of the user's own; only sizes are looked at."""
        known = [self._listed(entry) for entry in self.manifest.entries]
        return known + [_listed_own(model) for model in self._own()]

    def path(self, name_or_path: str, role: ModelRole) -> Path:
        """Return the .gguf file (language model) or the folder (embedder, relevance) to load.

        `name_or_path` is a name of the manifest, the name of a GGUF file in the models folder, or a path. A model of
        the manifest is checked against its checksums the first time, which reads it once. Raises ModelMissing,
        ModelDamaged, or ModelError when the model is for another role.
        """
        entry = self.manifest.find(name_or_path)
        if entry is None:
            return check_loadable(self._own_path(name_or_path, role), role)
        if entry.role is not role:
            raise ModelError(
                f"{entry.name} cannot be used as {role}, it is for {entry.role}. See `localcrag models list`."
            )
        self._confirm(entry)
        return self.path(entry.base, role) if entry.base and role is ModelRole.LLM else self.location(entry)

    def adapter(self, name_or_path: str) -> Path | None:
        """Return the adapter that is loaded with a language model, None when it is one without."""
        entry = self.manifest.find(name_or_path)
        return self.location(entry) if entry and entry.base and entry.role is ModelRole.LLM else None

    def words(self, name_or_path: str) -> Path | None:
        """Return the folder of the embedder whose words a relevance model reads, None when it has its own.

        Raises ModelMissing and ModelDamaged.
        """
        entry = self.manifest.find(name_or_path)
        if entry is None or entry.base is None or entry.role is not ModelRole.RELEVANCE:
            return None
        return self.path(entry.base, ModelRole.EMBEDDER)

    def skills(self, name_or_path: str) -> frozenset[Skill] | None:
        """Return what the list says that a language model can be asked for; None where it says nothing of it."""
        entry = self.manifest.find(name_or_path)
        return entry.skills if entry else None

    def verify(self, name: str, report: Callable[[int], None] | None = None) -> tuple[FileCheck, ...]:
        """Read every file of a model and compare checksums; `report` is told the bytes of each piece read.

        Raises ModelMissing when there is no such model.
        """
        entry = self.manifest.find(name)
        if entry is None:
            return (FileCheck(name, self._own_path(name, None), FileState.UNKNOWN),)
        return tuple(self.check(entry, file, report, trust_earlier=False) for file in entry.files)

    def role(self, name_or_path: str) -> ModelRole | None:
        """Return what a model is for, None when its files do not tell. Raises ModelMissing."""
        entry = self.manifest.find(name_or_path)
        return entry.role if entry else guess_role(self._own_path(name_or_path, None))

    def folder(self, entry: ModelEntry) -> Path:
        """Return the entry's folder: beside the manifest when it ships with localcrag, else in the models folder."""
        shipped = isinstance(entry.source, RepositorySource)
        return (self.manifest.folder.absolute() if shipped else self.models_dir) / entry.folder

    def location(self, entry: ModelEntry) -> Path:
        """Return what a library loads: the file of a language model, else the folder; there or not."""
        return self.folder(entry) / entry.files[0].path if entry.role is ModelRole.LLM else self.folder(entry)

    def state(self, entry: ModelEntry) -> ModelState:
        """Return whether the entry's files are there with the right sizes."""
        folder = self.folder(entry)
        there = [file for file in entry.files if (folder / file.path).is_file()]
        if not there:
            return ModelState.MISSING
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
        """Compare one file's checksum with the manifest's, or with the one recorded when it was downloaded.

        With `trust_earlier`, a file that was checked before and has not changed since is not read again.
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
        """Return the sentence that says how to get the entry's files, or to mend them."""
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

    def _own(self) -> list[OwnModel]:
        files = {self.folder(entry) / file.path for entry in self.manifest.entries for file in entry.files}
        return own_gguf_files(self.models_dir, files, {entry.name for entry in self.manifest.entries})

    def _own_path(self, name_or_path: str, role: ModelRole | None) -> Path:
        path = find_own(name_or_path, self.models_dir, self._own())
        if path is None:
            similar = self.manifest.similar(name_or_path, role)
            guess = f" Did you mean {' or '.join(similar)}?" if similar else ""
            name = similar[0] if similar else "NAME"
            raise ModelMissing(
                f"There is no model “{name_or_path}”: neither in the list of models, nor a file or folder of that "
                f"name.{guess} `localcrag models list` shows all, `localcrag models get {name}` gets one."
            )
        return path


def _listed_own(model: OwnModel) -> Model:
    return Model(
        name=model.name,
        role=ModelRole.LLM,
        source="yours",
        state=ModelState.PRESENT,
        size=model.size,
        exact=True,
        path=model.path,
    )
