"""A script of scripts/, run in this process, where importing the models' libraries is paid once."""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
from subprocess import CompletedProcess
from unittest import mock

from tests.support import ROOT


def run_script(name: str, *arguments: str) -> CompletedProcess[str]:
    """Run a script as if it had a process of its own; return what it printed and its status."""
    printed, said = io.StringIO(), io.StringIO()
    path = str(ROOT / "scripts" / f"{name}.py")
    status = 0
    with (
        mock.patch.object(sys, "argv", [path, *arguments]),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(said),
    ):
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(bool(end.code))
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
    return CompletedProcess([path, *arguments], status, printed.getvalue(), said.getvalue())
