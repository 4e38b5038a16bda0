"""The command line: in this process, where importing the models' libraries is paid once, or in one of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path
from subprocess import DEVNULL, CompletedProcess, Popen
from tempfile import TemporaryFile
from typing import Any
from unittest import mock

from localcrag.interfaces.cli.main import main
from localcrag.privacy import egress_log
from localcrag.text import translation
from tests.support import forks
from tests.support.first_start import started_before
from tests.support.forks import Fork

WITH_MODELS = {"ask", "calibrate", "doctor", "eval", "replay"}
"""Commands that load models in a data folder, most of the time."""


def localcrag(data: Path, *arguments: str, **environment: str) -> CompletedProcess[str]:
    """Run a command in this process and return what it printed and its status, as if it had one of its own."""
    printed, said = io.StringIO(), io.StringIO()
    with (
        mock.patch.dict(os.environ, _environment(data, arguments, environment)),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(said),
    ):
        try:
            status = main(list(arguments))
        except SystemExit as end:  # argparse's, of --help and of what it does not know
            status = int(end.code or 0)
        finally:
            egress_log.log_to_folder(None)
            translation.choose("en")
    return CompletedProcess(arguments, status, printed.getvalue(), said.getvalue())


def as_process(data: Path, *arguments: str, **environment: str) -> CompletedProcess[str]:
    """Run a command as a person does: nothing but its result may be on its stdout, whoever else prints."""
    with TemporaryFile("w+", encoding="utf-8") as printed, TemporaryFile("w+", encoding="utf-8") as said:
        command, whole = ["-m", "localcrag", *arguments], _environment(data, arguments, environment)
        status = forks.start(command, whole, stdout=printed.fileno(), stderr=said.fileno()).wait()
        for file in (printed, said):
            file.seek(0)
        return CompletedProcess(arguments, status, printed.read(), said.read())


def start(
    data: Path, *arguments: str, stdin: int = DEVNULL, stdout: int = DEVNULL, stderr: int = DEVNULL, **environment: str
) -> Popen[bytes] | Fork:
    """Start a command in a process of its own, which is not waited for."""
    command = ["-m", "localcrag", *arguments]
    environment = _environment(data, arguments, environment)
    return forks.start(command, environment, stdin=stdin, stdout=stdout, stderr=stderr)


def _environment(data: Path, arguments: tuple[str, ...], environment: dict[str, str]) -> dict[str, str]:
    if WITH_MODELS.intersection(arguments):
        started_before(data)
    return {"LOCALCRAG_DATA_DIR": str(data), **environment}


def as_json(done: CompletedProcess[str], status: int = 0) -> Any:
    """Return what a command printed with --json."""
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)
