"""Install localcrag from this folder, without a network, and open it: python3 install.py [--to FOLDER] [--no-start].

scripts/bundle.py puts this file into every bundle. It needs only Python. Run again, it opens the installed localcrag.
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
    """Install localcrag unless it is installed, then open it; return the exit status."""
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
    """Make a virtual environment from the bundle's wheels, and install the embedded models from the bundle.

    Raises OSError, or CalledProcessError if a program failed; the program itself has printed the reason.
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
    # Modules are compiled when they are first imported: only a third of them ever is.
    arguments = ["--no-deps", "--require-hashes", "--no-compile", "--quiet", "--disable-pip-version-check"]
    arguments += ["-r", str(HERE / REQUIREMENTS)]
    subprocess.check_call([str(python), str(pip / "pip"), "install", *arguments], env=without_network(WHEELS))
    subprocess.check_call([str(python), "-m", "localcrag", "models", "get", "embedded"], env=without_network(MODELS))
    stamp.write_text(content, "utf-8")


def without_network(folder: str) -> dict[str, str]:
    """Return an environment in which pip uses only a folder of this bundle, whatever the user's settings for pip."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    kept.update(PIP_CONFIG_FILE=os.devnull, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(HERE / folder))
    return kept


def why_not(about: dict[str, str], *, own_python: bool) -> str | None:
    """Return the reason why the bundle does not fit this computer; None if it fits."""
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
    """Return the properties of this computer and Python that decide which wheels can be installed."""
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "libc": (platform.libc_ver()[1] or "0") if platform.system() == "Linux" else "0",
        "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
    }


def python_in(bundle: Path) -> Path | None:
    """Return the path of the bundle's own Python; None if it has none."""
    python = bundle / "python" / ("python.exe" if os.name == "nt" else "bin/python3")
    return python if python.exists() else None


def program_in(place: Path, name: str) -> Path:
    return place / "Scripts" / (name + ".exe") if os.name == "nt" else place / "bin" / name


if __name__ == "__main__":
    sys.exit(main())
