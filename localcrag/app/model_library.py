"""The model library: models listed, downloaded, checked and chosen; none is loaded here."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from localcrag.app.model_servers import ModelServers, role_of
from localcrag.app.settings_in_use import SettingsInUse
from localcrag.backends.downloads.model_files import Library
from localcrag.backends.store.model_checks import KeptCheck, ModelChecks
from localcrag.evaluation.model_check import Part
from localcrag.records.downloads import Report
from localcrag.records.enums import Skill
from localcrag.records.models import FileCheck, Model, ModelRole, ModelSet, ModelState, behind_server
from localcrag.settings import Settings


class Choice(NamedTuple):
    """A model that is used from now on: what the settings name it by, and its path; a server's has none."""

    role: ModelRole
    name: str
    path: Path | None


class ModelLibrary:
    """The models of the list that comes with localcrag, and a user's own, in one folder."""

    def __init__(self, settings: SettingsInUse) -> None:
        """Read the list. Raises ModelError when it is not valid."""
        self._settings = settings
        self._files = Library(settings.now.models_dir)
        self.servers = ModelServers(settings)
        self.checks = ModelChecks(settings.now.data_dir)

    @property
    def folder(self) -> Path:
        """Where models are downloaded to."""
        return self._files.models_dir

    def models(self) -> list[Model]:
        """Return every model of the list, then the user's own: files, and what servers were found to have."""
        return [*self._files.models(), *self.servers.models()]

    def language_models(self, state: ModelState) -> list[Model]:
        """Return the language models that are there, missing or damaged."""
        return [model for model in self.models() if model.role is ModelRole.LLM and model.state is state]

    def embedded(self) -> list[str]:
        """Return the names of the models that localcrag begins with."""
        return [entry.name for entry in self._files.manifest.entries if entry.embedded]

    def sets(self) -> tuple[ModelSet, ...]:
        """Return the models of the list that are chosen together."""
        return self._files.manifest.sets

    def named(self, name: str) -> tuple[str, ...]:
        """Return the models of the set of that name; where there is no such set, the name by itself."""
        return next((one.models for one in self.sets() if one.name == name), (name,))

    def missing(self, name: str) -> list[str]:
        """Return which models of a set, or whether the one of that name, have to be downloaded."""
        there = {model.name for model in self.models() if model.state is ModelState.PRESENT}
        return [model for model in self.named(name) if model not in there]

    def role(self, name: str) -> ModelRole | None:
        """Return what a model is for, by its name or path; None when its files do not tell. Raises ModelMissing."""
        return role_of(name) if behind_server(name) else self._files.role(name)

    def path(self, name: str, role: ModelRole) -> Path:
        """Return the file or folder to load, checked. Raises ModelMissing, ModelDamaged and ModelError."""
        return self._files.path(name, role)

    def adapter(self, name: str) -> Path | None:
        """Return the adapter that is loaded with a language model, None when it is one without."""
        return self._files.adapter(name)

    def words(self, name: str) -> Path | None:
        """Return the folder of the embedder whose words a relevance model reads, None when it has its own.

        Raises ModelMissing and ModelDamaged.
        """
        return self._files.words(name)

    def skills(self, name: str) -> frozenset[Skill]:
        """Return what a language model can be asked for: as measured, else as checked here, else all of it."""
        measured = self._files.skills(name)
        if measured is not None:
            return measured
        checked = self.checks.of(name)
        return frozenset(checked.skills) if checked else frozenset(Skill)

    def keep_check(self, name: str, parts: Sequence[Part], skills: Collection[Skill], day: str) -> bool:
        """Keep what a check found; return whether it says what the model is used for. Raises SettingsError."""
        passed, failed = ([part.name for part in parts if part.passed is right] for right in (True, False))
        self.checks.keep(name, KeptCheck(tuple(sorted(skills)), tuple(passed), tuple(failed), day))
        return self._files.skills(name) is None

    def get(self, name: str, report: Report) -> bool:
        """Download a model, or what is missing of it; return False when all was there. Raises ModelError."""
        from localcrag.backends.downloads import model_download  # noqa: PLC0415 - the hub's client takes seconds

        return model_download.get(self._files, name, report)

    def choose(self, name: str, role: ModelRole) -> Choice:
        """Use a model from now on. Raises what `choose_all` raises."""
        (choice,) = self._choose([self._choice(name, role)])
        return choice

    def choose_all(self, names: Collection[str]) -> list[Choice]:
        """Use models of the list from now on, one for each role.

        Raises ModelMissing, ModelDamaged, ModelError and SettingsError, and has then changed nothing.
        """
        roles = {model.name: model.role for model in self._files.models()}
        return self._choose([self._choice(name, roles[name]) for name in names])

    def _choose(self, choices: list[Choice]) -> list[Choice]:
        self._settings.change(**{one.role.value: one.name for one in choices})
        return choices

    def _choice(self, name: str, role: ModelRole) -> Choice:
        if behind_server(name):
            return Choice(role, self.servers.checked(name, role), None)
        path = self.path(name, role)
        self.words(name)
        known = name in {model.name for model in self.models()}
        # The next command may be run in another folder.
        return Choice(role, name if known else str(path.absolute()), path)

    def check_allowed(self, name: str, settings: Settings) -> None:
        """Return where a model may be asked under these settings: any, but for servers on other computers.

        Raises ServerNotAgreed and ServerError.
        """
        if behind_server(name):
            self.servers.check_allowed(name, settings)

    def verify(self, name: str | None = None) -> Iterator[FileCheck]:
        """Read every file of a model, or of all that are there, and compare checksums. Raises ModelMissing."""
        there = [model.name for model in self._files.models() if model.state is not ModelState.MISSING]
        for one in [name] if name else there:
            yield from self._files.verify(one)

    def remedies(self, names: Collection[str]) -> dict[str, str]:
        """Return how models of the list are mended, or got, each in a sentence, in the order of the list."""
        return {entry.name: self._files.remedy(entry) for entry in self._files.manifest.entries if entry.name in names}
