"""docs/reference/data-inventory.md names every table, every purpose, and every file that a session leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcrag.app.storage import DOCUMENT_DATA
from localcrag.privacy import egress_log
from localcrag.privacy.egress_log import Purpose
from localcrag.privacy.guard import allow_egress
from localcrag.privacy.private_folder import OWN_FOLDERS
from localcrag.storage.database import Database
from tests.support.privacy_document import named, rows_of, unnamed


def test_every_table_is_named_and_no_other(tmp_path: Path) -> None:
    database = Database(tmp_path / "localcrag.sqlite3")
    tables = {row["name"] for row in database.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    database.close()
    shadows = tuple(f"_{what}" for what in ("data", "idx", "content", "docsize", "config"))  # of FTS5
    own = {name for name in tables if not name.startswith("sqlite_") and not name.endswith(shadows)}
    assert sorted(named("Tables of the database")) == sorted(own)


def test_every_purpose_that_something_leaves_for_has_its_row_with_data_destination_and_control() -> None:
    rows = rows_of("What leaves")
    assert {purpose for purpose, *_ in rows} == {f"`{one}`" for one in Purpose if one is not Purpose.NONE}
    assert {len(row) for row in rows} == {5}
    assert [row for row in rows if not all(row)] == []


@pytest.mark.parametrize("purpose", [one for one in Purpose if one is not Purpose.NONE])
def test_every_purpose_is_one_of_something_that_the_code_does(purpose: Purpose) -> None:
    package = Path(egress_log.__file__).parents[1]
    own = {package / "privacy" / "egress_log.py"}
    named = f"Purpose.{purpose.name}"
    assert [path for path in package.rglob("*.py") if path not in own and named in path.read_text("utf-8")]


def test_nothing_leads_to_another_machine_without_a_purpose() -> None:
    with pytest.raises(ValueError, match="needs a purpose"), allow_egress(Purpose.NONE, ("192.0.2.1", 80)):
        pass
    with allow_egress(Purpose.NONE, programs=True) as opened, pytest.raises(ValueError, match="needs a purpose"):
        opened.admit("192.0.2.1", 80)


@pytest.mark.parametrize("folder", [*OWN_FOLDERS, *DOCUMENT_DATA])
def test_every_folder_of_ours_is_named(folder: str) -> None:
    assert folder.split("/", maxsplit=1)[0] in named("Files in the data folder")


def test_what_is_not_named_would_be_noticed(tmp_path: Path) -> None:
    for name in ("settings.json", "scores-1.jsonl", "diary.txt"):
        (tmp_path / name).touch()
    assert unnamed(tmp_path) == ["diary.txt"]
