"""Keys of model servers: from an environment variable or a private file. Never shown.

A key belongs to one host and port, and is sent to no other.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from localcrag.backends.servers.address import ServerAddress
from localcrag.privacy.private_folder import write_private
from localcrag.records.errors import SettingsError

VARIABLE = "LOCALCRAG_SERVER_KEYS"
"""HOST:PORT=KEY, several with spaces between."""
FILE_NAME = "server_keys.json"
"""In the data folder."""


def key_of(address: ServerAddress, data_dir: Path, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the key of a server, None where there is none. Raises SettingsError."""
    for pair in environment.get(VARIABLE, "").split():
        place, equals, key = pair.partition("=")
        if equals and key and place == address.at:
            return key
    return _read(data_dir / FILE_NAME).get(address.at)


def keep(address: ServerAddress, key: str, data_dir: Path) -> None:
    """Keep a server's key, or with "" no longer. Raises SettingsError."""
    key = key.strip()
    if any(not "!" <= character <= "~" for character in key):
        raise SettingsError("That is no key: it holds a space, or a character that no key has. Copy it once more.")
    path = data_dir / FILE_NAME
    keys = {place: kept for place, kept in _read(path).items() if place != address.at} | (
        {address.at: key} if key else {}
    )
    try:
        write_private(path, json.dumps(keys, indent=1))
    except OSError as error:
        raise SettingsError(f"{path} cannot be written: {error.strerror}. The key was not kept.") from error


def _read(path: Path) -> dict[str, str]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read as a list of keys. Remove it, and give the keys again.") from error
    return {str(place): str(key) for place, key in content.items()} if isinstance(content, dict) else {}
