"""The header of a SQLite file: which program made it, and with which version of its tables.

SQLite keeps both numbers at fixed places of the file (sqlite.org/fileformat.html, 1.3), so that they can be read
without opening the database: opening one may write files next to it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from localcrag.backends.store.schema import APPLICATION_ID
from localcrag.records.errors import StoreError

DATABASE_NAME = "localcrag.sqlite3"
"""The database's name in a data folder."""
_MAGIC, _LENGTH = b"SQLite format 3\x00", 100
_VERSION_AT, _KIND_AT = 60, 68


@dataclass(frozen=True, slots=True)
class Header:
    """The application_id (`kind`) and the user_version of a SQLite file; both are 0 unless a program sets them."""

    kind: int
    version: int

    @property
    def is_before_first_release(self) -> bool:
        """Whether a localcrag before 0.1.0 made this file: it counted its schemas and set no application_id."""
        return self.kind == 0 and self.version > 0


def read_header(path: Path) -> Header | None:
    """Return the header of a SQLite file, None if the file is something else. Raises OSError."""
    with path.open("rb") as file:
        data = file.read(_LENGTH)
    if len(data) < _LENGTH or not data.startswith(_MAGIC):
        return None
    return Header(*(int.from_bytes(data[at : at + 4], "big") for at in (_KIND_AT, _VERSION_AT)))


def check_data_folder(path: Path) -> None:
    """Raise StoreError if the database `path` was made before 0.1.0 or by another program; change nothing."""
    # A file that cannot be read, or is no database, gets its message when it is opened.
    with suppress(OSError):
        header = read_header(path)
        if header is not None:
            check_header(header, path, empty=header.version == 0)


def check_header(header: Header, path: Path, *, empty: bool) -> None:
    """Raise StoreError unless this is a localcrag database or a new one, which is `empty`."""
    if header.is_before_first_release:
        raise StoreError(
            f"The data folder {path.parent} was made by a localcrag before 0.1.0, which this version cannot open. "
            "Nothing was changed. Choose another folder with --data-dir, or move this one away or delete it; then add "
            "your documents again."
        )
    if header.kind != APPLICATION_ID and not (header.kind == 0 and empty):
        raise StoreError(
            f"{path} is not a database of localcrag. Nothing was changed. Choose another folder with --data-dir, or "
            "move the file away."
        )
