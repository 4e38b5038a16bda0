"""Model servers of the user's own: found, agreed to, and their models made."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from localcrag.app.shared_state import SettingsInUse
from localcrag.app.tasks import BackgroundList, Task, TaskState, Tell
from localcrag.evaluation.model_check import Part
from localcrag.models import server_address, server_exchange
from localcrag.models.files import KeptCheck, Library, ModelChecks
from localcrag.models.served_models import ServerLanguageModel, ServerScorer
from localcrag.models.server_address import RERANK, ServerAddress, parse_server
from localcrag.models.server_exchange import Exchange, no_model
from localcrag.privacy.egress_log import Purpose
from localcrag.records.enums import Preset, Skill
from localcrag.records.errors import ServerError, ServerNotAgreed, ServerNotRunning
from localcrag.records.models import (
    DownloadProgress,
    FileCheck,
    Model,
    ModelRole,
    ModelSet,
    ModelState,
    Report,
    behind_server,
)
from localcrag.settings import Settings
from localcrag.text.translation import gettext as _

PORTS = (8080, 11434, 1234, 8000, 9931, 1337, 7997)
"""Of llama-server (two), Ollama, LM Studio, vLLM and llama-cpp-python, Jan and Infinity, unless told otherwise."""
LOOK_SECONDS = 2.0
ONE_MODEL = (server_exchange.Program.LLAMA_SERVER, server_exchange.Program.VLLM)
"""Programs that run one model, and name it among those that write even where it only reranks."""
RERANK_PATHS = ("/v1/rerank", "/rerank")
PURPOSES = {ModelRole.LLM: Purpose.LANGUAGE_MODEL, ModelRole.RELEVANCE: Purpose.RELEVANCE_MODEL}


class ModelServers:
    """The servers that were found or chosen. Only a person's wish makes it look for any."""

    def __init__(self, settings: SettingsInUse) -> None:
        self._settings = settings
        self._found: dict[str, Model] = {}

    def models(self) -> list[Model]:
        """Return the models of servers that were found or are in use, without asking anybody."""
        now, models = self._settings.now, dict(self._found)
        for name in (now.llm, now.relevance):
            if behind_server(name) and name not in models:
                with suppress(ServerError):  # No address: a question says so.
                    models[name] = _model(name, role_of(name))
        return list(models.values())

    def look(self, address: str = "") -> list[Model]:
        """Return the models of the server at an address, or of all that answer on this computer; they are offered then.

        Raises ServerError where an address is given and no model is found there.
        """
        if address.strip():
            found = self._at(parse_server(address), patient=True)
        else:
            here = [parse_server(f"http://127.0.0.1:{port}") for port in PORTS]
            with ThreadPoolExecutor(len(PORTS)) as threads:
                found = [model for models in threads.map(self._at, here) for model in models]
            self._found = {name: model for name, model in self._found.items() if not _is_here(name)}
        self._found |= {model.name: model for model in found}
        return found

    def check_allowed(self, name: str, settings: Settings) -> None:
        """Return where a model's server may be asked under these settings. Raises ServerNotAgreed and ServerError."""
        address = parse_server(name)
        if address.here:
            return
        if settings.preset is Preset.DOCUMENTS_ONLY:
            raise ServerNotAgreed(
                _(
                    "The model at %(place)s was not asked: under the preset documents-only nothing leaves this "
                    "computer. Choose a model on this computer, or another preset.",
                    place=address.at,
                )
            )
        if address.at not in settings.agreed_servers:
            raise ServerNotAgreed(agreement(name) + " " + _("Agree to that first, or choose another model."))

    def agree(self, name: str) -> None:
        """Let questions and documents go to the computer of a server, from now on. Raises SettingsError."""
        address = parse_server(name)
        agreed = self._settings.now.agreed_servers
        if not address.here and address.at not in agreed:
            self._settings.change(agreed_servers=(*agreed, address.at))

    def disagree(self, name: str) -> None:
        """Let nothing go to the computer of a server any more. Raises SettingsError."""
        at = parse_server(name).at
        self._settings.change(agreed_servers=tuple(one for one in self._settings.now.agreed_servers if one != at))

    def to_agree(self, name: str) -> str:
        """Return what has to be agreed to before a model is used, in a sentence; "" where nothing has to be."""
        address = parse_server(name)
        return "" if address.here or address.at in self._settings.now.agreed_servers else agreement(name)

    def keep_key(self, address: str, key: str) -> None:
        """Keep a server's key, or with "" no longer. Raises ServerError and SettingsError."""
        server_address.keep(parse_server(address), key, self._settings.now.data_dir)

    def language_model(self, name: str) -> ServerLanguageModel:
        """Return a language model behind a server, which is asked whether it has it. Raises ServerError."""
        return ServerLanguageModel(self._exchange(name, ModelRole.LLM), self._settings.now.context_tokens)

    def scorer(self, name: str) -> ServerScorer:
        """Return a relevance model behind a server, which is asked for its form and scale. Raises ServerError."""
        return ServerScorer(self._exchange(name, ModelRole.RELEVANCE))

    def checked(self, name: str, role: ModelRole) -> str:
        """Return a model's whole name when its server has it and may be asked. Raises ServerError."""
        return self.scorer(name).name if role is ModelRole.RELEVANCE else self.language_model(name).name

    def _exchange(self, name: str, role: ModelRole) -> Exchange:
        self.check_allowed(name, self._settings.now)
        return self._to(parse_server(name), role)

    def _to(self, address: ServerAddress, role: ModelRole) -> Exchange:
        return Exchange(address, PURPOSES[role], server_address.key_of(address, self._settings.now.data_dir))

    def _at(self, address: ServerAddress, *, patient: bool = False) -> list[Model]:
        """Return the models that a server has. Raises ServerError where it has none and is waited for."""
        served: tuple[server_exchange.ServedModel, ...] = ()
        refused: ServerError | None = None
        try:
            if role_of(address.name) is ModelRole.LLM:
                served = server_exchange.listed(self._to(address, ModelRole.LLM), seconds=LOOK_SECONDS)
        except ServerError as error:
            refused = error
        rerankers = [] if isinstance(refused, ServerNotRunning) else self._rerankers_at(address)
        found = [
            _model(address.of(one.id).name, ModelRole.LLM, f"{one.program}, {address.at}")
            for one in served
            if not (rerankers and one.program in ONE_MODEL)
        ] + rerankers
        if patient and not found:
            raise refused or no_model(address)
        return found

    def _rerankers_at(self, address: ServerAddress) -> list[Model]:
        urls = [str(address)] if role_of(str(address)) is ModelRole.RELEVANCE else map(address.beside, RERANK_PATHS)
        for url in urls:
            at = parse_server(url)
            at = at.of(address.model) if address.model else at
            with suppress(ServerError):
                ServerScorer(self._to(at, ModelRole.RELEVANCE))
                return [_model(at.name, ModelRole.RELEVANCE, address.at)]
        return []


def agreement(name: str) -> str:
    """Return what a person agrees to with a server on another computer."""
    return _(
        "%(place)s is another computer: your questions, and the parts of your documents that answer them, leave this "
        "computer and go there, each time that you ask.",
        place=parse_server(name).at,
    )


def role_of(name: str) -> ModelRole:
    """Return what a model behind a server is for, as its address tells."""
    path = name.partition("#")[0].rstrip("/")
    return ModelRole.RELEVANCE if RERANK.search(path) else ModelRole.LLM


def _model(name: str, role: ModelRole, where: str = "") -> Model:
    at = parse_server(name)
    return Model(
        name=name, role=role, source="server", state=ModelState.PRESENT, size=0, exact=True, path=None,
        title=at.model or str(at), place=where or at.at, away="" if at.here else at.at,
    )  # fmt: skip


def _is_here(name: str) -> bool:
    return parse_server(name).here


Get = Callable[[str, Report], bool]
"""Downloads a model, telling how far it is."""
AT_ONCE = 8
"""Downloads at a time: more than anybody begins, on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloading(Task):
    """A model and how far it is."""

    progress: DownloadProgress | None = None


class Downloads:
    """The downloads of all tabs. What has come of one that was cancelled is kept: it goes on there."""

    def __init__(self, get: Get) -> None:
        self._get = get
        self._models = BackgroundList(self._download, "{name} was not downloaded", at_once=AT_ONCE)

    def start(self, name: str) -> None:
        """Download a model, unless that is being done."""
        self._models.start(Downloading(name=name))

    def cancel(self, name: str) -> None:
        """Download a model no further."""
        self._models.cancel([name])

    def items(self) -> tuple[Downloading, ...]:
        """Return every model that was asked for since the start."""
        return self._models.items()

    def follow(self) -> Iterator[tuple[Downloading, ...]]:
        """Yield them now and whenever something has changed, as long as any is on its way."""
        return self._models.follow()

    def _download(self, one: Downloading, tell: Tell[Downloading]) -> Downloading:
        self._get(one.name, lambda progress: tell(dataclasses.replace(one, progress=progress)))
        return dataclasses.replace(one, state=TaskState.DONE)


class Models(Protocol):
    """The models of the list, as far as getting them needs it."""

    def named(self, name: str) -> Sequence[str]:
        """Return the models of the set of that name; where there is no such set, the name by itself."""
        ...

    def missing(self, name: str) -> Sequence[str]:
        """Return which of these have to be downloaded."""
        ...

    def get(self, name: str, report: Report) -> bool:
        """Download a model, telling how far it is."""
        ...


class WantedModels:
    """Downloads, and what becomes of the models when they are there."""

    def __init__(self, models: Models, use: Callable[[str], object]) -> None:
        """`use` is told the name of a model or of a set once all of it is there."""
        self._models = models
        self._use = use
        self._lock = threading.Lock()
        self._wanted: set[str] = set()
        self._downloads = Downloads(self._get)

    def use(self, name: str) -> None:
        """Use a model or a set: now, or when what is missing of it has been downloaded."""
        missing = self._models.missing(name)
        if not missing:
            self._use(name)
            return
        with self._lock:
            self._wanted.add(name)
        for model in missing:
            self._downloads.start(model)

    def download(self, name: str) -> None:
        """Download a model without using it."""
        self._downloads.start(name)

    def cancel(self, name: str) -> None:
        """Download a model no further; it is used no more when it comes, nor is any set that it is one of."""
        self._take(name, lambda _: True)
        self._downloads.cancel(name)

    def items(self) -> tuple[Downloading, ...]:
        """Return every model that was asked for since the start."""
        return self._downloads.items()

    def follow(self) -> Iterator[tuple[Downloading, ...]]:
        """Yield them now and whenever something has changed, as long as any is on its way."""
        return self._downloads.follow()

    def _get(self, name: str, report: Report) -> bool:
        got = self._models.get(name, report)
        for one in self._take(name, lambda one: not self._models.missing(one)):
            self._use(one)
        return got

    def _take(self, name: str, which: Callable[[str], bool]) -> set[str]:
        """Take what a model is wanted for, by itself or in sets, out of the wanted, and return it."""
        with self._lock:
            taken = {one for one in self._wanted if name in self._models.named(one) and which(one)}
            self._wanted -= taken
        return taken


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
        from localcrag.models import download as model_download  # noqa: PLC0415 - the hub's client takes seconds

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
