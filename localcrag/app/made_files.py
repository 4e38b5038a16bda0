"""Files that the page has made for somebody to fetch: each once, by an address that nobody can guess."""

from __future__ import annotations

import secrets
import shutil
import threading
from pathlib import Path

ADDRESS = "/localcrag/made/"


class MadeFiles:
    """Files that were made to be fetched, in a folder for that; each is removed when it was."""

    def __init__(self, folder: Path) -> None:
        """`folder` is emptied by who starts and ends the server."""
        self._folder = folder
        self._made: dict[str, Path] = {}
        self._lock = threading.Lock()

    def place(self, name: str) -> Path:
        """Return where a file of this name can be made, which nobody else can guess."""
        folder = self._folder / secrets.token_urlsafe(24)
        folder.mkdir(parents=True, mode=0o700)
        return folder / name

    def offer(self, path: Path) -> str:
        """Return the address at which a file that was made can be fetched, once."""
        token = path.parent.name
        with self._lock:
            self._made[token] = path
        return ADDRESS + token

    def discard(self, path: Path) -> None:
        """Remove a file, as one that was fetched or could not be made, with its folder."""
        shutil.rmtree(path.parent, ignore_errors=True)

    def claim(self, token: str) -> Path | None:
        """Return the file of a token, which nobody gets again; None where there is none."""
        with self._lock:
            return self._made.pop(token, None)
