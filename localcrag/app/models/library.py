"""The models to choose from: models of the built-in list, the user's own, and models on servers.

`ModelServers` finds models on servers and asks for approval, `ModelInstaller` downloads what is missing and then uses
it, and `ModelLibrary` is the interface to all of them.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from localcrag.app.shared_state import CurrentSettings
from localcrag.app.tasks import BackgroundList, Task, TaskState, UpdateTask
from localcrag.evaluation.model_check import CheckPart
from localcrag.models import server_address, server_exchange
from localcrag.models.files import Library, ModelChecks, StoredCheck
from localcrag.models.served_models import ServerLanguageModel, ServerScorer
from localcrag.models.server_address import RERANK, ServerAddress, parse_server
from localcrag.models.server_exchange import Exchange, model_missing
from localcrag.privacy.egress_log import Purpose
from localcrag.records.enums import Preset, Skill
from localcrag.records.errors import ServerError, ServerNotApproved, ServerNotRunning
from localcrag.records.models import (
    DownloadProgress,
    FileCheck,
    Model,
    ModelRole,
    ModelState,
    Report,
    is_served,
)
from localcrag.settings import Settings
from localcrag.text.translation import gettext as _

PORTS = (8080, 11434, 1234, 8000, 9931, 1337, 7997)
"""Default ports of model servers.

llama-server uses 8080 or 9931, Ollama 11434, LM Studio 1234, vLLM and llama-cpp-python 8000, Jan 1337, Infinity 7997.
"""
DISCOVERY_SECONDS = 2.0
SINGLE_MODEL_PROGRAMS = (server_exchange.Program.LLAMA_SERVER, server_exchange.Program.VLLM)
"""Programs that serve one model and list it as a language model even if it can only rerank."""
RERANK_PATHS = ("/v1/rerank", "/rerank")
PURPOSES = {ModelRole.LLM: Purpose.LANGUAGE_MODEL, ModelRole.RELEVANCE: Purpose.RELEVANCE_MODEL}


class ModelServers:
    """The model servers that were found or chosen. It contacts servers only when the user asks for it."""

    def __init__(self, settings: CurrentSettings) -> None:
        self._settings = settings
        self._found: dict[str, Model] = {}

    def models(self) -> list[Model]:
        """Return the models on servers that were found or are in use. Contacts no server."""
        now, models = self._settings.now, dict(self._found)
        for name in (now.llm, now.relevance):
            if is_served(name) and name not in models:
                with suppress(ServerError):  # The address is invalid; the next question reports that.
                    models[name] = _model(name, role_of(name))
        return list(models.values())

    def discover(self, address: str = "") -> list[Model]:
        """Return the models at an address, or on all servers on this computer, and list them from now on.

        Raises ServerError if an address is given and no model is found there.
        """
        if address.strip():
            found = self._list_models(parse_server(address), patient=True)
        else:
            here = [parse_server(f"http://127.0.0.1:{port}") for port in PORTS]
            with ThreadPoolExecutor(len(PORTS)) as threads:
                found = [model for models in threads.map(self._list_models, here) for model in models]
            # Models on this computer's servers that no longer answer are dropped; models found elsewhere stay listed.
            self._found = {name: model for name, model in self._found.items() if not parse_server(name).here}
        self._found |= {model.name: model for model in found}
        return found

    def check_allowed(self, name: str, settings: Settings) -> None:
        """Check that these settings allow using the server of a model. Raises ServerNotApproved and ServerError."""
        address = parse_server(name)
        if address.here:
            return
        if settings.preset is Preset.DOCUMENTS_ONLY:
            raise ServerNotApproved(
                _(
                    "The model at %(place)s was not used: with the preset documents-only nothing leaves this "
                    "computer. Choose a model on this computer, or another preset.",
                    place=address.at,
                )
            )
        if address.at not in settings.agreed_servers:
            raise ServerNotApproved(agreement(name) + " " + _("Approve this first, or choose another model."))

    def agree(self, name: str) -> None:
        """Allow questions and excerpts to be sent to the server of a model. Raises SettingsError."""
        address = parse_server(name)
        agreed = self._settings.now.agreed_servers
        if not address.here and address.at not in agreed:
            self._settings.change(agreed_servers=(*agreed, address.at))

    def disagree(self, name: str) -> None:
        """Withdraw the approval for the server of a model. Raises SettingsError."""
        at = parse_server(name).at
        self._settings.change(agreed_servers=tuple(one for one in self._settings.now.agreed_servers if one != at))

    def required_agreement(self, name: str) -> str:
        """Return the sentence that the user must agree to before the model is used; "" if none is needed."""
        address = parse_server(name)
        return "" if address.here or address.at in self._settings.now.agreed_servers else agreement(name)

    def save_key(self, address: str, key: str) -> None:
        """Store the API key of a server, or remove it if `key` is "". Raises ServerError and SettingsError."""
        server_address.store_key(parse_server(address), key, self._settings.now.data_dir)

    def language_model(self, name: str) -> ServerLanguageModel:
        """Return the language model, after asking its server whether it has it. Raises ServerError."""
        return ServerLanguageModel(self._exchange(name, ModelRole.LLM), self._settings.now.context_tokens)

    def scorer(self, name: str) -> ServerScorer:
        """Return the reranker, after asking its server for request format and score scale. Raises ServerError."""
        return ServerScorer(self._exchange(name, ModelRole.RELEVANCE))

    def _exchange(self, name: str, role: ModelRole) -> Exchange:
        self.check_allowed(name, self._settings.now)
        return self._connect(parse_server(name), role)

    def _connect(self, address: ServerAddress, role: ModelRole) -> Exchange:
        return Exchange(address, PURPOSES[role], server_address.read_key(address, self._settings.now.data_dir))

    def _list_models(self, address: ServerAddress, *, patient: bool = False) -> list[Model]:
        """Return the models of a server. If `patient`, raise ServerError when it has none."""
        served: tuple[server_exchange.ServedModel, ...] = ()
        refused: ServerError | None = None
        try:
            # The address of a reranker ends in its path, where no other models are listed.
            if role_of(address.name) is ModelRole.LLM:
                served = server_exchange.list_models(self._connect(address, ModelRole.LLM), seconds=DISCOVERY_SECONDS)
        except ServerError as error:
            refused = error
        # If nothing listens at the address, do not probe it for rerankers.
        rerankers = [] if isinstance(refused, ServerNotRunning) else self._find_rerankers(address)
        found = [
            _model(address.with_model(one.id).name, ModelRole.LLM, f"{one.program}, {address.at}")
            for one in served
            if not (rerankers and one.program in SINGLE_MODEL_PROGRAMS)
        ] + rerankers
        if patient and not found:
            raise refused or model_missing(address)
        return found

    def _find_rerankers(self, address: ServerAddress) -> list[Model]:
        urls = [str(address)] if role_of(str(address)) is ModelRole.RELEVANCE else map(address.sibling, RERANK_PATHS)
        for url in urls:
            at = parse_server(url)
            at = at.with_model(address.model) if address.model else at
            with suppress(ServerError):
                ServerScorer(self._connect(at, ModelRole.RELEVANCE))
                return [_model(at.name, ModelRole.RELEVANCE, address.at)]
        return []


def agreement(name: str) -> str:
    """Return the sentence that the user agrees to when using a server on another computer."""
    return _(
        "%(place)s is another computer. Each time you ask, your question and the parts of your documents that "
        "answer it are sent there.",
        place=parse_server(name).at,
    )


def role_of(name: str) -> ModelRole:
    """Return the role of a model on a server, recognised by its address."""
    path = name.partition("#")[0].rstrip("/")
    return ModelRole.RELEVANCE if RERANK.search(path) else ModelRole.LLM


def _model(name: str, role: ModelRole, where: str = "") -> Model:
    at = parse_server(name)
    return Model(
        name=name, role=role, source="server", state=ModelState.PRESENT, size=0, exact=True, path=None,
        title=at.model or str(at), place=where or at.at, away="" if at.here else at.at,
    )  # fmt: skip


MAX_DOWNLOADS = 8
"""Maximum number of parallel downloads; nobody starts more on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDownload(Task):
    """A model download and its progress."""

    progress: DownloadProgress | None = None


class ModelInstaller:
    """The model downloads of all tabs, and the models that are to be used as soon as they are complete.

    `downloads` has every download since the start of the app. A cancelled one keeps its partial file and resumes from
    it.
    """

    def __init__(self, models: ModelLibrary, use: Callable[[str], object]) -> None:
        """Prepare the installer; `use` is called with the name of a model or set once all its files are present."""
        self._models = models
        self._use = use
        self._lock = threading.Lock()
        self._wanted: set[str] = set()
        self.downloads = BackgroundList(self._download, "{name} was not downloaded", at_once=MAX_DOWNLOADS)

    def use(self, name: str) -> None:
        """Use a model or a set: now, or once its missing parts are downloaded."""
        missing = self._models.missing(name)
        if not missing:
            self._use(name)
            return
        # Register the name first: a download may finish at once.
        with self._lock:
            self._wanted.add(name)
        for model in missing:
            self.download(model)

    def download(self, name: str) -> None:
        """Download a model without using it, unless it is already being downloaded."""
        self.downloads.start(ModelDownload(name=name))

    def cancel(self, name: str) -> None:
        """Cancel a download; its model, and every set that contains it, will not be used on completion."""
        self._take(name, lambda _: True)
        self.downloads.cancel([name])

    def _download(self, one: ModelDownload, tell: UpdateTask[ModelDownload]) -> ModelDownload:
        self._models.get(one.name, lambda progress: tell(dataclasses.replace(one, progress=progress)))
        for name in self._take(one.name, lambda name: not self._models.missing(name)):
            self._use(name)
        return dataclasses.replace(one, state=TaskState.DONE)

    def _take(self, name: str, which: Callable[[str], bool]) -> set[str]:
        """Remove and return the wanted names that include this model and that `which` accepts."""
        with self._lock:
            taken = {one for one in self._wanted if name in self._models.named(one) and which(one)}
            self._wanted -= taken
        return taken


class ModelChoice(NamedTuple):
    """A model chosen for use: its name in the settings and its path, which is None for a server's model."""

    role: ModelRole
    name: str
    path: Path | None


class ModelLibrary(Library):
    """All models: those of the built-in list and the user's own, in one folder, and those on servers."""

    def __init__(self, settings: CurrentSettings) -> None:
        """Read the built-in list. Raises ModelError if it is not valid."""
        super().__init__(settings.now.models_dir)
        self._settings = settings
        self.servers = ModelServers(settings)
        self.checks = ModelChecks(settings.now.data_dir)

    def models(self) -> list[Model]:
        """Return all models: first those of the list, then the user's own files, then those on servers."""
        return [*super().models(), *self.servers.models()]

    def language_models(self, state: ModelState) -> list[Model]:
        """Return the language models in this state: present, missing or damaged."""
        return [model for model in self.models() if model.role is ModelRole.LLM and model.state is state]

    def embedded(self) -> list[str]:
        """Return the names of the models that come with localcrag."""
        return [entry.name for entry in self.manifest.entries if entry.embedded]

    def named(self, name: str) -> tuple[str, ...]:
        """Return the models of the set with this name; if there is no such set, the name itself."""
        return next((one.models for one in self.manifest.sets if one.name == name), (name,))

    def missing(self, name: str) -> list[str]:
        """Return the models with this name that have to be downloaded: a set's models, or the single model."""
        there = {model.name for model in self.models() if model.state is ModelState.PRESENT}
        return [model for model in self.named(name) if model not in there]

    def role(self, name_or_path: str) -> ModelRole | None:
        """Return the role of a model, by name or path; None if its files do not tell. Raises ModelMissing."""
        return role_of(name_or_path) if is_served(name_or_path) else super().role(name_or_path)

    def skills(self, name_or_path: str) -> frozenset[Skill]:
        """Return the skills of a language model: as published, else as checked on this computer, else all."""
        measured = super().skills(name_or_path)
        if measured is not None:
            return measured
        checked = self.checks.find(name_or_path)
        return frozenset(checked.skills) if checked else frozenset(Skill)

    def save_check(self, name: str, parts: Sequence[CheckPart], skills: Collection[Skill], day: str) -> bool:
        """Store the result of a model check. Return whether it decides what the model is used for.

        It does not if the model's skills are published. Raises SettingsError.
        """
        passed, failed = ([part.name for part in parts if part.passed is right] for right in (True, False))
        self.checks.save(name, StoredCheck(tuple(sorted(skills)), tuple(passed), tuple(failed), day))
        return super().skills(name) is None

    def get(self, name: str, report: Report) -> bool:
        """Download the missing files of a model; return False if none was missing. Raises ModelError."""
        from localcrag.models import download as model_download  # noqa: PLC0415 - the hub's client takes seconds

        return model_download.get(self, name, report)

    def choose(self, name: str, role: ModelRole) -> ModelChoice:
        """Use a model from now on. Raises the same as `choose_all`."""
        (choice,) = self._choose([self._choice(name, role)])
        return choice

    def choose_all(self, names: Collection[str]) -> list[ModelChoice]:
        """Use models of the list from now on, one for each role.

        Raises ModelMissing, ModelDamaged, ModelError and SettingsError; nothing has changed then.
        """
        roles = {model.name: model.role for model in super().models()}
        return self._choose([self._choice(name, roles[name]) for name in names])

    def _choose(self, choices: list[ModelChoice]) -> list[ModelChoice]:
        self._settings.change(**{one.role.value: one.name for one in choices})
        return choices

    def _choice(self, name: str, role: ModelRole) -> ModelChoice:
        if is_served(name):
            # Ask the server whether the model can be used.
            served = self.servers.scorer(name) if role is ModelRole.RELEVANCE else self.servers.language_model(name)
            return ModelChoice(role, served.name, None)
        path = self.path(name, role)
        # This only checks: it raises an error if the embedding model that shares its token embeddings is missing.
        self.vocabulary_folder(name)
        known = name in {model.name for model in self.models()}
        # The path is stored as absolute, because the next command may run in another folder.
        return ModelChoice(role, name if known else str(path.absolute()), path)

    def check_allowed(self, name: str, settings: Settings) -> None:
        """Check that these settings allow using a model; only servers on other computers can be refused.

        Raises ServerNotApproved and ServerError.
        """
        if is_served(name):
            self.servers.check_allowed(name, settings)

    def verify_all(self) -> Iterator[FileCheck]:
        """Read every file of all models that are present, and compare checksums."""
        for model in super().models():
            if model.state is not ModelState.MISSING:
                yield from self.verify(model.name)

    def remedies(self, names: Collection[str]) -> dict[str, str]:
        """Return, in list order, a sentence for each model on how to get or repair it."""
        return {entry.name: self.remedy(entry) for entry in self.manifest.entries if entry.name in names}
