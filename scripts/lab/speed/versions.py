"""Versions of localcrag: choose one to compare with, unpack it, and start a process to measure it."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

from lab.speed import commands
from lab.speed.child import MEASURES, OPEN

ROOT = Path(__file__).resolve().parents[3]
MODELS = Path(os.environ.get("LOCALCRAG_MODELS_DIR") or ROOT / "models").absolute()
"""Models folder for both versions: their own speed is compared, not that of different models."""
MAIN = ("origin/main", "origin/master", "main", "master")
"""Possible names of the main branch in a clone."""
BACK = 20
"""Commits between the versions that are compared on the main branch itself; 20, so that a slow drift is noticed."""
NEEDED = ("localcrag", "app.py", "models/models.toml")
MEASURED_BY = {"scripts/lab/speed": "lab.speed.child", "scripts/speed": "speed.child"}
"""Folders where a version may have its own measuring code, with the module to start.

Each version measures itself, since only its own code knows the names of its modules. Both must use the same lines of
JSON for tasks and results (child.py), and the same names of steps."""
TRAILER = "Slower"
LONGEST = 600.0
"""Seconds that one result may take; a process that takes longer counts as hanging."""


class NoVersion(Exception):
    """There is no version to compare with; the message says why, and what to do."""


class Unmeasured(Exception):
    """A version could not run a measurement; the message contains its error."""


def _git(root: Path, *arguments: str) -> str | None:
    """Return git's output; None if git fails or is not installed."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def earlier(root: Path) -> str:
    """Return the commit to compare with: where this branch left the main branch, or on that, BACK commits before.

    In a shallow clone, it is the oldest one there is. Raises NoVersion.
    """
    head = _git(root, "rev-parse", "--verify", "HEAD^{commit}")
    if head is None:
        raise NoVersion(f"{root} is no checkout of git with a commit.")
    for name in MAIN:
        base = _git(root, "merge-base", "HEAD", name)
        if base and base != head:
            return base
    commits = (_git(root, "rev-list", "--first-parent", f"--max-count={BACK + 1}", "HEAD") or head).split()
    if len(commits) == 1:
        raise NoVersion("this checkout has no commit before this one (git fetch --deepen=20 brings some).")
    return commits[-1]


def commit(root: Path, revision: str) -> str:
    """Return the short name of a commit. Raises NoVersion."""
    name = _git(root, "rev-parse", "--short", "--verify", f"{revision}^{{commit}}")
    if name is None:
        raise NoVersion(
            f"This checkout has no commit {revision} (git log names those there are; git fetch brings more)."
        )
    return name


def accepted(root: Path, revision: str) -> frozenset[str]:
    """Return the steps that commits since a revision declare slower, in trailers: “Slower: evaluate, last token”."""
    said = _git(root, "log", f"--format=%(trailers:key={TRAILER},valueonly)", f"{revision}..HEAD") or ""
    return frozenset(step.strip() for line in said.splitlines() for step in line.split(",") if step.strip())


def unpack(root: Path, revision: str, folder: Path) -> Path:
    """Write the files that a revision needs to run to a folder, and return it. Git's own folder does not change.

    Raises NoVersion if the revision has no localcrag/.
    """
    measuring = [name for name in MEASURED_BY if _git(root, "cat-file", "-e", f"{revision}:{name}") is not None]
    command = ["git", "archive", revision, *NEEDED, *measuring]
    done = subprocess.run(command, cwd=root, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise NoVersion(f"{revision} cannot be unpacked: git archive says “{said}”.")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


def measured_by(tree: Path) -> tuple[str, Path]:
    """Return the module that measures a version's files, and the folder to import it from.

    A version without its own measuring code is measured with this checkout's.
    """
    for folder, module in MEASURED_BY.items():
        if (tree / folder / "child.py").is_file():
            return module, tree / "scripts"
    return "lab.speed.child", ROOT / "scripts"


class Version:
    """A version in a separate process with its models loaded, until it is closed."""

    def __init__(self, name: str, tree: Path, folder: Path) -> None:
        self.name, self._tree, self._data = name, tree, folder / "data"
        folder.mkdir(parents=True)
        self._log = (folder / "log").open("w+b")
        module, scripts = measured_by(tree)
        app = f"{module.rpartition('.')[0]}.app"  # It imports the modules of every command that asks or adds.
        self._environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(tree), str(scripts))),
            "LOCALCRAG_MODELS_DIR": str(MODELS),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, str(self._data)], cwd=tree, env=self._environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True, encoding="utf-8",
        )  # fmt: skip
        self._commands: dict[str, Callable[[], float]] = {
            "help": lambda: commands.run(commands.HELP, tree, self._environment),
            "import": lambda: commands.run(("-c", f"import {app}"), tree, self._environment),
            "page": lambda: commands.page(tree, self._environment, self._data.parent / "page"),
        }

    def open(self, like: Version | None = None) -> None:
        """Load the models, with the choices that `like` made at its first start. Raises Unmeasured.

        So both compute in the same number format, even if the machine was busy while one of them chose the fastest.
        """
        if like and (like._data / "cache").is_dir():
            shutil.copytree(like._data / "cache", self._data / "cache", dirs_exist_ok=True)
        package = self._asked(OPEN, "").get("package", "")
        if Path(package).resolve() != (self._tree / "localcrag").resolve():
            raise Unmeasured(f"localcrag came from {package}, not from {self._tree}")

    def measured(self, what: str, given: str) -> dict[str, float]:
        """Run a task once, and return its figures. Raises Unmeasured."""
        if what in MEASURES:
            figures: dict[str, float] = self._asked(what, given)["figures"]
            return figures
        try:
            return {"seconds": self._commands[what]()}
        except subprocess.CalledProcessError as error:
            raise Unmeasured(_last_line(error.stderr) or str(error)) from error
        except RuntimeError as error:
            raise Unmeasured(str(error)) from error

    def _asked(self, what: str, given: str) -> dict[str, Any]:
        assert self._process.stdin is not None  # noqa: S101 - for the types alone
        assert self._process.stdout is not None  # noqa: S101
        hangs = Timer(LONGEST, self._process.kill)
        hangs.daemon = True  # If interrupted right after its start, it is not cancelled, and would delay Python's exit.
        try:
            hangs.start()
            self._process.stdin.write(json.dumps({"do": what, "given": given}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        finally:
            hangs.cancel()
        if not line:
            self._log.seek(0)
            raise Unmeasured(f"its process ended; it said last: {_last_line(self._log.read()) or 'nothing'}")
        answer: dict[str, Any] = json.loads(line)
        if "failed" in answer:
            raise Unmeasured(answer["failed"])
        return answer

    def close(self) -> None:
        """End its process, even if it hangs."""
        self._process.kill()
        with self._process:
            self._log.close()


def _last_line(said: bytes) -> str:
    return next((line for line in reversed(said.decode("utf-8", "replace").splitlines()) if line.strip()), "")


@contextmanager
def in_a_process(name: str, tree: Path, folder: Path) -> Iterator[Version]:
    """Start a version, and close it at the end of the block."""
    version = Version(name, tree, folder)
    try:
        yield version
    finally:
        version.close()
