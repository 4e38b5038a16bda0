"""The disk that a power cut is tried on: what was synced is there, with its name; of the rest any part or nothing.

tests/storage/test_durability.py runs faults.py itself, in each of its forms.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from lab.faults.disk import SECTOR, Disk, Done, emptied

pytestmark = pytest.mark.lab

OLD, NEW = b"o" * SECTOR * 2, b"n" * SECTOR * 2


def done(kind: str, path: Path, other: str | Path = "", data: bytes = b"") -> Done:
    return Done(kind, str(path), str(other), 0, data)


def found(tmp_path: Path, what: Sequence[Done], cuts: int = 200) -> set[tuple[tuple[str, bytes], ...]]:
    """Return what is in the folder after each of so many power cuts at the end."""
    disk, chance = Disk(emptied(tmp_path / "data")), random.Random(1)
    for one in what:
        disk.do(one)
    states = set()
    for _ in range(cuts):
        target = emptied(tmp_path / "cut")
        disk.cut(target, chance)
        files = sorted(path for path in target.rglob("*") if path.is_file())
        states.add(tuple((path.name, path.read_bytes()) for path in files))
    return states


def test_a_file_that_was_synced_may_lose_its_name_but_not_where_the_folder_was_synced_too(tmp_path: Path) -> None:
    data = tmp_path / "data"
    what = [done("c", data / "a"), done("w", data / "a", data=OLD), done("s", data / "a")]
    assert found(tmp_path, what) == {(), (("a", OLD),)}
    assert found(tmp_path, [*what, done("s", data)]) == {(("a", OLD),)}


def test_sectors_that_were_written_since_the_sync_are_there_or_not(tmp_path: Path) -> None:
    file = tmp_path / "data" / "a"
    what = [done("c", file), done("w", file, data=OLD), done("s", file), done("s", file.parent)]
    states = found(tmp_path, [*what, done("w", file, data=NEW)])
    assert {state[0][1] for state in states} == {OLD, NEW, NEW[:SECTOR] + OLD[SECTOR:], OLD[:SECTOR] + NEW[SECTOR:]}


@pytest.mark.parametrize("synced", [True, False])
def test_a_name_that_is_taken_has_the_old_content_or_the_new(tmp_path: Path, synced: bool) -> None:
    data = tmp_path / "data"
    old = [done("c", data / "a"), done("w", data / "a", data=OLD), done("s", data / "a"), done("s", data)]
    new = [done("c", data / "b"), done("w", data / "b", data=NEW), done("s", data / "b")]
    states = found(tmp_path, [*old, *new, done("r", data / "b", data / "a"), *([done("s", data)] * synced)])
    contents = {dict(state)["a"] for state in states}
    assert contents == ({NEW} if synced else {OLD, NEW})
