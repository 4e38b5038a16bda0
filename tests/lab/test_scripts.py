"""Every script starts by its path alone, and the laboratory's README lists it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support import ROOT

pytestmark = pytest.mark.lab

LAB = ROOT / "scripts" / "lab"
SCRIPTS = [path for path in sorted(LAB.glob("*/*.py")) if "argparse.ArgumentParser" in path.read_text("utf-8")]
START_EACH = """
import contextlib, io, runpy, sys
from pathlib import Path

outside = list(sys.path[1:])
for path in sys.argv[1:]:
    for name in [name for name in sys.modules if name.partition(".")[0] == "lab"]:
        del sys.modules[name]
    sys.path[:] = [str(Path(path).parent), *outside]
    sys.argv = [path, "--help"]
    printed, status = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as end:
            status = end.code
        except Exception as error:
            status = error
    if status != 0 or "usage: " not in printed.getvalue():
        print(path, repr(status))
"""
"""Starts one script after the other in one process, which imports the models' libraries once.

Each finds what a process of its own would find: its folder on the path, and no module of another script."""


def test_every_script_prints_its_help() -> None:
    scripts = [*SCRIPTS, ROOT / "scripts" / "bench.py", ROOT / "scripts" / "make_eval_set.py"]
    command = [sys.executable, "-c", START_EACH, *map(str, scripts)]
    # With this variable, a training does not replace its process by one with large pages, and end the loop so.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLIBC_TUNABLES": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_the_readme_lists_every_script() -> None:
    listed = (LAB / "README.md").read_text("utf-8")
    assert [str(path) for path in SCRIPTS if f"`{path.relative_to(LAB).as_posix()}" not in listed] == []
