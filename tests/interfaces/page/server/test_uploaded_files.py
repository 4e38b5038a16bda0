"""Which files a request may name: those that lie in the folder of uploads, wherever links and dots lead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from localcrag.interfaces.page.server.guards import all_uploaded


@pytest.fixture
def uploads(tmp_path: Path) -> Path:
    folder = tmp_path / "uploads"
    (folder / "ab").mkdir(parents=True)
    (folder / "ab" / "note.txt").write_text("held")
    (tmp_path / "secret.txt").write_text("not given")
    (tmp_path / "uploads-of-others").mkdir()
    (tmp_path / "uploads-of-others" / "x.txt").write_text("not given")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "out").symlink_to(tmp_path)
    return folder


def test_an_uploaded_file_may_be_named_however_deep(uploads: Path) -> None:
    path = str(uploads / "ab" / "note.txt")
    assert all_uploaded({"data": [[{"path": path, "meta": {}}], "x", 1, None]}, uploads)
    assert all_uploaded({"data": ["/etc/passwd", {"name": "/etc/passwd"}]}, uploads), "no file is named"


@pytest.mark.parametrize(
    "path",
    [
        "{up}/../secret.txt", "{up}/link.txt", "{up}/out/secret.txt", "{up}/ab/../../secret.txt",
        "{up}-of-others/x.txt", "{up}", "{up}/ab", "{up}/none.txt", "/etc/passwd", "../secret.txt",
        "secret.txt", "", "~/.bashrc", "{up}/ab/note.txt\0.png", "file://{up}/ab/note.txt",
        "http://192.0.2.1/x", "//192.0.2.1/x", "{up}/%2e%2e/secret.txt", "/proc/self/environ", "/dev/zero",
    ],
)  # fmt: skip
def test_no_other_file_may_be_named(uploads: Path, path: str) -> None:
    named: Any = {"path": path.format(up=uploads), "meta": {"_type": "gradio.FileData"}}
    for said in (named, [named], {"data": [[{"a": named}]]}):
        assert not all_uploaded(said, uploads)
