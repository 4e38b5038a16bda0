"""Search all files of a folder, and the tables of the database, for residue of deleted documents.

A separate process reads the files; __main__.py gives the reason.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from localcrag.privacy.child_process import ChildProcess, WorkerFailed
from localcrag.records.documents import ResidueLocation, ResidueReport, ResidueSignature
from localcrag.records.errors import StoreError
from localcrag.storage.database import Database

MODULE = "localcrag.storage.residue"
PATIENCE = 600.0
"""Seconds to wait for one file: a database of tens of gigabytes is read once for each mark."""


def search(folder: Path, marks: Sequence[ResidueSignature], excluded: Sequence[Path] = ()) -> ResidueReport:
    """Return where these marks occur in the files below a folder, without the folders `excluded`.

    Raises StoreError.
    """
    folder = folder.absolute()
    process = ChildProcess(MODULE, PATIENCE)
    places: list[ResidueLocation] = []
    try:
        # Paths are sent as hexadecimal bytes, because they need not be valid Unicode.
        process.ask(
            {
                "folder": os.fsencode(folder).hex(),
                "left_out": [os.fsencode(one.absolute()).hex() for one in excluded],
                "lengths": [[len(form) for form in mark.forms] for mark in marks],
            },
            b"".join(form for mark in marks for form in mark.forms),
        )
        content, _ = process.answer()
        while "end" not in content:
            if "file" in content:
                name = Path(os.fsdecode(bytes.fromhex(content["file"]))).relative_to(folder).as_posix()
                places += [ResidueLocation(name, marks[number].description, at=at) for number, at in content["places"]]
            content, _ = process.answer()
    except WorkerFailed as over:
        raise StoreError(
            f"The files in {folder} could not be searched completely: {over}. Search again: localcrag forget --verify"
        ) from over
    finally:
        process.end()
    unread = [f"{os.fsdecode(bytes.fromhex(path))} ({why})" for path, why in content["unread"]]
    return ResidueReport(tuple(places), len(marks), content["files"], content["bytes"], tuple(unread))


class _MatchRecorder:
    """A container of all values that contain a mark. `found` records the marks that the tested values contained."""

    def __init__(self, marks: Sequence[ResidueSignature]) -> None:
        self._marks, self.found = list(marks), dict[str, None]()

    def __contains__(self, value: object) -> bool:
        matches = [mark.description for mark in self._marks if mark.within(value)]
        self.found |= dict.fromkeys(matches)
        return bool(matches)


def tables_containing(database: Database, marks: Sequence[ResidueSignature]) -> list[ResidueLocation]:
    """Return the tables and columns that contain these marks. Raises StoreError."""
    places = []
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    for (table,) in database.rows(tables):
        for column in database.rows("SELECT name FROM pragma_table_info(?)", table):
            recorder = _MatchRecorder(marks)
            # SQLite calls `chosen` for each value in turn, so only one value at a time is in memory.
            sql = f'SELECT count(*) FROM "{table}" WHERE chosen("{column["name"]}")'  # noqa: S608 - our own names
            database.rows(sql, chosen=recorder)
            places += [
                ResidueLocation(database.path.name, text, table=f"{table}.{column['name']}") for text in recorder.found
            ]
    return places
