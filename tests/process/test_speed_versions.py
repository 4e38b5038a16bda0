"""Which version this one is compared with, and its files: in small repositories, with the real git."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from lab.speed.versions import BACK, NoVersion, accepted, commit, earlier, unpack

from tests.support import ROOT
from tests.support.desktop_screen import until

IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *IDENTITY, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def committed(folder: Path, message: str) -> str:
    """Commit whatever there is; return the commit."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / "localcrag").mkdir(parents=True)
    (folder / "models" / "heavy").mkdir(parents=True)
    (folder / "localcrag" / "__init__.py").write_text("first\n")
    (folder / "app.py").touch()
    (folder / "models" / "models.toml").touch()
    (folder / "models" / "heavy" / "weights").write_text("weights")
    git(tmp_path, "init", "--quiet", str(folder))
    committed(folder, "first")
    return folder


def test_a_branch_is_compared_with_where_it_branched_off(checkout: Path) -> None:
    base = committed(checkout, "second")
    git(checkout, "switch", "--quiet", "-c", "branch")
    committed(checkout, "mine")
    committed(checkout, "mine, too")
    assert earlier(checkout) == base


def test_the_remote_branch_counts_before_one_that_is_here(checkout: Path, tmp_path: Path) -> None:
    pushed = committed(checkout, "pushed")
    git(tmp_path, "clone", "--quiet", str(checkout), "clone")
    committed(tmp_path / "clone", "not yet pushed")
    assert earlier(tmp_path / "clone") == pushed


def test_the_main_branch_is_compared_with_the_version_so_many_commits_before(checkout: Path) -> None:
    commits = [committed(checkout, str(number)) for number in range(BACK + 3)]
    assert earlier(checkout) == commits[2]


def test_of_a_shallow_clone_it_is_the_oldest_there_is(checkout: Path, tmp_path: Path) -> None:
    commits = [committed(checkout, str(number)) for number in range(4)]
    git(tmp_path, "clone", "--quiet", "--depth=3", checkout.as_uri(), "shallow")
    assert earlier(tmp_path / "shallow") == commits[1]


def test_without_an_earlier_commit_it_says_so(checkout: Path) -> None:
    with pytest.raises(NoVersion, match="has no commit before this one"):
        earlier(checkout)


def test_without_git_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoVersion, match="is no checkout of git with a commit"):
        earlier(tmp_path)


def test_a_commit_that_is_not_there_is_named(checkout: Path) -> None:
    with pytest.raises(NoVersion, match="has no commit v9"):
        commit(checkout, "v9")


def test_what_it_needs_to_run_is_unpacked_as_it_was_and_no_weights(checkout: Path, tmp_path: Path) -> None:
    before = commit(checkout, "HEAD")
    (checkout / "localcrag" / "__init__.py").write_text("second\n")
    committed(checkout, "second")
    tree = unpack(checkout, before, tmp_path / "tree")
    assert (tree / "localcrag" / "__init__.py").read_text() == "first\n"
    assert sorted(path.name for path in (tree / "models").iterdir()) == ["models.toml"]
    assert git(checkout, "worktree", "list").count("\n") == 0


def test_a_version_without_the_program_says_so(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "rm", "--quiet", "-r", "localcrag")
    committed(checkout, "gone")
    with pytest.raises(NoVersion, match=r"cannot be unpacked: git archive says “.*localcrag"):
        unpack(checkout, "HEAD", tmp_path / "tree")


def test_commits_since_then_say_what_is_slower_on_purpose(checkout: Path) -> None:
    committed(checkout, "Old\n\nSlower: ingest")
    base = committed(checkout, "Base")
    committed(checkout, "Twelve layers\n\nThey find more.\n\nSlower: evaluate, last token")
    committed(checkout, "Refine: two passes\n\nSlower: refine")
    committed(checkout, "Nothing is\nSlower: than this")
    assert accepted(checkout, base) == {"evaluate", "last token", "refine"}


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "ended"])
def test_interrupted_it_leaves_no_folder_and_no_process(number: int, status: int, tmp_path: Path) -> None:
    command = [sys.executable, "scripts/bench.py", "--against", "HEAD", "--quick"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as bench:
        until(lambda: len(measured_below(tmp_path)) == 2, "two versions run in processes of their own")
        bench.send_signal(number)
        _, said = bench.communicate()
    assert (bench.returncode, said) == (status, "")
    assert list(tmp_path.iterdir()) == []
    assert measured_below(tmp_path) == []


def measured_below(folder: Path) -> list[str]:
    """The processes that measure a version in this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(FileNotFoundError, ProcessLookupError):  # ended meanwhile
            found.append(path.read_bytes().decode().split("\0"))
    return [line[3] for line in found if line[1:3] == ["-m", "lab.speed.child"] and line[3].startswith(str(folder))]
