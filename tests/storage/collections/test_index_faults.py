"""Each call on an index file fails once, or the process is killed there: both engines still find all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.engines import needs_hnswlib

pytestmark = pytest.mark.process

SCRIPT = f"""
import os, shutil, sys
from pathlib import Path

sys.path.insert(0, {str(ROOT / "scripts")!r})
from lab.faults.shim import LOADED, Fault, Shim, again_with, compiled

place, engine = Path(sys.argv[1]), sys.argv[2]
if LOADED not in os.environ:
    sys.exit(again_with(compiled(place), sys.argv))

import numpy as np

from localcrag.storage.database import Database
from localcrag.storage.collections.document_store import DocumentStore
from localcrag.storage.collections.vector_index import ChunkIndex
from localcrag.storage.collections.engine_choice import EngineChoice
from localcrag.records.documents import Chunk
from localcrag.records.errors import IndexFileError
from localcrag.records.enums import IndexEngine

DIMENSION, CHUNKS = 16, 150
ENGINES = EngineChoice(IndexEngine(engine))
shim, random = Shim(), np.random.default_rng(1)


def opened(folder):
    store = DocumentStore(Database(folder / "db.sqlite3"), "one", embedder="fake", dimension=DIMENSION)
    return store, ChunkIndex(store, folder / "index", engines=ENGINES, most_recent=0)


def put(store, name):
    vectors = random.normal(size=(CHUNKS, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    chunks = [Chunk(None, number, number + 1, "x") for number in range(CHUNKS)]
    store.put(name, sha256=name, media_type="t", pages=None, text="x" * CHUNKS, chunks=chunks, vectors=vectors)


def check(store, index):
    found = index.nearest(np.ones(DIMENSION, np.float32) / DIMENSION**0.5, 10 * CHUNKS)
    assert sorted(chunk for chunk, _ in found) == sorted(store.chunk_ids()), (len(found), len(index))


def change(folder, number, fault):
    # A file is there; it is added to, then what was written is written again without a deleted document.
    store, index = opened(folder)
    shim.arm(folder / "index", number, fault)
    put(store, "second")
    try:
        index.refresh()
        index.save()
    except IndexFileError:
        pass
    store.delete("first")
    try:
        index.refresh()
        index.save()
    except IndexFileError:
        pass
    shim.pause(True)
    check(store, index)
    return shim.counted


def in_fork(work):
    # An engine's threads do not outlive a fork, so that this process itself uses none.
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(shim.hit, repr(error), flush=True)
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


before, folder = place / "before", place / "now"


def begin():
    store, index = opened(before)
    put(store, "first")
    index.refresh()
    index.save()
    store._database.close()


def look():
    store, index = opened(folder)
    check(store, index)
    index.save()
    assert index.is_consistent()
    check(*opened(folder))


def once(number, fault):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(before, folder)
    status = in_fork(lambda: (place / "counted").write_text(str(change(folder, number, fault))))
    assert status == 0 or (fault is Fault.KILLED and status == -9), (fault, number, status)
    assert in_fork(look) == 0, (fault, number)


before.mkdir()
assert in_fork(begin) == 0
once(0, Fault.NONE)
calls = int((place / "counted").read_text())
for fault in (Fault.HALF, Fault.KILLED, Fault.FULL):
    # usearch writes each vector by a call of its own: of more than 60 calls, some.
    for number in range(int(fault) % max(1, calls // 60), calls, max(1, calls // 60)):
        once(number, fault)
print(calls, "calls")
"""


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("cc"), reason="calls fail by a library put before libc")
@pytest.mark.parametrize("engine", [pytest.param("hnswlib", marks=needs_hnswlib), "usearch"])
def test_all_chunks_are_found_whichever_call_on_an_index_file_fails(tmp_path: Path, engine: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, str(script), str(tmp_path), engine]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert int(done.stdout.split()[0]) > 10
