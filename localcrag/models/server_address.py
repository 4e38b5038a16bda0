"""Addresses of model servers, and the API keys for them.

A model on a server is named http://HOST:PORT/PATH#MODEL. This module parses such names, and decides whether a server is
on this computer or in a private network; it opens no connection. Keys come from an environment variable or from a file
in the data folder.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from localcrag.privacy import addresses, guard
from localcrag.privacy.private_folder import write_private
from localcrag.records.errors import ServerError, SettingsError

EXAMPLE = "http://127.0.0.1:8080"
"""Example address for messages."""
API = "/v1"
"""Path of the API if an address has none."""
RERANK = re.compile(r"/rerank(?:ing)?$")
"""End of the path of a reranker's address."""
CLOUD_MODEL = re.compile(r"[:-]cloud$")
"""Suffix of Ollama's models that run on its maker's servers."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address of a server, and optionally one of its models; `model` is "" if none is named.

    The path of `url` has no trailing slash.
    """

    url: httpx.URL
    model: str = ""

    def __str__(self) -> str:
        return str(self.url).rstrip("/")

    @property
    def name(self) -> str:
        """Return the model's name as written in the settings."""
        return f"{self}#{self.model}" if self.model else str(self)

    @property
    def place(self) -> tuple[str, int]:
        """Return host and port in the form for connections (internationalised names in their ASCII form)."""
        return self.url.raw_host.decode("ascii"), self.url.port or guard.PORTS[self.url.scheme]

    @property
    def at(self) -> str:
        """Return host and port as text; the user's approval and the API key are tied to them."""
        return addresses.format_address(*self.place)

    @property
    def here(self) -> bool:
        """Return whether the server is on this computer, without a DNS query."""
        return addresses.is_this_computer(self.url.host)

    def with_model(self, model: str) -> ServerAddress:
        """Return the address of one of the server's models. Raises ServerError if the model runs elsewhere."""
        if CLOUD_MODEL.search(model):
            raise ServerError(
                f"{model} at {self} was not used: the server forwards requests to its maker's computers, "
                "and localcrag does not send your documents there. Choose a model that the server runs itself."
            )
        return ServerAddress(self.url, model)

    def sibling(self, path: str) -> str:
        """Return the URL of a path on the server that is outside the API."""
        root = RERANK.sub("", self.url.path.rstrip("/")).removesuffix(API)
        return str(self.url.copy_with(path=f"{root}{path}"))


def parse_server(text: str) -> ServerAddress:
    """Parse the address in `text`; if it has no path, use the API's path. Opens no connection.

    Raises ServerError if it is not an http(s) address of a server, contains a password, or is an IP address outside
    private networks. The IP addresses behind a name are checked on connecting.
    """
    before, _, model = text.strip().partition("#")
    try:
        url = addresses.parse_web_address(before)
    except ValueError as error:
        raise _refused(before, str(error)) from None
    if url.userinfo:
        raise _refused(before, "contains a password, which messages would show; enter an API key separately")
    path = url.path.rstrip("/").removesuffix("/chat/completions").removesuffix("/models")
    address = ServerAddress(url.copy_with(path=path or API))
    if addresses.is_number(url.host) and not address.here and not _is_private_number(url.host):
        raise ServerError(outside_private_network(address))
    return address.with_model(model) if model else address


def outside_private_network(address: ServerAddress) -> str:
    """Return the error message for a server that is neither on this computer nor in a private network."""
    return (
        f"The model server {address} was not used: it is neither this computer nor in a private network, and localcrag "
        f"sends questions and documents to no other. Use a server of your own, such as {EXAMPLE}."
    )


def _is_private_number(host: str) -> bool:
    try:
        return addresses.is_private(host)
    except ValueError:
        # An IP address in another notation, such as 134744072, is refused: nobody writes a private address like that.
        return False


def _refused(text: str, what: str) -> ServerError:
    written = addresses.without_password(text.partition("?")[0])
    return ServerError(f"The model server's address “{written}” {what}. Give one such as {EXAMPLE}.")


KEYS_VARIABLE = "LOCALCRAG_SERVER_KEYS"
"""Environment variable with keys: HOST:PORT=KEY, separated by spaces."""
KEYS_FILE = "server_keys.json"
"""Name of the file with keys, in the data folder."""


def read_key(address: ServerAddress, data_dir: Path, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the API key of a server; None if there is none. Raises SettingsError."""
    for pair in environment.get(KEYS_VARIABLE, "").split():
        place, equals, key = pair.partition("=")
        if equals and key and place == address.at:
            return key
    return _read(data_dir / KEYS_FILE).get(address.at)


def store_key(address: ServerAddress, key: str, data_dir: Path) -> None:
    """Store a server's API key, or delete it if `key` is "". Raises SettingsError."""
    key = key.strip()
    if any(not "!" <= character <= "~" for character in key):
        raise SettingsError("That is not a valid key: it contains a space or an unusual character. Copy it again.")
    path = data_dir / KEYS_FILE
    keys = {place: kept for place, kept in _read(path).items() if place != address.at} | (
        {address.at: key} if key else {}
    )
    try:
        write_private(path, json.dumps(keys, indent=1))
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}. The key was not saved.") from error


def _read(path: Path) -> dict[str, str]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"{path} cannot be read as a list of keys. Remove it, and enter the keys again (localcrag models key)."
        ) from error
    return {str(place): str(key) for place, key in content.items()} if isinstance(content, dict) else {}
