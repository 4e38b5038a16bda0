"""Storage: sizes on disk by kind, backups, restoring one, and erasing everything."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from localcrag.app.machine import folder_size
from localcrag.backends.store.database import Database
from localcrag.backends.store.egress_ledger import EgressLedger
from localcrag.privacy import egress_log
from localcrag.text.translation import gettext as _

MADE_OF_DOCUMENTS = ("index", "evaluations", "cache/calibrate", "backups")
"""Folders of the data folder that hold documents, or what was made of them."""


class Storage:
    """One data folder. `forget` has the app forget what it made of the documents that are gone."""

    def __init__(
        self, data_dir: Path, models_dir: Path, database: Database, egress: EgressLedger, forget: Callable[[], None]
    ) -> None:
        self._data_dir, self._models_dir = data_dir, models_dir
        self._database, self._egress, self._forget = database, egress, forget
        self._lock = threading.Lock()

    @property
    def backups(self) -> Path:
        """The folder of the copies."""
        return self._data_dir / "backups"

    def sizes(self) -> list[tuple[str, int]]:
        """Return what is kept, each in words and bytes."""
        folder = self._data_dir.absolute()
        database = sum(path.stat().st_size for path in folder.glob(f"{self._database.path.name}*"))
        return [
            (_("database: documents, chats, questions, labels"), database),
            (_("vector indexes"), folder_size(folder / "index")),
            (_("faster copies of models, and other caches"), folder_size(folder / "cache")),
            (_("copies made here"), folder_size(self.backups)),
            (_("models"), folder_size(self._models_dir)),
        ]

    def back_up(self) -> Path:
        """Write a copy of all documents, chats, runs and labels into the data folder. Raises StoreError."""
        path = self.backups / f"localcrag-{datetime.now(UTC):%Y%m%d-%H%M%S}.sqlite3"
        self._database.copy_to(path)
        return path

    def restore(self, path: Path) -> None:
        """Put a copy in the place of what there is. Raises StoreError, and has then changed nothing."""
        with self._lock:
            # What left this computer has left it, whatever the copy knows of.
            left = self._egress.newest()
            self._database.replace_by(path)
            self._egress.put(left)
            self._forget()

    def erase(self) -> None:
        """Remove documents, chats, runs, labels and all that was made of them; settings and models stay.

        Raises StoreError.
        """
        with self._lock:
            self._database.erase()
            self._forget()
            folder = self._data_dir
            egress_log.forget(folder)
            for path in (*(folder / name for name in MADE_OF_DOCUMENTS), *folder.glob("scores-*.jsonl")):
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the database, when nothing is being restored or erased."""
        with self._lock:
            self._database.close()
