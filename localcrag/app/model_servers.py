"""Model servers of the user's own: found, agreed to, and their models made."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from localcrag.app.settings_in_use import SettingsInUse
from localcrag.backends.servers import keys, programs
from localcrag.backends.servers.address import RERANK, ServerAddress, parse_server
from localcrag.backends.servers.chat import ServerLanguageModel
from localcrag.backends.servers.exchange import Exchange
from localcrag.backends.servers.failures import no_model
from localcrag.backends.servers.rerank import ServerScorer
from localcrag.privacy.egress_log import Purpose
from localcrag.records.enums import Preset
from localcrag.records.errors import ServerError, ServerNotAgreed, ServerNotRunning
from localcrag.records.models import Model, ModelRole, ModelState, behind_server
from localcrag.settings import Settings
from localcrag.text.translation import gettext as _

PORTS = (8080, 11434, 1234, 8000, 9931, 1337, 7997)
"""Of llama-server (two), Ollama, LM Studio, vLLM and llama-cpp-python, Jan and Infinity, unless told otherwise."""
LOOK_SECONDS = 2.0
ONE_MODEL = (programs.Program.LLAMA_SERVER, programs.Program.VLLM)
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
        keys.keep(parse_server(address), key, self._settings.now.data_dir)

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
        return Exchange(address, PURPOSES[role], keys.key_of(address, self._settings.now.data_dir))

    def _at(self, address: ServerAddress, *, patient: bool = False) -> list[Model]:
        """Return the models that a server has. Raises ServerError where it has none and is waited for."""
        served: tuple[programs.ServedModel, ...] = ()
        refused: ServerError | None = None
        try:
            if role_of(address.name) is ModelRole.LLM:
                served = programs.listed(self._to(address, ModelRole.LLM), seconds=LOOK_SECONDS)
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
