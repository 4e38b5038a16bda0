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
"""Environment variables that disable telemetry and requests to hubs."""
WAITING = {"GOMP_SPINCOUNT": "1000"}
"""Environment variables for how threads wait for each other, as localcrag sets them for itself. Without them, the
other programs would be several times slower on a machine that also does other work (docs/lab/measurements.md)."""


class NotInstalled(Exception):
    """A program's packages could not be installed; the message says why, and what to do."""


def python_for(packages: Sequence[str], folder: Path) -> Path:
    """Return the Python with our packages and these, made once below `folder`. Raises NotInstalled."""
    if not packages:
        return Path(sys.executable)
    # The key contains this environment, since another checkout has other packages to share.
    shared = site.getsitepackages()
    place = folder / hashlib.sha256("\n".join((sys.version, *shared, *packages)).encode()).hexdigest()[:12]
    python = place / "bin" / "python"
    if (place / DONE).is_file():
        return python
    shutil.rmtree(place, ignore_errors=True)
    _run(sys.executable, "-m", "venv", str(place))
    # The program's own packages take precedence; packages that localcrag has are shared, not installed again.
    (_site_packages(python) / SHARED).write_text("\n".join(shared), "utf-8")
    _run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", *packages)
    (place / DONE).write_text("\n".join(packages), "utf-8")
    return python


def without_network() -> list[str]:
    """Return the command prefix that takes the network away; [] if the system does not allow it."""
    command = ["unshare", "--net"]
    if not shutil.which(command[0]):
        return []
    return command if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0 else []


def environment(paths: Sequence[Path]) -> dict[str, str]:
    """Return the environment variables for starting a program."""
    return {**os.environ, **ALONE, **WAITING, "PYTHONPATH": os.pathsep.join(map(str, paths))}


def _site_packages(python: Path) -> Path:
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip())


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-5:])
        raise NotInstalled(f"{' '.join(command)} ended with status {done.returncode}:\n{said}\nCheck pip's index.")
