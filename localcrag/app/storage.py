"""Storage: sizes on disk by kind, backups, restoring one, and erasing everything."""

from __future__ import annotations

import secrets
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from localcrag.app.collections import deletion
from localcrag.app.models.hardware import folder_size
from localcrag.privacy import egress_log
from localcrag.records.documents import BackedUp
from localcrag.records.errors import StoreError
from localcrag.storage import backup
from localcrag.storage.collections import collection_file, full_text
from localcrag.storage.database import Database
from localcrag.storage.files import remove_abandoned, whole_or_not_at_all
from localcrag.text.translation import gettext as _

MADE_OF_DOCUMENTS = ("index", "evaluations", "cache/calibrate", "backups")
"""Folders of the data folder that hold documents, or what was made of them."""
LEFT_OVER = (".within-*", ".web-*", "backups/.*.part", "*.part")
"""What processes have in the data folder as long as they need it."""
KEPT_IN_COPIES = ("settings.json", "evaluations/**/*")
"""Files that cannot be made again. Keys of servers and the API's token stay out of copies, which may go anywhere."""


class Storage:
    """One data folder. `forget` has the app forget what it made of the documents that are gone."""

    def __init__(self, data_dir: Path, models_dir: Path, database: Database, forget: Callable[[], None]) -> None:
        self._data_dir, self._models_dir = data_dir, models_dir
        self._database, self._forget = database, forget
        self._lock = threading.Lock()
        # What a killed process left half-done.
        database.put_back_files(data_dir)
        collection_file.remove_abandoned(database)
        remove_abandoned(data_dir, *LEFT_OVER)

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

    def back_up(self, path: Path | None = None) -> BackedUp:
        """Write a copy of all that cannot be made again, into the data folder where no file is named.

        What changed documents said is overwritten before: else full text has it in the copy. Raises StoreError.
        """
        if full_text.are_left(self._database):
            full_text.merge(self._database)
        if path is None:
            # The clock may say the same second again, or an earlier one.
            path = self.backups / f"localcrag-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}.sqlite3"
        return self._database.copy_to(path, dict(_files_in(self._data_dir)))

    def take_in(self, path: Path, name: str) -> BackedUp:
        """Put a copy that was made elsewhere among those of the folder, once all of it was read; return what it holds.

        Its name there begins as `name` does. Raises StoreError where it is damaged or none of ours.
        """
        told = backup.check(path, called=Path(name))
        kept = self.backups / f"{Path(name).stem[:80]}-{secrets.token_hex(2)}.sqlite3"
        try:
            with whole_or_not_at_all(kept) as temporary:
                shutil.copyfile(path, temporary)
        except OSError as error:
            said = error.strerror or str(error)
            raise StoreError(
                f"{name} was not taken in: {said}. Check that the disk is not full, and try again."
            ) from error
        return replace(told, path=kept)

    def restore(self, path: Path) -> BackedUp:
        """Put a copy in the place of what there is, and return what it held. Raises StoreError; then nothing changed.

        Another process that has the folder is in the way of that. What left this computer has left it, whatever the
        copy knows of.
        """
        with self._lock:
            restored = self._database.replace_by(path)
            self._database.put_back_files(self._data_dir)
            self._forget()
            return restored

    def erase(self) -> None:
        """Remove documents, chats, runs, labels and all that was made of them; settings and models stay.

        Raises StoreError.
        """
        with self._lock:
            self._database.erase()
            self._forget()
            folder = self._data_dir
            egress_log.forget(folder)
            for path in (
                *(folder / name for name in MADE_OF_DOCUMENTS),
                *folder.glob("scores-*.jsonl"),
                *folder.glob("damaged-*"),
            ):
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

    def close(self, *, overwrites: bool = True) -> None:
        """Overwrite what deleted documents left, and close the database, when nothing is being restored or erased."""
        with self._lock:
            if overwrites:
                deletion.finish(self._database)
            self._database.close()


def _files_in(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of the files that go into copies."""
    for pattern in KEPT_IN_COPIES:
        for path in sorted(folder.glob(pattern)):
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(folder).as_posix(), path.read_bytes()
