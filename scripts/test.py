"""Set up what the tests need, then lint, type-check and test: python3 scripts/test.py [pytest's arguments].

Ends with pytest's summary; the exit status is the worst of all.
"""

import argparse
import subprocess
import sys

from bootstrap import set_up_or_exit
from prerequisites import APT_MEGABYTES, SYSTEM_PACKAGES, can_install_packages, install_packages, missing_packages
from setup_steps import PYTHON, ROOT

CHECKS = (["ruff", "check"], ["ruff", "format", "--check"], ["mypy"])
LEFT_OUT = {"browser": "chromium", "search": "searx"}  # pytest's marker -> the Debian package that its tests need


def main() -> int:
    """Return the worst exit status."""
    parser = argparse.ArgumentParser(
        description="Lint, type-check and test localcrag.",
        epilog="All other arguments go to pytest.",
        allow_abbrev=False,
    )
    for marker, package in LEFT_OUT.items():
        parser.add_argument(f"--without-{marker}", action="store_true", help=f"leave out what needs {package}")
    parser.add_argument("-m", dest="markers", metavar="EXPRESSION", help="as pytest's")
    given, more = parser.parse_known_args()
    without = [marker for marker in LEFT_OUT if getattr(given, f"without_{marker}")]

    set_up_or_exit("test.txt")
    provide_packages({LEFT_OUT[marker] for marker in without})
    status = max(call(*check) for check in CHECKS)
    return max(status, call("pytest", *selection(given.markers, without), *more))


def selection(markers: str | None, without: list[str]) -> list[str]:
    """Return the -m that pytest gets: what the person chose, and none of what is left out."""
    expressions = [f"({markers})"] if markers else []
    expressions += [f"not {marker}" for marker in without]
    return ["-m", " and ".join(expressions)] if expressions else []


def provide_packages(unneeded: set[str]) -> None:
    """Install the Debian packages that are missing, or say which. The tests that need them fail without."""
    missing = missing_packages({name: program for name, program in SYSTEM_PACKAGES.items() if name not in unneeded})
    if not missing:
        return
    names = " ".join(missing)
    if can_install_packages():
        print(f"Debian packages for the tests: {names} (up to {APT_MEGABYTES} MB)", flush=True)
        if install_packages(missing):
            return
        print("apt-get failed; what it said is above.")
    print(
        f"Missing for the tests: {names}. On Debian: sudo apt-get install --no-install-recommends {names}\n"
        "Elsewhere, install programs of these names. Until then the tests that need them fail; "
        "--without-browser and --without-search leave most of them out.",
        flush=True,
    )


def call(module: str, *arguments: str) -> int:
    print(f"\n== {' '.join([module, *arguments])}", flush=True)
    status = subprocess.call([str(PYTHON), "-m", module, *arguments], cwd=ROOT)
    return status if status >= 0 else 128 - status  # killed by a signal, as shells count it


if __name__ == "__main__":
    sys.exit(main())
