"""Check for prerequisites that pip cannot install: a compiler, Python's headers, Debian packages for tests.

The functions only check, except `install_packages`, which installs Debian packages and must run as root.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

COMPILER_HELP = """\
  Debian, Ubuntu   sudo apt install build-essential python3-dev python3-venv
  Fedora           sudo dnf install gcc gcc-c++ python3-devel
  macOS            xcode-select --install
  Windows          winget install Microsoft.VisualStudio.2022.BuildTools --override
                   "--passive --wait --add Microsoft.VisualStudio.Workload.VCTools --includeRecommended\""""

# Debian package -> a program that it contains; if the program is found, the package counts as installed.
SYSTEM_PACKAGES = {
    "chromium": "chromium", "searx": "searx-run", "strace": "strace", "xvfb": "Xvfb", "xdotool": "xdotool",
    "openbox": "openbox", "desktop-file-utils": "desktop-file-validate", "libglib2.0-bin": "gio",
    "postgresql": "pg_lsclusters",
}  # fmt: skip
APT_MEGABYTES = 270  # chromium, Xvfb and PostgreSQL with their libraries, in 2026


def missing_for_environment() -> list[str]:
    """Return descriptions of what is missing to make a virtual environment."""
    return [] if importlib.util.find_spec("ensurepip") else ["Python's ensurepip (Debian: python3-venv)"]


def missing_for_build() -> list[str]:
    """Return descriptions of what is missing to compile llama.cpp and hnswlib."""
    if os.name == "nt":
        return [] if _visual_studio() else ["a C++ compiler (the Visual Studio Build Tools)"]
    missing = []
    if not _found("CC", "cc", "gcc", "clang"):
        missing.append("a C compiler (cc)")
    if not _found("CXX", "c++", "g++", "clang++") or _only_apples_stub():
        missing.append("a C++ compiler (c++)")
    if not (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file():
        missing.append("Python's headers (Python.h)")
    return missing


def missing_packages(packages: Mapping[str, str]) -> list[str]:
    """Return the names of the Debian packages whose program is not installed."""
    return [package for package, program in packages.items() if shutil.which(program) is None]


def can_install_packages() -> bool:
    """Return whether this process is root on a system with apt-get."""
    return shutil.which("apt-get") is not None and os.name != "nt" and os.geteuid() == 0


def install_packages(packages: list[str]) -> bool:
    """Install Debian packages, showing apt-get's output, and return whether it succeeded."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        sys.stdout.flush()
        if subprocess.run(["apt-get", "-q", *command], env=environment, check=False).returncode:
            return False
    return True


def _found(variable: str, *programs: str) -> bool:
    named = os.environ.get(variable, "").split()[:1]
    return any(shutil.which(program) for program in [*named, *programs])


def _only_apples_stub() -> bool:
    # macOS has a /usr/bin/c++ that only offers to install the compiler.
    if sys.platform != "darwin":
        return False
    return subprocess.run(["xcode-select", "-p"], capture_output=True, check=False).returncode != 0


def _visual_studio() -> bool:
    # On Windows, the compiler is not on PATH; build tools find it with vswhere, which its installer adds.
    programs = os.environ.get("PROGRAMFILES(X86)", "")
    return (Path(programs) / "Microsoft Visual Studio" / "Installer" / "vswhere.exe").is_file()
