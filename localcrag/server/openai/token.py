"""The token of the API: made once, in a file that only this user can read."""

from __future__ import annotations

import secrets
from pathlib import Path

from localcrag.privacy.private_folder import write_private
from localcrag.records.errors import SettingsError

FILE_NAME = "api-token"
"""In the data folder; private_folder.py knows it."""
BYTES = 32


def token_of(data_dir: Path, *, new: bool = False) -> str:
    """Return the token of a data folder, made if there is none, or if a `new` one is wanted. Raises SettingsError."""
    path = data_dir / FILE_NAME
    try:
        if not new and path.is_file() and (token := path.read_text("ascii").strip()):
            return token
        token = f"localcrag-{secrets.token_urlsafe(BYTES)}"
        write_private(path, token + "\n")
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"The token {path} cannot be read or written: {error}. Remove that file, and one is made anew."
        ) from error
    return token
