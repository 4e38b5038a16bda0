"""Install localcrag from this folder, without a network, and open it: python3 install.py [--to FOLDER] [--no-start].

Lies in what scripts/bundle.py makes, and needs Python and nothing else. Called again, it opens what is installed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ABOUT, REQUIREMENTS, WHEELS, MODELS = "bundle.json", "requirements.txt", "wheelhouse", "models"
STAMP = ".localcrag-bundle"
FAILED, INTERRUPTED = 1, 130


def main() -> int:
    """Install what is not installed, then open it; return the exit status."""
    parser = argparse.ArgumentParser(description="Install localcrag from this folder, without a network, and open it.")
    parser.add_argument("--to", type=Path, metavar="FOLDER", default=HERE / "installed", help="where it is installed")
    parser.add_argument("--no-start", action="store_true", help="install only")
    parser.add_argument("more", nargs="*", metavar="-- MORE", help="arguments of `localcrag ui`: -- --port 7870")
    given = parser.parse_args()
    place = given.to.absolute()
    try:
        install(place)
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"\nNot installed: {error}\nMend that, then run the same command again.", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    command = [str(program_in(place, "localcrag")), "ui", *given.more]
    print(f"Installed in {place}. It starts with: {' '.join(command)}", flush=True)
    if given.no_start:
        return 0
    if os.name != "nt":
        os.execv(command[0], command)  # noqa: S606 - our own program, no shell
    return subprocess.call(command)


def install(place: Path) -> None:
    """Make an environment of the bundle's wheels, and put the embedded models where localcrag looks for them.

    Raises OSError, or CalledProcessError when a program that it needs failed; that has said why.
    """
    content = hashlib.sha256((HERE / REQUIREMENTS).read_bytes()).hexdigest()
    stamp = place / STAMP
    if stamp.is_file() and stamp.read_text("utf-8") == content and program_in(place, "python").exists():
        return
    own = python_in(HERE)
    reason = why_not(json.loads((HERE / ABOUT).read_text("utf-8")), own_python=own is not None)
    if reason:
        raise OSError(reason)
    if place.exists() and any(place.iterdir()) and not (place / "pyvenv.cfg").exists():
        raise OSError(f"{place} is there, and something else is in it. Name another folder with --to.")
    print("Installing (some minutes, 2 GB)", flush=True)
    shutil.rmtree(place, ignore_errors=True)
    subprocess.check_call([str(own or sys.executable), "-m", "venv", "--without-pip", str(place)])
    python, (pip,) = program_in(place, "python"), (HERE / WHEELS).glob("pip-*.whl")
    # Compiled are only the modules that are used, when they are: that is a third of them.
    arguments = ["--no-deps", "--require-hashes", "--no-compile", "--quiet", "--disable-pip-version-check"]
    arguments += ["-r", str(HERE / REQUIREMENTS)]
    subprocess.check_call([str(python), str(pip / "pip"), "install", *arguments], env=without_network(WHEELS))
    subprocess.check_call([str(python), "-m", "localcrag", "models", "get", "embedded"], env=without_network(MODELS))
    stamp.write_text(content, "utf-8")


def without_network(folder: str) -> dict[str, str]:
    """Return the environment in which pip takes all from a folder of this bundle, however else it is set up."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    kept.update(PIP_CONFIG_FILE=os.devnull, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(HERE / folder))
    return kept


def why_not(about: dict[str, str], *, own_python: bool) -> str | None:
    """Return why the bundle does not fit this computer, None when it does."""
    here = this_computer()
    wanted, found = (f"{one['system']} on {one['machine']}" for one in (about, here))
    if found != wanted:
        return f"this bundle is for {wanted}; this is {found}."
    if not own_python and here["python"] != about["python"]:
        wanted, found = about["python"], here["python"]
        return f"this bundle is for Python {wanted}; this is {found}. Run it with python{wanted}."
    if _numbers(here["libc"]) < _numbers(about["libc"]):
        return f"this bundle needs glibc {about['libc']} or newer; here is {here['libc']}."
    return None


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def this_computer() -> dict[str, str]:
    """Return what of a computer, and of the Python that runs, decides what can be installed."""
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "libc": (platform.libc_ver()[1] or "0") if platform.system() == "Linux" else "0",
        "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
    }


def python_in(bundle: Path) -> Path | None:
    """Return the bundle's own Python, None when it has none."""
    python = bundle / "python" / ("python.exe" if os.name == "nt" else "bin/python3")
    return python if python.exists() else None


def program_in(place: Path, name: str) -> Path:
    return place / "Scripts" / (name + ".exe") if os.name == "nt" else place / "bin" / name


if __name__ == "__main__":
    sys.exit(main())
