"""What an app makes at its first start, made once for all tests: the faster language model, the fastest format.

Together they cost a dozen seconds of a core in every data folder that an app starts in for the first time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock

from tests.support import ROOT

SHARED = "TESTS_FIRST_START"
"""The variable with the folder that all workers share, and that goes when the tests end."""
CACHE = "cache"
LONGEST = 600.0
"""Seconds that another worker may take to make it, on a machine that is busy."""
START = """
import sys
from pathlib import Path
from localcrag.app.assembly import Assembly
from localcrag.settings import load
Assembly(load(data_dir=Path(sys.argv[1]))).warm_up()
"""


def shared_folder() -> TemporaryDirectory[str] | None:
    """Return a folder for this run of the tests; None where another process of it has made one."""
    if SHARED in os.environ:
        return None
    folder = TemporaryDirectory(prefix="localcrag-tests-")
    os.environ[SHARED] = folder.name
    return folder


def in_tests() -> bool:
    """Whether tests are run, and not a script that measures with what they share."""
    return SHARED in os.environ


def started_before(data: Path) -> Path:
    """Return `data` as a folder that an app has been started in before; it is made where there is none.

    Outside the tests (scripts/lab/speed/bench_page.py) there is no shared folder, and the start is a first one.
    """
    if not in_tests():
        data.mkdir(parents=True, exist_ok=True)
        return data
    made = _made(Path(os.environ[SHARED]))
    (data / CACHE).mkdir(parents=True, exist_ok=True)
    for file in made.iterdir():
        # Links: the app replaces these files, and never writes into them.
        if file.suffix != ".lock" and not (data / CACHE / file.name).exists():
            (data / CACHE / file.name).hardlink_to(file)
    return data


def _made(shared: Path) -> Path:
    data, done = shared / "data", shared / "done"
    with FileLock(shared / "lock", timeout=LONGEST):
        if not done.exists():
            subprocess.run([sys.executable, "-c", START, str(data)], cwd=ROOT, check=True, umask=0o077)
            done.touch()
    return data / CACHE
