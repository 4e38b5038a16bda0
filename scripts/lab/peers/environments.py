"""Virtual environments for the compared programs; they share this environment's torch and llama.cpp."""

from __future__ import annotations

import hashlib
import os
import shutil
import site
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

SHARED = "localcrag-packages.pth"
DONE = "installed.txt"
ALONE = {
    "ANONYMIZED_TELEMETRY": "False", "CHROMA_TELEMETRY_IMPL": "none", "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1", "TOKENIZERS_PARALLELISM": "false",
}  # fmt: skip
"""No program reports to its makers, nor asks a hub."""
WAITING = {"GOMP_SPINCOUNT": "1000"}
"""How threads wait for each other, as localcrag sets it for itself; without it the others would be several times slower
on a machine that does something else as well (docs/measurements.md)."""


class NotInstalled(Exception):
    """A program's packages could not be had; `str` says why, and what to do."""


def python_for(packages: Sequence[str], folder: Path) -> Path:
    """Return the Python with our packages and these, made once below `folder`. Raises NotInstalled."""
    if not packages:
        return Path(sys.executable)
    # Another checkout has packages of its own: what shares those of this one is not for it.
    shared = site.getsitepackages()
    place = folder / hashlib.sha256("\n".join((sys.version, *shared, *packages)).encode()).hexdigest()[:12]
    python = place / "bin" / "python"
    if (place / DONE).is_file():
        return python
    shutil.rmtree(place, ignore_errors=True)
    _run(sys.executable, "-m", "venv", str(place))
    # What comes with the program comes before ours; what it needs and we have is not installed again.
    (_site_packages(python) / SHARED).write_text("\n".join(shared), "utf-8")
    _run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", *packages)
    (place / DONE).write_text("\n".join(packages), "utf-8")
    return python


def without_network() -> list[str]:
    """Return what a command begins with so that it has no network, nothing where that is not allowed."""
    command = ["unshare", "--net"]
    if not shutil.which(command[0]):
        return []
    return command if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0 else []


def environment(paths: Sequence[Path]) -> dict[str, str]:
    """Return the variables that a program is started with."""
    return {**os.environ, **ALONE, **WAITING, "PYTHONPATH": os.pathsep.join(map(str, paths))}


def _site_packages(python: Path) -> Path:
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip())


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-5:])
        raise NotInstalled(f"{' '.join(command)} ended with status {done.returncode}:\n{said}\nCheck pip's index.")
