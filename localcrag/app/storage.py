"""Storage: sizes on disk by kind, backups and their restoration, and erasing everything."""

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
from localcrag.records.documents import BackupSummary
from localcrag.records.errors import StoreError
from localcrag.storage import backup
from localcrag.storage.collections import collection_file, full_text
from localcrag.storage.database import Database
from localcrag.storage.files import atomic_file, remove_abandoned
from localcrag.text.translation import gettext as _

DOCUMENT_DATA = ("index", "evaluations", "cache/calibrate", "backups")
"""Paths in the data folder with documents or data derived from them."""
TEMPORARY_FILES = (".within-*", ".web-*", "backups/.*.part", "*.part")
"""Patterns of temporary files in the data folder, which a killed process may leave behind."""
BACKED_UP_FILES = ("settings.json", "evaluations/**/*")
"""Patterns of files that go into backups because they cannot be recreated.

API keys of servers and the API token are left out, because a backup may end up anywhere.
"""


class Storage:
    """The data folder; `forget` clears the app's caches about deleted documents. `backups` is the folder of backups."""

    def __init__(self, data_dir: Path, models_dir: Path, database: Database, forget: Callable[[], None]) -> None:
        self._data_dir, self._models_dir = data_dir, models_dir
        self._database, self._forget = database, forget
        self.backups = data_dir / "backups"
        self._lock = threading.Lock()
        # Finish or remove what a killed process left behind: restored files, imports, temporary files.
        database.restore_files(data_dir)
        collection_file.remove_partial_imports(database)
        remove_abandoned(data_dir, *TEMPORARY_FILES)

    def sizes(self) -> list[tuple[str, int]]:
        """Return the kinds of stored data, each as a label and its size in bytes."""
        folder = self._data_dir.absolute()
        database = sum(path.stat().st_size for path in folder.glob(f"{self._database.path.name}*"))
        return [
            (_("database: documents, chats, questions, feedback"), database),
            (_("vector indexes"), folder_size(folder / "index")),
            (_("faster copies of models, and other caches"), folder_size(folder / "cache")),
            (_("backups"), folder_size(self.backups)),
            (_("models"), folder_size(self._models_dir)),
        ]

    def back_up(self, path: Path | None = None) -> BackupSummary:
        """Write a backup of everything that cannot be recreated, by default into the backup folder.

        Words of changed or deleted documents are removed from the full text first, so the backup does not contain them.
        Raises StoreError.
        """
        if full_text.has_pending_words(self._database):
            full_text.merge_segments(self._database)
        if path is None:
            # The random part keeps names unique even if the clock repeats a second or is set back.
            path = self.backups / f"localcrag-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}.sqlite3"
        return self._database.back_up_to(path, dict(_files_to_back_up(self._data_dir)))

    def import_backup(self, path: Path, name: str) -> BackupSummary:
        """Verify a backup that was made elsewhere and import it; return its description.

        Its name in the backup folder begins with the stem of `name`. Raises StoreError if it is damaged or not a backup
        of localcrag.
        """
        backup_info = backup.check(path, called=Path(name))
        kept = self.backups / f"{Path(name).stem[:80]}-{secrets.token_hex(2)}.sqlite3"
        try:
            with atomic_file(kept) as temporary:
                shutil.copyfile(path, temporary)
        except OSError as error:
            reason = f"{name} was not imported: {error.strerror or error}."
            raise StoreError(f"{reason} Check that the disk is not full, and try again.") from error
        return replace(backup_info, path=kept)

    def restore(self, path: Path) -> BackupSummary:
        """Replace all data with a backup and return its description. Raises StoreError; then nothing has changed.

        Another process that uses the folder prevents this. The connection log is kept, whatever the backup contains.
        """
        with self._lock:
            restored = self._database.restore_from(path)
            self._database.restore_files(self._data_dir)
            self._forget()
            return restored

    def erase(self) -> None:
        """Remove documents, chats, runs, labels and everything derived from them; settings and models stay.

        Raises StoreError.
        """
        with self._lock:
            self._database.erase()
            self._forget()
            folder = self._data_dir
            egress_log.forget(folder)
            leftovers = [*folder.glob("scores-*.jsonl"), *folder.glob("damaged-*")]
            for path in (*(folder / name for name in DOCUMENT_DATA), *leftovers):
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

    def close(self, *, overwrites: bool = True) -> None:
        """Overwrite the words of deleted documents and close the database, after waiting for any restore or erasure."""
        with self._lock:
            if overwrites:
                deletion.finish_overwriting(self._database)
            self._database.close()


def _files_to_back_up(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the files that go into backups."""
    for pattern in BACKED_UP_FILES:
        for path in sorted(folder.glob(pattern)):
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(folder).as_posix(), path.read_bytes()
