"""docs/privacy.md names every table; what a session leaves in the data folder is named as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcrag.app.storage import MADE_OF_DOCUMENTS
from localcrag.backends.store.database import Database
from localcrag.privacy.private_folder import OUR_FOLDERS
from tests.support.privacy_document import named, unnamed


def test_every_table_is_named_and_no_other(tmp_path: Path) -> None:
    database = Database(tmp_path / "localcrag.sqlite3")
    tables = {row["name"] for row in database.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    database.close()
    shadows = tuple(f"_{what}" for what in ("data", "idx", "content", "docsize", "config"))  # of FTS5
    own = {name for name in tables if not name.startswith("sqlite_") and not name.endswith(shadows)}
    assert sorted(named("Tables of the database")) == sorted(own)


@pytest.mark.parametrize("folder", [*OUR_FOLDERS, *MADE_OF_DOCUMENTS])
def test_every_folder_of_ours_is_named(folder: str) -> None:
    assert folder.split("/", maxsplit=1)[0] in named("Files in the data folder")


def test_what_is_not_named_would_be_noticed(tmp_path: Path) -> None:
    for name in ("settings.json", "scores-1.jsonl", "diary.txt"):
        (tmp_path / name).touch()
    assert unnamed(tmp_path) == ["diary.txt"]
