"""A disk that is really full: what is said of an index file that does not fit, in a process with a disk of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.engines import needs_hnswlib

pytestmark = pytest.mark.process

NO_MOUNTS = 3
SCRIPT = f"""
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, {str(ROOT / "scripts")!r})
from lab.faults.full_disk import mount, own_mounts
from localcrag.storage.collections.engine_choice import EngineChoice
from localcrag.storage.collections.index_files import IndexBuilder
from localcrag.storage.collections.index_folder import IndexFolder
from localcrag.records.enums import IndexEngine
from localcrag.records.errors import IndexFileError

disk = Path(sys.argv[1])
growth = IndexBuilder(384, None, EngineChoice(IndexEngine(sys.argv[2])))
growth.add(range(2000), [1] * 2000, np.random.default_rng(1).normal(size=(2000, 384)).astype(np.float32))
try:
    own_mounts()
    for size in map(int, sys.argv[3:]):  # KiB: the graph does not fit, then the columns, then nothing is left out.
        mount(disk, size)
        folder = IndexFolder(disk / "index", 1)
        try:
            folder.write(growth, 384)
        except IndexFileError as error:
            print(error)
        print(len(list((disk / "index").iterdir())), "files")
except RuntimeError as error:
    print(error, file=sys.stderr)
    sys.exit({NO_MOUNTS})
"""


@pytest.mark.parametrize(
    ("engine", "sizes"),
    [
        pytest.param("hnswlib", ("300", "3700", "8000"), marks=needs_hnswlib),
        pytest.param("usearch", ("300", "1700", "4000")),
    ],
)
def test_an_index_file_that_does_not_fit_is_told_by_the_disk_that_is_full(
    tmp_path: Path, engine: str, sizes: tuple[str, ...]
) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), engine, *sizes]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ended.returncode == NO_MOUNTS:
        pytest.skip(ended.stderr)
    assert ended.returncode == 0, ended.stderr
    said = (
        f"The vector index could not be written to {tmp_path / 'index'}: the disk is full. The documents are stored, "
        "and searches find them without it, but localcrag starts and searches more slowly. Check that the folder is "
        "writable and the disk not full. The next change, or `localcrag doctor`, will write the index."
    )
    assert ended.stdout.splitlines() == [said, "0 files", said, "0 files", "2 files"]
