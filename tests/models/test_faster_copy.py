"""The language model's faster copy: made once, never trusted when torn, and done without where it cannot be."""

from __future__ import annotations

import filecmp
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from localcrag.crag.answer.generate import prompt
from localcrag.models.gguf import faster_copy
from localcrag.models.llm import LlamaCpp
from localcrag.records.passages import Evidence
from localcrag.records.protocols import Decoding
from localcrag.records.run import Message
from tests.support.gguf_files import hollow_copy

pytestmark = pytest.mark.contract

EVIDENCE = {
    "What is the hotel limit in London?": "The hotel limit in London is 195 euros a night, breakfast included.",
    "Who approves a journey?": "A journey within one country is approved by the traveller's team lead.",
    "Where are bicycles lent?": "Bicycles are lent at the reception, for 5 euros a day and a signature.",
}

REPACK_WITH_LITTLE_ROOM = """
import resource, signal, sys
from pathlib import Path
from localcrag.models.gguf import faster_copy
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000_000, 20_000_000))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL if sys.argv[3] == "killed" else signal.SIG_IGN)
sys.stdout.write(str(faster_copy(Path(sys.argv[1]), Path(sys.argv[2]))))
"""
"""Writing beyond the limit kills the process in the midst of it, or fails as on a full disk."""


def repack_with_little_room(path: Path, cache: Path, end: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", REPACK_WITH_LITTLE_ROOM, str(path), str(cache), end],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def hollow(gguf_file: Path, scratch: Path) -> Path:
    path = scratch / "hollow.Q4_1.gguf"
    hollow_copy(gguf_file, path)
    return path


def test_the_copy_is_made_once_and_made_again_when_the_file_is_another(hollow: Path, scratch: Path) -> None:
    copy = faster_copy(hollow, scratch / "cache")
    assert copy.parent == scratch / "cache"
    made = copy.stat()
    assert faster_copy(hollow, scratch / "cache") == copy
    assert copy.stat().st_ino == made.st_ino
    os.utime(hollow, ns=(1, 1))
    assert faster_copy(hollow, scratch / "cache") == copy
    assert copy.stat().st_ino != made.st_ino
    assert sorted(path.suffix for path in copy.parent.iterdir()) in ([".gguf"], [".gguf", ".lock"])


@pytest.mark.parametrize("name", ["model.Q4_K_M.gguf", "model.gguf", "model.Q8_0.gguf"])
def test_other_kinds_of_files_are_used_as_they_are(gguf_file: Path, scratch: Path, name: str) -> None:
    path = scratch / name
    hollow_copy(gguf_file, path)
    assert faster_copy(path, scratch / "cache") == path
    assert not (scratch / "cache").exists()


def test_the_copy_begins_its_answers_like_the_original(llama: LlamaCpp, gguf_file: Path, scratch: Path) -> None:
    original = scratch / "original.gguf"
    original.symlink_to(gguf_file)
    slow = LlamaCpp("original", original, context_tokens=512, threads=0, cache=scratch)
    for question, text in EVIDENCE.items():
        messages = prompt(question, question, [Evidence(n=1, text=text, passage="p", source="s", relevance=1.0)])
        first, other = ("".join(llm.stream(messages, Decoding(max_tokens=4))) for llm in (llama, slow))
        assert first == other
        assert first


def test_what_a_killed_process_left_behind_is_not_used(
    gguf_file: Path, llama: LlamaCpp, fast_copies: Path, scratch: Path
) -> None:
    killed = repack_with_little_room(gguf_file, scratch, "killed")
    assert killed.returncode == -signal.SIGXFSZ, killed.stderr
    assert [path.stat().st_size for path in scratch.glob("*.tmp")] == [20_000_000]
    copy = faster_copy(gguf_file, scratch)
    assert filecmp.cmp(copy, next(fast_copies.glob("*.gguf")), shallow=False)
    assert list(scratch.glob("*.tmp")) == []


def test_a_torn_copy_is_thrown_away_and_the_original_loaded(gguf_file: Path, scratch: Path) -> None:
    copy = faster_copy(gguf_file, scratch)
    times = copy.stat()
    with copy.open("rb+") as file:
        file.truncate(times.st_size // 2)
    os.utime(copy, ns=(times.st_atime_ns, times.st_mtime_ns))
    llm = LlamaCpp("mine", gguf_file, context_tokens=512, threads=0, cache=scratch)
    assert "".join(llm.stream([Message("user", "What is the capital of France?")], Decoding(max_tokens=3)))
    assert not copy.exists()


@pytest.mark.parametrize(
    "unusable",
    [
        pytest.param(lambda scratch: scratch / "hollow.Q4_1.gguf", id="a file in its place"),
        pytest.param(lambda scratch: scratch / "hollow.Q4_1.gguf" / "cache", id="below a file"),
        # A folder in which nobody can make files, not even root.
        pytest.param(lambda _: Path("/sys"), id="a folder that cannot be written"),
    ],
)
def test_a_cache_that_cannot_be_written_leaves_the_original(
    hollow: Path, scratch: Path, unusable: Callable[[Path], Path]
) -> None:
    assert faster_copy(hollow, unusable(scratch)) == hollow
    assert LlamaCpp("mine", hollow, context_tokens=512, threads=0, cache=unusable(scratch)).context_tokens == 512


def test_a_full_disk_leaves_the_original_and_no_rubbish(hollow: Path, scratch: Path) -> None:
    cache = scratch / "cache"
    full = repack_with_little_room(hollow, cache, "full")
    assert full.returncode == 0, full.stderr
    assert full.stdout == str(hollow)
    assert [path for path in cache.iterdir() if path.suffix != ".lock"] == []
